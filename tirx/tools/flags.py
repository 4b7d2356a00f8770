"""The command line of `tirx-opt`: MLIR-style pass flags on top of xDSL's `-p` and `-t`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, Literal, NoReturn, TypeVar

from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.universe import XDSL_UNIVERSE
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.target import Target

from tirx.diagnostics import WARNINGS
from tirx.dialects.tirx.sizes import NAME
from tirx.hw.targets import TARGETS, TargetError
from tirx.passes import PASS_SUMMARIES, OptionError, lower_to_ptx_pipeline
from tirx.passes.deferred import deferred
from tirx.passes.pipeline import place
from tirx.predict import GPUS
from tirx.runtime.stored import extensions
from tirx.text.suggestions import did_you_mean
from tirx.tools.files import write_output
from tirx.tools.process import ArgumentParser, UsageError
from tirx.tools.times import TimeFormat
from tirx.universe import OUTPUT_PASSES, TIRX_UNIVERSE, all_passes, all_targets
from tirx.values import dataclass, fields, replace
from tirx.version import installed_version

_AUTO = "auto"
"""The GPU of `--predict`: that of the target."""

_ConvertibleT = TypeVar("_ConvertibleT", bound=ArgSpecConvertible)
_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True)
class OptFlags:
    """The flags of one run of `tirx-opt`."""

    input_path: str
    """`-` is standard input."""
    output_path: str
    """`-` is standard output."""
    passes: tuple[ModulePass, ...]
    target: Target
    allow_unregistered_dialect: bool
    print_between_passes: bool
    print_after: tuple[str, ...]
    """The passes behind which the IR is printed; all where there are none."""
    print_whole: bool
    """Prints whole modules between passes, not only what changed."""
    explain: Literal["text", "json"] | None
    """Prints what was decided instead of the output."""
    split_input_file: bool
    verify_diagnostics: bool
    verify_each: bool
    """Verifies after every pass, not only at the beginning and the end."""
    verify_lowering: bool
    """Runs the kernels behind every pass, and compares what they do."""
    time_passes: TimeFormat | None
    remarks: bool
    diagnostics_json: bool
    """Prints each diagnostic as a line of JSON."""
    disabled_warnings: frozenset[str]
    """Rules of warnings that are not reported."""
    launch_path: str | None
    """Where to write the launch descriptors of the kernels, as JSON."""
    predict: str | None
    """Prints predicted times instead of the output: on this GPU, or with `auto` on that of the target."""
    size: tuple[int, int, int] | None
    """M, N and K of the products whose times are predicted."""


@dataclass(frozen=True)
class _LowerToPtx(ArgSpecConvertible):
    name: ClassVar[str] = "lower-to-ptx"

    target: str | None = None
    pipeline: str | None = None
    choose: str | None = None
    stages: str | int | None = None
    roles: str | int | None = None
    order: str | int | None = None
    cluster: str | int | None = None
    epilogue: str | int | None = None
    split: str | None = None
    parts: int | None = None
    variants: int | None = None
    sizes: str | None = None
    multiprocessors: int | None = None
    strides: str | None = None
    lines: str | None = None
    assertions: str | None = None

    @property
    def options(self) -> str:
        """The options of the pipeline as `tirx.compile` takes them."""
        names = (each.name for each in fields(self) if each.name != "target")
        given = {name: getattr(self, name) for name in names}
        return " ".join(f"{name}={value}" for name, value in given.items() if value is not None)


class _VersionAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        write_output("-", f"tirx-opt {installed_version()}, xDSL {version('xdsl')}, Python {sys.version.split()[0]}\n")
        parser.exit()


class _ExplainAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, *_: object) -> NoReturn:
        from tirx.text.rules import explain, rule_names  # imports the tables of all families

        text = explain(str(values))
        if text is None:
            raise UsageError(f"unknown rule '{values}'{did_you_mean(str(values), rule_names())}")
        write_output("-", f"{text}\n")
        parser.exit()


class _ListRulesAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from tirx.text.rules import list_rules  # imports the tables of all families

        write_output("-", f"{list_rules()}\n")
        parser.exit()


def _disabled_warnings(flags: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for flag in flags:
        name = flag.removeprefix("no-")
        if name != flag and name not in WARNINGS:
            from tirx.text.rules import rule_names

            if name in rule_names():
                raise UsageError(f"expected a warning behind -Wno-, found '{name}': errors are not turned off")
        if name == flag or not (name in WARNINGS or extensions()):  # whose warnings have names of their own
            raise UsageError(f"unknown argument '-W{flag}'{did_you_mean(flag, [f'no-{each}' for each in WARNINGS])}")
        found.add(name)
    return frozenset(found)


def _help_epilog(passes: Set[str], targets: Iterable[str]) -> str:
    summaries = PASS_SUMMARIES | OUTPUT_PASSES
    width = max(map(len, summaries))
    rows = [f"  {name:{width}}  {summary}" for name, summary in summaries.items()]
    others, stock = passes - TIRX_UNIVERSE.all_passes.keys(), XDSL_UNIVERSE.all_passes.keys()
    found = {"installed packages": others - stock, "xDSL": others & stock}
    lists = [f"and those of {whose}: {', '.join(sorted(names))}" for whose, names in found.items() if names]
    return "\n".join(
        [
            'passes (each is also a flag: --NAME, or --NAME="key=value key=value"):',
            *rows,
            "",
            *(textwrap.fill(each, 110, initial_indent="  ", subsequent_indent="  ") for each in lists),
            "",
            f"targets: {', '.join(sorted(targets))}",
        ]
    )


_WHERE = {"before": "in front of", "after": "behind", "replace": "in the place of"}


@dataclass(frozen=True)
class Placed:
    """Passes of `--before`, `--after` or `--replace`, as `NAME=PASSES` or `NAME:OCCURRENCE=PASSES`."""

    where: str
    text: str

    def among(self, specs: Sequence[ArgSpec]) -> list[ArgSpec]:
        """Returns a pipeline with the passes in it. Raises UsageError."""
        found = re.fullmatch(r"([^:=]+)(?::([0-9]{1,3}))?=(.*)", self.text, re.DOTALL)
        if found is None:
            raise UsageError(f"expected --{self.where} NAME=PASSES or NAME:2=PASSES, found '{self.text}'")
        try:
            at = place([each.name for each in specs], found[1], int(found[2] or 1))
        except KeyError as error:
            names = {each.name for each in specs}
            hint = "" if found[1] in names else did_you_mean(found[1], names)
            raise UsageError(f"--{self.where}: {error.args[0]}{hint}") from error
        added = _parse(lambda text: list(parse_pipeline(text)), found[3]) if found[3] else []
        return [*specs[: at + (self.where == "after")], *added, *specs[at + (self.where != "before") :]]


def add_placed(parser: ArgumentParser) -> None:
    """Adds `--before`, `--after` and `--replace`, which put passes into the pipeline to PTX."""
    for where in ("before", "after", "replace"):
        parser.add_argument(
            f"--{where}",
            dest="placed",
            action="append",
            default=[],
            metavar="NAME=PASSES",
            type=partial(Placed, where),
            help=f"run these passes {_WHERE[where]} the pass NAME of --lower-to-ptx; NAME:2 is the second of that name",
        )


def passes_of(texts: Sequence[str], placed: Sequence[Placed]) -> tuple[ModulePass, ...]:
    """Returns the passes that pipelines in text name, with others placed among them. Raises UsageError."""
    passes = all_passes()
    specs = [spec for text in texts for spec in _parse(lambda text: list(parse_pipeline(text)), text)]
    for each in placed:
        specs = each.among(specs)
    return tuple(deferred(spec) or _find("pass", spec, passes) for spec in specs)


def _argument_parser(epilog: str) -> ArgumentParser:
    parser = ArgumentParser("tirx-opt", "Runs passes over MLIR text and prints the result, as MLIR or as PTX.", epilog)
    flag = parser.add_argument
    flag("input_path", metavar="FILE", nargs="?", default="-", help="input file; '-' or nothing is standard input")
    flag("-o", dest="output_path", metavar="FILE", default="-", help="output file, written only on success")
    flag("-p", "--passes", action="append", default=[], help="passes to run: 'name,name{key=value key=value}'")
    flag("-t", "--target", help="output format: 'name' or 'name{key=value}' (default: mlir)")
    flag("--to-python", dest="target", action="store_const", const="python", help="print Python that writes the module")
    flag(
        "--lower-to-ptx",
        action="store_true",
        help='run the whole pipeline and print PTX; --lower-to-ptx="target=sm_90a" overrides the kernels\' target, '
        '"stages=4 roles=load order=group" says how copies and products overlap, "pipeline=off" that they do not',
    )
    add_placed(parser)
    flag(
        "--launch",
        dest="launch_path",
        metavar="FILE",
        help="with PTX as output, also write how to launch each kernel, as JSON",
    )
    flag("--cache-directory", metavar="DIR", help="keep the output in this directory, and write what is kept there")
    flag("--split-input-file", action="store_true", help="process the parts between '// -----' lines on their own")
    flag("--verify-diagnostics", action="store_true", help="check the diagnostics against 'expected-error' comments")
    flag("--verify-each", action="store_true", help="verify the IR after every pass, not only at the start and the end")
    flag(
        "--verify-lowering",
        action="store_true",
        help="run the kernels of tiles behind every pass, and the PTX in the simulator, and name the first pass that "
        "changes what they do",
    )
    flag("--time-passes", action="store_const", const="text", help="print the time of every pass to standard error")
    flag("--time-passes-json", dest="time_passes", action="store_const", const="json", help="the same as JSON")
    flag("--remarks", action="store_true", help="report the choices that passes made, too")
    flag("--diagnostics-json", action="store_true", help="print each diagnostic as one line of JSON")
    flag("--explain-rule", metavar="RULE", action=_ExplainAction, help="say what the rule of a diagnostic is about")
    flag("--list-rules", action=_ListRulesAction, nargs=0, help="list the rules of errors and warnings")
    flag("-W", dest="warnings", metavar="no-RULE", action="append", default=[], help="do not report a warning")
    flag("--print-between-passes", action="store_true", help="print what each pass changes to standard error")
    flag("--print-after", metavar="PASS", action="append", default=[], help="print only what this pass changes")
    flag("--print-whole", action="store_true", help="with one of these two, print whole modules")
    flag(
        "--explain",
        action="store_const",
        const="text",
        help="print what was decided, and why: layouts, engines, instructions, descriptors, memory, roles, rings; "
        "without passes on the command line those of --lower-to-ptx run",
    )
    flag(
        "--predict",
        metavar="GPU",
        choices=(_AUTO, *GPUS),
        help="print the predicted time of every product, what bounds it and what would change it, as --predict or, for "
        f"another GPU than that of the target, --predict=GPU ({', '.join(GPUS)})",
    )
    flag("--size", metavar="MxNxK", help="with --predict, the size of a product whose types do not say it")
    flag("--explain-json", dest="explain", action="store_const", const="json", help="the same as JSON")
    flag("--print-op-generic", action="store_true", help="print operations in generic form")
    flag("--print-debuginfo", action="store_true", help="print the locations of operations")
    flag("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    flag("-v", "--version", action=_VersionAction, nargs=0, help="print the version and exit")
    return parser


def expand_pass_flags(argv: Sequence[str], passes: Iterable[str]) -> list[str]:
    """Writes every `--PASS` and `--PASS="k=v"` as `-p` in its place, so that the order of passes is that of the line.

    `--lower-to-ptx` stays, behind the `-p` of its pipeline: it also selects the target.
    """
    names = set(passes)
    expanded: list[str] = []
    for index, argument in enumerate(argv):
        if argument == "--":
            return expanded + list(argv[index:])
        name, has_options, options = argument.removeprefix("--").partition("=")
        spec = f"{name}{{{options}}}" if has_options else name
        given = [word.partition("=")[0] for word in options.split()] if name in (_LowerToPtx.name, *names) else []
        if (again := next((word for word in given if given.count(word) > 1), None)) is not None:
            raise UsageError(f"expected the option '{again}' of --{name} once, found it again")
        if not argument.startswith("--"):
            expanded.append(argument)
        elif argument == "--predict":
            expanded.append(f"{argument}={_AUTO}")
        elif name == _LowerToPtx.name:
            if f"--{name}" in expanded:
                raise UsageError(f"expected --{name} once")
            if (bare := next((word for word in options.split() if word in TARGETS), None)) is not None:
                raise UsageError(f"--{name}: expected options as name=value, found '{bare}'{_OTHER_MEANINGS[bare]}")
            expanded += ["-p", _lower_to_ptx(_parse(parse_spec, spec)), f"--{name}"]
        elif name in names:
            expanded += ["-p", spec]
        else:
            expanded.append(argument)
    return expanded


def _parse(parse: Callable[[str], _ResultT], spec: str) -> _ResultT:
    try:
        return parse(spec)
    except ArgSpecParseError as error:
        raise UsageError(str(error).rstrip()) from error
    except ValueError as error:  # a number of thousands of digits
        raise UsageError(f"expected options with numbers that fit, found '{spec[:80]}'") from error


def _convert(kind: type[_ConvertibleT], spec: ArgSpec) -> _ConvertibleT:
    try:
        return kind.from_spec(spec)
    except ValueError as error:
        raise UsageError(f"'{spec.name}': {error}") from error


_OTHER_MEANINGS = {name: f'; for a GPU write --lower-to-ptx="target={name}"' for name in TARGETS} | {
    "lower-to-ptx": "; it is a flag of its own, --lower-to-ptx"
}
"""Names that are something else than a pass or an output format."""


def _find(what: str, spec: ArgSpec, known: Mapping[str, Callable[[], type[_ConvertibleT]]]) -> _ConvertibleT:
    if spec.name not in known:
        hint = _OTHER_MEANINGS.get(spec.name) or did_you_mean(spec.name, known)
        if not hint and (gpu := did_you_mean(spec.name, TARGETS)):
            hint = f'{gpu} GPUs are named as --lower-to-ptx="target=sm_90a"'
        raise UsageError(f"unknown {what} '{spec.name}'{hint}")
    return _convert(known[spec.name](), spec)


def _lower_to_ptx(spec: ArgSpec) -> str:
    parameters = {name: values for name, values in spec.parameters.items() if NAME.fullmatch(name) is not None}
    own = {name: values for name, values in spec.parameters.items() if name not in parameters}
    try:
        given = _convert(_LowerToPtx, ArgSpec(spec.name, own))
        bound = [f"{name}={','.join(map(str, values))}" for name, values in parameters.items()]
        return ",".join(lower_to_ptx_pipeline(given.target, " ".join((given.options, *bound))))
    except (TargetError, OptionError) as error:
        raise UsageError(f"'{spec.name}': {error}") from error


def parse_flags(argv: Sequence[str]) -> OptFlags:
    """The run that the arguments `argv` (without the program's name) ask for.

    Raises UsageError when they make no sense; prints and raises SystemExit for `--help` and `--version`.
    """
    passes, targets = all_passes(), all_targets()
    parser = _argument_parser(_help_epilog(passes.keys(), targets))
    args, unknown = parser.parse_known_args(expand_pass_flags(argv, passes))
    if unknown:
        flags = re.findall(r"--[\w-]+", parser.format_usage())
        hint = did_you_mean(unknown[0].partition("=")[0], [*flags, *(f"--{name}" for name in passes)])
        raise UsageError(f"unknown argument '{unknown[0]}'{hint}")

    for name in args.print_after:
        if name not in passes:
            raise UsageError(f"--print-after: unknown pass '{name}'{did_you_mean(name, passes)}")
    size = None
    if args.size is not None:
        found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", args.size)
        if found is None or args.predict is None:
            raise UsageError(f"expected --size MxNxK with --predict, such as 4096x4096x4096, found '{args.size}'")
        size = int(found[1]), int(found[2]), int(found[3])
    if args.print_whole and not (args.print_between_passes or args.print_after):
        raise UsageError("expected --print-whole with --print-between-passes or --print-after")
    if (args.explain is not None or args.predict is not None) and not args.passes:
        args.passes = [",".join(lower_to_ptx_pipeline())]
    chosen = passes_of(args.passes, args.placed)
    default_target = "ptx" if args.lower_to_ptx else "mlir"
    target_spec = _parse(parse_spec, default_target if args.target is None else args.target)
    target = _find("target", target_spec, targets)
    if isinstance(target, MLIRTarget):
        target = replace(
            target,
            print_generic_format=target.print_generic_format or args.print_op_generic,
            print_debuginfo=target.print_debuginfo or args.print_debuginfo,
        )
    if args.launch_path is not None and (target.name != "ptx" or args.split_input_file):
        raise UsageError("expected --launch with one module of PTX as output, as of --lower-to-ptx")
    one_path = args.launch_path is not None and os.path.realpath(args.launch_path) == os.path.realpath(args.output_path)
    if one_path and args.launch_path not in ("-", os.devnull):
        raise UsageError(f"expected PTX and launch descriptors in two files, found '{args.launch_path}' for both")
    given: dict[str, Any] = vars(args) | {
        "passes": chosen,
        "target": target,
        "print_between_passes": args.print_between_passes or bool(args.print_after),
        "print_after": tuple(args.print_after),
        "disabled_warnings": _disabled_warnings(args.warnings),
        "size": size,
    }
    return OptFlags(**{each.name: given[each.name] for each in fields(OptFlags)})
