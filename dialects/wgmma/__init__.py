"""
The `wgmma` dialect: Hopper's warpgroup products, one step above PTX.

Accumulators are values: register tiles, pending from the product that writes them to the wait. Descriptors still say
what they describe. Fences, commits and waits are explicit. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from xdsl.ir import Dialect

from tirx.dialects.wgmma.descriptors import RowsAttr, SmemDescriptorOp
from tirx.dialects.wgmma.products import MmaAsyncOp, UninitializedOp
from tirx.dialects.wgmma.synchronization import CommitGroupOp, FenceOp, WaitGroupOp

WGMMA = Dialect(
    "wgmma", [SmemDescriptorOp, UninitializedOp, MmaAsyncOp, FenceOp, CommitGroupOp, WaitGroupOp], [RowsAttr]
)

__all__ = [
    "WGMMA",
    "CommitGroupOp",
    "FenceOp",
    "MmaAsyncOp",
    "RowsAttr",
    "SmemDescriptorOp",
    "UninitializedOp",
    "WaitGroupOp",
]
