"""Shared-memory banks: where elements lie, and which accesses of a warp get in each other's way.

Documented (CUDA C++ Programming Guide, "Shared Memory" of the compute capabilities from 5.0 on): 32 banks of 4 bytes,
successive words in successive banks; lanes that reach one word, whatever part of it, do not conflict; lanes that reach
different words of one bank are served one after the other.

Model (not promised by the guide): accesses of up to 4 bytes a lane are served for 32 lanes at once, of 8 bytes for
half-warps, of 16 bytes for quarter-warps, so that a phase never asks for more than the 128 bytes of a line; `ldmatrix`
and `stmatrix` serve one 8x8 matrix, eight rows of 16 bytes, in a phase.

Measured on an H200 (sm_90), by the cycles of loads, stores and `ldmatrix` under random, strided and broadcast patterns:
the wavefronts are those of the model, with one exception, where they are fewer, down to half: loads of 8 and 16 bytes
of which many lanes, such as each lane n and lane n ^ 1, have the same address.
"""

from __future__ import annotations

from operator import index
from typing import NamedTuple, overload

from tirx.layout.arrays import ArrayLike, NDArray, np
from tirx.layout.axis import WARP_SIZE, axis
from tirx.layout.compose import ComposeLayout
from tirx.layout.dtypes import element_type
from tirx.layout.errors import LayoutError
from tirx.layout.ownership import describe_element, held_elements, thread_axes
from tirx.layout.shape import Shape, check_shape
from tirx.layout.tile import TileLayout, check_all_on
from tirx.values import dataclass

BANKS = 32
WORD_BITS = 32

LANES_TOGETHER: dict[int, int] = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
"""Lanes that one phase serves, by the bytes that a lane accesses."""

MATRIX_ROWS, MATRIX_ROW_BITS = 8, 128
"""One matrix of `ldmatrix`: PTX ISA, "Warp-level matrix load instruction: ldmatrix"."""


class BankLine(NamedTuple):
    """Bank and line (row of 128 bytes) of one element."""

    bank: int
    line: int


class BankLines(NamedTuple):
    """Banks and lines of many elements, each an array like that of the addresses."""

    bank: NDArray[np.int64]
    line: NDArray[np.int64]


