"""
Faults of passes that lower or schedule, and which of them `tirx-check` notices and puts down to the right pass.

    python test/sweeps/check_mutants.py [--count 400] [--seed 0] [--jobs N] [--seconds S] [--results FILE] [--diffs]

A mutant is one change of one function of those passes (`mutations.py`): a number, an operator, a comparison by `<`,
`<=`, `>` or `>=`, or a statement that is gone. Not changed is what `==`, `is` and `in` compare: they mostly choose
between two ways, both of which are right. Drawn are functions that make or move operations when one of 40 programs is
compiled: examples and generated ones. The programs that call the function are compiled; each whose PTX or launch is
another one is checked as `tirx-check` does, until one is found wrong. Faults are mutants that change the PTX of a
program which still compiles:

- noticed: results differ, or the simulator refuses the PTX;
- agrees: what is compared of all programs does what it means, with other PTX;
- no end: as agrees, but checking a program takes more than a minute, instead of a few seconds.

Others are put aside, and counted. No comparison can notice them, since PTX and launches are as before, but for which
launches are refused:

- refused: the compiler refuses programs, ends with a traceback, or does not end, and compiles the others as before. So
  it shows the fault itself: a ring that cannot be proved is an error (`TIRX_STRICT_SCHEDULE`), and the IR is verified
  behind every pass, as in tests (`TIRX_VERIFY_EACH`);
- no effect: all programs are compiled as before;
- harmless: `harmless_mutants.txt` says why no result changes, of just this change; programs are not compiled;
- same code: launches are as before, and ptxas makes of the PTX of every program the machine code that it made before,
  prefetches apart, which change no result.

The first 60 faults count. The right pass is one in which the function makes or moves operations, or is called where it
makes none. What is said of a fault behind the last pass that keeps tiles is the span of passes from the last one on
behind which the program does what it means. `--diffs` prints the mutants that agree.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from mutations import changes
from sweeps.mutant_programs import Program, programs
from sweeps.shares import Sweep, one_thread_each

one_thread_each()
for name in ("TIRX_STRICT_SCHEDULE", "TIRX_VERIFY_EACH"):
    os.environ.setdefault(name, "1")

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("scalars", "copies", "layouts", "products", "rings", "kernels")
KINDS = ("comparison", "number", "operator", "statement")
FAULTS = 60
_COMPILING = "compiling"
NO_FAULTS = ("refused", "no effect", "same code", "harmless")
"""Outcomes of mutants that are put aside."""
HARMLESS = Path(__file__).with_name("harmless_mutants.txt")
_SECONDS = 60
"""CPU time in which a program is checked, of which its launches get a small part."""
_SECONDS_COMPILING = 15
"""CPU time in which a program is compiled: without a fault none takes three."""


@dataclass(frozen=True)
class Mutant:
    """One change of a file: its new source, and the passes that call the function in each program that does.

    In the programs `makers` it makes or moves operations.
    """

    path: str
    function: str
    source: str
    passes: Mapping[str, list[str]]
    makers: list[str]


def _launches(program: Any) -> str:
    """Returns how kernels are launched, without the launches that are refused and the names of roles and rings."""
    left_out = ("preconditions", "schedule")
    launches = [asdict(each.launch) for each in program.kernels.values()]
    return json.dumps([{key: each[key] for key in each if key not in left_out} for each in launches], default=str)


def _digest(program: Any) -> str:
    return sha256((program.ptx + _launches(program)).encode()).hexdigest()


def _machine_code(program: Any) -> str:
    """Returns a digest of what ptxas makes of the PTX without prefetches, and of how it is launched."""
    from tirx.ptx.ptxas import ASSEMBLED_AS, find_ptxas

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.ptx").write_text(re.sub(r"^.*\bprefetch(u|\.\w+).*\n", "", program.ptx, flags=re.MULTILINE))
        arch = re.search(r"^\.target (\w+)", program.ptx, re.MULTILINE)
        command = [str(find_ptxas()), f"-arch={ASSEMBLED_AS.get(arch[1], arch[1]) if arch else ''}", "p.ptx", "-o", "p"]
        if subprocess.run(command, cwd=folder, capture_output=True).returncode:
            return "refused by ptxas"
        return sha256(Path(folder, "p").read_bytes() + _launches(program).encode()).hexdigest()


def _compiled(program: Program, running: list[str] | None = None) -> Any:
    """Compiles a program; `running` gets the passes, in order, the last of which runs or has run."""
    running = [] if running is None else running
    from tirx import compiler
    from tirx.diagnostics import diagnostic_handler
    from tirx.passes import lower_to_ptx_passes
    from tirx.ptx.printer import print_ptx
    from tirx.runtime import Program as Built
    from tirx.runtime.check import Source
    from tirx.runtime.describe import describe

    names = [each.name for each in lower_to_ptx_passes(program.target, program.options).passes]
    running.append(names[0])

    def after_each(*_: object) -> None:
        running.append(names[len(running) % len(names)])

    with diagnostic_handler(lambda _: None):
        module = compiler.lower(program.text, program.target, program.options, after_each)
        return Built(print_ptx(module), describe(module), Source(program.text, program.target, program.options))


def _as_it_is(program: Program) -> Mapping[str, Any]:
    """Facts about a program without a fault: its PTX, CPU seconds, and by function the passes in which it makes or
    moves operations, and in which it is called.
    """
    from xdsl.ir import Block

    from tirx.dialects.xdsl_private import place

    attach = Block._attach_op  # pyright: ignore[reportPrivateUsage]
    placed = attach.__code__, place.__code__  # emitters take the second way
    makes, called = (defaultdict[str, set[str]](set) for _ in range(2))
    running: list[str] = []

    @cache
    def key(code: CodeType) -> str | None:
        own = code.co_filename.rpartition("/passes/")[2]
        return f"{own}:{code.co_qualname}" if own.startswith(ROOMS) else None

    def note(frame: Any, event: str, _: object) -> None:
        if event != "call" or not running:
            return
        if frame.f_code not in placed:
            if name := key(frame.f_code):
                called[name].add(running[-1])
            return
        while (frame := frame.f_back) is not None:
            if name := key(frame.f_code):
                makes[name].add(running[-1])
                return

    sys.setprofile(note)
    try:
        compiled = _compiled(program, running)
    finally:
        sys.setprofile(None)
    spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    compiled.check()
    makers, callees = ({name: sorted(each) for name, each in found.items()} for found in (makes, called))
    return {
        "ptx": _digest(compiled),
        "code": _machine_code(compiled),
        "compiling": spent,
        "makes": makers,
        "called": callees,
    }


def _examined(mutant: Mutant, known: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Examines a mutant, in a process in which nothing of the compiler is imported yet, and returns the outcome."""
    path = str((ROOT / mutant.path).resolve())
    right = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> Any:
        own = loader.get_filename(name)
        return compile(mutant.source, own, "exec") if os.path.realpath(own) == path else right(loader, name)

    SourceFileLoader.get_code = get_code  # pyright: ignore[reportAttributeAccessIssue]
    signal.signal(signal.SIGXCPU, _out_of_time)
    from tirx.text.verification import CheckError

    refused: dict[str, Any] = {}
    agree: list[str] = []
    endless: list[str] = []
    has_effect = False
    all_programs = {each.name: each for each in programs()}
    for name in sorted(mutant.passes, key=lambda each: (each not in mutant.makers, known[each]["compiling"])):
        _limit(_SECONDS_COMPILING)
        print(_COMPILING, file=sys.stderr, flush=True)
        try:
            compiled = _compiled(all_programs[name])
        except Exception as error:  # the fault stops the compiler itself
            if isinstance(error, TimeoutError) and "TimeoutError" in refused.get("said", ""):
                break  # others would not end, either
            refused = refused or {"program": name, "said": _words(error)}
            continue
        if _digest(compiled) == known[name]["ptx"]:
            continue
        has_effect = True
        _limit(_SECONDS)
        print("checking", file=sys.stderr, flush=True)
        try:
            compiled.check()
        except CheckError as error:
            if error.culprit is not None:
                return {"outcome": "noticed", "program": name, "said": _words(error), **_named(error.culprit)}
        except TimeoutError:
            endless.append(name)
            continue
        except Exception as error:  # the fault stops the compiler with options that `tirx-check` tries
            refused = refused or {"program": name, "said": _words(error)}
        agree += [name] if _machine_code(compiled) != known[name]["code"] else []
    if agree or endless:
        return {"outcome": "no end" if endless else "agrees", "others": endless + agree}
    if has_effect:
        return {"outcome": "same code"}
    return {"outcome": "refused", **refused} if refused else {"outcome": "no effect"}


