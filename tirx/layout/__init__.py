"""The layout algebra: where every element of a tile lives, on named hardware axes. Plain integers and numpy.

A `Layout` is a TileLayout, a SwizzleLayout or a ComposeLayout, as text (`parse_layout`) or spelled with `S`, `R` and
the axes of `tirx.layout.axes`. `SWIZZLE_MODES` are the names, each a `SwizzleMode`, of the swizzles that hardware has.

>>> from tirx.layout import R, S, SWIZZLE_MODES, TileLayout
>>> from tirx.layout.axes import laneid, warpid
>>> TileLayout(S[(8, 4) : (4 @ laneid, 1)] + R[2 : 1 @ warpid]).size()
32
>>> "128B" in SWIZZLE_MODES
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tirx.layout.axis import Axis, axis, known_axes, register_axis
from tirx.layout.compose import ComposeLayout, SwizzledSlice
from tirx.layout.dtypes import ElementType, element_type
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter
from tirx.layout.parse import Layout, concrete, parse_layout, resolve
from tirx.layout.spelling import LayoutSum, R, S
from tirx.layout.swizzle import SWIZZLE_MODES, SwizzleLayout, SwizzleMode
from tirx.layout.tile import DynamicSlice, TileLayout

if TYPE_CHECKING:
    from tirx.layout.gf2 import BitMatrix
    from tirx.layout.interop.cute import cute_shape
    from tirx.layout.interop.linear import LinearLayout, from_linear, to_linear
    from tirx.layout.interop.mesh import Mesh, MeshError
    from tirx.layout.interop.tvm_notation import to_tvm
    from tirx.layout.symbolic import SymbolicTileLayout

__all__ = [
    "Axis", "BitMatrix", "ComposeLayout", "DynamicSlice", "ElementType", "Iter", "Layout", "LayoutError", "LayoutSum",
    "LinearLayout", "Mesh", "MeshError", "R", "S", "SWIZZLE_MODES", "SwizzleLayout", "SwizzleMode", "SwizzledSlice",
    "SymbolicTileLayout", "TileLayout", "axis", "concrete", "cute_shape", "element_type", "from_linear", "known_axes",
    "parse_layout", "register_axis", "resolve", "to_linear", "to_tvm",
]  # fmt: skip

_ON_DEMAND = {
    "BitMatrix": "gf2",
    "LinearLayout": "interop.linear",
    "Mesh": "interop.mesh",
    "MeshError": "interop.mesh",
    "SymbolicTileLayout": "symbolic",
    "cute_shape": "interop.cute",
    "from_linear": "interop.linear",
    "to_linear": "interop.linear",
    "to_tvm": "interop.tvm_notation",
}
"""Names of modules that not every program needs, which are imported when a name is asked for."""


def __getattr__(name: str) -> object:
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
