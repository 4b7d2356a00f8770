"""Reading the layout notation: text to plain data, every error with the character offset of the mistake.

    tile     S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid
    swizzle  Swizzle(3, 3, 3)          SwizzleLayout(per_element=3, swizzle_len=3, atom_len=3)
    compose  ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])

A stride or an offset without @axis is on the memory axis m. `S[8, 4]` has row-major strides on m. `S[]` is the layout
of a single element. The attribute spellings #tirx.tile_layout<...>, #tirx.swizzle_layout<...> and
#tirx.compose_layout<..., ...> are read too.

Everything that TVM prints, and what its users write, is read as well, with or without the prefix `T.`:

    TileLayout(S[(2, 4):(4 @ Axis.wgid, 1 @ Axis.warpid)] + R[2:4 @ Axis.warpid] + (3 @ Axis.laneid + 7))
    TileLayout.from_iters(shard=[Iter(2, 4, "wgid")], replica=[], offset={"m": 3})
    ComposeLayout(3, 3, 3, TileLayout(...), swizzle_inner=False)          (per_element, swizzle_len, atom_len, tile)
    ComposeLayout(SwizzleLayout(3, 3, 3, swizzle_inner=True), TileLayout(...))

There an axis is `laneid`, `Axis.laneid`, `Axis.get("laneid")` or `"laneid"`; a stride may be the pair (4, "laneid"),
and "laneid" alone is stride 1. `tirx.layout.interop.tvm_notation` prints these forms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from tirx.layout.axis import axis
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, row_major
from tirx.layout.scanner import Readers, Scanner, check_integer

_TILE_WORDS = ("TileLayout", "#tirx.tile_layout")
_ITERS_WORD = "TileLayout.from_iters"
_SWIZZLE_WORDS = ("Swizzle", "SwizzleLayout", "#tirx.swizzle_layout")
_COMPOSE_WORDS = ("ComposeLayout", "#tirx.compose_layout")
_CLOSING = {"(": ")", "<": ">", "[": "]"}

_SWIZZLE_FIELDS = ("per_element", "swizzle_len", "atom_len")
_SWIZZLE_ALIASES = {"M": "per_element", "B": "swizzle_len", "S": "atom_len"}
_SWIZZLE_KEYWORDS = (*_SWIZZLE_FIELDS, "swizzle_inner", *_SWIZZLE_ALIASES)


class ParsedTile(NamedTuple):
    """A parsed tile layout."""

    shard: Iters
    replica: Iters
    offset: tuple[tuple[str, int], ...]
    position: int


class ParsedSwizzle(NamedTuple):
    """A parsed swizzle, in the order of the notation."""

    per_element: int
    swizzle_len: int
    atom_len: int
    swizzle_inner: bool = True
    position: int = 0


class ParsedCompose(NamedTuple):
    """A parsed composition."""

    swizzle: ParsedSwizzle
    tile: ParsedTile
    position: int


def _open(scan: Scanner, *brackets: str) -> str:
    for opening in brackets:
        if scan.take(opening):
            return _CLOSING[opening]
    raise scan.fail(f"'{brackets[0]}'")


def _extent(scan: Scanner) -> int:
    at = scan.skip()
    extent = scan.integer("an extent (a positive integer)")
    if extent < 1:
        raise LayoutError(f"an extent must be positive, found {extent}", at)
    return extent


def _axis_name(scan: Scanner) -> str:
    """`laneid`, `Axis.laneid`, `Axis.get("laneid")` or `"laneid"`."""
    if scan.take_word("Axis.get"):
        scan.expect("(")
        if not (scan.peek('"') or scan.peek("'")):
            raise scan.fail("an axis name in quotes")
        name = _axis_name(scan)
        scan.expect(")")
        return name
    quoted = scan.string()
    if quoted is not None:
        name, at = quoted
        if not name:
            raise LayoutError("expected an axis name, found an empty string", at)
        return axis(name, at).name
    at = scan.skip()
    word = scan.word()
    if word is None:
        raise scan.fail("an axis name")
    scan.take_word(word)
    name = word.removeprefix("Axis.")
    return axis(name, scan.position - len(name)).name


def _scaled(scan: Scanner, what: str) -> tuple[int, str]:
    count = scan.integer(what)
    if not scan.take("@"):
        return count, "m"
    if scan.word() is None and not (scan.peek('"') or scan.peek("'")):
        raise scan.fail("an axis name after '@'")
    return count, _axis_name(scan)


def _stride(scan: Scanner) -> tuple[int, str]:
    if scan.peek('"') or scan.peek("'"):
        return 1, _axis_name(scan)
    if scan.take("("):
        count = scan.integer('a stride (an integer) of a pair such as (4, "laneid")')
        scan.expect(",")
        name = _axis_name(scan)
        scan.expect(")")
        return count, name
    return _scaled(scan, "a stride (an integer, or integer@axis)")


def _extents(scan: Scanner) -> list[int]:
    closing = ")" if scan.take("(") else None
    return [] if closing is None and scan.peek("]") else scan.items(lambda: _extent(scan), closing)


def _bracket(scan: Scanner, letter: str) -> Iters:
    """`[extents : strides]` after S or R; R must have strides."""
    scan.expect("[")
    at = scan.skip()
    extents = _extents(scan)
    check_integer(prod(extents), at)
    if letter == "S" and scan.take("]"):
        return row_major(extents)
    if not scan.take(":"):
        raise scan.fail("':' and the strides" if letter == "R" else "':' and the strides, or ']'")
    at = scan.skip()
    strides = scan.items(lambda: _stride(scan), ")" if scan.take("(") else None)
    if len(strides) != len(extents):
        pair = len(extents) == 1 and len(strides) == 2 and strides[0][1] == "m" and strides[1][0] == 1
        hint = f"; a stride on an axis is written {strides[0][0]}@{strides[1][1]}" if pair else ""
        raise LayoutError(f"expected {len(extents)} strides for {len(extents)} extents, found {len(strides)}{hint}", at)
    scan.expect("]")
    return tuple(Iter(e, s, a) for e, (s, a) in zip(extents, strides, strict=True))


def _add_offset(scan: Scanner, offset: dict[str, int], sign: int, what: str) -> None:
    at = scan.skip()
    count, name = _scaled(scan, what)
    offset[name] = check_integer(offset.get(name, 0) + sign * count, at)


def _sign(scan: Scanner) -> int:
    """1 for a plus that follows, -1 for a minus, 0 for neither."""
    return 1 if scan.take("+") else -1 if scan.take("-") else 0


def _tile_terms(scan: Scanner) -> ParsedTile:
    """S[...] and what is added to it. Without S, as TVM prints replicas of a single element, R[...] comes first."""
    position = scan.skip()
    shard: Iters = ()
    replica: list[Iter] = []
    offset: dict[str, int] = {}
    if scan.take_word("S"):
        shard = _bracket(scan, "S")
    elif scan.take_word("R"):
        replica.extend(_bracket(scan, "R"))
    else:
        error = scan.fail("a tile layout starting with 'S['")
        hint = "; TileLayout.from_cute reads layouts of CuTe" if scan.peek("(") else ""
        raise LayoutError(f"{error}{hint}", error.position)
    what = "an offset (an integer, or integer@axis)"
    while sign := _sign(scan):
        if sign == 1 and scan.take_word("R"):
            replica.extend(_bracket(scan, "R"))
        elif scan.take("("):
            inner = 1
            while inner:
                _add_offset(scan, offset, sign * inner, what)
                inner = _sign(scan)
            scan.expect(")")
        else:
            _add_offset(scan, offset, sign, f"{what} or 'R['" if sign == 1 else what)
    return ParsedTile(shard, tuple(replica), tuple(offset.items()), position)


def _iter(scan: Scanner) -> Iter:
    """`Iter(extent, stride, axis)`."""
    if not scan.take_word("Iter"):
        raise scan.fail('an iter such as Iter(8, 4, "laneid")')
    scan.expect("(")
    readers: Readers = {
        "extent": _extent,
        "stride": lambda scan: scan.integer("a stride (an integer)"),
        "axis": _axis_name,
    }
    return Iter(**scan.arguments(")", readers, ("extent", "stride")))


def _iter_list(scan: Scanner) -> Iters:
    at = scan.skip()
    items = scan.items(lambda: _iter(scan), _open(scan, "[", "("))
    check_integer(prod(it.extent for it in items), at)
    return tuple(items)


def _offset_table(scan: Scanner) -> dict[str, int]:
    """`{"m": 3, Axis.laneid: 1}` or `None`"""
    offset: dict[str, int] = {}

    def entry() -> None:
        at = scan.skip()
        name = _axis_name(scan)
        if name in offset:
            raise LayoutError(f"the offset on axis {name} is given twice", at)
        scan.expect(":")
        offset[name] = scan.integer("an offset (an integer)")

    if not scan.take_word("None"):
        scan.expect("{")
        scan.items(entry, "}")
    return offset


def _from_iters(scan: Scanner, position: int) -> ParsedTile:
    """The arguments of `TileLayout.from_iters(shard=[...], replica=[...], offset={...})`; each may be left out."""
    scan.expect("(")
    found = scan.arguments(")", {"shard": _iter_list, "replica": _iter_list, "offset": _offset_table}, ())
    return ParsedTile(
        found.get("shard", ()), found.get("replica", ()), tuple(found.get("offset", {}).items()), position
    )


def _tile(scan: Scanner) -> ParsedTile:
    position = scan.skip()
    if scan.take_word(_ITERS_WORD):
        return _from_iters(scan, position)
    if scan.take_word(*_TILE_WORDS) is None:
        return _tile_terms(scan)
    closing = _open(scan, "(", "<")
    found = _tile_terms(scan)
    scan.expect(closing)
    return found


def _number(name: str) -> Callable[[Scanner], int]:
    return lambda scan: scan.integer(f"{name} (an integer)")


_NUMBERS: Readers = {name: _number(name) for name in _SWIZZLE_FIELDS}
_DIRECTION: Readers = {"swizzle_inner": lambda scan: scan.boolean("swizzle_inner")}


def _swizzle_numbers(scan: Scanner, position: int, closing: str | None) -> ParsedSwizzle:
    """Three integers and perhaps the direction, by position or by keyword; no position after a keyword."""
    found = scan.arguments(closing, {**_NUMBERS, **_DIRECTION}, _SWIZZLE_FIELDS, _SWIZZLE_ALIASES)
    return ParsedSwizzle(**found, position=position)


def _swizzle(scan: Scanner) -> ParsedSwizzle:
    position = scan.skip()
    word = scan.take_word(*_SWIZZLE_WORDS)
    if word is None:
        raise scan.fail("a swizzle such as Swizzle(3, 3, 3)")
    if word == "Swizzle" and scan.peek("<"):
        # CuTe writes Swizzle<B, M, S>: reading those numbers in our order would be silently wrong.
        raise LayoutError(
            "expected Swizzle(per_element, swizzle_len, atom_len) in round brackets; "
            "Swizzle<B, M, S> is the CuTe spelling, read by ComposeLayout.from_cute",
            scan.position,
        )
    return _swizzle_numbers(scan, position, _open(scan, "(", "<"))


def _pair(scan: Scanner, position: int) -> ParsedCompose:
    swizzle = _swizzle(scan)
    scan.expect(",")
    return ParsedCompose(swizzle, _tile(scan), position)


def _compose_numbers(scan: Scanner, position: int, closing: str) -> ParsedCompose:
    """The arguments of TVM's `ComposeLayout(per_element, swizzle_len, atom_len, tile_layout, swizzle_inner)`."""
    at = scan.skip()
    readers: Readers = {**_NUMBERS, "tile_layout": _tile, **_DIRECTION}
    found = scan.arguments(closing, readers, (*_SWIZZLE_FIELDS, "tile_layout"))
    tile = found.pop("tile_layout")
    return ParsedCompose(ParsedSwizzle(**found, position=at), tile, position)


