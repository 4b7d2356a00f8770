"""Layouts of register tiles that arithmetic ties together, and the changes of layout between those that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import BroadcastOp, ConvertOp, KernelOp, MapOp, ReduceOp, TileType, broadcast_dims
from tirx.layout import LayoutError, TileLayout
from tirx.layout.reduction import reduced
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_classes import RegisterClass, RegisterClasses, same_layout
from tirx.passes.ir.register_values import REGISTER_BITS
from tirx.rules import RegisterLayoutError
from tirx.values import dataclass


@dataclass(frozen=True)
class Reduced:
    """`part` has one element where `whole` has several along `dims`: its layout follows from that of `whole`."""

    whole: SSAValue
    part: SSAValue
    dims: tuple[int, ...]

    def layout(self, whole: TileLayout) -> TileLayout:
        """The layout of the part. Raises LayoutError if there is none."""
        return reduced(whole, TileType.of(self.whole).dims, self.dims)


def _tile_layout(value: SSAValue) -> TileLayout | None:
    layout = TileType.of(value).layout
    return layout if isinstance(layout, TileLayout) else None


def same_slots(op: Operation) -> Sequence[SSAValue]:
    """The register tiles that an operation of arithmetic reads and writes slot by slot, those of results last."""
    match op:
        case MapOp():
            shape = op.out_types[0].dims
            return [*(tile for tile in op.ins if TileType.of(tile).dims == shape), *op.res]
        case ConvertOp():
            return [op.source, op.result]
        case BroadcastOp() if TileType.of(op.source).dims == op.result.type.dims:
            return [op.source, op.result]
        case _:
            return []


def reductions(op: Operation) -> Iterator[Reduced]:
    """How the operands and results of an operation of arithmetic that have another shape follow from the others."""
    match op:
        case MapOp():
            whole = op.res[0]
            for tile in op.ins:
                if dims := broadcast_dims(TileType.of(tile), TileType.of(whole)):
                    yield Reduced(whole, tile, dims)
        case ReduceOp():
            yield Reduced(op.source, op.result, op.along)
        case BroadcastOp():
            if dims := broadcast_dims(TileType.of(op.source), op.result.type):
                yield Reduced(op.result, op.source, dims)
        case _:
            pass


class LayoutFlow:
    """Carries the layouts of register tiles along arithmetic to those that have none."""

    def __init__(self, kernel: KernelOp, registers: RegisterClasses):
        self.registers = registers
        self.ops = [op for op in kernel.walk() if isinstance(op, MapOp | ReduceOp | BroadcastOp | ConvertOp)]

    def followers(self) -> set[RegisterClass]:
        """The classes whose layout follows from that of another one, should it have one."""
        return {self.registers.of(found.part) for op in self.ops for found in reductions(op)}

    def has_rows(self, registers: RegisterClass) -> bool:
        """Whether rows of tiles in the layout of a class are reduced to one number, or meet one number for each row."""
        same = self._same(registers)
        return any(
            self.registers.of(found.whole) in same and len(registers.type.dims) - 1 in found.dims
            for op in self.ops
            for found in reductions(op)
        )

    def combined(self, registers: RegisterClass) -> list[tuple[int, ...]]:
        """The dimensions along which tiles in the layout of a class are reduced, for each reduction."""
        same = self._same(registers)
        return [op.along for op in self.ops if isinstance(op, ReduceOp) and self.registers.of(op.source) in same]

    def _same(self, registers: RegisterClass) -> list[RegisterClass]:
        """The classes that arithmetic ties to one slot by slot, that one first."""
        same = [registers]
        for one in same:
            for op in self.ops:
                tied = [self.registers.of(value) for value in same_slots(op)]
                if one in tied and not isinstance(op, ConvertOp):
                    same += [other for other in tied if other not in same]
        return same

    def spread(self) -> Iterator[tuple[RegisterClass, TileLayout, str]]:
        """Yields a class without a layout, the layout that it gets and why, until there is none; the caller places."""
        progress = True
        while progress:
            progress = False
            for op in self.ops:
                for found in self._of(op):
                    if found[0].type.layout is None:
                        progress = True
                        yield found

    def _of(self, op: Operation) -> Iterator[tuple[RegisterClass, TileLayout, str]]:
        tied = same_slots(op)
        if isinstance(op, ConvertOp) and all(self.registers.of(value).memory for value in tied):
            return  # each end has memory of its own to fit
        layout = next((layout for value in tied if (layout := _tile_layout(value)) is not None), None)
        if layout is not None:
            for value in same_slots(op):
                if _tile_layout(value) is None:
                    yield self.registers.of(value), layout, f"that of the other tiles of {op.name}"
                    break
        for found in list(reductions(op)):
            if (whole := _tile_layout(found.whole)) is None or _tile_layout(found.part) is not None:
                continue
            try:
                part = found.layout(whole)
            except LayoutError as e:
                raise LocatedError(op, str(e)) from e
            yield self.registers.of(found.part), part, f"one element for several of {op.name}"
            break


def insert_conversions(kernel: KernelOp) -> None:
    """Changes the layouts of operands where those of an operation of arithmetic do not fit together."""
    for op in list(kernel.walk()):
        if isinstance(op, ConvertOp):
            _drop_identity(op)
        if not isinstance(op, MapOp | ReduceOp | BroadcastOp):
            continue
        try:
            _fit(op)
        except LayoutError as e:
            raise LocatedError(op, str(e)) from e


def _drop_identity(op: ConvertOp) -> None:
    """Removes a change of layout between layouts that are one."""
    source, result = _tile_layout(op.source), _tile_layout(op.result)
    if source is None or result is None or not same_layout(source, result):
        return
    value = op.source
    if value.type != op.result.type:
        value = Emitter.before(op)(UnrealizedConversionCastOp.get([value], [op.result.type])).results[0]
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _fit(op: MapOp | ReduceOp | BroadcastOp) -> None:
    emit = Emitter.before(op)
    match op:
        case MapOp():
            common = _common(op)
            for i, tile in enumerate(op.ins):
                dims = broadcast_dims(TileType.of(tile), op.out_types[0])
                op.operands[i] = _converted(emit, tile, reduced(common, op.out_types[0].dims, dims) if dims else common)
            for result in op.res:
                _convert_result(op, result, common)
        case ReduceOp():
            if (source := _tile_layout(op.source)) is not None:
                _convert_result(op, op.result, reduced(source, TileType.of(op.source).dims, op.along))
        case BroadcastOp():
            if (result := _tile_layout(op.result)) is not None:
                dims = broadcast_dims(TileType.of(op.source), op.result.type)
                wanted = reduced(result, op.result.type.dims, dims) if dims else result
                op.operands[0] = _converted(emit, op.source, wanted)


def _common(op: MapOp) -> TileLayout:
    """The layout in which most of the tiles of a map are; that of the first operand among equals."""
    layouts = [layout for tile in same_slots(op) if (layout := _tile_layout(tile)) is not None]
    assert layouts, op.name  # tirx-pick-layouts has chosen them before
    return max(layouts, key=lambda one: sum(same_layout(one, other) for other in layouts))


def _converted(emit: Emitter, tile: SSAValue, layout: TileLayout) -> SSAValue:
    found = _tile_layout(tile)
    if found is None or same_layout(found, layout):
        return tile
    return emit(ConvertOp(tile, TileType.of(tile).with_layout(layout))).result


def _convert_result(op: Operation, result: SSAValue, layout: TileLayout) -> None:
    """Lets `op` make its result in `layout`, and what uses it have it as before."""
    found = _tile_layout(result)
    if found is None or same_layout(found, layout):
        return
    wanted = TileType.of(result)
    made = Rewriter.replace_value_with_new_type(result, wanted.with_layout(layout))
    uses = list(made.uses)
    converted = Emitter.after(op)(ConvertOp(made, wanted)).result
    for use in uses:
        use.operation.operands[use.index] = converted


def mismatch(op: Operation) -> str | None:
    """Why the layouts of the tiles of an operation of arithmetic do not fit together; None if they do."""
    tied = [layout for tile in same_slots(op) if (layout := _tile_layout(tile)) is not None]
    if not isinstance(op, ConvertOp):
        for layout in tied[1:]:
            if not same_layout(tied[0], layout):
                return f"expected tiles of one layout, found {tied[0]} and {layout}"
    for found in reductions(op):
        whole, part = _tile_layout(found.whole), _tile_layout(found.part)
        if whole is None or part is None:
            continue
        try:
            expected = found.layout(whole)
        except LayoutError as e:
            return str(e)
        if not same_layout(expected, part):
            return f"expected a tile with layout {expected}, which follows from {whole}, found {part}"
    return None


MOST_REGISTERS = 1024
"""
Registers of 32 bits of one thread that a register tile may take. A thread has 255 at most, and more are spilled; a tile
of 128x256 f32 on a single warp is still compiled. Every register is an instruction or more, so time and memory of
compiling and of `ptxas` grow with them.
"""


def check_registers(op: Operation, bits: int, threads: int) -> None:
    """Raises RegisterLayoutError at `op` if so many bits of a tile are too many for so many threads."""
    registers = -(-bits // (REGISTER_BITS * threads))
    if registers > MOST_REGISTERS:
        raise RegisterLayoutError(
            op,
            f"expected a register tile of at most {MOST_REGISTERS} registers in each of {threads} threads, "
            f"found {registers}; take smaller tiles or more threads",
        )
