"""
The `tirx` dialect: tiles in the memories of a GPU, the layouts that place them and what a kernel does on them.

Tile operations have sequential semantics: each is complete before the next begins. The passes that lower them own
all synchronisation.
"""

from xdsl.ir import Dialect

from tirx.dialects.tirx.attributes import (
    ColumnList,
    ColumnRuns,
    ComposeLayoutAttr,
    LayoutAttr,
    RawColumns,
    Scope,
    ScopeAttr,
    SwizzleLayoutAttr,
    TileLayoutAttr,
    TileType,
    ZeroColumns,
    ZeroColumnsAttr,
    layout_attr,
)
from tirx.dialects.tirx.kernel import (
    BlockIdOp,
    CtaRankOp,
    GridAxis,
    GridAxisAttr,
    KernelOp,
    OnThreads,
    ReturnOp,
    ThreadSet,
    thread_set,
)
from tirx.dialects.tirx.ops import AllocOp, CopyOp, FillOp, ViewOp, strided_layout
from tirx.dialects.tirx.parts import ReshapeOp, SubviewOp, WordsOp, owner_root, parts_in_use
from tirx.dialects.tirx.product import MmaOp
from tirx.dialects.tirx.registers import AddressOp, BarrierOp, LeaderOp, LoadOp, MmaSyncOp, SplatOp, StoreOp

TIRX = Dialect(
    "tirx",
    [
        AllocOp,
        BlockIdOp,
        CopyOp,
        CtaRankOp,
        FillOp,
        KernelOp,
        MmaOp,
        ReshapeOp,
        ReturnOp,
        SubviewOp,
        ViewOp,
        WordsOp,
        AddressOp,
        BarrierOp,
        LeaderOp,
        LoadOp,
        MmaSyncOp,
        SplatOp,
        StoreOp,
    ],
    [
        ComposeLayoutAttr,
        GridAxisAttr,
        ScopeAttr,
        SwizzleLayoutAttr,
        TileLayoutAttr,
        TileType,
        ZeroColumnsAttr,
    ],
)

__all__ = [
    "TIRX",
    "AddressOp",
    "AllocOp",
    "BarrierOp",
    "BlockIdOp",
    "ColumnList",
    "ColumnRuns",
    "ComposeLayoutAttr",
    "CopyOp",
    "CtaRankOp",
    "FillOp",
    "GridAxis",
    "GridAxisAttr",
    "KernelOp",
    "LayoutAttr",
    "LeaderOp",
    "LoadOp",
    "MmaOp",
    "MmaSyncOp",
    "OnThreads",
    "RawColumns",
    "ReshapeOp",
    "ReturnOp",
    "Scope",
    "ScopeAttr",
    "SplatOp",
    "StoreOp",
    "SubviewOp",
    "SwizzleLayoutAttr",
    "ThreadSet",
    "TileLayoutAttr",
    "TileType",
    "ViewOp",
    "WordsOp",
    "ZeroColumns",
    "ZeroColumnsAttr",
    "layout_attr",
    "owner_root",
    "parts_in_use",
    "strided_layout",
    "thread_set",
]
