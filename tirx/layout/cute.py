"""CuTe text, shape:stride with nested modes, and its translation to iters.

CuTe orders digits colexicographically: inside a mode the *first* factor is fastest. Each top-level mode becomes one
dimension of a row-major logical tensor, so ((8,2),(4,4)):((4,32),(1,64)) is a 16x16 layout whose last dimension, the
second mode, is fastest in the flat index: S[(2, 8, 4, 4) : (32, 4, 64, 1)].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters

if TYPE_CHECKING:
    from tirx.layout.tile import TileLayout

_TOKEN = re.compile(r"\s*(?:(-?[0-9]+)|([(),:]))")
_SWIZZLE = re.compile(r"\s*(?:Swizzle|Sw)\s*<\s*([0-9]+)\s*,\s*([0-9]+)\s*,\s*([0-9]+)\s*>\s*o(?![A-Za-z0-9_])")

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"


@dataclass(frozen=True)
class CuteParts:
    """What a CuTe text says: iters, one logical extent per top-level mode, and (B, M, S) of a leading swizzle."""

    iters: Iters
    shape: tuple[int, ...]
    swizzle: tuple[int, int, int] | None


class _Reader:
    def __init__(self, text: str, start: int):
        self.text = text
        self.position = start

    def peek(self) -> str | None:
        match = _TOKEN.match(self.text, self.position)
        return match.group(1) or match.group(2) if match else None

    def at(self) -> int:
        """Offset of the next character that is no white space."""
        rest = self.text[self.position :]
        return self.position + len(rest) - len(rest.lstrip())

    def take(self) -> str | None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match.group(1) or match.group(2)

    def fail(self, expected: str) -> LayoutError:
        at = self.at()
        found = repr(self.text[at]) if at < len(self.text) else "the end of the text"
        return LayoutError(f"expected {expected}, found {found}", at)

    def int_tuple(self) -> IntTuple:
        token = self.peek()
        if token == "(":
            self.take()
            items: list[IntTuple] = []
            while self.peek() != ")":
                items.append(self.int_tuple())
                if self.peek() != ",":
                    break
                self.take()
            if self.peek() != ")":
                raise self.fail("',' or ')'")
            self.take()
            return tuple(items)
        if token is None or token in ",:)":
            raise self.fail("an integer or '('")
        self.take()
        return int(token)


def _leaves(value: IntTuple) -> list[int]:
    return [value] if isinstance(value, int) else [leaf for item in value for leaf in _leaves(item)]


def _same_profile(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, int) or isinstance(stride, int):
        return isinstance(shape, int) and isinstance(stride, int)
    return len(shape) == len(stride) and all(_same_profile(a, b) for a, b in zip(shape, stride, strict=True))


def read_cute(text: str, allow_swizzle: bool = False) -> CuteParts:
    """Reads CuTe text. Strides left out are compact and colexicographic, as in CuTe.

    A leading `Swizzle<B,M,S> o` is allowed on request only. LayoutError with the character offset otherwise.
    """
    swizzled = _SWIZZLE.match(text)
    if swizzled is not None and not allow_swizzle:
        raise LayoutError("expected a plain CuTe layout, found a swizzle: use ComposeLayout.from_cute", 0)
    reader = _Reader(text, swizzled.end() if swizzled is not None else 0)
    at_shape = reader.at()
    shape = reader.int_tuple()
    extents = _leaves(shape)
    if any(extent < 1 for extent in extents):
        raise LayoutError(f"extents must be positive, found {min(extents)}", at_shape)
    if reader.peek() == ":":
        reader.take()
        at_stride = reader.at()
        stride = reader.int_tuple()
        if not _same_profile(shape, stride):
            raise LayoutError("expected strides nested like the shape", at_stride)
        strides = _leaves(stride)
    else:
        strides = [prod(extents[:i]) for i in range(len(extents))]
    if reader.at() < len(text):
        raise reader.fail("the end of the layout")
    iters: list[Iter] = []
    sizes: list[int] = []
    used = 0
    for mode in (shape,) if isinstance(shape, int) else shape:
        count = len(_leaves(mode))
        factors = list(zip(extents, strides, strict=True))[used : used + count]
        used += count
        sizes.append(prod(extent for extent, _ in factors))
        iters.extend(Iter(e, s) for e, s in reversed(factors))
    bits, base, shift = (int(group) for group in swizzled.groups()) if swizzled is not None else (0, 0, 0)
    return CuteParts(tuple(iters), tuple(sizes), (bits, base, shift) if swizzled is not None else None)


def cute_shape(text: str) -> tuple[int, ...]:
    """The logical shape of a CuTe text: the size of each top-level mode."""
    return read_cute(text, allow_swizzle=True).shape


def _mode(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"({','.join(map(str, values))})"


def print_cute(layout: TileLayout, shape: Sequence[int]) -> str:
    """CuTe text of a layout on axis m, one top-level mode per dimension of `shape`."""
    if layout.replica or layout.offset or any(it.axis != "m" for it in layout.shard):
        raise LayoutError(f"CuTe text holds a shard on axis m only, found {layout}")
    grouped, seps = layout.group(shape)
    modes = [grouped.shard[a:b][::-1] for a, b in zip(seps, seps[1:], strict=False)]
    extents = [_mode([it.extent for it in mode]) for mode in modes]
    strides = [_mode([it.stride for it in mode]) for mode in modes]
    if len(modes) == 1 and len(modes[0]) == 1:
        return f"{extents[0]}:{strides[0]}"
    return f"({','.join(extents)}):({','.join(strides)})"


def element_base(byte_base: int, element_bits: int) -> int:
    """Number of untouched low bits of an *element* address, from that of a byte address."""
    return byte_base + 3 - _log2(element_bits, byte_base + 3)


def byte_base(element_base: int, element_bits: int) -> int:
    """Number of untouched low bits of a *byte* address, from that of an element address."""
    base = element_base + _log2(element_bits, None) - 3
    if base < 0:
        raise LayoutError(f"a swizzle of 2**{element_base} elements of {element_bits} bits splits a byte")
    return base


def _log2(element_bits: int, most: int | None) -> int:
    if element_bits < 1 or element_bits & (element_bits - 1):
        raise LayoutError(f"the element width must be a power of two, found {element_bits}")
    log = element_bits.bit_length() - 1
    if most is not None and log > most:
        raise LayoutError(f"a swizzle of units of {1 << most} bits would split elements of {element_bits} bits")
    return log
