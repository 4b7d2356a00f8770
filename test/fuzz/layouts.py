"""
Layout texts: written from random parts, and mutated.

A text is refused with a LayoutError, or its value prints as a text with the same value, and small tiles are the map of
the definition, element by element: coordinates, owners, canonical form, injectivity, inverse, groups.
"""

from __future__ import annotations

import random
from math import prod

from fuzz.engine import ACCEPTED, REFUSED, InputClass, Problem
from fuzz.mutate import mutated
from layout_definition import owner_set, same_map

from tirx.layout import ComposeLayout, LayoutError, SwizzleLayout, SymbolicTileLayout, TileLayout, parse_layout

_AXES = ("m", "laneid", "warpid", "TCol", "TLane", "wgid", "tid_in_wg", "cta_id")
_EXTENTS = (1, 1, 2, 2, 2, 3, 4, 4, 5, 8, 16, 32)
_LARGEST = 128
"""Elements times copies of a tile that is compared with the definition."""

_FARTHEST = 2**40
"""The largest stride and offset of such a tile; tables of others may be refused."""


def _stride(rng: random.Random) -> str:
    number = rng.choice((0, 1, 1, 2, 4, 8, 16, 64, 3, 5, -1, rng.randint(-99, 999)))
    return f"{number}@{rng.choice(_AXES)}" if rng.random() < 0.6 else str(number)


def _list(items: list[str], rng: random.Random) -> str:
    return items[0] if len(items) == 1 and rng.random() < 0.5 else f"({', '.join(items)})"


def _iters(rng: random.Random, most: int) -> str:
    count = rng.randint(1, most)
    extents = [str(rng.choice(_EXTENTS)) for _ in range(count)]
    return f"{_list(extents, rng)} : {_list([_stride(rng) for _ in extents], rng)}"


def _tile(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.03:
        shard = ""
    elif kind < 0.15:
        shard = ", ".join(str(rng.choice(_EXTENTS)) for _ in range(rng.randint(1, 4)))
    else:
        shard = _iters(rng, 4)
    text = f"S[{shard}]"
    if rng.random() < 0.4:
        text += f" + R[{_iters(rng, 2)}]"
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        text += f" + {_stride(rng)}"
    if rng.random() < 0.06:
        text = text.replace("S[(", f"S[({rng.choice(('n', 'n*4', 'rows * 8'))}, ").replace(": (", ": (64, ")
    return text


def _swizzle(rng: random.Random) -> str:
    bits = rng.randint(0, 4)
    numbers = f"{rng.randint(0, 5)}, {bits}, {bits + rng.randint(-1, 3)}"
    return f"{rng.choice(('Swizzle(', '#tirx.swizzle_layout<'))}{numbers}"


def _closed(text: str) -> str:
    return f"{text}>" if "<" in text else f"{text})"


def random_text(rng: random.Random) -> str:
    """A layout in one of its spellings; most are right."""
    kind = rng.random()
    if kind < 0.7:
        text = _tile(rng)
        wrapped = rng.random()
        return f"#tirx.tile_layout<{text}>" if wrapped < 0.2 else f"TileLayout({text})" if wrapped < 0.3 else text
    if kind < 0.8:
        return _closed(_swizzle(rng))
    if rng.random() < 0.5:
        return f"ComposeLayout({_closed(_swizzle(rng))}, {_tile(rng)})"
    return f"#tirx.compose_layout<{_closed(_swizzle(rng))}, {_tile(rng)}>"


class Layouts(InputClass):
    """Layout texts."""

    name = "layouts"

    def generate(self, rng: random.Random) -> str:
        text = random_text(rng)
        return mutated(text, rng, (random_text(rng),)) if rng.random() < 0.4 else text

    def check(self, text: str) -> str:
        try:
            layout = parse_layout(text)
        except LayoutError as error:
            if error.position is not None and not 0 <= error.position <= len(text):
                raise Problem("position outside of the text", f"{error.position}") from error
            return REFUSED
        if (again := parse_layout(str(layout))) != layout:
            raise Problem("printed text is read as another", f"{layout} -> {again}")
        match layout:
            case TileLayout():
                _check_tile(layout)
            case ComposeLayout():
                _check_compose(layout)
            case SymbolicTileLayout():
                tile = layout.bind(3)
                if tile.size() != 3 * layout.bind(1).size():
                    raise Problem("wrong answer", "bind", "bind")
            case SwizzleLayout():
                pass
        return ACCEPTED


def _expect(name: str, right: bool, layout: object) -> None:
    if not right:
        raise Problem("wrong answer", f"{name} of {layout}", name)


def _check_tile(layout: TileLayout) -> None:
    size, copies = layout.size(), prod(it.extent for it in layout.replica)
    numbers = [*(it.stride for it in (*layout.shard, *layout.replica)), *dict(layout.offset).values()]
    if size * copies > _LARGEST or any(abs(number) > _FARTHEST for number in numbers):
        return
    owners = [owner_set(layout, flat) for flat in range(size)]
    for flat, wanted in enumerate(owners):
        found = frozenset(_point(each) for each in layout.owners(flat))
        _expect("owners", found == wanted, layout)
    _expect("canonicalize", same_map(layout.canonicalize(), layout), layout)
    # Injective: no physical place has two elements.
    places = [point for each in owners for point in each]
    _expect("is_injective", layout.is_injective() == (len(set(places)) == len(places)), layout)
    table = layout.table((size,))
    for axis, numbers in table.items():
        _expect("table", numbers.tolist() == [layout.apply(flat).get(axis, 0) for flat in range(size)], layout)
    for flat in (0, size // 2, size - 1):
        for place in layout.owners(flat)[:2]:
            wanted = [k for k, each in enumerate(owners) if _point(place) in each]
            _expect("inverse", sorted(layout.inverse(place)) == wanted, layout)
    try:
        grouped = layout.group((size,))[0]
    except LayoutError:
        return
    _expect("group", same_map(grouped, layout), layout)


def _point(place: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((axis, at) for axis, at in place.items() if at))


def _check_compose(layout: ComposeLayout) -> None:
    size = layout.tile.size()
    if size * prod(it.extent for it in layout.tile.replica) > _LARGEST:
        return
    swizzle = layout.swizzle
    for flat in range(size):
        plain = layout.tile.apply(flat)
        try:
            found = layout.apply(flat)
        except LayoutError:
            return
        address = plain.get("m", 0)
        rows = address >> swizzle.per_element
        mask = (1 << swizzle.swizzle_len) - 1
        wanted = address ^ ((rows >> swizzle.atom_len & mask) << swizzle.per_element)
        _expect("swizzled address", found.get("m", 0) == wanted, layout)
