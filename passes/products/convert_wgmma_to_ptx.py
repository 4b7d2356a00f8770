"""`convert-wgmma-to-ptx`: warpgroup products on tiles become those on descriptors and registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnrealizedConversionCastOp, i1
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import wgmma
from tirx.dialects.definition import built
from tirx.dialects.nesting import walk
from tirx.dialects.ptx.conversion import UndefinedOp
from tirx.dialects.tirx import PendingType, TileType
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_values import register_format, registers_of, tile_of
from tirx.passes.ir.rule_tables import Rules
from tirx.rules import RegisterLayoutError, StageError

_RULES: Rules[Sequence[SSAValue]] = Rules()


def _registers(emit: Emitter, value: SSAValue) -> Sequence[SSAValue]:
    """The registers of a tile, pending or not."""
    if not isinstance(value.type, PendingType):
        return registers_of(emit, value)
    if isinstance(cast := value.owner, UnrealizedConversionCastOp):
        return cast.inputs
    format_ = register_format(value.type.tile_type)
    return emit(built(UnrealizedConversionCastOp, (value,), [format_.type] * format_.count)).results


def _part(emit: Emitter, tile: SSAValue, first: IntegerAttr | None, count: int) -> Sequence[SSAValue]:
    """`count` registers of a tile from element `first` on axis m on."""
    packed = register_format(TileType.of(tile)).packed
    start = 0 if first is None else first.value.data // packed
    registers = registers_of(emit, tile)[start : start + count]
    if start < 0 or len(registers) < count:
        raise RegisterLayoutError(
            emit.location, f"expected {count} registers from element {start * packed} on in {tile.type}, found fewer"
        )
    return registers


@_RULES.of(wgmma.UninitializedOp)
def _uninitialized(op: wgmma.UninitializedOp, emit: Emitter) -> Sequence[SSAValue]:
    format_ = register_format(TileType.of(op.tile))
    registers = [emit(UndefinedOp(format_.type)).result for _ in range(format_.count)]
    return [tile_of(emit, registers, TileType.of(op.tile))]


@_RULES.of(wgmma.MmaAsyncOp)
def _mma(op: wgmma.MmaAsyncOp, emit: Emitter) -> Sequence[SSAValue]:
    assert op.accumulator is not None and op.at is not None  # on tiles, by the verifier
    form = op.form
    format_ = register_format(PendingType.tile_of(op.accumulator))
    registers = list(_registers(emit, op.accumulator))
    start = op.at.value.data // format_.packed
    part = slice(start, start + form.d_registers)
    # A product that overwrites the sums of another one takes over their registers.
    is_tied = op.overwrite is not None and all(isinstance(each.owner, wgmma.MmaAsyncOp) for each in registers[part])
    product = emit(
        wgmma.MmaAsyncOp.of(
            form,
            op.a if op.a_is_descriptor else _part(emit, op.a[0], op.a_at, form.a_registers),
            op.b,
            registers[part] if is_tied or op.overwrite is None else [],
            [format_.type] * form.d_registers,
            scale_d=emit.constant(0, i1) if is_tied else op.scale_d,
            metadata=None if op.metadata is None else _part(emit, op.metadata, op.metadata_at, 1)[0],
            selector=op.selector,
            transpose_a=op.transpose_a is not None,
            transpose_b=op.transpose_b is not None,
        )
    )
    registers[part] = product.d
    return emit(built(UnrealizedConversionCastOp, registers, [op.d[0].type])).results


@_RULES.of(wgmma.WaitGroupOp)
def _wait(op: wgmma.WaitGroupOp, emit: Emitter) -> Sequence[SSAValue]:
    values = [_registers(emit, value) for value in op.values]
    emit(wgmma.WaitGroupOp(op.pending))
    return [tile_of(emit, registers, TileType.of(tile)) for registers, tile in zip(values, op.tiles, strict=True)]


class ConvertWgmmaToPtxPass(ModulePass):
    """Lowers the `wgmma` instructions on tiles to those on registers.

    Register tiles, pending ones too, become the registers of each thread, through casts that `convert-tirx-to-ptx`
    resolves. Descriptors must have been materialized.
    """

    name = "convert-wgmma-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(walk(op)):
            if isinstance(inner, wgmma.SmemDescriptorOp):
                message = f"expected materialized descriptors, found {inner.name}"
                raise StageError(inner, f"{message}; run tirx-materialize-descriptors first")
            if (rule := _RULES.get(type(inner))) is None:
                continue
            values = (*inner.operands, *inner.results)
            if not any(isinstance(value.type, TileType | PendingType) for value in values):
                continue
            results = rule(inner, Emitter.before(inner))
            for old, new in zip(inner.results, results, strict=True):
                old.replace_all_uses_with(new)
            erase(inner)
