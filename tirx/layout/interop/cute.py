"""CuTe text, shape:stride with nested modes, and its translation to iters.

CuTe orders digits colexicographically: inside a mode the *first* factor is fastest. Each top-level mode becomes one
dimension of a row-major logical tensor, so ((8,2),(4,4)):((4,32),(1,64)) is a 16x16 layout whose last dimension, the
second mode, is fastest in the flat index: S[(2, 8, 4, 4) : (32, 4, 64, 1)]. Integers may be static, `_8`, as CuTe
prints those that the C++ compiler knows.

A swizzle Sw<B,M,S>, also spelled Swizzle<B,M,S> or S<B,M,S>, acts on different things, and the text says on which:

    Sw<3,3,3> o 0 o (8,64):(64,1)                       offsets in elements, after adding 0: CuTe's composition
    Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)    byte addresses of 16-bit elements: CuTe's shared-memory pointer
    Swizzle<3,4,3> o (8,64):(64,1)                      byte addresses: PTX ISA 9.7.16.3.3, which leaves the width open

These three are the same layout of 16-bit elements. Strides count elements in each of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul
from typing import Literal, get_args

from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, fused_if_needed, group_many_iters
from tirx.layout.notation import ParsedSwizzle
from tirx.layout.scanner import Scanner, check_integer
from tirx.layout.shape import check_shape
from tirx.layout.strided import Strided, normal_form
from tirx.values import dataclass

_SWIZZLE = re.compile(r"(Swizzle|Sw|S)\s*<")
_POINTER = re.compile(r"_?smem_ptr\[([0-9]{1,4})b\]\((unset|0x[0-9a-fA-F]{1,16})\)")

CuteForm = Literal["isa", "layout", "pointer"]
"""The three forms of the swizzle above: on byte addresses, on offsets in elements, on a pointer."""

_ADDRESS_BITS = 63
"""The numbers of a swizzle are positions of bits; more than this no address has."""


@dataclass(frozen=True)
class CuteSwizzle:
    """Sw<bits, base, shift> of a text, and what it acts on.

    unit:    "element" for offsets in elements, "byte" for byte addresses. width:   bits of an element, when the text
    tells. offset:  elements added before the swizzle.
    """

    bits: int
    base: int
    shift: int
    unit: Literal["element", "byte"]
    width: int | None
    offset: int
    position: int


@dataclass(frozen=True)
class CuteParts:
    """A parsed CuTe text: iters, one logical extent per top-level mode, and a leading swizzle."""

    iters: Iters
    shape: tuple[int, ...]
    swizzle: CuteSwizzle | None


@dataclass(frozen=True)
class CuteComposed:
    """A CuTe text in units of elements; without a swizzle the swizzle is the identity."""

    iters: Iters
    shape: tuple[int, ...]
    swizzle: ParsedSwizzle
    offset: int


@dataclass(frozen=True)
class _IntTuple:
    """A nested tuple of integers: its brackets and leaves in order, and how many leaves each top-level item has."""

    profile: str
    leaves: tuple[int, ...]
    positions: tuple[int, ...]
    modes: tuple[int, ...]


def _leaf(scan: Scanner, what: str) -> int:
    if scan.peek("?"):
        raise LayoutError(
            f"expected {what}, found '?': only extents and strides known now make a layout", scan.position
        )
    scan.take("_")
    value = scan.integer(what)
    if scan.peek("@"):
        raise LayoutError(
            f"expected an integer, found the basis stride {value}@...: a layout of coordinates gives no address",
            scan.position,
        )
    return value


def _int_tuple(scan: Scanner) -> _IntTuple:
    """Reads any nesting without recursion."""
    profile: list[str] = []
    leaves: list[int] = []
    positions: list[int] = []
    modes: list[int] = []
    depth = 0
    while True:
        if scan.take("("):
            depth += 1
            profile.append("(")
            if not scan.peek(")"):
                continue
        else:
            positions.append(scan.skip())
            leaves.append(_leaf(scan, "an integer or '('"))
            profile.append(".")
            if depth < 2:
                modes.append(1)
        while depth:
            # After an item: the next one, or the end of the tuple around it.
            if scan.take(",") and not scan.peek(")"):
                break
            if not scan.take(")"):
                raise scan.fail("',' or ')'")
            depth -= 1
            profile.append(")")
            if depth == 1:
                modes.append(len(leaves) - sum(modes))
        if not depth:
            return _IntTuple("".join(profile), tuple(leaves), tuple(positions), tuple(modes))


def _swizzle_head(scan: Scanner) -> tuple[int, int, int] | None:
    """`Sw<B,M,S>`, or None when no swizzle is next."""
    match = _SWIZZLE.match(scan.text, scan.skip())
    if match is None:
        return None
    scan.position = match.end()
    numbers: list[int] = []
    for name in ("B", "M", "S"):
        if numbers:
            scan.expect(",")
        at = scan.skip()
        numbers.append(scan.integer(f"{name} of the swizzle (an integer)"))
        if abs(numbers[-1]) > _ADDRESS_BITS or (numbers[-1] < 0 and name != "S"):
            raise LayoutError(f"expected {name} of the swizzle in 0..{_ADDRESS_BITS}, found {numbers[-1]}", at)
    scan.expect(">")
    return numbers[0], numbers[1], numbers[2]


def _swizzle(scan: Scanner) -> CuteSwizzle | None:
    """The swizzle and what it acts on, up to and with the last `o`."""
    position = scan.skip()
    head = _swizzle_head(scan)
    if head is None:
        return None
    # A tensor prints its pointer glued to the swizzle, a layout prints ` o ` between the two.
    glued = scan.peek("_")
    if not glued and not scan.take_word("o"):
        raise scan.fail("'o'")
    at = scan.skip()
    pointer = _POINTER.match(scan.text, at)
    if pointer is not None:
        scan.position = pointer.end()
        period = 1 << (sum(head[:2]) + abs(head[2]))
        address = 0 if pointer.group(2) == "unset" else int(pointer.group(2), 16)
        if address % period:
            raise LayoutError(
                f"expected a pointer aligned to the {period} bytes of the swizzle, found {pointer.group(2)}", at
            )
        if not scan.take_word("o"):
            raise scan.fail("'o'")
        return CuteSwizzle(*head, "byte", int(pointer.group(1)), 0, position)
    if glued or (scan.word() is not None and not scan.peek("_")):
        raise scan.fail("a layout, an integer offset or a pointer smem_ptr[<bits>b](unset)")
    if not scan.peek("("):
        offset = _leaf(scan, "a layout, an integer offset or a pointer smem_ptr[<bits>b](unset)")
        if scan.take_word("o"):
            return CuteSwizzle(*head, "element", None, offset, position)
        scan.position = at
    return CuteSwizzle(*head, "byte", None, 0, position)


def read_cute(text: str, allow_swizzle: bool = False) -> CuteParts:
    """Reads CuTe text. Strides left out are compact and colexicographic, as in CuTe.

    A leading swizzle is allowed on request only. LayoutError with the character offset otherwise.
    """
    scan = Scanner(text)
    swizzle = _swizzle(scan)
    if swizzle is not None and not allow_swizzle:
        raise LayoutError(
            "expected a plain CuTe layout, found a swizzle: use ComposeLayout.from_cute", swizzle.position
        )
    at_shape = scan.skip()
    shape = _int_tuple(scan)
    for extent, at in zip(shape.leaves, shape.positions, strict=True):
        if extent < 1:
            raise LayoutError(f"extents must be positive, found {extent}", at)
    check_integer(prod(shape.leaves), at_shape)
    if scan.take(":"):
        at_stride = scan.skip()
        stride = _int_tuple(scan)
        if stride.profile != shape.profile:
            raise LayoutError("expected strides nested like the shape", at_stride)
        strides = stride.leaves
    else:
        strides = (1, *accumulate(shape.leaves, mul))[: len(shape.leaves)]
    scan.end()
    iters: list[Iter] = []
    sizes: list[int] = []
    used = 0
    for count in shape.modes:
        extents = shape.leaves[used : used + count]
        iters.extend(Iter(e, s) for e, s in zip(extents[::-1], strides[used : used + count][::-1], strict=True))
        sizes.append(prod(extents))
        used += count
    return CuteParts(tuple(iters), tuple(sizes), swizzle)


def read_composed(text: str, element_bits: int | None = None) -> CuteComposed:
    """Reads CuTe text with or without a swizzle, in units of elements.

    element_bits: the width of an element, a power of two. A swizzle on bytes needs it unless its pointer tells it;
        both must agree then. A swizzle on elements does not look at it.
    """
    parts = read_cute(text, allow_swizzle=True)
    found = parts.swizzle
    if found is None:
        return CuteComposed(parts.iters, parts.shape, ParsedSwizzle(0, 0, 0), 0)
    at = found.position
    base = found.base
    if found.unit == "byte":
        width = found.width if found.width is not None else element_bits
        if width is None:
            raise LayoutError(
                f"expected the width of an element for a swizzle on byte addresses; a swizzle on offsets in elements "
                f"is written Sw<{found.bits},{found.base},{found.shift}> o 0 o ...",
                at,
            )
        if element_bits is not None and element_bits != width:
            raise LayoutError(f"expected a pointer to elements of {element_bits} bits, found {width} bits", at)
        try:
            base = element_base(base, width)
        except LayoutError as error:
            raise LayoutError(str(error), at) from None
    swizzle = ParsedSwizzle(base, found.bits, abs(found.shift), found.shift >= 0, at)
    return CuteComposed(parts.iters, parts.shape, swizzle, found.offset)


def read_thread_value(text: str, shape: Sequence[int], axis: str) -> tuple[Iters, Iters]:
    """Shard and replica of a CuTe thread-value layout: (thread, value) -> element of a tile of `shape`, counted
    colexicographically. Threads go to `axis`, values to m; threads with stride 0 hold copies.

    Raises LayoutError for a text without two modes, and for one that does not reach each element exactly once.
    """
    parts = read_cute(text)
    if len(parts.shape) != 2:
        raise LayoutError(f"expected two modes, threads and values, found {len(parts.shape)}")
    digits: list[tuple[int, int, str, int]] = []  # stride among elements, extent, axis, weight on the axis
    replica: list[Iter] = []
    extents = [each.extent for each in parts.iters]
    threads = next(k for k in range(len(extents) + 1) if prod(extents[:k]) == parts.shape[0])
    for on, mode in ((axis, parts.iters[:threads]), ("m", parts.iters[threads:])):
        weight = 1
        for each in reversed(mode):  # the fastest first
            if each.stride == 0 and on == axis and each.extent > 1:
                replica.append(Iter(each.extent, weight, axis))
            elif each.extent > 1:
                digits.append((each.stride, each.extent, on, weight))
            weight *= each.extent
    digits.sort()
    for stride, reached in zip(
        (d[0] for d in digits), accumulate((d[1] for d in digits), mul, initial=1), strict=False
    ):
        if stride != reached:
            raise LayoutError(f"expected a layout that reaches each element once, found stride {stride} for {reached}")
    if prod(d[1] for d in digits) != prod(shape):
        raise LayoutError(f"expected {prod(shape)} elements of {tuple(shape)}, found {prod(d[1] for d in digits)}")
    return _dimensions([(extent, on, at) for _, extent, on, at in digits], shape), tuple(replica)


def _dimensions(digits: list[tuple[int, str, int]], shape: Sequence[int]) -> Iters:
    """Shares out digits (extent, axis, weight), the fastest first, among dimensions of which the first is fastest."""
    iters: list[Iter] = []
    for size in shape:
        own: list[Iter] = []
        while (left := size // prod(each.extent for each in own)) > 1:
            extent, on, weight = digits.pop(0)
            if extent > left:
                if extent % left:
                    raise LayoutError(f"expected digits that end with a dimension of {size}, found one of {extent}")
                digits.insert(0, (extent // left, on, weight * left))
                extent = left
            own.append(Iter(extent, weight, on))
        if prod(each.extent for each in own) != size:
            raise LayoutError(f"expected digits that end with a dimension of {size}, found {[i.extent for i in own]}")
        iters += reversed(own or [Iter(1, 1)])
    return tuple(iters)


def cute_shape(text: str) -> tuple[int, ...]:
    """The logical shape of a CuTe text: the size of each top-level mode.

    >>> from tirx.layout import cute_shape
    >>> cute_shape("((8,2),(4,4)):((4,32),(1,64))")
    (16, 16)
    """
    return read_cute(text, allow_swizzle=True).shape


def _mode(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"({','.join(map(str, values))})"


def _is_on_m(layout: Strided) -> bool:
    return not layout.replica and not layout.offset and all(it.axis == "m" for it in layout.shard)


def print_cute(layout: Strided, shape: Sequence[int]) -> str:
    """CuTe text of a layout on axis m, one top-level mode per dimension of `shape`."""
    plain = layout if _is_on_m(layout) else normal_form(layout)
    if not _is_on_m(plain):
        raise LayoutError(f"CuTe text holds a shard on axis m only, found {layout}")
    dims = [check_shape(shape, layout.size)]
    iters, (seps,) = fused_if_needed(plain.shard, lambda shard: group_many_iters(shard, dims, "m"))
    modes = [iters[a:b][::-1] for a, b in zip(seps, seps[1:], strict=False)]
    extents = [_mode([it.extent for it in mode]) for mode in modes]
    strides = [_mode([it.stride for it in mode]) for mode in modes]
    if len(modes) == 1 and len(modes[0]) == 1:
        return f"{extents[0]}:{strides[0]}"
    return f"({','.join(extents)}):({','.join(strides)})"


def print_composed(
    swizzle: ParsedSwizzle, tile: Strided, shape: Sequence[int], element_bits: int | None, form: CuteForm
) -> str:
    """CuTe text of a swizzle after a tile, in one of the three forms that the head of this file shows.

    Only "layout" can say an offset of the tile, and only it needs no element width. Raises LayoutError for what the
    form cannot say.
    """
    if form not in get_args(CuteForm):
        raise LayoutError(f"expected a form of CuTe text {', '.join(get_args(CuteForm))}, found {form!r}")
    shift = swizzle.atom_len if swizzle.swizzle_inner else -swizzle.atom_len
    if form == "layout":
        offsets = dict(tile.offset)
        plain = tile._replace(offset=tuple([(name, at) for name, at in tile.offset if name != "m"]))
        name = f"Sw<{swizzle.swizzle_len},{swizzle.per_element},{shift}>"
        return f"{name} o {offsets.get('m', 0)} o {print_cute(plain, shape)}"
    if element_bits is None:
        raise LayoutError(f"expected the width of an element for CuTe text of the form '{form}'")
    numbers = f"<{swizzle.swizzle_len},{byte_base(swizzle.per_element, element_bits)},{shift}>"
    if form == "pointer":
        return f"Sw{numbers} o smem_ptr[{element_bits}b](unset) o {print_cute(tile, shape)}"
    return f"Swizzle{numbers} o {print_cute(tile, shape)}"


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
