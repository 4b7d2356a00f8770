"""Asynchronous copies as the hardware starts them: by one thread to or from a tensor map, or by every thread its share.

`tirx-lower-rings` and the copies of sequential kernels become these; `convert-tirx-to-ptx` chooses the boxes, the
tensor maps and the instructions. The wait for a copy stands beside it: mbarriers and groups are operations of `ptx`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, i16, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType, shape_text
from tirx.dialects.tirx.engines import ReductionAttr
from tirx.rules import ElementTypeError, InstructionFormError, TileMemoryError, TileShapeError

CTA_GROUPS = (1, 2)

_EFFECTS = (MemoryReadEffect(), MemoryWriteEffect())


class _BulkCopyOp(DirectOperation):
    """A copy between a tile of global memory and one of shared memory."""

    source = operand_def(TileType)
    destination = operand_def(TileType)

    LOADS: ClassVar = True
    """Whether the source is the end in global memory."""

    traits = traits_def(*_EFFECTS)

    @property
    def global_tile(self) -> SSAValue:
        """The end in global memory."""
        return self.source if self.LOADS else self.destination

    @property
    def shared_tile(self) -> SSAValue:
        """The end in shared memory."""
        return self.destination if self.LOADS else self.source

    def verify_(self) -> None:
        outside, inside = TileType.of(self.global_tile), TileType.of(self.shared_tile)
        for type_, memory in ((outside, MemorySpace.GLOBAL), (inside, MemorySpace.SHARED)):
            if type_.memory is not memory:
                raise TileMemoryError(f"expected a tile in {memory.place}, found one in {type_.memory.place}")
        if outside.dims != inside.dims:
            raise TileShapeError(
                f"expected tiles of one shape, found {shape_text(outside)} in global and {shape_text(inside)} in "
                f"shared memory"
            )
        if outside.element_type != inside.element_type:
            raise ElementTypeError(
                f"expected tiles of one element type, found {outside.element_type} in global and "
                f"{inside.element_type} in shared memory"
            )


@irdl_op_definition
class TmaLoadOp(_BulkCopyOp):
    """`tirx.tma_load %view, %tile, %mbarrier : !tirx.tile<..., global>, !tirx.tile<..., shared>`

    The thread that comes here starts to copy a tile; its bytes count on the mbarrier (i32, a shared address), which
    must expect the whole tile, the part outside of the tensor included. With `multicast %mask` (i16) every block of the
    cluster that is in the mask gets the tile, at the same offset and on the mbarrier at the same offset. `cta_group 2`
    lets the mbarrier be that of the other block of the pair (PTX ISA, "cp.async.bulk.tensor").
    """

    name = "tirx.tma_load"

    # In this order, which is that of the constructor: what a class defines comes before what it inherits.
    source = operand_def(TileType)
    destination = operand_def(TileType)
    barrier = operand_def(i32)
    multicast = opt_operand_def(i16)
    cta_group = opt_prop_def(IntegerAttr[I32])

    assembly_format = (
        "$source `,` $destination `,` $barrier (`multicast` $multicast^)? (`cta_group` $cta_group^)? attr-dict "
        "`:` type($source) `,` type($destination)"
    )

    def verify_(self) -> None:
        super().verify_()
        if self.cta_group is not None and (found := self.cta_group.value.data) not in CTA_GROUPS:
            raise InstructionFormError(f"expected cta_group 1 or 2, found {found}")


@irdl_op_definition
class TmaStoreOp(_BulkCopyOp):
    """`tirx.tma_store %tile, %view reduce(add) : !tirx.tile<..., shared>, !tirx.tile<..., global>`

    The thread that comes here starts to copy a tile to global memory, or to combine it with what is there. It joins the
    thread's bulk group: `ptx.cp.async.bulk.commit_group` and `wait_group` complete it. Elements outside of the tensor
    are dropped (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor").
    """

    name = "tirx.tma_store"
    LOADS: ClassVar = False

    reduce = opt_prop_def(ReductionAttr)

    assembly_format = (
        "$source `,` $destination (`reduce` `(` $reduce^ `)`)? attr-dict `:` type($source) `,` type($destination)"
    )


@irdl_op_definition
class CpAsyncTileOp(_BulkCopyOp):
    """`tirx.cp_async %view, %tile : !tirx.tile<..., global>, !tirx.tile<..., shared>`

    All threads that run the region come here, and each starts to copy its share of the tile. The copies join the group
    of their thread: `ptx.cp.async.commit_group`, `wait_group` and `mbarrier.arrive` complete them.
    """

    name = "tirx.cp_async"

    assembly_format = "$source `,` $destination attr-dict `:` type($source) `,` type($destination)"
