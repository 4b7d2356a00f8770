"""
Who sees a synchronisation that is missing: each of the examples loses one instruction after the other.

`python test/sweeps/deleted_synchronization.py [example ...] [--all] [--pipeline] [--global] [--jobs 8]` deletes every
instruction of `SYNCHRONISATION` from the lowered kernels, one at a time, runs the static checks
(`tirx-check-synchronization` and `tirx-check-rings`) and the simulator, with strict checks and with those of hardware,
and prints a table: instruction, how many were deleted, how many each of them sees, and how many nobody sees, by the
reason (`survivors`). Each of these is listed below. `--all` takes all examples, `--pipeline` compiles them with rings
of two slots, `--global` takes the kernels of `global_memory/`, which hand data on through global memory. `--seconds`
ends in time; the last line says how many deletions were tried. `--json FILE` writes a line for each deletion, and
`--tables FILE ...` prints the tables of such files; with `--docs` the table of `all.json` takes the place of the one
between `<!-- deletions: all -->` and `<!-- end -->` in `docs/simulator.md`, and so on.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.dialects.ptx import EntryOp
from tirx.passes import lower_to_ptx_passes
from tirx.passes.checks.synchronization_rules import check_synchronization
from tirx.ptx.printer import print_ptx
from tirx.runtime.describe import describe
from tirx.runtime.launch import Launch
from tirx.runtime.simulation import simulate
from tirx.sim import SimError, SimWarning
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

ROOT = Path(__file__).parents[2]
GLOBAL_MEMORY = Path(__file__).parent / "global_memory"
"""Kernels that hand data on through global memory; the first line of each has the options of the pipeline."""

_FIRST = "// pipeline:"
sys.path.insert(0, str(ROOT / "test"))

from fuzz.programs import reference  # noqa: E402
from sweeps.survivors import name_of, reasons  # noqa: E402
from unit.sim import arithmetic_launches as arithmetic  # noqa: E402
from unit.sim.example_launches import LAUNCHES, Example, tiles  # noqa: E402

Array = npt.NDArray[Any]
Level = Literal["strict", "hardware"]
KINDS = ("covered", "nothing to order", "not needed")
"""Why nobody sees a deletion (`survivors.Reason`)."""

SYNCHRONISATION = (
    "bar.sync", "bar.warp.sync", "barrier.cluster.arrive", "barrier.cluster.wait", "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group", "cp.async.commit_group", "cp.async.wait_group", "fence.mbarrier_init",
    "fence.proxy.async", "mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.init", "mbarrier.wait_parity",
    "tcgen05.commit", "tcgen05.dealloc", "tcgen05.fence.after_thread_sync", "tcgen05.fence.before_thread_sync",
    "tcgen05.wait.ld", "tcgen05.wait.st", "wgmma.commit_group", "wgmma.fence", "wgmma.wait_group",
)  # fmt: skip
"""Operations of the ptx dialect without results that others use."""

EXAMPLES = (
    "mma_m16n8k16_f16_gemm",
    "tcgen05_2cta_gemm",
    "tcgen05_a_in_tensor_memory",
    "tcgen05_gemm",
    "tcgen05_sparse_gemm",
    "tcgen05_ws_zero_columns",
    "wgmma_gemm",
)
_CAUSAL = partial(arithmetic.scaled_attention, heads=(3, 1), lengths=(200, 200), causal=True)
# Rounds enough to come through all slots of the rings that these examples write, and again.
_LONGER = {
    "tcgen05_2cta_ring_gemm": Example(tiles(2, 2, 4, (256, 128), 256)),
    "wgmma_ring_gemm": Example(tiles(3, 1, 4, (128, 256), 512)),
    "wgmma_roles_gemm": Example(tiles(3, 1, 4, (128, 256), 512)),
    "mxfp8": Example(partial(arithmetic.mxfp8, rows=(128, 384), k=512)),
    "nvfp4": Example(partial(arithmetic.nvfp4, rows=(128, 384))),
    # Tiles with one block of keys follow on each other in a CTA, behind such with more.
    "causal_flash_attention": Example(_CAUSAL, one=(1, 1), exact=False),
    "causal_tensor_attention": Example(_CAUSAL, one=(2, 1), exact=False),
}
_INSTRUCTIONS = 400_000  # of a run that does not end
_SEEDS = (None, 1, 2)
_SHARE = 6
"""Deletions that one process takes at a time."""


@dataclass(frozen=True)
class Deletion:
    """The `number`th operation `name` of a kernel is gone. What the checks say; None: they accept it."""

    kernel: str
    name: str
    number: int
    static: str | None
    strict: str | None
    hardware: str | None
    kind: str | None = None
    detail: str = ""
    """Why nobody sees it (`survivors.Reason`)."""

    @property
    def is_seen(self) -> bool:
        return any(each is not None for each in (self.static, self.strict))


def lowered(path: Path, options: str) -> ModuleOp:
    """A kernel in the ptx dialect. The options that it names itself take the place of those given."""
    context = new_context()
    text = path.read_text()
    if text.startswith(_FIRST):
        options = text.partition("\n")[0].removeprefix(_FIRST).strip()
    module = parse_located(context, text, path.name)
    with diagnostic_handler(lambda _: None):
        run_passes(context, module, lower_to_ptx_passes(options=options).passes, verify_each=False)
    return module


@contextmanager
def without(op: Operation) -> Generator[None]:
    """The module without an operation."""
    block, following = op.parent_block(), op.next_op
    assert block is not None and following is not None
    op.detach()
    yield
    block.insert_op_before(op, following)


def deletable(path: Path, options: str) -> int | str:
    """Counts the operations of a kernel that can be deleted, or says why the compiler refuses it."""
    try:
        module = lowered(path, options)
    except LocatedError as error:
        return str(error)
    return sum(name_of(op) in SYNCHRONISATION for op in module.walk())


def deletions(
    path: Path,
    options: str = "pipeline=off",
    names: Sequence[str] = SYNCHRONISATION,
    chosen: range | None = None,
    end: float = math.inf,
) -> Iterator[Deletion]:
    """
    Everything that can be deleted from an example, of the operations `names`.

    `chosen` takes these of them only, counted over all kernels of the example. At the time `end` (of `time.monotonic`)
    it stops.
    """
    module = lowered(path, options)
    launches, whole = {launch.entry: launch for launch in describe(module)}, print_ptx(module)
    number = 0
    for entry in [op for op in module.walk() if isinstance(op, EntryOp)]:
        operations = [op for op in entry.walk() if name_of(op) in names]
        numbers = range(number, number := number + len(operations))
        if chosen is not None and not set(numbers) & set(chosen):
            continue
        name, count = entry.sym_name.data, Counter[str]()
        run = _Run(path, launches[name])
        run.learn(whole)
        if (refused := _static(entry)) is not None:
            raise RuntimeError(f"'{name}' is refused as it is: {refused}")
        for at, op in zip(numbers, operations, strict=True):
            mnemonic = name_of(op)
            nth = count[mnemonic]
            count[mnemonic] += 1
            if chosen is not None and at not in chosen:
                continue
            if time.monotonic() > end:
                return
            with without(op):
                static = _static(entry)
                try:
                    text = print_ptx(module)
                except LocatedError as error:
                    static, text = str(error), _without_line(whole, name, mnemonic, nth)
            strict = run.seen(text, "strict")
            # What strict checks accept, those of hardware do.
            hardware = None if strict is None else run.seen(text, "hardware")
            yield Deletion(name, mnemonic, nth, static, strict, hardware)


def explained(path: Path, options: str, unseen: Sequence[Deletion]) -> list[Deletion]:
    """Deletions from one kernel that nobody sees, with the reasons."""
    module = lowered(path, options)
    name = unseen[0].kernel
    entry = next(op for op in module.walk() if isinstance(op, EntryOp) and op.sym_name.data == name)
    run = _Run(path, next(launch for launch in describe(module) if launch.entry == name))
    run.learn(print_ptx(module))
    alike: dict[str, list[Operation]] = defaultdict(list)
    for op in entry.walk():
        alike[name_of(op)].append(op)

    def seen(gone: Sequence[Operation]) -> str | None:
        with ExitStack() as stack:
            for op in gone:
                stack.enter_context(without(op))
            if (static := _static(entry)) is not None:
                return static
            try:
                return run.seen(print_ptx(module), "strict")
            except LocatedError as error:
                return str(error)

    found = reasons([alike[each.name][each.number] for each in unseen], seen)
    return [replace(each, kind=why.kind, detail=why.detail) for each, why in zip(unseen, found, strict=True)]


def _without_line(text: str, kernel: str, mnemonic: str, number: int) -> str:
    """PTX without the `number`th line of an instruction of a kernel."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if f".entry {kernel}(" in line)
    found = [index for index in range(start, len(lines)) if lines[index].lstrip().startswith(f"{mnemonic}.")]
    del lines[found[number]]
    return "\n".join(lines)


def _static(entry: EntryOp) -> str | None:
    try:
        check_synchronization(entry)
    except LocatedError as error:
        return str(error)
    return None


class _Run:
    """Runs variants of one kernel, and tells what is not as it was."""

    def __init__(self, path: Path, launch: Launch):
        self.path, self.launch = path, launch
        self.expected: list[Array] = []
        self.usual: frozenset[str] = frozenset()

    def learn(self, text: str) -> None:
        """Takes what the whole kernel computes for right. Raises RuntimeError if it is refused."""
        arrays, said = self._simulated(text, "strict")
        if not arrays:
            raise RuntimeError(f"'{self.launch.entry}' is refused as it is: {said}")
        if self.path.parent == GLOBAL_MEMORY:
            wanted: list[Array] = [each for each in reference(self.path.read_text())[1] if isinstance(each, np.ndarray)]
            if not all(np.array_equal(a, b) for a, b in zip(arrays, wanted, strict=True)):
                raise RuntimeError(f"'{self.launch.entry}' computes wrong numbers as it is")
        self.expected, self.usual = arrays, frozenset(said)

    def seen(self, text: str, level: Level) -> str | None:
        """Returns the first message of a run that is not usual, None without one."""
        for seed in _SEEDS:
            arrays, said = self._simulated(text, level, seed)
            if (first := next((each for each in said if each not in self.usual), None)) is not None:
                return first
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, self.expected, strict=True)):
                return "wrong numbers"
        return None

    def _simulated(self, text: str, level: Level, seed: int | None = None) -> tuple[list[Array], list[str]]:
        """The arguments after a run (none after an error), and its error or the rules of its warnings."""
        launch = self.launch
        if self.path.parent == GLOBAL_MEMORY:
            arguments, grid = reference(self.path.read_text())[0], None
        else:
            example = _LONGER.get(launch.entry) or LAUNCHES[launch.entry]
            arguments = example.make(np.random.default_rng(0), "integers" if example.exact else "normal").arguments
            x, y, z = (*example.one, 1)[:3]
            launch, grid = replace(launch, grid=None), (x * launch.cluster[0], y, z)  # a part of the grid is enough
        warnings: list[SimWarning] = []
        try:
            simulate(
                text, launch, arguments, grid=grid, check=level, seed=seed, max_instructions=_INSTRUCTIONS,
                report=warnings.append,
            )  # fmt: skip
        except SimError as error:
            return [], [error.message.splitlines()[0]]
        arrays: list[Array] = [each for each in arguments if isinstance(each, np.ndarray)]
        return arrays, [f"warning: {each.rule}" for each in warnings]


