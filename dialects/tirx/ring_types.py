"""The types of the scheduled level: rings of slots, and register tiles that a queue still writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerType, StringAttr, i1
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.rules import SlotTypeError

SLOT_LIMIT = 2**20
"""Bytes of a slot stay below this: the transaction count of an mbarrier has 20 bits (PTX ISA, "mbarrier")."""

TILE_ID = "tile_id"
"""How the type of a ring spells `!tirx.tile_id`."""


@irdl_attr_definition
class TileIdType(ParametrizedAttribute, TypeAttribute):
    """`!tirx.tile_id`: the 16-byte answer of cluster launch control, which says which tile comes next."""

    name = "tirx.tile_id"


@irdl_attr_definition
class SlotViewAttr(ParametrizedAttribute):
    """`a: !tirx.tile<...>` in the type of a ring: one view of a slot and its name, empty for none."""

    name = "tirx.slot_view"

    label: StringAttr
    type: Attribute

    def __str__(self) -> str:
        return f"{self.label.data}: {self.type}" if self.label.data else str(self.type)


def _content_kind(type_: Attribute) -> str | None:
    """Returns the content of slots with a view of this type: "tiles", "scalars", "tile_id"; None if it has none."""
    match type_:
        case TileType() if type_.memory in (MemorySpace.SHARED, MemorySpace.TENSOR):
            return "tiles"
        case IndexType() | IntegerType():
            return "scalars"
        case TileIdType():
            return TILE_ID
        case _:
            return None


def _contents_problem(contents: Iterable[Sequence[SlotViewAttr]]) -> str | None:
    """Why slots cannot hold this, or None when they can."""
    contents = list(contents)
    views = [view for tile in contents for view in tile]
    for view in views:
        if _content_kind(view.type) is None:
            return f"expected tiles in shared or tensor memory, integers or {TILE_ID} in a slot, found {view.type}"
    kinds = dict.fromkeys(_content_kind(view.type) for view in views)
    if len(kinds) > 1 or (TILE_ID in kinds and len(views) > 1):
        found = ", ".join(map(str, views))
        return f"expected only tiles, only integers or one {TILE_ID} in a slot, found {found}"
    labels = [view.label.data for view in views if view.label.data]
    for label in labels:
        if labels.count(label) > 1:
            return f"expected different names for what a slot holds, found '{label}' twice"
    for tile in contents:
        memories = {view.type.memory for view in tile if isinstance(view.type, TileType)}
        if len(tile) > 1 and len(memories) != 1:
            return f"expected views of the same bytes of one memory, found {' | '.join(map(str, tile))}"
    if (size := _slot_bytes(contents)) >= SLOT_LIMIT:
        return f"expected slots of less than {SLOT_LIMIT} bytes, found {size}"
    return None


def _slot_bytes(contents: Iterable[Iterable[SlotViewAttr]]) -> int:
    def size(type_: Attribute) -> int:
        return type_.num_bytes if isinstance(type_, TileType) else 0

    return sum(max(size(view.type) for view in tile) for tile in contents)


@irdl_attr_definition
class RingType(ParametrizedAttribute, TypeAttribute):
    """`!tirx.ring<a: !tirx.tile<128x64xf16, shared>, s: !tirx.tile<128x128xf32, tensor> | p: !tirx.tile<...>>`

    What each slot of a ring holds, in one of four forms:

    - tiles in shared or tensor memory; `|` stands between views of the same bytes,
    - nothing, `!tirx.ring<>`: a baton,
    - integers (`n: index, last: i1`), which one station writes and the others read,
    - `!tirx.ring<tile_id>`: an answer of cluster launch control.

    Names are optional. `contents` has one array per tile of a slot: the views of its bytes.
    """

    name = "tirx.ring"

    contents: ArrayAttr[ArrayAttr[SlotViewAttr]]

    @staticmethod
    def get(*tiles: Sequence[tuple[str, Attribute]]) -> RingType:
        """The type from the views of each tile: `get([("a", T)], [("s", U), ("p", V)])`."""
        return _ring_type(tuple(map(tuple, tiles)))

    @property
    def views(self) -> tuple[SlotViewAttr, ...]:
        """All views of all tiles, in order."""
        return tuple([view for tile in self.contents.data for view in tile.data])

    @property
    def is_baton(self) -> bool:
        """True for a ring whose slots hold nothing."""
        return not self.contents.data

    @property
    def is_tile_id(self) -> bool:
        """True for a ring of answers of cluster launch control."""
        return self._holds(TileIdType)

    @property
    def holds_scalars(self) -> bool:
        """True for a ring whose slots hold integers."""
        return self._holds(IndexType, IntegerType)

    def _holds(self, *kinds: type[Attribute]) -> bool:
        """Returns True if the first view, as all others, is of one of these types."""
        return bool(contents := self.contents.data) and isinstance(contents[0].data[0].type, kinds)

    @property
    def slot_bytes(self) -> int:
        """Bytes of the tiles of a slot; the largest view of the same bytes counts."""
        return _slot_bytes(self.contents)

    def acquired_types(self, at_first: bool) -> tuple[Attribute, ...]:
        """Types that an acquire gives, at the first station or at another one.

        Integers and answers have no value before the first station has written them. An answer is read as whether
        there is one more tile, and its two coordinates.
        """
        if self.is_tile_id:
            return () if at_first else (i1, IndexType(), IndexType())
        return () if at_first and self.holds_scalars else tuple(view.type for view in self.views)

    def verify(self) -> None:
        for tile in self.contents:
            if not tile.data:
                raise SlotTypeError("expected at least one view of every tile of a slot, found none")
        if (problem := _contents_problem([tile.data for tile in self.contents])) is not None:
            raise SlotTypeError(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        start = parser.pos
        contents = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _parse_tile(parser))
        if (problem := _contents_problem(contents)) is not None:
            parser.raise_error(problem, start, parser.pos)
        return (ArrayAttr([ArrayAttr(tile) for tile in contents]),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.contents, lambda tile: printer.print_list(tile, _print_view(printer), " | "))


def _parse_tile(parser: AttrParser) -> list[SlotViewAttr]:
    """The views of the same bytes: `s: T | p: U`."""
    views = [_parse_view(parser)]
    while parser.parse_optional_punctuation("|") is not None:
        views.append(_parse_view(parser))
    return views


def _parse_view(parser: AttrParser) -> SlotViewAttr:
    if (type_ := parser.parse_optional_type()) is not None:
        return SlotViewAttr(StringAttr(""), type_)
    label = parser.parse_identifier(context_msg=" of a tile or a type")
    if label == TILE_ID:
        return SlotViewAttr(StringAttr(""), TileIdType())
    parser.parse_punctuation(":")
    return SlotViewAttr(StringAttr(label), parser.parse_type())


def _print_view(printer: Printer):
    def print_view(view: SlotViewAttr) -> None:
        if view.label.data:
            printer.print_string(f"{view.label.data}: ")
        if isinstance(view.type, TileIdType):
            printer.print_string(TILE_ID)
        else:
            printer.print_attribute(view.type)

    return print_view


@lru_cache(maxsize=1024)
def _ring_type(tiles: tuple[tuple[tuple[str, Attribute], ...], ...]) -> RingType:
    views = (ArrayAttr([SlotViewAttr(StringAttr(label), type_) for label, type_ in tile]) for tile in tiles)
    return RingType(ArrayAttr(list(views)))


@irdl_attr_definition
class PendingType(ParametrizedAttribute, TypeAttribute):
    """`!tirx.pending<!tirx.tile<64x256xf32, register>>`: a register tile that an asynchronous product still writes.

    Only `tirx.async_mma` accumulates on it; `tirx.await` turns it into the tile.
    """

    name = "tirx.pending"

    tile: Attribute

    @staticmethod
    def tile_of(value: SSAValue) -> TileType:
        """The tile type of a tile or a pending tile. Raises VerifyException for a value of another type."""
        type_ = value.type
        return TileType.of(value) if not isinstance(type_, PendingType) else type_.tile_type

    @property
    def tile_type(self) -> TileType:
        if not isinstance(self.tile, TileType):
            raise SlotTypeError(f"expected a register tile that is pending, found {self.tile}")
        return self.tile

    def verify(self) -> None:
        if self.tile_type.memory is not MemorySpace.REGISTER:
            raise SlotTypeError(f"expected a register tile that is pending, found {self.tile}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            tile = parser.parse_type()
            if not isinstance(tile, TileType) or tile.memory is not MemorySpace.REGISTER:
                parser.raise_error(f"expected a register tile that is pending, found {tile}", start, parser.pos)
            return (tile,)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.tile)
