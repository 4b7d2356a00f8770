"""The loop of a kernel that adds products to one tile of sums, which begins at zero."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors
from tirx.dialects.traits import is_pure, is_terminator
from tirx.passes.ir.emitter import is_zero


def summing_loop(kernel: tirx.KernelOp, refused: Callable[[Operation, str], Exception]) -> tuple[scf.ForOp, SSAValue]:
    """The loop of products of a kernel and its sums, which begin at zero and are read behind it.

    Raises what `refused` makes of an operation and the text that says what was expected.
    """
    sums = {op.accumulator for op in kernel.walk() if isinstance(op, tirx.MmaOp)}
    loops = [op for op in kernel.body.block.ops if isinstance(op, scf.ForOp) and _only_sums(op, sums)]
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


def _only_sums(loop: scf.ForOp, sums: set[SSAValue]) -> bool:
    """Returns True if all that is left of a loop behind it are the sums of its products."""
    if loop.iter_args:
        return False
    for op in loop.body.walk():
        read = {value for value in op.operands if value in sums}
        match op:
            case tirx.MmaOp():
                if read != {op.accumulator} or op.accumulate is not None:
                    return False
            case tirx.CopyOp() | tirx.LoadOp() | tirx.FillOp() if not read:
                if isinstance(op, tirx.CopyOp) and tirx.TileType.of(op.destination).memory is tirx.MemorySpace.GLOBAL:
                    return False
            case tirx.MapOp() if not read and not tirx.tile_effects(op).writes:
                pass
            case _ if read or not (is_pure(op) or is_terminator(op)):
                return False
            case _:
                pass
    return True
