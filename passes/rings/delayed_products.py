"""Products that run a round later than what they read, while threads work on the sums of the next iteration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tirx.dialects.tirx import CopyOp, MemorySpace, MmaOp, TileOpInterface, TileType, base_allocation
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.traits import is_pure
from tirx.passes.ir.scheduled import kernel_of
from tirx.passes.match.pipelining import NotApplicable
from tirx.passes.rings.start_values import has_registers


def can_delay(loop: scf.ForOp, products: Sequence[MmaOp], fills: Sequence[CopyOp]) -> bool:
    """Returns True if some products of a loop can run a round later than others.

    These are the ones whose sums only the next iteration uses. They start behind those of the next iteration whose sums
    threads wait for, and run while threads work on these. `products` run in every iteration and read nothing but slots
    and registers. Raises NotApplicable where something else of the loop has an effect or needs both kinds at once.
    """
    yielded = loop.body.block.last_op
    assert isinstance(yielded, scf.YieldOp)
    late = [op for op in products if is_only_carried(op, yielded)]
    early = [op for op in products if op not in late]
    if not early or not late:
        return False
    shared = {base_allocation(fill.destination) for fill in fills}
    for each in early, late:
        shared &= {base_allocation(tile) for op in each for tile in (op.a, op.b)}
    if shared:
        raise NotApplicable(late[0], f"'{late[0].name}' reads a tile that '{early[0].name}' reads, too")
    kernel = kernel_of(loop)
    held = {
        tile for op in products for tile in (op.accumulator, op.a) if TileType.of(tile).memory is MemorySpace.REGISTER
    }
    bits = sum(TileType.of(tile).num_elements * TileType.of(tile).dtype.bits for tile in held)
    if not has_registers(kernel.num_threads, bits):
        raise NotApplicable(late[0], f"'{late[0].name}' would need registers beside those of '{early[0].name}'")
    for op in loop.body.block.ops:
        if op not in {*fills, *products, yielded} and not computes(op):
            raise NotApplicable(op, f"'{op.name}' has an effect between products")
    sums = carried_sums(late, yielded, loop.body.block.args[1:])
    behind = users_among([*sums, *(op.results[0] for op in late)], loop.body.block.ops)
    if found := next((op for op in early if op in behind), None):
        raise NotApplicable(found, f"'{found.name}' needs the sum of a product of the iteration before")
    _require_apart(early, loop.body.block.ops)
    return True


def _require_apart(early: Sequence[MmaOp], ops: Iterable[Operation]) -> None:
    """Raises NotApplicable unless the products start together: one may add to the sum of another that nothing else
    uses, and needs nothing more of the others.
    """
    sums = [op.results[0] for op in early]
    computed = users_among(sums, [op for op in ops if op not in early])
    for op in early:
        needed = [operand for operand in op.operands if operand is not op.accumulator or not operand.has_one_use()]
        if op.accumulator.owner in computed or any(x in sums or x.owner in computed for x in needed):
            raise NotApplicable(op, f"'{op.name}' needs a sum of the same iteration that threads use, too")


def computes(op: Operation) -> bool:
    """Returns True for an operation, and branches of such, that only computes registers from registers."""
    if isinstance(op, TileOpInterface):
        return not op.tile_writes() and all(map(is_register_tile, op.tile_reads()))
    if isinstance(op, scf.IfOp):
        return all(computes(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    return is_pure(op) or isinstance(op, scf.YieldOp)


def is_only_carried(op: Operation, yielded: Operation) -> bool:
    """True if the only use of the result is that a loop yields it."""
    return bool(op.results) and [use.operation for use in op.results[0].uses] == [yielded]


def carried_sums(late: Iterable[Operation], yielded: Operation, carried: Sequence[SSAValue]) -> list[SSAValue]:
    """The carried values that products give the next iteration."""
    results = {op.results[0] for op in late}
    return [arg for arg, value in zip(carried, yielded.operands, strict=True) if value in results]


def users_among(values: Iterable[SSAValue], ops: Iterable[Operation]) -> set[Operation]:
    """The operations that depend on values; `ops` are in order."""
    known = set(values)
    found: set[Operation] = set()
    for op in ops:
        if any(operand in known for inner in op.walk() for operand in inner.operands):
            found.add(op)
            known.update(op.results)
    return found