def _limit(seconds: int) -> None:
    """Gives what comes next some CPU time, behind which it is a TimeoutError."""
    spent = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, -1))


def _out_of_time(*_: object) -> None:
    raise TimeoutError("expected an end within some seconds of CPU time")


def _words(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip()[:300]


def _named(culprit: str) -> Mapping[str, Any]:
    """Returns the pass that `tirx-check` names, and whether it is the first one that differs or begins a span."""
    found = re.search(r"(?:first|lowering) behind ([\w-]+)", culprit)
    return {"named": found and found[1], "kind": "first" if culprit.startswith("first") else "span"}


def _ended(said: str) -> Mapping[str, Any]:
    """Returns what becomes of a mutant whose process did not end by itself, by what it did last."""
    if said.rstrip().endswith(_COMPILING):
        return {"outcome": "refused", "said": "the compiler does not end"}
    return {"outcome": "no end"}


def _process(given: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
    """Runs this file in a process of its own on a program or a mutant."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one"],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        return _ended(str(error.stderr or b"", "utf-8") if not isinstance(error.stderr, str) else error.stderr)
    if done.returncode < 0:
        return _ended(done.stderr)
    if done.returncode:  # what the fault breaks is needed to import passes at all
        return {"outcome": "refused", "said": done.stderr[-300:]}
    return json.loads(done.stdout.splitlines()[-1])


def _choices(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a source compares by `==`, `is` or `in`: first and last place of each comparison."""
    orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare) and not any(isinstance(op, orders) for op in node.ops)
    ]


