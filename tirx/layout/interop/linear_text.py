"""Reading and printing linear layouts in the two texts that Triton has for them.

The list that its `LinearLayout` prints, and the attributes `#ttg.linear` and `#ttg.shared_linear`:

     - register=1 -> (0, 1)
       register=2 -> (8, 0)
     - lane=1 -> (0, 2)
     - warp is a size 1 dimension
    where out dims are: [dim0 (size 16), dim1 (size 4)]

    #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2]], warp = [], block = []}>
    #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tirx.layout.errors import LayoutError
from tirx.layout.scanner import Scanner, T

Basis = tuple[int, ...]
Bases = tuple[tuple[str, tuple[Basis, ...]], ...]
"""For every input dimension the images of its bits, lowest first, as output coordinates."""

OutDims = tuple[tuple[str, int], ...]

_ATTRIBUTE = re.compile(r"\s*(?:#\w+\s*=\s*)?#(?:ttg|triton_gpu)\.(linear|shared_linear)\s*<")


class LinearParts(NamedTuple):
    """A parsed text; `out_dims` is None where the text leaves it to the bases."""

    bases: Bases
    out_dims: OutDims | None


class _Reader(Scanner):
    """A cursor over either text. Tokens that are words match whole words only."""

    def take(self, token: str) -> bool:
        return self.take_word(token) is not None if token.isidentifier() else super().take(token)

    def sentence(self, *tokens: str) -> None:
        """Steps over tokens that must follow one another."""
        for token in tokens:
            self.expect(token)

    def name(self, what: str) -> str:
        word = self.word()
        if word is None or not (word.isascii() and word.isidentifier()):
            raise self.fail(what)
        self.take(word)
        return word

    def count(self) -> int:
        if self.peek("-"):
            raise self.fail("an integer of 0 or more")
        return self.integer("an integer of 0 or more")

    def listed(self, opening: str, item: Callable[[], T], closing: str) -> tuple[T, ...]:
        self.expect(opening)
        return tuple(self.items(item, closing))

    def basis(self, opening: str, closing: str) -> Basis:
        return self.listed(opening, self.count, closing)


def _dimension(read: _Reader) -> tuple[str, tuple[Basis, ...]]:
    """`name = [[..], ..]` of an attribute."""
    name = read.name("a dimension such as register or offset")
    read.expect("=")
    return name, read.listed("[", lambda: read.basis("[", "]"), "]")


def _attribute(read: _Reader) -> LinearParts:
    bases = read.listed("{", lambda: _dimension(read), "}")
    if read.take(","):
        # What the base address is a multiple of, which is no part of the map.
        read.sentence("alignment", "=")
        read.count()
    read.expect(">")
    read.end()
    return LinearParts(bases, None)


def _bullet(read: _Reader) -> tuple[str, tuple[Basis, ...]]:
    """One input dimension of a list: its bits line by line, or the sentence that it has none."""
    name = read.name("an input dimension such as register or offset")
    if read.take("is"):
        read.sentence("a", "size", "1", "dimension")
        return name, ()
    found: list[Basis] = []
    while True:
        read.expect("=")
        at = read.skip()
        if (step := read.count()) != 1 << len(found):
            raise LayoutError(f"expected {name}={1 << len(found)}, found {name}={step}", at)
        read.expect("->")
        found.append(read.basis("(", ")"))
        if not read.take(name):
            return name, tuple(found)


def _out_dim(read: _Reader) -> tuple[str, int]:
    name = read.name("an output dimension such as dim0")
    read.sentence("(", "size")
    size = read.count()
    read.expect(")")
    return name, size


def _list(read: _Reader) -> LinearParts:
    if read.take("("):
        read.sentence("empty", "layout")
        out_dims: OutDims = ()
        if read.take("with"):
            read.sentence("out", "-", "dims")
            out_dims = read.listed("[", lambda: _out_dim(read), "]")
        read.expect(")")
        read.end()
        return LinearParts((), out_dims)
    bases: list[tuple[str, tuple[Basis, ...]]] = []
    while read.take("-"):
        bases.append(_bullet(read))
    if not bases:
        raise read.fail("'- register=1 -> (..)', or #ttg.linear<..>, or #ttg.shared_linear<..>")
    read.sentence("where", "out", "dims", "are", ":")
    out_dims = read.listed("[", lambda: _out_dim(read), "]")
    read.end()
    return LinearParts(tuple(bases), out_dims)


def read_linear(text: str) -> LinearParts:
    """Reads either text; LayoutError with the character offset of the mistake. An alias `#name =` may precede."""
    attribute = _ATTRIBUTE.match(text)
    read = _Reader(text)
    if attribute is None:
        return _list(read)
    read.position = attribute.end()
    return _attribute(read)


def print_list(bases: Bases, out_dims: OutDims) -> str:
    """The list of bases, as Triton prints a `LinearLayout`, without the line break before it."""
    dims = "[" + ", ".join(f"{name} (size {size})" for name, size in out_dims) + "]"
    if not bases:
        return f"(empty layout with out-dims {dims})" if out_dims else "(empty layout)"
    lines: list[str] = []
    for name, images in bases:
        if not images:
            lines.append(f" - {name} is a size 1 dimension")
        for i, image in enumerate(images):
            lines.append(f" {' ' if i else '-'} {name}={1 << i} -> ({', '.join(map(str, image))})")
    return "\n".join([*lines, f"where out dims are: {dims}"])


def print_attribute(bases: Bases, alignment: int | None) -> str:
    """`#ttg.shared_linear` when an alignment in bytes is given, else `#ttg.linear`."""

    def dimension(name: str, images: tuple[Basis, ...]) -> str:
        return f"{name} = [{', '.join(str(list(image)) for image in images)}]"

    if alignment is None:
        return f"#ttg.linear<{{{', '.join(dimension(*row) for row in bases)}}}>"
    # An empty block dimension is left out here, but written in a distributed layout.
    shown = ", ".join(dimension(name, images) for name, images in bases if images or name != "block")
    return f"#ttg.shared_linear<{{{shown}}}, alignment = {alignment}>"
