"""Pass flags on the command line mean `-p` in their place."""

from __future__ import annotations

import sys
from importlib.metadata import version

import pytest
from unit.cases import together

from tirx.passes import PASS_SUMMARIES, lower_to_ptx_pipeline
from tirx.text.rules import explain, list_rules
from tirx.tools.flags import (
    _help_epilog,  # pyright: ignore[reportPrivateUsage]
    _LowerToPtx,  # pyright: ignore[reportPrivateUsage]
    expand_pass_flags,
    parse_flags,
)
from tirx.tools.process import UsageError
from tirx.universe import OUTPUT_PASSES
from tirx.version import installed_version

_PASSES = ("cse", "dce", "some-pass")
_PIPELINE = ",".join(lower_to_ptx_pipeline())


@together(
    ("argv", "expanded"),
    [
        (["--cse"], ["-p", "cse"]),
        (["--some-pass=a=1 b=x,y"], ["-p", "some-pass{a=1 b=x,y}"]),
        (["--some-pass="], ["-p", "some-pass{}"]),
        (["--cse", "-p", "dce,cse", "--dce", "in"], ["-p", "cse", "-p", "dce,cse", "-p", "dce", "in"]),
        (["--other", "--cse-not", "cse", "-cse"], ["--other", "--cse-not", "cse", "-cse"]),
        (["--cse", "--", "--dce"], ["-p", "cse", "--", "--dce"]),
        (["--lower-to-ptx"], ["-p", _PIPELINE, "--lower-to-ptx"]),
        (
            ["--lower-to-ptx=target=sm_90a", "--cse"],
            ["-p", ",".join(lower_to_ptx_pipeline("sm_90a")), "--lower-to-ptx", "-p", "cse"],
        ),
    ],
)
def test_expansion(argv: list[str], expanded: list[str]):
    assert expand_pass_flags(argv, _PASSES) == expanded


_TWICE = "expected the option '{}' of --{} once, found it again"


@together(
    ("argv", "message"),
    [
        (["--some-pass=a=1 b=2 a=3"], _TWICE.format("a", "some-pass")),
        (["--lower-to-ptx=stages=2 roles=load roles"], _TWICE.format("roles", "lower-to-ptx")),
        (["--lower-to-ptx=stages=2 sm_90a"],
         "--lower-to-ptx: expected options as name=value, found 'sm_90a'; "
         'for a GPU write --lower-to-ptx="target=sm_90a"'),
        (["--lower-to-ptx", "--cse", "--lower-to-ptx=stages=3"], "expected --lower-to-ptx once"),
        ([f"--lower-to-ptx=stages={'9' * 5000}"],
         "expected options with numbers that fit, found 'lower-to-ptx{stages=" + "9" * 60 + "'"),
    ],
)  # fmt: skip
def test_what_is_not_expanded(argv: list[str], message: str):
    with pytest.raises(UsageError) as found:
        expand_pass_flags(argv, _PASSES)
    assert str(found.value) == message


def test_options_of_other_flags_may_come_twice():
    for argv in (["--other=a=1 a=2"], ["--some-pass=a=1 b=1"]):
        assert len(expand_pass_flags(argv, _PASSES)) == (1 if "other" in argv[0] else 2)


def test_options_of_the_pipeline():
    given = "pipeline=on choose=model stages=3 roles=load order=group cluster=2 epilogue=2 split=k"
    assert _LowerToPtx(None, *("on", "model", 3, "load", "group", 2, 2, "k")).options == given
    assert _LowerToPtx("sm_90a", stages=0).options == "stages=0" and _LowerToPtx().options == ""


def test_flags_that_print_and_end(capsys: pytest.CaptureFixture[str]):
    versions = f"tirx-opt {installed_version()}, xDSL {version('xdsl')}, Python {sys.version.split()[0]}"
    for argv, text in (
        (["--version"], versions),
        (["-v", "--no-such-flag"], versions),
        (["--list-rules"], list_rules()),
        (["--explain-rule", "view-bounds"], explain("view-bounds")),
    ):
        with pytest.raises(SystemExit) as ended:
            parse_flags(argv)
        assert not ended.value.code and capsys.readouterr().out == f"{text}\n"


