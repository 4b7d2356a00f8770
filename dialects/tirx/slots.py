"""One slot of a ring as a tile: a part of the storage of all slots, chosen at run time."""

from __future__ import annotations

from xdsl.dialects.builtin import I32
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.layout import ComposeLayout, Iter, TileLayout
from tirx.rules import SlotTypeError
from tirx.tcgen05.tmem import COLUMN_BITS

UNIT_BITS = {MemorySpace.SHARED: 8, MemorySpace.TENSOR: COLUMN_BITS}
"""Bits of the unit in which slots are apart: a byte of shared memory, a column of tensor memory."""

_SLOT_AXIS = {MemorySpace.SHARED: "m", MemorySpace.TENSOR: "TCol"}
"""The axis along which the slots of a ring lie."""


def slot_storage(slot: TileType, slots: int, stride: int) -> TileType:
    """The tile that holds `slots` tiles of type `slot`, each `stride` bytes behind the one before, or columns in tensor
    memory.

    In shared memory the stride is a multiple of the alignment of the slot, so that a swizzle, which acts on address
    bits, is the same in every slot.
    """
    first = Iter(slots, stride * UNIT_BITS[slot.memory] // slot.dtype.storage_bits, _SLOT_AXIS[slot.memory])
    match slot.layout:
        case TileLayout() as layout:
            whole: TileLayout | ComposeLayout = TileLayout((first, *layout.shard), layout.replica, layout.offset)
        case ComposeLayout(swizzle=swizzle, tile=tile):
            whole = ComposeLayout(swizzle, TileLayout((first, *tile.shard), tile.replica, tile.offset))
        case None:
            raise AssertionError("a slot without a layout, which tirx-lower-rings refuses")
    return TileType.get((slots, *slot.dims), slot.element_type, slot.memory, whole)


@irdl_op_definition
class SlotOp(DirectOperation):
    """`%a = tirx.slot %storage[%i] : !tirx.tile<4x128x64xf16, shared, L4> -> !tirx.tile<128x64xf16, shared, L>`

    Slot `%i` (i32) of the storage of a ring, in shared or tensor memory. Its base is an address at run time. The type
    may be another view of the same bytes. Accesses to it are ordered by the barriers of the ring: every `tirx.slot`
    stands behind the wait for it.
    """

    name = "tirx.slot"

    storage = operand_def(TileType)
    index = operand_def(I32)
    result = result_def(TileType)

    assembly_format = "$storage `[` $index `]` attr-dict `:` type($storage) `->` type($result)"

    traits = traits_def(Pure())

    @property
    def stride(self) -> int:
        """Bytes from a slot to the next, columns in tensor memory.

        Raises VerifyException for storage that is not one of slots.
        """
        storage = TileType.of(self.storage)
        layout = storage.layout.tile if isinstance(storage.layout, ComposeLayout) else storage.layout
        if layout is None or not layout.shard or layout.shard[0].extent != storage.dims[0]:
            raise SlotTypeError(f"expected storage whose layout has the slots as its first iter, found {storage}")
        return layout.shard[0].stride * storage.dtype.storage_bits // UNIT_BITS[storage.memory]

    def verify_(self) -> None:
        storage, result = TileType.of(self.storage), self.result.type
        if storage.memory not in UNIT_BITS or result.memory is not storage.memory:
            raise SlotTypeError(f"expected slots in shared or tensor memory, found {result} in {storage}")
        if storage.memory is MemorySpace.SHARED and result.span_bytes > self.stride:
            raise SlotTypeError(f"expected a slot of at most {self.stride} bytes, found {result.span_bytes}")
        if storage.memory is MemorySpace.TENSOR and result.span_columns > self.stride:
            raise SlotTypeError(f"expected a slot of at most {self.stride} columns, found {result.span_columns}")
