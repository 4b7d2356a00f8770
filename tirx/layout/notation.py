"""Reading the layout notation: text to plain parts, every error with the character offset of the mistake.

    tile     S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid
    swizzle  Swizzle(3, 3, 3)          SwizzleLayout(per_element=3, swizzle_len=3, atom_len=3)
    compose  ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])

A stride or an offset without @axis is on the memory axis m. `S[8, 4]` has row-major strides on m. `S[]` is the layout
of a single element. The attribute spellings #tirx.tile_layout<...>, #tirx.swizzle_layout<...> and
#tirx.compose_layout<..., ...> are read too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tirx.layout.axis import axis
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, row_major

_SPACE = re.compile(r"\s*")
_INTEGER = re.compile(r"-?[0-9]+")
_WORD = re.compile(r"#?[A-Za-z_][A-Za-z0-9_.]*")

_TILE_WORDS = ("TileLayout", "#tirx.tile_layout")
_SWIZZLE_WORDS = ("Swizzle", "SwizzleLayout", "#tirx.swizzle_layout")
_COMPOSE_WORDS = ("ComposeLayout", "#tirx.compose_layout")
_CLOSING = {"(": ")", "<": ">", "[": "]"}

_SWIZZLE_FIELDS = ("per_element", "swizzle_len", "atom_len")
_SWIZZLE_KEYWORDS = {"M": "per_element", "B": "swizzle_len", "S": "atom_len"} | {name: name for name in _SWIZZLE_FIELDS}


class TileParts(NamedTuple):
    """What a tile text says."""

    shard: Iters
    replica: Iters
    offset: tuple[tuple[str, int], ...]
    position: int


class SwizzleParts(NamedTuple):
    """What a swizzle text says, in the order of the notation."""

    per_element: int
    swizzle_len: int
    atom_len: int
    position: int
    swizzle_inner: bool = True


class ComposeParts(NamedTuple):
    """What a compose text says."""

    swizzle: SwizzleParts
    tile: TileParts
    position: int


class _Scanner:
    """A cursor over the text."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def skip(self) -> int:
        """Moves to the next character that is no white space and returns its offset."""
        found = _SPACE.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return self.position

    def peek(self, token: str) -> bool:
        self.skip()
        return self.text.startswith(token, self.position)

    def take(self, token: str) -> bool:
        if not self.peek(token):
            return False
        self.position += len(token)
        return True

    def found(self) -> str:
        """What stands at the cursor, for messages."""
        self.skip()
        return repr(self.text[self.position]) if self.position < len(self.text) else "the end of the text"

    def fail(self, expected: str) -> LayoutError:
        found = self.found()
        return LayoutError(f"expected {expected}, found {found}", self.position)

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.fail(f"'{token}'")

    def integer(self, what: str) -> int:
        self.skip()
        match = _INTEGER.match(self.text, self.position)
        if match is None:
            raise self.fail(what)
        self.position = match.end()
        return int(match.group())

    def word(self) -> str | None:
        """The word at the cursor, not consumed."""
        self.skip()
        match = _WORD.match(self.text, self.position)
        return match.group() if match is not None else None

    def end(self) -> None:
        if self.skip() < len(self.text):
            raise self.fail("the end of the layout")


def _open(scan: _Scanner) -> str:
    for opening in ("(", "<"):
        if scan.take(opening):
            return _CLOSING[opening]
    raise scan.fail("'('")


def _extent(scan: _Scanner) -> int:
    at = scan.skip()
    extent = scan.integer("an extent (a positive integer)")
    if extent < 1:
        raise LayoutError(f"an extent must be positive, found {extent}", at)
    return extent


def _scaled(scan: _Scanner, what: str) -> tuple[int, str]:
    count = scan.integer(what)
    if not scan.take("@"):
        return count, "m"
    at = scan.skip()
    name = scan.word()
    if name is None:
        raise scan.fail("an axis name after '@'")
    axis(name, at)
    scan.position = at + len(name)
    return count, name


def _stride(scan: _Scanner) -> tuple[int, str]:
    return _scaled(scan, "a stride (an integer, or integer@axis)")


def _extents(scan: _Scanner) -> list[int]:
    closing = ")" if scan.take("(") else None
    items: list[int] = []
    while not (closing and scan.peek(closing)) and not (not items and scan.peek("]")):
        items.append(_extent(scan))
        if not scan.take(","):
            break
    if closing:
        scan.expect(closing)
    return items


def _strides(scan: _Scanner) -> list[tuple[int, str]]:
    closing = ")" if scan.take("(") else None
    items: list[tuple[int, str]] = []
    while not (closing and scan.peek(closing)):
        items.append(_stride(scan))
        if not scan.take(","):
            break
    if closing:
        scan.expect(closing)
    return items