def _compose(scan: Scanner) -> ParsedCompose:
    position = scan.skip()
    if scan.take_word(*_COMPOSE_WORDS) is None:
        return _pair(scan, position)
    closing = _open(scan, "(", "<")
    if scan.at_number() or scan.word() in ("tile_layout", "swizzle_inner", *_SWIZZLE_FIELDS):
        return _compose_numbers(scan, position, closing)
    found = _pair(scan, position)
    scan.expect(closing)
    return found


def read_tile(text: str) -> ParsedTile:
    """Reads a tile layout, bare, as an attribute or as TVM writes it."""
    scan = Scanner(text)
    found = _tile(scan)
    scan.end()
    return found


def read_swizzle(text: str) -> ParsedSwizzle:
    """Reads a swizzle: named, as an attribute, or just its three numbers."""
    scan = Scanner(text)
    word = scan.word()
    if word is None or word in _SWIZZLE_KEYWORDS:
        return _swizzle_numbers(scan, scan.skip(), None)
    found = _swizzle(scan)
    scan.end()
    return found


def read_compose(text: str) -> ParsedCompose:
    """Reads a composition: named, as an attribute, or just `swizzle, tile`."""
    scan = Scanner(text)
    found = _compose(scan)
    scan.end()
    return found


def read_layout(text: str) -> ParsedTile | ParsedSwizzle | ParsedCompose:
    """Reads any layout; the first word decides which."""
    scan = Scanner(text)
    word = scan.word()
    if word in _COMPOSE_WORDS:
        return read_compose(text)
    if word in _SWIZZLE_WORDS:
        return read_swizzle(text)
    if word in _TILE_WORDS or word in ("S", "R", _ITERS_WORD):
        return read_tile(text)
    raise scan.fail("a layout: S[...], Swizzle(...) or ComposeLayout(..., ...)")