def test_the_end_of_the_help():
    """A line for each pass, the summaries below each other; other passes in lines of at most 110 characters."""
    names = [f"pass-{n:02}" for n in range(17)]
    lines = _help_epilog({*names, "cse"}, ["second", "first"]).split("\n")
    summaries = PASS_SUMMARIES | OUTPUT_PASSES
    width = max(len(name) for name in summaries)
    others = f"  and those of installed packages: {', '.join(names[:8])},"
    assert len(others) <= 110 < len(others) + len(" pass-08,")
    assert lines == [
        'passes (each is also a flag: --NAME, or --NAME="key=value key=value"):',
        *(f"  {name}{' ' * (width - len(name))}  {summary}" for name, summary in summaries.items()),
        "", others, f"  {', '.join(names[8:])}", "  and those of xDSL: cse", "", "targets: first, second",
    ]  # fmt: skip


def test_passes_run_in_the_order_of_the_line():
    flags = parse_flags(["--dce", "in.mlir", "-p", "cse,licm", "--canonicalize"])
    assert [p.name for p in flags.passes] == ["dce", "cse", "licm", "canonicalize"]
    assert (flags.input_path, flags.output_path, flags.target.name) == ("in.mlir", "-", "mlir")


@together(
    ("flag", "names"),
    [
        ("--before=cse:2=dce,licm", ["cse", "canonicalize", "dce", "licm", "cse"]),
        ("--after=cse=dce,licm", ["cse", "dce", "licm", "canonicalize", "cse"]),
        ("--replace=canonicalize=dce,licm", ["cse", "dce", "licm", "cse"]),
        ("--replace=cse=", ["canonicalize", "cse"]),
    ],
)
def test_passes_are_placed_among_others(flag: str, names: list[str]):
    assert [p.name for p in parse_flags(["-p", "cse,canonicalize,cse", flag]).passes] == names


def test_options_of_passes():
    (one,) = parse_flags(["--arith-add-fastmath=flags=nnan,ninf"]).passes
    (two,) = parse_flags(["-p", "arith-add-fastmath{flags=nnan,ninf}"]).passes
    assert one == two


@together(
    ("argv", "message"),
    [
        (["--no-such-flag"], "unknown argument '--no-such-flag'"),
        (["--verify-eac"], "unknown argument '--verify-eac'; did you mean '--verify-each'?"),
        (["--explain-rule", "view-bound"], "unknown rule 'view-bound'; did you mean 'view-bounds'?"),
        (["--print-after", "csee"], "--print-after: unknown pass 'csee'; did you mean 'cse'?"),
        (
            ["-p", "cse", "--after", "licm=dce"],
            "--after: expected pass 1 named 'licm' in the pipeline, found none among cse",
        ),
        (
            ["-p", "cse", "--before=cse:2=dce"],
            "--before: expected pass 2 named 'cse' in the pipeline, found 1 of that name",
        ),
        (["-p", "cse", "--replace", "cse"], "expected --replace NAME=PASSES or NAME:2=PASSES, found 'cse'"),
        (["--split-input-files"], "did you mean '--split-input-file'?"),
        (["a", "b"], "unknown argument 'b'"),
        (["-p", "csee"], "unknown pass 'csee'; did you mean 'cse'?"),
        (["-t", "mlirr"], "unknown target 'mlirr'; did you mean 'mlir'?"),
        (["-t", "mlir{no=1}"], "'mlir': Provided arguments"),
        (["-t", ""], "Expected pass name here"),
        (["--cse={"], "Error parsing pass pipeline specification"),
        (["--lower-to-ptx=target=90"], "'lower-to-ptx': Incompatible types"),
        (["--lower-to-ptx=stages=2 stages=3"], "expected the option 'stages' of --lower-to-ptx once, found it again"),
        (["--lower-to-ptx=target=sm_999"], "'lower-to-ptx': unknown target 'sm_999'"),
        (
            [f"--lower-to-ptx=stages={'9' * 5000}"],
            "expected options with numbers that fit, found 'lower-to-ptx{stages=99",
        ),
        (['--lower-to-ptx=target="sm_90{}"'], "'lower-to-ptx': unknown target 'sm_90{}'"),
    ],
)
def test_usage_errors(argv: list[str], message: str):
    with pytest.raises(UsageError) as caught:
        parse_flags(argv)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-t", "sm_100a"], "unknown target 'sm_100a'; for a GPU write --lower-to-ptx=\"target=sm_100a\""),
        (["-p", "lower-to-ptx"], "unknown pass 'lower-to-ptx'; it is a flag of its own, --lower-to-ptx"),
        (
            ["-t", "sm_91a"],
            "unknown target 'sm_91a'; did you mean 'sm_90a'? GPUs are named as --lower-to-ptx=\"target=sm_90a\"",
        ),
    ],
)
def test_names_that_mean_something_else(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_flags(argv)
    assert str(error.value) == message
