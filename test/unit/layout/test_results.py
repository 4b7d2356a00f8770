"""Layouts with extents and strides that differ: whole results and messages of all that is done with them."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from unit.cases import results

from tirx import layout
from tirx.layout import (
    BitMatrix,
    ComposeLayout,
    SwizzleLayout,
    SymbolicTileLayout,
    TileLayout,
    gf2,
    picture,
    reduction,
    shape,
)
from tirx.layout.interop import cute, linear, mesh, redistribution

LAYOUTS = [
    TileLayout.parse(text)
    for text in (
        "S[(3, 5) : (5, 1)]",
        "S[(5, 3) : (1, 5)]",
        "S[(6, 4) : (8, 2)] + 3",
        "S[(6, 4) : (-4, 1)] + 20",
        "S[(3, 2, 6) : (24, 3, 4)]",
        "S[(4, 6) : (1, 3)]",
        "S[(4, 6) : (1, 4)] + R[3 : 24]",
        "S[(3, 4) : (0, 1)]",
        "S[(3, 8, 5) : (1@warpid, 4@laneid, 1)] + R[4 : 1@laneid]",
        "S[(3, 8, 5) : (8@tx, 1@tx, 1)] + 4@tx",
        "S[(2, 3) : (1@wgid, 1)] + R[(2, 3) : (6, 1@pid)]",
        "S[]",
        "S[12 : 5] + R[(2, 3) : (2, 60)] - 7",
        "S[(2, 4, 3) : (16@laneid, 4@laneid, 7)] + 1@laneid + 2",
        "S[(1, 6, 1) : (7, 1@bx, 9)]",
    )
]


def _each(function: Callable[[TileLayout], object]) -> str:
    """The results for all of `LAYOUTS`."""
    found: list[str] = []
    for tile in LAYOUTS:
        try:
            found.append(str(function(tile)))
        except ValueError as error:
            found.append(f"! {error}")
    return " | ".join(found)


def _read(*texts: str) -> str:
    """Reads the texts, and returns the results, or the messages with the character offsets."""
    found: list[str] = []
    for text in texts:
        try:
            found.append(str(layout.parse_layout(text)))
        except layout.LayoutError as error:
            found.append(f"{error} at {error.position}")
    return " | ".join(found)


def _swizzled(per_element: int, swizzle_len: int, atom_len: int, text: str) -> ComposeLayout:
    return ComposeLayout(SwizzleLayout(per_element, swizzle_len, atom_len), TileLayout.parse(text))


MODULES = (layout, picture, reduction, shape, gf2, cute, linear, mesh, redistribution)
NAMES = {name: value for module in MODULES for name, value in vars(module).items()} | {
    "BitMatrix": BitMatrix,
    "C": _swizzled,
    "N": SymbolicTileLayout.parse,
    "P": TileLayout.parse,
    "each": _each,
    "read": _read,
    "hashlib": hashlib,
    "np": np,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "results.txt", NAMES)
    assert found == expected
