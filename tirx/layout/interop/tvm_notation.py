"""Printing layouts as TVM's TIRx writes them; `parse_layout` reads the same texts back.

Two forms: sums, `T.TileLayout(T.S[...] + T.R[...] + ...)`, as TVM 0.26 and 0.27 print them, and lists of iters,
`T.TileLayout.from_iters(shard=[...])`, which later versions print and all of these versions accept.
"""

from __future__ import annotations

from typing import Literal, get_args

from tirx.layout.compose import ComposeLayout
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters
from tirx.layout.parse import Layout, concrete
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.symbolic import SymbolicTileLayout
from tirx.layout.tile import TileLayout

TvmForm = Literal["sum", "iters"]

# Axes that TVM registers, so that `Axis.laneid` names them (tvm.tirx.layout, 0.27). Others exist only by string.
_REGISTERED = frozenset("bx by bz cbx cby cbz tx warpid laneid wgid tid_in_wg wid_in_wg m P F Bank TCol TLane".split())


def _integer(value: int) -> str:
    """TVM integers are 32 bits wide unless they say otherwise."""
    if -(2**31) <= value < 2**31:
        return str(value)
    if not -(2**63) <= value < 2**63:
        raise LayoutError(f"TVM integers have at most 64 bits, found {value}")
    return f"T.int64({value})"


def _on_axis(count: int, name: str) -> str:
    return _integer(count) if name == "m" else f"{_integer(count)} @ Axis.{name}"


def _tuple(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def _bracket(letter: str, iters: Iters) -> str:
    extents = _tuple([_integer(it.extent) for it in iters])
    strides = _tuple([_on_axis(it.stride, it.axis) for it in iters])
    return f"T.{letter}[{extents}:{strides}]"


def _sum(tile: TileLayout) -> str:
    terms = [_bracket(letter, iters) for letter, iters in (("S", tile.shard), ("R", tile.replica)) if iters]
    if tile.offset:
        offsets = " + ".join(_on_axis(count, name) for name, count in tile.offset)
        terms.append(f"({offsets})" if len(tile.offset) > 1 else offsets)
    return f"T.TileLayout({' + '.join(terms)})"


def _iters(tile: TileLayout) -> str:
    def items(iters: Iters) -> str:
        return ", ".join(_iter(it) for it in iters)

    parts = [f"{name}=[{items(iters)}]" for name, iters in (("shard", tile.shard), ("replica", tile.replica)) if iters]
    if tile.offset:
        parts.append("offset={" + ", ".join(f'"{name}": {_integer(count)}' for name, count in tile.offset) + "}")
    return f"T.TileLayout.from_iters({', '.join(parts)})"


def _iter(it: Iter) -> str:
    return f'T.Iter({_integer(it.extent)}, {_integer(it.stride)}, "{it.axis}")'


def _tile(tile: TileLayout, form: TvmForm) -> str:
    sayable = (tile.shard or tile.replica) and _REGISTERED.issuperset(tile.axes)
    return _sum(tile) if form == "sum" and sayable else _iters(tile)


def to_tvm(layout: Layout | SymbolicTileLayout, form: TvmForm = "sum") -> str:
    """The text of a layout for TVM, to be evaluated with `T` and `Axis` in scope; `parse_layout` reads it back.

    form: "sum" or "iters". What a sum cannot say is printed as iters in either form: a tile on an axis that TVM does
        not register, such as pid, and one without shard and replica.

    TVM has no swizzle of its own: a SwizzleLayout becomes the composition with the identity of one period, and is
    read back as that. Raises LayoutError for numbers beyond 64 bits and for symbolic extents.

    >>> from tirx.layout import TileLayout, parse_layout, to_tvm
    >>> x = TileLayout("S[(8, 4) : (4@laneid, 1)]")
    >>> parse_layout(to_tvm(x)) == x
    True
    """
    layout = concrete(layout)
    if form not in get_args(TvmForm):
        raise LayoutError(f"expected a form of TVM text {', '.join(get_args(TvmForm))}, found {form!r}")
    if isinstance(layout, TileLayout):
        return _tile(layout, form)
    if isinstance(layout, SwizzleLayout):
        layout = ComposeLayout(layout, TileLayout.row_major((layout.period,)))
    swizzle = layout.swizzle
    numbers = f"{swizzle.per_element}, {swizzle.swizzle_len}, {swizzle.atom_len}"
    direction = "" if swizzle.swizzle_inner else ", swizzle_inner=False"
    return f"T.ComposeLayout({numbers}, {_tile(layout.tile, form)}{direction})"
