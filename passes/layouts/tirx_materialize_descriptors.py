"""`tirx-materialize-descriptors`: symbolic descriptors become the constants that the hardware reads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.nesting import walk
from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.tcgen05 import CpDescriptorOp, InstructionDescriptorOp, SmemDescriptorOp, ZeroColumnMaskOp
from tirx.dialects.tirx import AddressOp, ReshapeOp, SlotOp, TransposeOp
from tirx.dialects.tirx.thread_sets import thread_owner
from tirx.dialects.wgmma import SmemDescriptorOp as WgmmaDescriptorOp
from tirx.hw.features import supports
from tirx.layout.caching import bounded_cache
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.match.product import legal, target_of
from tirx.rules import OperandStepError
from tirx.smem.canonical_form import OperandSlice
from tirx.smem.smem_descriptor import WIDE_ADDRESSES, SmemDescriptor
from tirx.smem.swizzle_modes import SwizzleName
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.tcgen05.scale_copy import BLOCK_DESCRIPTOR
from tirx.wgmma.kinds import WARPGROUP_THREADS

_ADDRESS_UNIT = 16
"""The start address field counts 16-byte units (PTX ISA, "Shared Memory Descriptor", matrix-descriptor-encode)."""

_START_FIELD = 0x3FFF
_WIDE_START_FIELD = 0x7FFF
"""The field on targets with `WIDE_ADDRESSES`."""

_LBO_SHIFT = 16
"""The first bit of the leading dimension byte offset."""


_Bases = dict[tuple[Hashable, ...], SSAValue]
"""Descriptors of whole tiles that a block has computed: block, tile, constant fields, grid of warpgroups."""


@bounded_cache
def _template(lbo: int | None, sbo: int | None, swizzle: SwizzleName, lbo_absolute: bool) -> int:
    """The constant fields of a descriptor. Raises LegalityError for what they do not hold."""
    return SmemDescriptor(start=0, lbo=lbo, sbo=sbo, swizzle=swizzle, lbo_absolute=lbo_absolute).encode()


def _smem_descriptor(op: SmemDescriptorOp, block: Block, bases: _Bases) -> SSAValue:
    """The descriptor of a slice: the constant fields, the tile's address, and a plain add for the slice."""
    with legal(op):
        part = op.slices()[op.step.value.data]
        layout = part.canonical
        template = _template(layout.lbo, layout.sbo, layout.swizzle, layout.lbo_absolute)
    return _at(op, op.tile, template, part.offset_bytes, block, bases)


