"""
Who sees a synchronisation that is missing: each of the examples loses one instruction after the other.

`python test/sweeps/deleted_synchronization.py [example ...] [--all] [--pipeline] [--jobs 8]` deletes every instruction
of `SYNCHRONISATION` from the lowered examples, one at a time, runs the static checks (`tirx-check-synchronization` and
`tirx-check-rings`) and the simulator, with strict checks and with those of hardware, and prints a table: instruction,
how many were deleted, how many each of them sees, and how many nobody sees. What nobody sees is listed below it and has
to be redundant. `--all` takes all examples, `--pipeline` the kernels that copy in rings of two slots. `--seconds` ends
in time; the last line says how many deletions were tried.
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
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
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
from tirx.passes.analysis.synchronization_rules import check_synchronization
from tirx.ptx.printer import print_ptx
from tirx.runtime.describe import describe
from tirx.runtime.launch import Launch
from tirx.runtime.simulation import simulate
from tirx.sim import SimError, SimWarning
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "test"))

from unit.sim.example_launches import LAUNCHES, Example, tiles  # noqa: E402

Array = npt.NDArray[Any]
Level = Literal["strict", "hardware"]

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
# Rounds enough to come through all slots of the rings that these examples write, and again.
_LONGER = {
    "tcgen05_2cta_ring_gemm": Example(tiles(2, 2, 4, (256, 128), 256)),
    "wgmma_ring_gemm": Example(tiles(3, 1, 4, (128, 256), 512)),
    "wgmma_roles_gemm": Example(tiles(3, 1, 4, (128, 256), 512)),
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

    @property
    def is_seen(self) -> bool:
        return any(each is not None for each in (self.static, self.strict))


def lowered(path: Path, options: str) -> ModuleOp:
    """An example in the ptx dialect."""
    context = new_context()
    module = parse_located(context, path.read_text(), path.name)
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


def deletable(path: Path, options: str, names: Sequence[str] = SYNCHRONISATION) -> int:
    """How many operations `names` an example has."""
    return sum(op.name.removeprefix("ptx.") in names for op in lowered(path, options).walk())


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
        operations = [op for op in entry.walk() if op.name.removeprefix("ptx.") in names]
        numbers = range(number, number := number + len(operations))
        if chosen is not None and not set(numbers) & set(chosen):
            continue
        name, count = entry.sym_name.data, Counter[str]()
        launch = launches[name]
        expected, errors = _simulated(whole, launch, "strict")
        usual = frozenset(errors)
        if not expected or _static(entry) is not None:
            raise RuntimeError(f"'{name}' is refused as it is: {errors or _static(entry)}")
        for at, op in zip(numbers, operations, strict=True):
            mnemonic = op.name.removeprefix("ptx.")
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
            strict = _seen(text, launch, expected, "strict", usual)
            # What strict checks accept, those of hardware do.
            hardware = None if strict is None else _seen(text, launch, expected, "hardware", usual)
            yield Deletion(name, mnemonic, nth, static, strict, hardware)


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


def _seen(text: str, launch: Launch, expected: list[Array], level: Level, usual: frozenset[str]) -> str | None:
    """What a run says that is not as `usual`."""
    for seed in _SEEDS:
        arrays, said = _simulated(text, launch, level, seed)
        if (first := next((each for each in said if each not in usual), None)) is not None:
            return first
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, expected, strict=True)):
            return "wrong numbers"
    return None


def _simulated(text: str, launch: Launch, level: Level, seed: int | None = None) -> tuple[list[Array], list[str]]:
    """The arguments after a run (none after an error), and its error or the rules of its warnings."""
    example = _LONGER.get(launch.entry) or LAUNCHES[launch.entry]
    arguments = example.make(np.random.default_rng(0), "integers" if example.exact else "normal").arguments
    x, y, z = (*example.one, 1)[:3]
    warnings: list[SimWarning] = []
    try:
        simulate(
            text,
            replace(launch, grid=None),  # a part of the grid is enough
            arguments,
            grid=(x * launch.cluster[0], y, z),
            check=level,
            seed=seed,
            max_instructions=_INSTRUCTIONS,
            report=warnings.append,
        )
    except SimError as error:
        return [], [error.message.splitlines()[0]]
    return [each for each in arguments if isinstance(each, np.ndarray)], [f"warning: {each.rule}" for each in warnings]


def table(found: Sequence[Deletion]) -> str:
    """A row for each instruction."""
    rows: dict[str, list[Deletion]] = defaultdict(list)
    for each in found:
        rows[each.name].append(each)
    lines = [
        "| deleted | times | static check | simulator, strict | simulator, hardware | nobody |",
        "|---|---:|---:|---:|---:|---:|",
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
        unseen = sum(not each.is_seen for each in own)
        lines.append(f"| `{name}` | {len(own)} | {' | '.join(map(str, counts))} | {unseen} |")
    return "\n".join(lines)


def _share(path: Path, options: str, chosen: range, end: float) -> list[Deletion]:
    return list(deletions(path, options, chosen=chosen, end=end))


def _line(each: Deletion) -> str:
    shown = "; ".join(
        f"{who}: {message[:90]}"
        for who, message in (("static", each.static), ("strict", each.strict), ("hardware", each.hardware))
        if message is not None
    )
    return f"{each.kernel}: {each.name} {each.number}: {shown or 'nobody'}"


def main() -> None:
    """Prints the table, and what nobody sees."""
    parser = argparse.ArgumentParser(description="who sees a synchronisation that is missing")
    parser.add_argument("examples", nargs="*", default=EXAMPLES)
    parser.add_argument("--all", action="store_true", help="all examples")
    parser.add_argument("--pipeline", action="store_true", help="kernels that copy in rings")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="S", help="starts no deletion after that")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes a line for each deletion")
    flags = parser.parse_args()
    end = time.monotonic() + flags.seconds
    everything = sorted(path.stem for path in (ROOT / "examples").glob("*.mlir"))
    # With two slots rings come round, even those of the short loops of examples.
    options = "stages=2" if flags.pipeline else "pipeline=off"
    paths = [ROOT / "examples" / f"{name}.mlir" for name in (everything if flags.all else flags.examples)]
    found: list[Deletion] = []
    refused: list[str] = []
    with ProcessPoolExecutor(flags.jobs, get_context("spawn")) as pool:
        counts = list(pool.map(deletable, paths, [options] * len(paths)))
        shares = {
            pool.submit(_share, path, options, range(start, min(start + _SHARE, count)), end): path
            for path, count in sorted(zip(paths, counts, strict=True), key=lambda each: each[1])
            for start in range(0, count, _SHARE)
        }
        for future in as_completed(shares):
            if isinstance(error := future.exception(), RuntimeError):
                refused.append(f"{shares[future].stem}: {error}")
                continue
            for each in future.result():
                found.append(each)
                print(_line(each), file=sys.stderr, flush=True)
                if flags.json is not None:
                    with flags.json.open("a") as file:
                        print(json.dumps(asdict(each)), file=file)
    print(table(found))
    print("\n".join(_line(each) for each in found if not each.is_seen))
    print(f"{len(found)} of {sum(counts)} deletions", *sorted(set(refused)), sep="\n")


if __name__ == "__main__":
    main()
