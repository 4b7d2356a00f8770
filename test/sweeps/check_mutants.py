"""
Faults of passes that lower or schedule, and which of them `tirx-check` notices and puts down to the right pass.

    python test/sweeps/check_mutants.py [--count 110] [--seed 0] [--jobs N] [--seconds S] [--results FILE] [--diffs]

A mutant is one change of one function of those passes (`mutations.py`): a number, an operator, a comparison by `<`,
`<=`, `>` or `>=`, or a statement that is gone. Not changed is what `==`, `is` and `in` compare: they mostly choose
between two ways, both of which are right. Drawn are functions that make or move operations when one of 40 programs is
compiled: examples and generated ones. Those programs are compiled and, if PTX or launch are others, checked as
`tirx-check` does, until one is found wrong; if any are, so are all others that call the function:

- noticed: results differ, or the simulator refuses the PTX;
- refused: the compiler refuses a right program, or ends with a traceback; a ring that is taken back, since it cannot be
  proved, is an error (`TIRX_STRICT_SCHEDULE`), and the IR is verified behind every pass, as in tests
  (`TIRX_VERIFY_EACH`);
- agrees: all programs do what they mean, with other PTX;
- no end: compiling and checking a program takes more than a minute, instead of a few seconds, which counts as found;
- no effect: all programs are compiled as before;
- harmless: as `agrees`, and `harmless_mutants.txt` says why no result changes;
- same code: launches are as before, and ptxas makes of the PTX of every program the machine code that it made before,
  prefetches apart, which change no result.

The first 60 with an effect that are not harmless count. The right pass is one in which the function makes or moves
operations, or is called where it makes none. Programs that are refused are compiled again with `--verify-lowering`,
which names the first pass that changes results, or the pass that ends with an error. What is said of a fault behind the
last pass that keeps tiles, or by a check, is the span of passes from the last one on behind which the program does what
it means. `--diffs` prints the mutants that agree.
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
NO_FAULTS = ("no effect", "same code", "harmless")
"""Outcomes of mutants that are no faults for the 40 programs."""
FOUND = ("noticed", "refused", "no end")
"""Outcomes of faults that are found."""
HARMLESS = Path(__file__).with_name("harmless_mutants.txt")
_SECONDS = 60
"""CPU time of a program, of which its launches get a small part."""


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


def _digest(program: Any) -> str:
    return sha256(program.to_json().encode()).hexdigest()


def _machine_code(program: Any) -> str:
    """Returns a digest of what ptxas makes of the PTX without prefetches, and of how it is launched."""
    from tirx.ptx.ptxas import ASSEMBLED_AS, find_ptxas

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.ptx").write_text(re.sub(r"^.*\bprefetch(u|\.\w+).*\n", "", program.ptx, flags=re.MULTILINE))
        arch = re.search(r"^\.target (\w+)", program.ptx, re.MULTILINE)
        command = [str(find_ptxas()), f"-arch={ASSEMBLED_AS.get(arch[1], arch[1]) if arch else ''}", "p.ptx", "-o", "p"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        launches = json.dumps([asdict(each.launch) for each in program.kernels.values()], default=str)
        return sha256(Path(folder, "p").read_bytes() + launches.encode()).hexdigest()


def _compiled(program: Program, running: list[str]) -> Any:
    """Compiles a program; `running` gets the passes, in order, the last of which runs or has run."""
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
    """What is known of a program without a fault: its PTX, CPU seconds, and by function the passes in which it makes or
    moves operations, and in which it is called.
    """
    from xdsl.ir import Block

    from tirx.dialects.xdsl_private import insert_before

    attach = Block._attach_op  # pyright: ignore[reportPrivateUsage]
    placed = attach.__code__, insert_before.__code__  # an emitter in the middle of a block takes the second way
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
        "seconds": spent,
        "makes": makers,
        "called": callees,
    }


def _examined(mutant: Mutant, known: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """What becomes of a mutant, in a process in which nothing is imported yet."""
    path = str((ROOT / mutant.path).resolve())
    right = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> Any:
        own = loader.get_filename(name)
        return compile(mutant.source, own, "exec") if os.path.realpath(own) == path else right(loader, name)

    SourceFileLoader.get_code = get_code  # pyright: ignore[reportAttributeAccessIssue]
    signal.signal(signal.SIGXCPU, _out_of_time)
    found: dict[str, Any] = {"outcome": "no effect"}
    others: list[str] = []
    all_programs = {each.name: each for each in programs()}
    for name in sorted(mutant.passes, key=lambda each: (each not in mutant.makers, known[each]["seconds"])):
        if name not in mutant.makers and found["outcome"] == "no effect":
            break
        spent = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (spent + _SECONDS, -1))
        running: list[str] = []
        try:
            compiled = _compiled(all_programs[name], running)
            if _digest(compiled) == known[name]["ptx"]:
                continue
            compiled.check()
            others += [name] if _machine_code(compiled) != known[name]["code"] else []
            found = {"outcome": "agrees", "others": others} if others else {"outcome": "same code"}
        except Exception as error:
            found = dict(_verdict(error, running))
            return {"program": name, **found, **(_watched(all_programs[name]) if found["outcome"] == "refused" else {})}
    return found


def _out_of_time(*_: object) -> None:
    raise TimeoutError(f"expected an end within {_SECONDS} s of CPU time")


def _verdict(error: Exception, running: list[str]) -> Mapping[str, Any]:
    from tirx.diagnostics import LocatedError
    from tirx.text.verification import CheckError

    match error:
        case CheckError(culprit=str() as culprit):
            named = re.search(r"(?:first|lowering) behind ([\w-]+)", culprit)
            kind = "first" if culprit.startswith("first") else "span"
            return {"outcome": "noticed", "said": str(error)[:300], "named": named and named[1], "kind": kind}
        case CheckError():
            return {"outcome": "noticed", "said": str(error)[:300], "named": None, "kind": "first"}
        case LocatedError():
            said, named = str(error.diagnostic.message)[:300], error.diagnostic.stage
            said = f"{named}: {said}"
        case TimeoutError():
            found = {"outcome": "no end", "said": str(error), "kind": "first"}
            return {**found, "named": None if running[1:].count(running[0]) else running[-1]}  # while it compiles
        case _:
            said, named = traceback.format_exception_only(error)[-1].strip()[:300], running[-1]
    return {"outcome": "refused", "said": said, "named": named, "kind": "first"}


def _watched(program: Program) -> Mapping[str, Any]:
    """What `--verify-lowering` says of a program that is refused: the pass, or the span in front of a check."""
    from tirx.diagnostics import diagnostic_handler
    from tirx.passes import lower_to_ptx_passes
    from tirx.runtime.watch import Watch
    from tirx.text.parsing import parse_located
    from tirx.text.verification import CheckError, run_passes
    from tirx.universe import new_context

    module = parse_located(new_context(), program.text, program.name)
    watch, passes = Watch.of(module), lower_to_ptx_passes(program.target, program.options).passes
    with diagnostic_handler(lambda _: None):
        for each in passes:
            try:
                run_passes(new_context(), module, [each], watch.after, verify_each=True)
            except CheckError:
                return {"named": each.name, "kind": "first"}
            except Exception:
                if not each.name.startswith("tirx-check-"):
                    return {"named": each.name, "kind": "first"}
                return {"named": next(iter(watch.last.values()), passes[0].name), "kind": "span"}
    return {}


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
    except subprocess.TimeoutExpired:
        return {"outcome": "no end"}
    if done.returncode < 0:
        return {"outcome": "no end"}
    if done.returncode:  # what the fault breaks is needed to import passes at all
        return {"outcome": "refused", "said": done.stderr[-300:], "named": None, "kind": "first"}
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


def _is_of(judged: str, found: str) -> bool:
    """Returns True if a text is the one that was judged; `*` at the end of that stands for any more."""
    return found.startswith(judged[:-1]) if judged.endswith("*") else found == judged


def _judged(mutant: Mutant, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the result, or that somebody has read why the change of a mutant that agrees is harmless."""
    if result["outcome"] != "agrees":
        return result
    for line in HARMLESS.read_text().splitlines():
        *which, why = line.split(" | ")
        own = [mutant.path, mutant.function, *_changed_lines(mutant)]
        if len(which) == len(own) and all(map(_is_of, which, own)):
            return {"outcome": "harmless", "said": why}
    return result