def _at(op: Operation, tile: SSAValue, template: int, offset_bytes: int, block: Block, bases: _Bases) -> SSAValue:
    """The descriptor with these constant fields that starts so many bytes after the base of a tile; its LBO counts from
    there, too, in absolute mode."""
    key, emit = (block, tile, template), Emitter.before(op)
    if key not in bases:
        target = target_of(op)
        field = _WIDE_START_FIELD if target is not None and supports(target, WIDE_ADDRESSES) else _START_FIELD
        first, further = _start(emit, tile, field)
        start = emit.extend(first if further is None else emit.add(first, further), i64)
        constant = emit.constant(template, i64)
        if SmemDescriptor.decode(template).lbo_absolute:
            bases[key] = emit.add(emit.mul(start, 1 + (1 << _LBO_SHIFT)), constant)
        else:
            bases[key] = emit.bit_or(start, constant)
    # The tiles of a block end below what the field holds (see `operand_limit`), so the sum never leaves it.
    return emit.add(bases[key], offset_bytes // _ADDRESS_UNIT)


def _start(emit: Emitter, tile: SSAValue, field: int) -> tuple[SSAValue, SSAValue | None]:
    """The start address field (i32) of a tile; of a slot that of the first one, and how far the slot is behind it.

    The sum never leaves the field, which holds all addresses of shared memory.
    """
    at = tile
    while isinstance(at.owner, ReshapeOp | TransposeOp):
        at = at.owner.source
    slot = at.owner if isinstance(at.owner, SlotOp) else None
    units, rest = (0, 0) if slot is None else divmod(slot.stride, _ADDRESS_UNIT)
    if rest:
        slot = None
    address = emit(AddressOp(tile if slot is None else slot.storage)).result
    first = emit.bit_and(emit.div(address, _ADDRESS_UNIT), field)
    return first, None if slot is None else emit.mul(slot.index, units)


@bounded_cache
def _constant(slices: tuple[OperandSlice, ...]) -> tuple[int, tuple[int, int, int] | None, tuple[int, ...]]:
    """Returns the constant fields of descriptors, the grid of warpgroups, None where there is none, and the address in
    units of the part of each. Raises LegalityError where no descriptor reads a part.
    """
    parts = [WgmmaDescriptor.of(part.descriptor()) for part in slices]
    template, last = (replace(parts[i], start=0).encode() for i in (0, -1))
    starts = tuple([part.start // _ADDRESS_UNIT for part in parts])
    return template, _grid(starts) if template == last else None, starts


def _wgmma_descriptor(op: WgmmaDescriptorOp, bases: _Bases) -> SSAValue:
    """The descriptor of a warpgroup's part: the constant fields, the tile's address, and the offset of the warpgroup.

    Raises LocatedError where no descriptor reads a part, or the parts are not equally far apart.
    """
    with legal(op):
        template, grid, starts = _constant(op.slices())
    if grid is None:
        raise OperandStepError(
            op,
            "expected warpgroups that are equally far apart in the tile, found descriptors that start at bytes "
            + ", ".join(str(start * _ADDRESS_UNIT) for start in starts),
        )
    start, *others = starts
    emit, key = Emitter.before(op), (op.parent, op.tile, template, grid if others else None, op.warpgroup)
    if (base := bases.get(key)) is None:
        base = bases[key] = _wgmma_base(emit, op, template, grid if others else None)
    return emit.add(base, start)


def _wgmma_base(emit: Emitter, op: WgmmaDescriptorOp, template: int, grid: tuple[int, int, int] | None) -> SSAValue:
    """The descriptor of the whole tile, for the warpgroup in a grid of them, if there is one."""
    low, further = _start(emit, op.tile, _START_FIELD)
    low = emit.add(low, template % (1 << 32))
    if grid is not None:
        inner, across, along = grid
        owner = thread_owner(op)
        first = 0 if owner is None else owner.thread_set.first // WARPGROUP_THREADS
        first += 0 if op.warpgroup is None else op.warpgroup.value.data
        thread = emit(ReadSpecialOp("tid.x")).result
        warpgroup = emit.add(emit.div(thread, WARPGROUP_THREADS), -first)
        for part, distance in ((emit.div, across), (emit.mod, along)):
            if distance:
                low = emit.add(low, emit.mul(part(warpgroup, inner), distance))
    upper = emit.constant(template >> 32 << 32, i64)
    base = emit.bit_or(emit.extend(low, i64), upper)
    if further is not None:
        base = emit.add(base, emit.extend(further, i64))
    return base


def _grid(starts: Sequence[int]) -> tuple[int, int, int] | None:
    """The grid of warpgroups that reads a tile from these places: how many along its inner dimension, and how far apart
    they are along the outer and the inner one. None where there is no such grid.
    """
    count = len(starts)
    for inner in (each for each in range(1, count + 1) if count % each == 0):
        across = starts[inner] - starts[0] if inner < count else 0
        along = starts[1] - starts[0] if inner > 1 else 0
        if all(place == starts[0] + i // inner * across + i % inner * along for i, place in enumerate(starts)):
            return inner, across, along
    return None


_DESCRIPTORS = frozenset(
    (SmemDescriptorOp, CpDescriptorOp, WgmmaDescriptorOp, InstructionDescriptorOp, ZeroColumnMaskOp)
)


class TirxMaterializeDescriptorsPass(ModulePass):
    """Derives the bits of every shared-memory, instruction and zero-column mask descriptor from layouts and types.

    What is left of a shared-memory descriptor at run time is the address of its tile.
    """

    name = "tirx-materialize-descriptors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bases: _Bases = {}
        for symbolic in walk(op):
            if type(symbolic) not in _DESCRIPTORS:
                continue
            match symbolic:
                case SmemDescriptorOp() if (block := symbolic.parent) is not None:
                    value = _smem_descriptor(symbolic, block, bases)
                case CpDescriptorOp() if (block := symbolic.parent) is not None:
                    template = BLOCK_DESCRIPTOR.encode()
                    value = _at(symbolic, symbolic.tile, template, symbolic.offset.value.data, block, bases)
                case WgmmaDescriptorOp():
                    value = _wgmma_descriptor(symbolic, bases)
                case InstructionDescriptorOp():
                    value = Emitter.before(symbolic).constant(symbolic.descriptor.data.encode(), i32)
                case ZeroColumnMaskOp():
                    value = Emitter.before(symbolic).constant(symbolic.mask.data.encode(), i64)
                case _:
                    continue
            symbolic.results[0].replace_all_uses_with(value)
            erase(symbolic)
