"""The layout algebra against Apache TVM and tensor-layouts: `python benchmarks/layouts.py` prints a table.

Needs `pip install -e '.[benchmarks]'`. All do the same thing on the same layout and the results are compared
before anything is timed. Times are processor time and the best of several repeats, which is what a loaded machine
disturbs least; the ratio is what to look at. tensor-layouts is CuTe's algebra, without named axes and cuts of a layout
by a shape.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from timeit import Timer
from typing import Any, TypeVar

import numpy as np
import tensor_layouts
from tvm.tirx import layout as tvm_layout

from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout

REPEATS = 15
FRESH = 1000
T = TypeVar("T")

REGISTERS = "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid"
REGISTER_SHAPE = (8, 16)
OPERAND = "S[(128, 2, 64) : (64, 8192, 1)]"
OPERAND_SHAPE = (128, 128)
REGION = ((0, 128), (64, 128))


def seconds(action: Callable[[], object]) -> float:
    """Best time of one call."""
    timer = Timer(action, timer=process_time)
    count, _ = timer.autorange()
    return min(timer.repeat(REPEATS, count)) / count


def seconds_fresh(make: Callable[[], T], action: Callable[[T], object]) -> float:
    """Best time of one call on an object that was never asked anything, which rules out what is remembered."""
    best = float("inf")
    for _ in range(REPEATS):
        objects = [make() for _ in range(FRESH)]
        start = process_time()
        for item in objects:
            action(item)
        best = min(best, (process_time() - start) / FRESH)
    return best


def readable(time: float) -> str:
    """A time with three digits and its unit."""
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    unit = next((name for name, scale in units.items() if time >= scale), "ns")
    return f"{time / units[unit]:.3g} {unit}"


def tvm_tile(layout: TileLayout) -> Any:
    """The same layout as an object of TVM."""
    return tvm_layout.TileLayout.from_iters(
        [tvm_layout.Iter(it.extent, it.stride, it.axis) for it in layout.shard],
        [tvm_layout.Iter(it.extent, it.stride, it.axis) for it in layout.replica],
        {tvm_layout.Axis.get(name): count for name, count in layout.offset},
    )


def import_seconds() -> float:
    """Seconds that `import tirx.layout` adds to `import numpy`: median over fresh processes, with bytecode."""
    code = "import numpy, time; t = time.process_time(); import tirx.layout; print(time.process_time() - t)"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(10)]
    return median(float(run.stdout) for run in runs[1:])


def main() -> None:
    """Compares, measures, prints."""
    registers = TileLayout.parse(REGISTERS)
    operand = ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), TileLayout.parse(OPERAND))
    their_registers = tvm_tile(registers)
    swizzle = operand.swizzle
    their_operand = tvm_layout.ComposeLayout(
        swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len, tvm_tile(operand.tile)
    )
    rows, columns = OPERAND_SHAPE

    def their_table() -> list[list[int]]:
        return [
            [int(their_operand.apply(i, j, shape=[rows, columns])["m"]) for j in range(columns)] for i in range(rows)
        ]

    cute = cute_operand(operand)

    def cute_table() -> list[list[int]]:
        return [[cute(i, j) for j in range(columns)] for i in range(rows)]

    if not np.array_equal(operand.table(OPERAND_SHAPE)["m"], np.array(cute_table())):
        raise SystemExit("error: the swizzled table of tensor-layouts differs")
    if not np.array_equal(operand.table(OPERAND_SHAPE)["m"], np.array(their_table())):
        raise SystemExit("error: the two swizzled tables differ")
    theirs = {name: int(value) for name, value in their_registers.apply(1, 10, shape=list(REGISTER_SHAPE)).items()}
    if registers.apply((1, 10), REGISTER_SHAPE) != theirs:
        raise SystemExit("error: the two coordinates differ")

    rows_of_table: list[tuple[str, Callable[[], object], Callable[[], object], Callable[[], object] | None]] = [
        ("table of a swizzled 128x128 tile", lambda: operand.table(OPERAND_SHAPE), their_table, cute_table),
        (
            "apply, one point of a swizzled tile",
            lambda: operand.apply((4, 57), OPERAND_SHAPE),
            lambda: their_operand.apply(4, 57, shape=[128, 128]),
            lambda: cute(4, 57),
        ),
        (
            "apply, one point of a register tile",
            lambda: registers.apply((1, 10), REGISTER_SHAPE),
            lambda: their_registers.apply(1, 10, shape=[8, 16]),
            None,
        ),
        ("group", lambda: operand.tile.group((128, 128)), lambda: their_operand.tile_layout.group([128, 128]), None),
        ("slice", lambda: operand.tile.slice((128, 128), REGION), lambda: their_slice(their_operand.tile_layout), None),
    ]
    print("| operation | tirx | Apache TVM | ratio | tensor-layouts | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, ours, other, third in rows_of_table:
        print_row(name, seconds(ours), seconds(other), None if third is None else seconds(third))
    print_row(
        "canonicalize, first time",
        seconds_fresh(lambda: TileLayout.parse(REGISTERS), TileLayout.canonicalize),
        seconds_fresh(lambda: tvm_tile(registers), lambda layout: layout.canonicalize()),
        seconds_fresh(lambda: tensor_layouts.Layout((8, 2, 4, 2), (16, 8, 2, 1)), tensor_layouts.coalesce),
    )
    print(f"\n`import tirx.layout` adds {readable(import_seconds())} to `import numpy`.")


def cute_operand(operand: ComposeLayout) -> Any:
    """The same operand of tensor-layouts: modes of CuTe have their fastest digit first."""
    (rows, row), (outer, step), (inner, unit) = [(it.extent, it.stride) for it in operand.tile.shard]
    swizzle = tensor_layouts.Swizzle(operand.swizzle.swizzle_len, operand.swizzle.per_element, operand.swizzle.atom_len)
    layout = tensor_layouts.Layout((rows, (inner, outer)), (row, (unit, step)))
    return tensor_layouts.compose(swizzle, layout)


def print_row(name: str, ours: float, *others: float | None) -> None:
    """One row of the table; a ratio is how many times faster tirx is. None: there is no such operation."""
    cells = [name, readable(ours)]
    for theirs in others:
        ratio = 0.0 if theirs is None else theirs / ours
        cells += ["-", "-"] if theirs is None else [readable(theirs), f"{ratio:.{0 if ratio >= 10 else 1}f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def their_slice(layout: Any) -> Any:
    """TVM's slice of the same region."""
    return layout.slice([128, 128], [tuple(bounds) for bounds in REGION])


if __name__ == "__main__":
    main()
