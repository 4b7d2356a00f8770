"""
The `tcgen05` dialect: Blackwell's tensor cores and tensor memory, one step above PTX.

Operations carry tiles with layouts and descriptors that still say what they describe. Allocation, commits, waits
and fences are explicit. PTX ISA, "TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

from xdsl.ir import Dialect

from tirx.dialects.tcgen05.allocation import AllocOp, DeallocOp, RelinquishAllocPermitOp, TileOp
from tirx.dialects.tcgen05.attributes import (
    Collector,
    CollectorAttr,
    FencePosition,
    FencePositionAttr,
    InstructionDescriptorAttr,
    Reduction,
    ReductionAttr,
    WaitFor,
    WaitForAttr,
    ZeroColumnMaskAttr,
)
from tirx.dialects.tcgen05.common import first_cell, same_registers
from tirx.dialects.tcgen05.descriptors import (
    CpDescriptorOp,
    InstructionDescriptorOp,
    SmemDescriptorOp,
    ZeroColumnMaskOp,
)
from tirx.dialects.tcgen05.movement import CpOp, LdOp, LdRedOp, ShiftOp, StOp
from tirx.dialects.tcgen05.products import MmaBlockScaleOp, MmaOp, MmaWsOp
from tirx.dialects.tcgen05.synchronization import CommitOp, FenceOp, WaitOp

TCGEN05 = Dialect(
    "tcgen05",
    [
        AllocOp,
        RelinquishAllocPermitOp,
        DeallocOp,
        TileOp,
        SmemDescriptorOp,
        CpDescriptorOp,
        InstructionDescriptorOp,
        ZeroColumnMaskOp,
        MmaOp,
        MmaBlockScaleOp,
        MmaWsOp,
        CommitOp,
        LdOp,
        LdRedOp,
        StOp,
        CpOp,
        ShiftOp,
        WaitOp,
        FenceOp,
    ],
    [
        InstructionDescriptorAttr,
        ZeroColumnMaskAttr,
        FencePositionAttr,
        WaitForAttr,
        CollectorAttr,
        ReductionAttr,
    ],
)

__all__ = [
    "TCGEN05",
    "AllocOp",
    "Collector",
    "CollectorAttr",
    "CommitOp",
    "CpDescriptorOp",
    "CpOp",
    "DeallocOp",
    "FenceOp",
    "FencePosition",
    "FencePositionAttr",
    "InstructionDescriptorAttr",
    "InstructionDescriptorOp",
    "LdOp",
    "LdRedOp",
    "MmaBlockScaleOp",
    "MmaOp",
    "MmaWsOp",
    "Reduction",
    "ReductionAttr",
    "RelinquishAllocPermitOp",
    "ShiftOp",
    "SmemDescriptorOp",
    "StOp",
    "TileOp",
    "WaitFor",
    "WaitForAttr",
    "WaitOp",
    "ZeroColumnMaskAttr",
    "ZeroColumnMaskOp",
    "first_cell",
    "same_registers",
]
