"""`tirx-split-sums`: sums that registers have no room for at once are computed and used up in parts of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.nesting import captured
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.dialects.traits import is_pure
from tirx.layout.arrangement import Arrangement
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.match.families import WGMMA, family_of
from tirx.passes.match.product import Product
from tirx.passes.products.tirx_fold_zero_fill import is_zero_tile
from tirx.passes.rings.start_values import has_registers
from tirx.remarks import SumsSplit
from tirx.values import dataclass
from tirx.wgmma.kinds import ROWS

_MOST_PARTS = 4


class TirxSplitSumsPass(ModulePass):
    """
    A product by wgmma that starts at zero, and the maps that combine its sums with other tiles of their shape, become
    products and maps of parts of their rows, one after the other, where registers have no room for all at once.

    A part overwrites the registers of the sums before it. Tiles in registers stay whole (`tirx.concat`): threads hold
    some rows of each part. Rows of a part are a multiple of those that all warpgroups multiply by one instruction.
    Remarks name the parts.
    """

    name = "tirx-split-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            for product in [inner for inner in kernel.walk() if isinstance(inner, tirx.MmaOp)]:
                if (split := _split_of(product)) is not None:
                    split.run()


def _split_of(product: tirx.MmaOp) -> _Split | None:
    """The parts of a product and of the maps that use its sums; None where it stays whole."""
    if product.result is None or product.accumulate is not None or not is_zero_tile(product.accumulator):
        return None
    type_ = tirx.TileType.of(product.result)
    if type_.layout is not None or product.metadata is not None or family_of(Product.of(product)) is not WGMMA:
        return None
    if product.a_type.memory is not tirx.MemorySpace.SHARED or not (maps := _maps(product)):
        return None
    inside = {product.result, *(result for op in maps for result in op.res)}
    others = {tile for op in maps for tile in op.ins if tile not in inside}
    used = {value for op in maps for value in captured(op)} - inside  # scalars of bodies, too
    if not all(_is_before(value.owner, maps[0]) for value in used) or _is_overwritten(product, maps[0]):
        return None
    if any(tirx.TileType.of(tile).layout is not None for tile in (product.a, *others)):
        return None
    threads = tirx.thread_set(product).count
    sums, rows = type_.num_elements * type_.dtype.storage_bits, type_.dims[0]
    whole = (tirx.TileType.of(tile) for tile in others)
    beside = sum(each.num_elements * each.dtype.storage_bits for each in whole if each.dims == type_.dims)
    parts = 1
    while not has_registers(threads, sums // parts + beside):
        parts *= 2
        if parts > _MOST_PARTS or rows % (parts * ROWS * (threads // WARPGROUP_THREADS)):
            return None
    return None if parts == 1 else _Split(product, maps, parts)


def _maps(product: tirx.MmaOp) -> Sequence[tirx.MapOp]:
    """The maps behind a product, in its block, of its sums and of what such maps make of them.

    Returns none if something else reads the sums, or if one looks at the number of a row.
    """
    assert product.result is not None
    found: dict[tirx.MapOp, None] = {}
    work: list[SSAValue] = [product.result]
    for value in work:
        for op in (use.operation for use in value.uses):
            if isinstance(op, tirx.MapOp) and op.parent is product.parent:
                if op not in found:
                    found[op] = None
                    work += op.res
            elif value is product.result:
                return ()
    dims = tirx.TileType.of(product.result).dims
    if any(type_.dims != dims or type_.layout for op in found for type_ in op.out_types):
        return ()
    if any(isinstance(op, tirx.IndexOp) and op.dim.value.data == 0 for each in found for op in each.body.walk()):
        return ()
    assert product.parent is not None
    return [op for op in product.parent.ops if isinstance(op, tirx.MapOp) and op in found]


def _is_before(owner: Operation | Block, other: Operation) -> bool:
    """Returns True for an operation in front of another one of its block, and for what is outside of this block."""
    return isinstance(owner, Block) or owner.parent is not other.parent or owner.is_before_in_block(other)


def _is_overwritten(product: tirx.MmaOp, other: Operation) -> bool:
    """Returns True if an operation between a product and a later one of its block may write what the product reads."""
    operands = {tirx.base_allocation(product.a), tirx.base_allocation(product.b)}
    op = product.next_op
    while op is not None and op is not other:
        for inner in op.walk():
            reads = isinstance(inner, tirx.LoadOp | tirx.MmaOp) or is_pure(inner)
            if not reads and not operands.isdisjoint(map(tirx.base_allocation, inner.operands)):
                return True
        op = op.next_op
    return False


def _rows_of(type_: tirx.TileType, rows: int) -> tirx.TileType:
    return tirx.TileType.get((rows, *type_.dims[1:]), type_.element_type, type_.memory)


@dataclass(frozen=True)
class _Split:
    """A product, the maps of its sums in their order, and the number of parts."""

    product: tirx.MmaOp
    maps: Sequence[tirx.MapOp]
    parts: int

    def run(self) -> None:
        """Puts the parts in the place of the product and the maps."""
        product, first = self.product, self.maps[0]
        rows = product.accumulator_type.dims[0] // self.parts
        type_ = _rows_of(product.accumulator_type, rows)
        sums: SSAValue | None = None
        made: dict[SSAValue, list[SSAValue]] = {result: [] for op in self.maps for result in op.res}
        for part in range(self.parts):
            emit = Emitter.before(product if sums is None else first)
            a = emit(tirx.SubviewOp.of(product.a, (part * rows, 0), (rows, product.k))).result
            start, counts = (emit(tirx.ZeroOp(type_)).result, None) if sums is None else (sums, emit.constant(0, i1))
            sums = emit(product.with_operands(a, product.b, start, counts, type_)).result
            assert product.result is not None and sums is not None
            known: dict[SSAValue, SSAValue] = {product.result: sums}
            for op in self.maps:
                copy = self._map_of(op, part, known)
                Emitter.before(first)(copy)
                for result, own in zip(op.res, copy.res, strict=True):
                    known[result] = own
                    made[result].append(own)
        for result, tiles in made.items():
            rows_of_all = {"dim": IntegerAttr(0, i32)}
            joined = tirx.ConcatOp.create(operands=tiles, result_types=[result.type], properties=rows_of_all)
            whole = Emitter.before(first)(joined).result
            whole.name_hint = result.name_hint
            result.replace_uses_with_if(whole, lambda use: use.operation not in self.maps)
        remark(product, SumsSplit(self.parts, rows))
        read = [product.accumulator, *(tile for op in self.maps for tile in op.ins)]
        for op in (*reversed(self.maps), product):
            erase(op)
        for tile in dict.fromkeys(read):
            _erase_unused(tile)

    def _map_of(self, op: tirx.MapOp, part: int, known: Mapping[SSAValue, SSAValue]) -> tirx.MapOp:
        """The map of one part; `known` has the tiles of this part that products and maps have made."""
        ins = [known[tile] if tile in known else self._part_of(tile, part) for tile in op.ins]
        types = [_rows_of(type_, type_.dims[0] // self.parts) for type_ in op.out_types]
        return tirx.MapOp.create(
            operands=ins,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            result_types=types,
            regions=[op.body.clone()],
        )

    def _part_of(self, tile: SSAValue, part: int) -> SSAValue:
        """Some rows of a tile in registers: what comes from shared memory is loaded in parts, where it was loaded."""
        type_ = tirx.TileType.of(tile)
        if type_.dims[0] == 1:
            return tile
        rows = type_.dims[0] // self.parts
        match tile.owner:
            case tirx.LoadOp() as load if _is_plain(load):
                return _loaded(load, _part(type_.dims, 0, part, rows))
            case tirx.ConvertOp(source=OpResult(op=tirx.LoadOp() as load)) as op if _is_plain(load) and op.arranged == (
                Arrangement.transposed(tirx.TileType.of(load.source).dims, (1, 0))
            ):
                loaded = _loaded(load, _part(tirx.TileType.of(load.source).dims, 1, part, rows))
                turned = Arrangement.transposed(tirx.TileType.of(loaded).dims, (1, 0))
                return Emitter.before(op)(tirx.ConvertOp.of(loaded, turned)).result
            case _:
                start, dims = _part(type_.dims, 0, part, rows)
                steps = (1,) * len(dims)
                emit = Emitter.before(self.maps[0])
                return emit(tirx.ConvertOp.of(tile, Arrangement.part(type_.dims, start, steps, dims))).result


_Part: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Where a part of a tile starts, and its extents."""


