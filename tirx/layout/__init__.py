"""The layout algebra: where every element of a tile lives, on named hardware axes. Plain integers and numpy."""

from importlib import import_module
from typing import TYPE_CHECKING

from tirx.layout.axis import Axis, axis, known_axes, register_axis
from tirx.layout.banks import (
    AccessReport,
    BankLine,
    BankLines,
    analyse_access,
    analyse_ldmatrix,
    bank_of,
    bank_table,
    banks_of,
    conflict_degree,
)
from tirx.layout.compose import ComposeLayout
from tirx.layout.cute import cute_shape
from tirx.layout.dtypes import ElementType, element_type
from tirx.layout.errors import LayoutError
from tirx.layout.gf2 import BitMatrix
from tirx.layout.iters import Iter
from tirx.layout.linear import LinearLayout, from_linear, to_linear
from tirx.layout.mesh import Mesh, MeshError
from tirx.layout.parse import Layout, parse_layout, resolve
from tirx.layout.swizzle import SWIZZLE_MODES, SwizzleLayout, SwizzleMode
from tirx.layout.swizzled_slice import SwizzledSlice
from tirx.layout.tile import TileLayout
from tirx.layout.tvm_notation import to_tvm

if TYPE_CHECKING:
    from tirx.layout.slicing import DynamicSlice
    from tirx.layout.symbolic import SymbolicTileLayout

__all__ = [
    "SWIZZLE_MODES",
    "AccessReport",
    "Axis",
    "BankLine",
    "BankLines",
    "BitMatrix",
    "ComposeLayout",
    "DynamicSlice",
    "ElementType",
    "Iter",
    "Layout",
    "LayoutError",
    "Mesh",
    "MeshError",
    "LinearLayout",
    "SwizzleLayout",
    "SwizzleMode",
    "SymbolicTileLayout",
    "SwizzledSlice",
    "TileLayout",
    "analyse_access",
    "analyse_ldmatrix",
    "axis",
    "bank_of",
    "bank_table",
    "banks_of",
    "conflict_degree",
    "cute_shape",
    "element_type",
    "from_linear",
    "known_axes",
    "parse_layout",
    "register_axis",
    "resolve",
    "to_tvm",
    "to_linear",
]

_ON_DEMAND = {"DynamicSlice": "tirx.layout.slicing", "SymbolicTileLayout": "tirx.layout.symbolic"}
"""Names that are imported when they are asked for, because few programs do."""


def __getattr__(name: str) -> object:
    if name in _ON_DEMAND:
        return getattr(import_module(_ON_DEMAND[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