@overload
def bank_of(address: int, element_bits: int) -> BankLine: ...
@overload
def bank_of(address: NDArray[np.int64], element_bits: int) -> BankLines: ...
def bank_of(address: int | NDArray[np.int64], element_bits: int) -> BankLine | BankLines:
    """Bank and line of an element address, or of an array of them. `element_bits` is the storage width.

    An element of 64 bits starts there and takes the next bank too.
    """
    word = address * _storage_bits(element_bits) // WORD_BITS
    if isinstance(word, np.ndarray):
        return BankLines(word % BANKS, word // BANKS)
    return BankLine(word % BANKS, word // BANKS)


def _words(addresses: NDArray[np.int64], element_bits: int, vector: int) -> NDArray[np.int64]:
    """The words that accesses of `vector` elements touch, in a last dimension of their own."""
    count = max(1, _storage_bits(element_bits) * vector // WORD_BITS)
    return addresses[..., None] * element_bits // WORD_BITS + np.arange(count, dtype=np.int64)


def bank_table(layout: TileLayout | ComposeLayout, shape: Shape, element_bits: int) -> BankLines:
    """Bank and line of every element of a tile in shared memory: two int64 arrays of `shape`."""
    return bank_of(layout.axis_table("m", shape), element_bits)


def conflict_degree(addresses: NDArray[np.int64], element_bits: int) -> int:
    """The number of words that the busiest bank serves when the elements at `addresses` are accessed at once.

    1 means conflict-free. Accesses to one word count once, because the hardware broadcasts it. LayoutError for none.
    """
    if not addresses.size:
        raise LayoutError("expected at least one address")
    return wavefronts(addresses.reshape(1, -1), 1, element_bits)


def count_distinct(values: NDArray[np.int64]) -> int:
    """The distinct values of every row of an array with rows, counted together."""
    return int(_firsts(np.sort(values, axis=-1)).sum())


def _firsts(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks the first one of equal values in rows that are sorted."""
    marked = np.ones(values.shape, dtype=np.bool_)
    np.not_equal(values[..., 1:], values[..., :-1], out=marked[..., 1:])
    return marked


def wavefronts(elements: NDArray[np.int64], lanes: int, element_bits: int) -> int:
    """The sum of `conflict_degree` of all phases of accesses to the addresses `elements`: (..., lanes, vector).

    `lanes` of them are served together, fewer at the end.
    """
    if rest := -elements.shape[-2] % lanes:  # once more the last lane, which costs nothing
        elements = np.concatenate((elements, elements[..., -1:, :].repeat(rest, axis=-2)), axis=-2)
    words = _words(elements, element_bits, 1)
    words = np.sort(words.reshape(-1, lanes * words.shape[-2] * words.shape[-1]), axis=-1)
    banks = words % BANKS + np.arange(len(words), dtype=np.int64)[:, None] * BANKS
    load = np.bincount(banks[_firsts(words)], minlength=len(words) * BANKS)
    return int(load.reshape(-1, BANKS).max(axis=-1).sum())


class LaneAccess(NamedTuple):
    """One lane that takes part in a conflict: the line it needs of the bank, for which element."""

    lane: int
    line: int
    element: tuple[int, ...]


@dataclass(frozen=True)
class Phase:
    """Lanes of a warp that are served together, in one of its accesses; `accesses` are those to the busiest bank."""

    warp: int
    access: int
    lanes: range
    degree: int
    bank: int
    accesses: tuple[LaneAccess, ...]

    def __str__(self) -> str:
        shown = [f"lane {a.lane} {a.element} in line {a.line}" for a in self.accesses[:4]]
        if len(self.accesses) > len(shown):
            shown.append(f"{len(self.accesses) - len(shown)} more")
        return (
            f"warp {self.warp}, access {self.access}, lanes {self.lanes.start}-{self.lanes[-1]}: "
            f"{self.degree} words of bank {self.bank}, for {', '.join(shown)}"
        )


@dataclass(frozen=True)
class AccessReport:
    """The bank conflicts of an access pattern.

    access_bytes: what a lane accesses at once. degrees: for every phase how many words its busiest bank serves, by
    warp, then access, then lanes; phases without an active lane are left out. worst: the first phase of the highest
    degree.
    """

    access_bytes: int
    degrees: tuple[int, ...]
    worst: Phase

    @property
    def degree(self) -> int:
        """The conflict degree of the pattern, 1 when it is conflict-free."""
        return self.worst.degree

    @property
    def wavefronts(self) -> int:
        """The number of wavefronts of all phases together."""
        return sum(self.degrees)

    @property
    def is_conflict_free(self) -> bool:
        """Returns True if every phase takes one wavefront."""
        return self.degree == 1

    def __str__(self) -> str:
        lanes = LANES_TOGETHER[self.access_bytes]
        count = (
            f"{_count(self.wavefronts, 'wavefront')} for {_count(len(self.degrees), 'phase')} of {lanes} lanes x "
            f"{_count(self.access_bytes, 'byte')}"
        )
        if self.is_conflict_free:
            return f"conflict-free: {count}"
        return f"{self.degree}-way bank conflict: {count}; worst is {self.worst}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _storage_bits(element: str | int) -> int:
    bits = element_type(element).storage_bits if isinstance(element, str) else index(element)
    if bits < 1:
        raise LayoutError(f"expected elements of 1 bit or more, found {bits}")
    return bits


def _threads_of(register: TileLayout) -> int:
    """Threads, in whole warps, that a register layout names."""
    footprint = register.footprint()
    last = sum(footprint[name][1] * weight for name in thread_axes(register) if (weight := axis(name).weight))
    return -(-(last + 1) // WARP_SIZE) * WARP_SIZE


def _pattern(pattern: TileLayout | ArrayLike, shape: Shape, size: int) -> NDArray[np.int64]:
    """Flat indices of the elements of every thread, (threads, elements), -1 for none; whole warps of threads."""
    if isinstance(pattern, TileLayout):
        return held_elements(pattern, shape, _threads_of(pattern))
    try:
        found = np.asarray(pattern)
    except ValueError as error:
        raise LayoutError(f"expected an access pattern with as many elements for every thread: {error}") from None
    if found.dtype.kind not in "iu" or found.ndim != 2 or not found.size:
        raise LayoutError(
            "expected an access pattern of integers of (threads, elements per thread), "
            f"found {found.dtype} of shape {found.shape}"
        )
    if found.min() < -1 or found.max() >= size:
        raise LayoutError(
            f"an access pattern names elements 0..{size - 1}, or -1 for none, found {found.min()}..{found.max()}"
        )
    idle = np.full((-len(found) % WARP_SIZE, found.shape[1]), -1, dtype=np.int64)
    return np.concatenate((found.astype(np.int64), idle))


def analyse_access(
    layout: TileLayout | ComposeLayout,
    shape: Shape,
    pattern: TileLayout | ArrayLike,
    element: str | int,
    vector: int = 1,
) -> AccessReport:
    """The bank conflicts of threads that access a tile of `shape` in shared memory, `vector` elements at once.

    pattern: which thread accesses which element: a layout of the same tile on thread axes and registers (axis m), or an
    integer array of (threads, elements per thread) of flat row-major indices, -1 where a thread has nothing to do. The
    elements of a thread are accessed in that order, `vector` at a time, by all lanes of a warp together.
    element: element type, or storage width in bits. The tile starts at a multiple of 128 bytes.

    Raises LayoutError when an access is not of 1, 2, 4, 8 or 16 bytes, or when its elements are not consecutive and
    aligned in memory.
    """
    check_all_on(layout.tile if isinstance(layout, ComposeLayout) else layout, "m")
    dims = check_shape(shape, layout.size())
    bits = _storage_bits(element)
    lanes_together = LANES_TOGETHER.get(bits * vector // 8) if bits * vector % 8 == 0 else None
    if lanes_together is None:
        raise LayoutError(
            f"an access takes {', '.join(map(str, LANES_TOGETHER))} bytes, found {vector} elements of {bits} bits"
        )
    held = _pattern(pattern, dims, layout.size())
    if held.shape[1] % vector:
        raise LayoutError(f"the {held.shape[1]} elements of a thread are no whole number of accesses of {vector}")
    warps, accesses = len(held) // WARP_SIZE, held.shape[1] // vector
    memory = layout.axis_table("m", (layout.size(),))
    elements = _vectors(held, vector)
    _check_vectors(elements, memory, dims, bits)
    active = elements[..., 0] >= 0
    addresses = memory[elements[..., 0]]

    phases = warps * accesses * (WARP_SIZE // lanes_together)
    words = _words(addresses, bits, vector).reshape(phases, lanes_together, -1)
    reached = np.broadcast_to(active.reshape(phases, lanes_together, 1), words.shape)
    if not active.any():
        raise LayoutError("expected an access pattern in which some thread accesses an element")
    by_phase = np.broadcast_to(np.arange(phases, dtype=np.int64)[:, None, None], words.shape)
    distinct = np.unique(np.stack((by_phase[reached], words[reached])), axis=1)
    load = np.bincount(distinct[0] * BANKS + distinct[1] % BANKS, minlength=phases * BANKS).reshape(phases, BANKS)
    degrees = load.max(axis=1)

    worst = int(degrees.argmax())
    bank = int(load[worst].argmax())
    per_access = WARP_SIZE // lanes_together
    first_lane = worst % per_access * lanes_together
    of_lanes = elements.reshape(phases, lanes_together, vector)[worst]
    colliding: list[LaneAccess] = []
    for lane, word in np.argwhere(reached[worst] & (words[worst] % BANKS == bank)):
        flat = int(of_lanes[lane, 0])  # all words of an access load their banks alike: the first one is named
        where = tuple(int(x) for x in np.unravel_index(flat, dims))
        colliding.append(LaneAccess(first_lane + int(lane), int(words[worst, lane, word]) // BANKS, where))
    phase = Phase(
        warp=worst // (accesses * per_access),
        access=worst // per_access % accesses,
        lanes=range(first_lane, first_lane + lanes_together),
        degree=int(degrees[worst]),
        bank=bank,
        accesses=tuple(colliding),
    )
    return AccessReport(bits * vector // 8, tuple(int(degree) for degree in degrees if degree), phase)


def _vectors(held: NDArray[np.int64], vector: int) -> NDArray[np.int64]:
    """The elements of all accesses: (warps, accesses, lanes, vector)."""
    warps, accesses = len(held) // WARP_SIZE, held.shape[1] // vector
    return held.reshape(warps, WARP_SIZE, accesses, vector).transpose(0, 2, 1, 3)


def _torn(elements: NDArray[np.int64], memory: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks the accesses (last dimension) whose elements are not consecutive or not aligned to their width."""
    vector = elements.shape[-1]
    addresses = memory[elements]
    apart = addresses != addresses[..., :1] + np.arange(vector, dtype=np.int64)
    odd = addresses[..., :1] % vector != 0
    active = elements >= 0
    torn: NDArray[np.bool_] = ((active[..., :1] != active) | ((apart | odd) & active)).any(axis=-1)
    return torn


def _check_vectors(elements: NDArray[np.int64], memory: NDArray[np.int64], dims: tuple[int, ...], bits: int) -> None:
    """Raises LayoutError unless every access is of consecutive elements, aligned to its width."""
    torn = _torn(elements, memory)
    if not torn.any():
        return
    vector = elements.shape[-1]
    warp, access, lane = (int(x) for x in np.argwhere(torn)[0])
    places = ", ".join(
        f"{describe_element(int(flat), dims)} at {memory[flat]}" if flat >= 0 else "none"
        for flat in elements[warp, access, lane]
    )
    narrower = (vector >> k for k in range(vector.bit_length()) if bits * (vector >> k) >= 8)
    works = next((n for n in narrower if not _torn(elements.reshape(-1, n), memory).any()), None)
    hint = f"; accesses of {_count(works, 'element')} work" if works else ""
    raise LayoutError(
        f"expected {vector} consecutive elements of {bits} bits, aligned to {vector}, in access {access} of lane "
        f"{lane} of warp {warp}, found {places}{hint}"
    )
