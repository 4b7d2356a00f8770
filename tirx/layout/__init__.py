"""The layout algebra: where every element of a tile lives, on named hardware axes. Plain integers and numpy."""

from importlib import import_module
from typing import TYPE_CHECKING

from tirx.layout.axis import Axis, axis, known_axes, register_axis
from tirx.layout.compose import ComposeLayout
from tirx.layout.dtypes import ElementType, element_type
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter
from tirx.layout.parse import Layout, concrete, parse_layout, resolve
from tirx.layout.swizzle import SWIZZLE_MODES, SwizzleLayout, SwizzleMode
from tirx.layout.tile import TileLayout

if TYPE_CHECKING:
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
    from tirx.layout.cute import cute_shape
    from tirx.layout.gf2 import BitMatrix
    from tirx.layout.linear import LinearLayout, from_linear, to_linear
    from tirx.layout.mesh import Mesh, MeshError
    from tirx.layout.slicing import DynamicSlice
    from tirx.layout.swizzled_slice import SwizzledSlice
    from tirx.layout.symbolic import SymbolicTileLayout
    from tirx.layout.tvm_notation import to_tvm

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
    "concrete",
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

_ON_DEMAND = {
    "AccessReport": "banks",
    "BankLine": "banks",
    "BankLines": "banks",
    "BitMatrix": "gf2",
    "DynamicSlice": "slicing",
    "LinearLayout": "linear",
    "Mesh": "mesh",
    "MeshError": "mesh",
    "SwizzledSlice": "swizzled_slice",
    "SymbolicTileLayout": "symbolic",
    "analyse_access": "banks",
    "analyse_ldmatrix": "banks",
    "bank_of": "banks",
    "bank_table": "banks",
    "banks_of": "banks",
    "conflict_degree": "banks",
    "cute_shape": "cute",
    "from_linear": "linear",
    "to_linear": "linear",
    "to_tvm": "tvm_notation",
}
"""Names of modules that not every program needs, which are imported when a name is asked for."""


def __getattr__(name: str) -> object:
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
