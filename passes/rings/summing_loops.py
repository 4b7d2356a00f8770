"""The loop of a kernel that adds products to one tile of sums, which begins at zero."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors
from tirx.passes.ir.emitter import is_zero
from tirx.passes.rings.tirx_split_last_round import only_sums


def summing_loop(kernel: tirx.KernelOp, refused: Callable[[Operation, str], Exception]) -> tuple[scf.ForOp, SSAValue]:
    """The loop of products of a kernel and its sums, which begin at zero and are read behind it.

    Raises what `refused` makes of an operation and the text that says what was expected.
    """
    sums = {op.accumulator for op in kernel.walk() if isinstance(op, tirx.MmaOp)}
    loops = [op for op in kernel.body.block.ops if isinstance(op, scf.ForOp) and only_sums(op, sums)]
    loops = [op for op in loops if any(isinstance(inner, tirx.MmaOp) for inner in op.walk())]
    if len(loops) != 1 or len(sums) != 1:
        raise refused(kernel, "expected one loop that adds products to one tile of sums")
    (tile,) = sums
    loop = loops[0]
    for use in tile.uses:
        op = use.operation
        is_fill = isinstance(op, tirx.FillOp) and is_zero(op.value) and op.parent is loop.parent
        if not (loop in ancestors(op) or (is_fill and op.is_before_in_block(loop)) or is_behind(loop, op)):
            raise refused(op, "expected sums that begin at zero, and are read behind the loop")
    if not any(isinstance(use.operation, tirx.FillOp) for use in tile.uses):
        raise refused(loop, "expected sums that begin at zero")
    return loop, tile


def is_behind(loop: scf.ForOp, op: Operation) -> bool:
    """Returns True if an operation comes behind a loop in its block."""
    return op.parent is loop.parent and loop.is_before_in_block(op)
