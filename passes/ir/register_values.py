"""Register tiles as the PTX registers of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    UnrealizedConversionCastOp,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tirx.diagnostics import operation_name
from tirx.dialects.definition import built
from tirx.dialects.ptx.conversion import UnpackOp
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.tirx import PendingType, TileType
from tirx.dialects.tirx.maps import INLINED
from tirx.dialects.tirx.parts import slots_of
from tirx.layout import TileLayout
from tirx.layout.arrays import np
from tirx.passes.ir.emitter import Emitter
from tirx.rules import NoFormError, StageError
from tirx.values import dataclass

REGISTER_BITS = 32

NARROW_FLOATS = {
    "f8E4M3FN": ("float8_e4m3fn", 8),
    "f8E5M2": ("float8_e5m2", 8),
    "f8E8M0FNU": ("float8_e8m0fnu", 8),
    "f6E2M3FN": ("float6_e2m3fn", 8),
    "f6E3M2FN": ("float6_e3m2fn", 8),
    "f4E2M1FN": ("float4_e2m1fn", 4),
}
"""Floating-point types of which no element has a register of its own: the name in ml_dtypes, and bits."""


@dataclass(frozen=True)
class RegisterFormat:
    """The registers of a thread for its slots of a register tile: `count` registers of `type`, `packed` slots in each.

    Types narrower than 32 bits are packed, the first slot in the low bits.
    """

    type: Attribute
    count: int
    packed: int

    @property
    def slots(self) -> int:
        return self.count * self.packed


def float_code(type_: Attribute, number: float) -> int:
    """Returns the bits of a number in a type of `NARROW_FLOATS`."""
    import ml_dtypes

    return int(np.array([number]).astype(getattr(ml_dtypes, NARROW_FLOATS[str(type_)][0])).view(np.uint8)[0])


def no_register(user: Operation, type_: Attribute) -> NoFormError:
    """The error of an operation that uses a value which no register holds."""
    return NoFormError(user, f"'{operation_name(user)}': no PTX register holds {type_}")


def layout_of(op: Operation, tile: TileType) -> TileLayout:
    """Returns the layout of a register tile. Raises StageError at `op` if it has none."""
    if not isinstance(tile.layout, TileLayout):
        raise StageError(op, f"expected a layout on {tile}; tirx-pick-layouts chooses one")
    return tile.layout


@lru_cache(maxsize=1024)
def register_format(tile: TileType) -> RegisterFormat:
    """The registers of a tile with a layout. ValueError for a tile that is not in registers."""
    layout = tile.layout
    if not isinstance(layout, TileLayout):
        raise AssertionError(f"expected a register tile with a tile layout, found {tile}")
    slots = slots_of(layout)
    bits = tile.dtype.storage_bits
    packed = max(1, REGISTER_BITS // bits)
    match tile.element_type:
        case Float32Type():
            type_: Attribute = f32
        case Float64Type():
            type_ = f64
        case _:
            type_ = i32 if bits <= REGISTER_BITS else i64
    return RegisterFormat(type_, -(-slots // packed), packed)


def held_tile(type_: Attribute) -> TileType | None:
    """The type of the tile that a value of this type holds in registers, pending or not; None for other values."""
    if type(type_) is TileType:
        return type_
    return type_.tile_type if type(type_) is PendingType else None


def shared_out(values: Sequence[SSAValue], registers: Sequence[SSAValue]) -> list[Sequence[SSAValue]]:
    """Returns the registers of each value, from those of all: one of a scalar, those of a thread of a register tile."""
    found: list[Sequence[SSAValue]] = []
    at = 0
    for value in values:
        count = 1 if (type_ := held_tile(value.type)) is None else register_format(type_).count
        found.append(registers[at : at + count])
        at += count
    return found


def require_inlined(block: Block) -> None:
    """Raises StageError at what `tirx-inline` removes from the body of a map or fold."""
    for op in block.ops:
        if op.name in INLINED:
            raise StageError(op, f"expected no '{op.name}' in the body of an operation; run tirx-inline first")


def registers_of(emit: Emitter, tile: SSAValue) -> Sequence[SSAValue]:
    """The registers that hold a tile value; taken from the cast that made it, if one did."""
    cast = tile.owner
    if isinstance(cast, UnrealizedConversionCastOp):
        if not any(isinstance(each.type, TileType) for each in cast.inputs):
            return cast.inputs
    format_ = register_format(TileType.of(tile))
    return emit(built(UnrealizedConversionCastOp, (tile,), [format_.type] * format_.count)).results


def tile_of(emit: Emitter, registers: Sequence[SSAValue], type_: TileType) -> SSAValue:
    """The tile value that these registers hold."""
    return emit(built(UnrealizedConversionCastOp, registers, (type_,))).results[0]


def zero_register(emit: Emitter, type_: Attribute) -> SSAValue:
    """A register of this type with all bits 0."""
    if isinstance(type_, Float32Type | Float64Type):
        return emit(ConstantOp(FloatAttr(0.0, type_))).result
    if isinstance(type_, Float16Type | BFloat16Type):
        return emit(UnpackOp(emit(ConstantOp.integer(0, i32)).result, type_)).low
    return emit(ConstantOp.integer(0, type_)).result