def _part(dims: tuple[int, ...], dimension: int, part: int, extent: int) -> _Part:
    """The part of so many elements along one dimension, of a tile with these extents."""
    start = tuple(part * extent if d == dimension else 0 for d in range(len(dims)))
    return start, tuple(extent if d == dimension else n for d, n in enumerate(dims))


def _is_plain(load: tirx.LoadOp) -> bool:
    """Returns True for a load of a tile in shared memory that has no layout yet."""
    type_ = tirx.TileType.of(load.source)
    return (
        type_.memory is tirx.MemorySpace.SHARED
        and type_.layout is None
        and tirx.TileType.of(load.result).layout is None
    )


def _loaded(load: tirx.LoadOp, part: _Part) -> SSAValue:
    """A part of a tile, loaded where all of it was loaded."""
    emit = Emitter.before(load)
    source = emit(tirx.SubviewOp.of(load.source, *part)).result
    type_ = tirx.TileType.of(load.result)
    return emit(tirx.LoadOp(source, tirx.TileType.get(part[1], type_.element_type, type_.memory))).result


def _erase_unused(tile: SSAValue) -> None:
    """Erases a load or zeros that nothing uses any more, and what was made of them."""
    op = tile.owner
    if isinstance(op, tirx.LoadOp | tirx.ConvertOp | tirx.ZeroOp | tirx.SplatOp) and not tile.uses:
        sources = list(op.operands)
        erase(op)
        for source in sources:
            _erase_unused(source)