def mutants(count: int, seed: int, known: Mapping[str, Mapping[str, Any]]) -> Iterator[Mutant]:
    """Draws mutants: the file by its size, the kind of the change, and one of that kind."""
    paths = sorted(path for room in ROOMS for path in (ROOT / "passes" / room).glob("*.py"))
    sizes = [path.stat().st_size for path in paths]
    rng, drawn = random.Random(seed), set[str]()
    while len(drawn) < count:
        (path,) = rng.choices(paths, sizes)
        source, own = path.read_text(), path.relative_to(ROOT / "passes").as_posix()
        kind, choices = rng.choice(KINDS), _choices(source)
        found = [
            each
            for each in changes(source)
            if each.kind == kind and any(f"{own}:{each.function}" in one["makes"] for one in known.values())
            if not any(first <= (each.node.lineno, each.node.col_offset) < last for first, last in choices)
        ]
        if not found:
            continue
        change = rng.choice(found)
        changed = change.apply(source)
        if changed not in drawn:
            drawn.add(changed)
            key = f"{own}:{change.function}"
            passes = {
                name: one["makes"].get(key, one["called"][key]) for name, one in known.items() if key in one["called"]
            }
            makers = [name for name, one in known.items() if key in one["makes"]]
            yield Mutant(f"passes/{own}", change.function, changed, passes, makers)


def is_right(mutant: Mutant, result: Mapping[str, Any], order: list[str]) -> bool:
    """Returns True if the pass, or the span of passes, that a result names has executed the changed function."""
    own, named = mutant.passes.get(result.get("program", ""), []), result.get("named")
    if result.get("kind") == "span" and named in order:
        return any(order.index(each) > order.index(named) for each in own)
    return named in own


def _diff(mutant: Mutant) -> str:
    before = (ROOT / mutant.path).read_text().splitlines()
    return "\n".join(list(difflib.unified_diff(before, mutant.source.splitlines(), n=2, lineterm=""))[2:])