def _bracket(scan: _Scanner, letter: str) -> Iters:
    """`[extents : strides]` after S or R; R must have strides."""
    scan.expect("[")
    extents = _extents(scan)
    if letter == "S" and scan.take("]"):
        return row_major(extents)
    if not scan.take(":"):
        raise scan.fail("':' and the strides" if letter == "R" else "':' and the strides, or ']'")
    at = scan.skip()
    strides = _strides(scan)
    if len(strides) != len(extents):
        raise LayoutError(f"expected {len(extents)} strides for {len(extents)} extents, found {len(strides)}", at)
    scan.expect("]")
    return tuple(Iter(e, s, a) for e, (s, a) in zip(extents, strides, strict=True))


def _tile_terms(scan: _Scanner) -> TileParts:
    position = scan.skip()
    if scan.word() != "S":
        raise scan.fail("a tile layout starting with 'S['")
    scan.expect("S")
    shard = _bracket(scan, "S")
    replica: list[Iter] = []
    offset: dict[str, int] = {}
    while True:
        if scan.take("+"):
            sign = 1
        elif scan.take("-"):
            sign = -1
        else:
            return TileParts(shard, tuple(replica), tuple(offset.items()), position)
        if sign == 1 and scan.word() == "R":
            scan.expect("R")
            replica.extend(_bracket(scan, "R"))
            continue
        count, name = _scaled(scan, "an offset (an integer, or integer@axis)" + (" or 'R['" if sign == 1 else ""))
        offset[name] = offset.get(name, 0) + sign * count


def _tile(scan: _Scanner) -> TileParts:
    word = scan.word()
    if word not in _TILE_WORDS:
        return _tile_terms(scan)
    scan.expect(word)
    closing = _open(scan)
    parts = _tile_terms(scan)
    scan.expect(closing)
    return parts


def _swizzle_numbers(scan: _Scanner, position: int) -> SwizzleParts:
    """Three integers, by position or by keyword; no position after a keyword."""
    values: dict[str, int] = {}
    by_keyword = False
    for field in _SWIZZLE_FIELDS:
        if values:
            scan.expect(",")
        at = scan.skip()
        word = scan.word()
        name = field
        if word is not None:
            if word not in _SWIZZLE_KEYWORDS:
                raise scan.fail(f"an integer or one of the keywords {', '.join(_SWIZZLE_KEYWORDS)}")
            scan.expect(word)
            scan.expect("=")
            name = _SWIZZLE_KEYWORDS[word]
            by_keyword = True
        elif by_keyword:
            raise scan.fail("a keyword, as before")
        if name in values:
            raise LayoutError(f"{name} is given twice", at)
        values[name] = scan.integer(f"{name} (an integer)")
    return SwizzleParts(values["per_element"], values["swizzle_len"], values["atom_len"], position)


def _swizzle(scan: _Scanner) -> SwizzleParts:
    position = scan.skip()
    word = scan.word()
    if word not in _SWIZZLE_WORDS:
        raise scan.fail("a swizzle such as Swizzle(3, 3, 3)")
    scan.expect(word)
    if word == "Swizzle" and scan.peek("<"):
        # CuTe writes Swizzle<B, M, S>: reading those numbers in our order would be silently wrong.
        raise LayoutError(
            "expected Swizzle(per_element, swizzle_len, atom_len) in round brackets; "
            "Swizzle<B, M, S> is the CuTe spelling, read by ComposeLayout.from_cute",
            scan.position,
        )
    closing = _open(scan)
    parts = _swizzle_numbers(scan, position)
    scan.expect(closing)
    return parts


def _pair(scan: _Scanner, position: int) -> ComposeParts:
    swizzle = _swizzle(scan)
    scan.expect(",")
    return ComposeParts(swizzle, _tile(scan), position)


def _compose(scan: _Scanner) -> ComposeParts:
    position = scan.skip()
    word = scan.word()
    if word not in _COMPOSE_WORDS:
        return _pair(scan, position)
    scan.expect(word)
    closing = _open(scan)
    parts = _pair(scan, position)
    scan.expect(closing)
    return parts


def read_tile(text: str) -> TileParts:
    """Reads a tile layout, bare or as an attribute."""
    scan = _Scanner(text)
    parts = _tile(scan)
    scan.end()
    return parts


def read_swizzle(text: str) -> SwizzleParts:
    """Reads a swizzle: named, as an attribute, or just its three numbers."""
    scan = _Scanner(text)
    word = scan.word()
    bare = word is None or word in _SWIZZLE_KEYWORDS
    parts = _swizzle_numbers(scan, scan.skip()) if bare else _swizzle(scan)
    scan.end()
    return parts


def read_compose(text: str) -> ComposeParts:
    """Reads a composition: named, as an attribute, or just `swizzle, tile`."""
    scan = _Scanner(text)
    parts = _compose(scan)
    scan.end()
    return parts


def read_layout(text: str) -> TileParts | SwizzleParts | ComposeParts:
    """Reads any layout; the first word decides which."""
    word = _Scanner(text).word()
    if word in _COMPOSE_WORDS:
        return read_compose(text)
    if word in _SWIZZLE_WORDS:
        return read_swizzle(text)
    if word in _TILE_WORDS or word == "S":
        return read_tile(text)
    raise _Scanner(text).fail("a layout: S[...], Swizzle(...) or ComposeLayout(..., ...)")