def table(found: Sequence[Deletion]) -> str:
    """A row for each instruction."""
    rows: dict[str, list[Deletion]] = defaultdict(list)
    for each in found:
        rows[each.name].append(each)
    lines = [
        f"| deleted | times | static check | simulator, strict | simulator, hardware | nobody | {' | '.join(KINDS)} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, own in sorted(rows.items()):
        counts = [
            sum(value is not None for value in values)
            for values in (
                [each.static for each in own],
                [each.strict for each in own],
                [each.hardware for each in own],
            )
        ]
        unseen = [each for each in own if not each.is_seen]
        counts += [len(unseen), *(sum(each.kind == kind for each in unseen) for kind in KINDS)]
        lines.append(f"| `{name}` | {len(own)} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def _share(path: Path, options: str, chosen: range, end: float) -> list[Deletion]:
    return list(deletions(path, options, chosen=chosen, end=end))


def _line(each: Deletion) -> str:
    shown = "; ".join(
        f"{who}: {message[:90]}"
        for who, message in (("static", each.static), ("strict", each.strict), ("hardware", each.hardware))
        if message is not None
    )
    reason = "nobody" if each.kind is None else f"{each.kind} {each.detail}".strip()
    return f"{each.kernel}: {each.name} {each.number}: {shown or reason}"


def main() -> None:
    """Prints the table, and what nobody sees."""
    parser = argparse.ArgumentParser(description="who sees a synchronisation that is missing")
    parser.add_argument("examples", nargs="*", default=EXAMPLES)
    parser.add_argument("--all", action="store_true", help="all examples")
    parser.add_argument("--pipeline", action="store_true", help="kernels that copy in rings")
    parser.add_argument("--global", dest="through_memory", action="store_true", help="kernels of global_memory/")
    parser.add_argument("--tables", nargs="+", type=Path, metavar="FILE", help="prints what --json has written")
    parser.add_argument("--docs", action="store_true", help="writes the tables to docs/simulator.md")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="S", help="starts no deletion after that")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes a line for each deletion")
    flags = parser.parse_args()
    if flags.tables is not None:
        for path in flags.tables:
            found = [Deletion(**json.loads(line)) for line in path.read_text().splitlines()]
            print(report(found))
            if flags.docs:
                _document(path.stem, table(found))
        return
    end = time.monotonic() + flags.seconds
    everything = sorted(path.stem for path in (ROOT / "examples").glob("*.mlir"))
    # With two slots rings come round, even those of the short loops of examples.
    options = "stages=2" if flags.pipeline else "pipeline=off"
    paths = [ROOT / "examples" / f"{name}.mlir" for name in (everything if flags.all else flags.examples)]
    if flags.through_memory:
        paths = sorted(GLOBAL_MEMORY.glob("*.mlir"))
    found: list[Deletion] = []
    refused: list[str] = []
    if flags.json is not None:
        flags.json.write_text("")

    def note(each: Deletion) -> None:
        found.append(each)
        print(_line(each), file=sys.stderr, flush=True)
        if flags.json is not None:
            with flags.json.open("a") as file:
                file.write(f"{json.dumps(asdict(each))}\n")

    with ProcessPoolExecutor(flags.jobs, get_context("spawn")) as pool:
        counts: dict[Path, int] = {}
        for path, count in zip(paths, pool.map(deletable, paths, [options] * len(paths)), strict=True):
            if isinstance(count, int):
                counts[path] = count
            else:
                refused.append(f"{path.stem}: {count}")
        # Kernels with many deletions first: to explain those that nobody sees takes the longest.
        shares = {
            pool.submit(_share, path, options, range(start, min(start + _SHARE, count)), end): path
            for path, count in sorted(counts.items(), key=lambda each: -each[1])
            for start in range(0, count, _SHARE)
        }
        unseen: dict[tuple[Path, str], list[Deletion]] = defaultdict(list)
        for future in as_completed(shares):
            if isinstance(error := future.exception(), RuntimeError):
                refused.append(f"{shares[future].stem}: {error}")
                continue
            for each in future.result():
                if each.is_seen:
                    note(each)
                else:
                    unseen[shares[future], each.kernel].append(each)
        tasks = [
            pool.submit(explained, path, options, each)
            for (path, _), each in sorted(unseen.items(), key=lambda each: -len(each[1]))
        ]
        for task in as_completed(tasks):
            for each in task.result():
                note(each)
    print(report(found))
    print(f"{len(found)} of {sum(counts.values())} deletions", *sorted(set(refused)), sep="\n")


def _document(name: str, text: str) -> None:
    """Replaces a table of the documentation."""
    path, start = ROOT / "docs" / "simulator.md", f"<!-- deletions: {name} -->"
    before, found, rest = path.read_text().partition(start)
    if not found:
        raise SystemExit(f"expected {start} in {path}, found none")
    _, end, behind = rest.partition("<!-- end -->")
    path.write_text(f"{before}{start}\n{text}\n{end}{behind}")


def report(found: Sequence[Deletion]) -> str:
    """The table, and a line for each deletion that nobody sees."""
    return "\n".join([table(found), "", *sorted(_line(each) for each in found if not each.is_seen)])


if __name__ == "__main__":
    main()
