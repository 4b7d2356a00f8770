"""Register tiles behind each other, and their bits as other elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import TileType, shape_text
from tirx.dialects.tirx.elements import SCALAR_ELEMENTS, is_element
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.maps import require_readable
from tirx.dialects.tirx.registers import require_register
from tirx.dialects.tirx.thread_sets import thread_set
from tirx.dialects.tirx.views import OneToOneOp
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, Iter, TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.rules import DimensionError, ElementTypeError, PartError, TileShapeError
from tirx.values import dataclass


@dataclass(frozen=True)
class _Joined(Reduced):
    """The layout of several tiles behind each other, from that of one of them: each has slots of its own."""

    dim: int = 0
    count: int = 1

    def layout(self, whole: TileLayout) -> TileLayout:
        grouped, starts = whole.group(TileType.of(self.whole).dims)
        at = starts[self.dim]
        outer = Iter(self.count, slots_of(whole), "m")
        return TileLayout((*grouped.shard[:at], outer, *grouped.shard[at:]), grouped.replica, grouped.offset)


def number_layout(threads: int, rank: int = 1) -> TileLayout:
    """Returns the layout of a register tile of one number, which each of so many threads holds."""
    warps = [(WARP_SIZE, "laneid"), (threads // WARP_SIZE, "warpid")]
    copies = warps if threads % WARP_SIZE == 0 else [(threads, "laneid" if threads < WARP_SIZE else "tx")]
    return TileLayout([Iter(1, 1, "m")] * rank, [Iter(n, 1, axis) for n, axis in copies if n > 1])


@dataclass(frozen=True)
class _Split(Reduced):
    """The layout of narrow elements from that of the wide ones that they are parts of, the low bits first."""

    count: int = 1

    def layout(self, whole: TileLayout) -> TileLayout:
        def spread(it: Iter) -> Iter:
            return Iter(it.extent, it.stride * self.count, "m") if it.axis == "m" else it

        offset = {axis: n * self.count if axis == "m" else n for axis, n in whole.offsets.items()}
        shard = [*map(spread, whole.shard), Iter(self.count, 1, "m")]
        return TileLayout(shard, tuple(map(spread, whole.replica)), offset)


def slots_of(layout: TileLayout) -> int:
    """Returns the slots of a thread that a register layout takes."""
    return layout.footprint().get("m", (0,))[-1] + 1


@irdl_op_definition
class ConcatOp(DirectOperation, TileOpInterface):
    """`%z = tirx.concat %x, %y dim(1) : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xf32, register> -> ...`

    Register tiles behind each other along a dimension, in which extents may differ.
    """

    name = "tirx.concat"

    ins = var_operand_def(TileType)
    dim = prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    assembly_format = "$ins `dim` `(` $dim `)` attr-dict `:` type($ins) `->` type($result)"

    traits = traits_def(Pure())

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [self.ins]

    def reductions(self) -> Sequence[Reduced]:
        return [_Joined(self.ins[0], self.result, (), self.dim.value.data, len(self.ins))]

    def verify_(self) -> None:
        result, d = self.result.type, self.dim.value.data
        require_register(result)
        if not self.ins or not 0 <= d < len(result.dims):
            raise DimensionError(f"expected tiles and a dimension from 0 to {len(result.dims) - 1}, found {d}")
        extents: list[int] = []
        for tile in self.ins:
            require_readable(type_ := TileType.of(tile))
            others = [type_.dims[:d] + type_.dims[d + 1 :], type_.element_type]
            if others != [result.dims[:d] + result.dims[d + 1 :], result.element_type]:
                raise TileShapeError(f"expected tiles that differ from {result} along dimension {d}, found {type_}")
            extents.append(type_.dims[d])
        if sum(extents) != result.dims[d]:
            raise TileShapeError(f"expected {sum(extents)} elements along dimension {d}, found {result.dims[d]}")


@irdl_op_definition
class BitcastOp(OneToOneOp, TileOpInterface):
    """`%y = tirx.bitcast %x : !tirx.tile<8x4xf32, register> -> !tirx.tile<8x8xf16, register>`

    The bits of a register tile as elements of another type, in row-major order. Of wider and narrower elements the last
    extent differs: the first of the narrower ones has the low bits.
    """

    name = "tirx.bitcast"

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [] if self.reductions() else [(self.source, self.result)]

    def reductions(self) -> Sequence[Reduced]:
        wide, narrow = sorted((self.source, self.result), key=lambda value: -TileType.of(value).dtype.bits)
        count = TileType.of(wide).dtype.bits // TileType.of(narrow).dtype.bits
        return [] if count == 1 else [_Split(wide, narrow, (), count)]

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        require_register(source)
        require_register(result)
        for type_ in (source, result):
            if type_.dtype.bits != type_.dtype.storage_bits:
                raise PartError(
                    f"expected elements that fill their registers, found {type_.dtype.bits} bits in {type_}"
                )
        wide, narrow = sorted((source, result), key=lambda type_: -type_.dtype.bits)
        count = wide.dtype.bits // narrow.dtype.bits
        if (*wide.dims[:-1], wide.dims[-1] * count) != narrow.dims:
            bits = source.dims[-1] * source.dtype.bits
            raise TileShapeError(
                f"expected a tile of {shape_text(source)} elements of {source.element_type} but for its last extent, "
                f"of {bits} bits, found {result}"
            )


@irdl_op_definition
class ElementOp(DirectOperation, TileOpInterface):
    """`%x = tirx.element %t : !tirx.tile<1x1xf32, register> -> f32`: the element of a tile of one, in all threads.

    `tirx.subview %x[3, %i] : !tirx.tile<8x4xf32, register> -> f32` is parsed as such a part and its element.
    """

    name = "tirx.element"

    source = operand_def(TileType)
    result = result_def(AnyAttr())

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    traits = traits_def(Pure())

    def wanted_layouts(self, target: Target | None) -> Mapping[SSAValue, TileLayout | ComposeLayout]:
        return {self.source: number_layout(thread_set(self).count, len(TileType.of(self.source).dims))}

    def verify_(self) -> None:
        source = TileType.of(self.source)
        require_register(source)
        if source.num_elements != 1:
            raise TileShapeError(f"expected a tile of one element, found {shape_text(source)}")
        if (expected := source.element_type) not in SCALAR_ELEMENTS:
            names = ", ".join(map(str, SCALAR_ELEMENTS))
            raise ElementTypeError(f"expected an element that is a number on its own ({names}), found {expected}")
        if not is_element(self.result.type, source):
            raise ElementTypeError(f"expected a result of {expected}, found {self.result.type}")