def _changed_lines(mutant: Mutant) -> tuple[str, ...]:
    """Returns the first line that a mutant replaces, and the first in its place."""
    lines = _diff(mutant).splitlines()[1:]
    return tuple(next(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")


@cache
def _harmless() -> Mapping[tuple[str, ...], str]:
    """Returns why mutants change no result, by file, function, and the lines before and behind."""
    lines = [line.split(" || ") for line in HARMLESS.read_text().splitlines() if not line.startswith("#")]
    return {tuple(which): why for *which, why in lines}


def _no_changes() -> list[tuple[str, ...]]:
    """Returns what is listed as harmless, but is no change of the source any more."""
    left = set(_harmless())
    for path in {path for path, *_ in left}:
        source = (ROOT / path).read_text()
        for each in changes(source):
            mutant = Mutant(path, each.function, each.apply(source), {}, [])
            left.discard((path, each.function, *_changed_lines(mutant)))
    return sorted(left)


def _counted(done: Mapping[int, tuple[Mutant, Mapping[str, Any]]]) -> list[int]:
    """Returns the numbers of the faults that count."""
    return [n for n in sorted(done) if done[n][1]["outcome"] not in NO_FAULTS][:FAULTS]


def _is_complete(done: Mapping[int, tuple[Mutant, Mapping[str, Any]]]) -> bool:
    counted = _counted(done)
    return len(counted) == FAULTS and all(n in done for n in range(counted[-1]))


def _report(done: Mapping[int, tuple[Mutant, Mapping[str, Any]]], diffs: bool) -> None:
    from tirx.passes.registry import PASS_SUMMARIES

    order = list(PASS_SUMMARIES)
    counted = _counted(done)
    with_effect = [done[n] for n in counted]
    missing = counted[-1] + 1 - sum(n <= counted[-1] for n in done) if counted else 0
    seen = [each for each in with_effect if each[1]["outcome"] == "noticed"]
    refusals = sum(": the simulator " in each[1]["said"] for each in seen)
    spans = [each for each in seen if each[1]["kind"] == "span"]
    right = [each for each in seen if is_right(*each, order)]
    for mutant, result in with_effect:
        words = f"{result.get('program')}: {result.get('kind')} {result.get('named')}: {result.get('said')}"
        words = words if "named" in result else ", ".join(result.get("others", ()))
        print(f"{result['outcome']}: {mutant.path}: {mutant.function}: {words}")
    for mutant, result in done.values():  # those behind the last one that counts, too
        if diffs and result["outcome"] in ("agrees", "no end"):
            print(f"{result['outcome']}: {mutant.path}: {mutant.function}:\n{_diff(mutant)}")
        elif result["outcome"] == "harmless":
            print(f"harmless: {mutant.path}: {mutant.function}: {_changed_lines(mutant)[0]}: {result['said']}")
    for each in _no_changes():
        print(f"no change of the source any more: {' || '.join(each)}")
    none = Counter(str(result["outcome"]) for _, result in done.values() if result["outcome"] in NO_FAULTS)
    counts = ", ".join(f"{count} {name}" for name, count in sorted(none.items()))
    print(f"{len(done)} mutants, {counts}; {missing} of those up to the last fault had no time")
    share = 100 / max(len(with_effect), 1), 100 / max(len(seen), 1)
    print(
        f"{len(with_effect)} faults: {len(seen)} noticed ({share[0] * len(seen):.0f} %), {len(seen) - refusals} by "
        f"results that differ, {refusals} by the simulator; the right pass is named for {len(right)} "
        f"({share[1] * len(right):.0f} %), for {sum(each in spans for each in right)} of them by a span"
    )


def main() -> int:
    """Runs the sweep as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    Sweep.add_arguments(parser)
    parser.add_argument("--count", type=int, default=400, help="mutants that are drawn at most (400)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--diffs", action="store_true", help="print the mutants that agree")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        given = json.load(sys.stdin)
        is_mutant = "mutant" in given
        answer = _examined(Mutant(**given["mutant"]), given["known"]) if is_mutant else _as_it_is(Program(**given))
        print(json.dumps(answer))
        return 0
    sweep = Sweep.of(options)
    base = Sweep(sweep.jobs, sweep.seconds, type(sweep.part)(), None)

    def work(each: Program) -> Mapping[str, Any]:
        return _process(asdict(each), _SECONDS * 5)

    known = {each.name: found for each, found in base.run([(each.name, each) for each in programs()], work)}
    if wrong := {name: each for name, each in known.items() if "ptx" not in each}:
        print(f"expected programs that agree, found {wrong}")
        return 1
    slim = {
        name: {key: value for key, value in each.items() if key not in ("makes", "called")}
        for name, each in known.items()
    }
    done: dict[int, tuple[Mutant, Mapping[str, Any]]] = {}
    tasks: list[tuple[str, tuple[int, Mutant]]] = []
    for n, each in enumerate(mutants(options.count, options.seed, known)):
        if (why := _harmless().get((each.path, each.function, *_changed_lines(each)))) is not None:
            done[n] = each, {"outcome": "harmless", "said": why}
        else:
            tasks.append((f"{n} {each.path} {each.function}", (n, each)))

    def examine(task: tuple[int, Mutant]) -> Mapping[str, Any]:
        return _process({"mutant": asdict(task[1]), "known": slim}, _SECONDS * 10)

    for (n, mutant), result in sweep.run(tasks, examine):
        done[n] = mutant, result
        if _is_complete(done):
            break
    _report(done, options.diffs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