def _report(done: Mapping[int, tuple[Mutant, Mapping[str, Any]]], diffs: bool) -> None:
    from tirx.passes.registry import PASS_SUMMARIES

    order = list(PASS_SUMMARIES)
    done = {n: (mutant, _judged(mutant, result)) for n, (mutant, result) in done.items()}
    counted = [n for n in sorted(done) if done[n][1]["outcome"] not in NO_FAULTS][:FAULTS]
    with_effect = [done[n] for n in counted]
    missing = counted[-1] + 1 - sum(n <= counted[-1] for n in done) if counted else 0
    outcomes = Counter(str(result["outcome"]) for _, result in with_effect)
    seen = [each for each in with_effect if each[1]["outcome"] in FOUND]
    spans = [each for each in seen if each[1].get("kind") == "span"]
    right = [each for each in seen if is_right(*each, order)]
    for mutant, result in with_effect:
        words = f"{result.get('program')}: {result.get('kind')} {result.get('named')}: {result.get('said')}"
        words = words if "named" in result else ", ".join(result.get("others", ()))
        print(f"{result['outcome']}: {mutant.path}: {mutant.function}: {words}")
    for mutant, result in done.values():  # those behind the last one that counts, too
        if diffs and result["outcome"] == "agrees":
            print(f"{result['outcome']}: {mutant.path}: {mutant.function}:\n{_diff(mutant)}")
        elif result["outcome"] == "harmless":
            print(f"harmless: {mutant.path}: {mutant.function}: {_changed_lines(mutant)[0]}: {result['said']}")
    none = Counter(str(result["outcome"]) for _, result in done.values() if result["outcome"] in NO_FAULTS)
    counts = ", ".join(f"{count} {name}" for name, count in sorted(none.items()))
    print(f"{len(done)} mutants, {counts}; {missing} of those up to the last fault had no time")
    share = 100 / max(len(with_effect), 1), 100 / max(len(seen), 1)
    print(
        f"{len(with_effect)} faults: {len(seen)} found ({share[0] * len(seen):.0f} %), "
        f"{', '.join(f'{count} {name}' for name, count in sorted(outcomes.items()))}; the right pass is named for "
        f"{len(right)} ({share[1] * len(right):.0f} %), for {sum(each in spans for each in right)} of them by a span"
    )


def main() -> int:
    """Runs the sweep as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    Sweep.add_arguments(parser)
    parser.add_argument("--count", type=int, default=110, help="mutants that are drawn (110)")
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
    drawn = list(mutants(options.count, options.seed, known))
    tasks = [(f"{n} {each.path} {each.function}", (n, each)) for n, each in enumerate(drawn)]
    done: dict[int, tuple[Mutant, Mapping[str, Any]]] = {}
    for (n, mutant), result in sweep.run(
        tasks, lambda each: _process({"mutant": asdict(each[1]), "known": slim}, _SECONDS * 10)
    ):
        done[n] = mutant, result
    _report(done, options.diffs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
