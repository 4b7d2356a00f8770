"""`SwizzleLayout`: the XOR permutation of a linear element address.

On x = address >> M the bits [S, S + B) are XOR-ed into the bits [0, B); the low M bits of the address stay. Written
Swizzle(M, B, S). CuTe writes the same thing Swizzle<B, M, S>. The opposite direction, bits [0, B) XOR-ed into
[S, S + B), is Swizzle(M, B, S, swizzle_inner=False), for CuTe Swizzle<B, M, -S>.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import TYPE_CHECKING, Literal, SupportsIndex, cast, get_args, overload

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import canonical_name
from tirx.layout.dtypes import element_type
from tirx.layout.errors import LayoutError
from tirx.layout.notation import ParsedSwizzle, read_swizzle
from tirx.layout.shape import Shape, check_entries, check_shape
from tirx.values import dataclass

if TYPE_CHECKING:
    from tirx.layout.gf2 import BitMatrix

SwizzleMode = Literal["none", "32B", "64B", "128B", "128B_base32B"]


@dataclass(frozen=True)
class _Mode:
    """A hardware mode on byte addresses: `atom_bits` stay together, B bits from S places above are XOR-ed."""

    atom_bits: int
    swizzle_len: int
    atom_len: int


# PTX ISA 9.7.16.3.3, canonical layouts: Swizzle<B, 4, 3> on byte addresses. The 128B mode with 32-byte atoms moves
# bits [8:7] into [6:5].
_MODES: dict[SwizzleMode, _Mode] = {
    "none": _Mode(128, 0, 3),
    "32B": _Mode(128, 1, 3),
    "64B": _Mode(128, 2, 3),
    "128B": _Mode(128, 3, 3),
    "128B_base32B": _Mode(256, 2, 2),
}

SWIZZLE_MODES: tuple[SwizzleMode, ...] = get_args(SwizzleMode)

_ADDRESS_BITS = 62
"""Element addresses are computed with 64-bit integers, signed."""


@dataclass(frozen=True)
class SwizzleLayout:
    """Swizzle(per_element, swizzle_len, atom_len), in elements.

    per_element (M): 2**M elements stay together. swizzle_len (B): number of bits XOR-ed. atom_len (S): distance
    between the two bit groups. swizzle_inner: whether the lower group is the one that changes, as in every
    shared-memory mode of the hardware. Raises LayoutError unless M >= 0, B >= 0, S >= B and M + S + B <= 62.

    >>> from tirx.layout import SwizzleLayout
    >>> SwizzleLayout.for_dtype("f16", "128B")
    SwizzleLayout(per_element=3, swizzle_len=3, atom_len=3, swizzle_inner=True)
    """

    per_element: int
    swizzle_len: int
    atom_len: int
    swizzle_inner: bool = True

    def __post_init__(self) -> None:
        for name in ("per_element", "swizzle_len", "atom_len"):
            value = index(cast(SupportsIndex, getattr(self, name)))
            object.__setattr__(self, name, value)
            if value < 0:
                raise LayoutError(f"{name} of a swizzle must not be negative, found {value}")
        if self.atom_len < self.swizzle_len:
            raise LayoutError(
                f"atom_len must be at least swizzle_len ({self.swizzle_len}), found {self.atom_len}: "
                "the bits read and the bits changed would overlap"
            )
        if self.address_bits > _ADDRESS_BITS:
            raise LayoutError(
                f"expected per_element + atom_len + swizzle_len of at most {_ADDRESS_BITS}, the bits of an address, "
                f"found {self}"
            )

    @classmethod
    def for_dtype(cls, dtype: str, mode: SwizzleMode) -> SwizzleLayout:
        """The swizzle of a shared-memory mode for elements of a type, under its PTX or IR name.

        e2m1 counts as packed two to a byte; where an instruction wants it padded to bytes, use `for_bits(8, mode)`.
        """
        return cls.for_bits(element_type(dtype).storage_bits, mode)

    @classmethod
    def for_bits(cls, element_bits: int, mode: SwizzleMode) -> SwizzleLayout:
        """The swizzle of a shared-memory mode for elements that take so many bits (a power of two up to 128)."""
        element_bits = index(element_bits)
        row = _MODES.get(mode)
        if row is None:
            raise LayoutError(f"unknown swizzle mode {mode!r}; known modes: {', '.join(SWIZZLE_MODES)}")
        if element_bits < 1 or 128 % element_bits:
            raise LayoutError(
                f"the element width must be a power of two up to 128 bits, found {element_bits}; "
                "expected the width in storage, which is 8 bits for 6-bit elements"
            )
        return cls((row.atom_bits // element_bits).bit_length() - 1, row.swizzle_len, row.atom_len)

    @classmethod
    def parse(cls, text: str) -> SwizzleLayout:
        """Reads Swizzle(3, 3, 3), the attribute, or the bare numbers; LayoutError with the character offset."""
        return cls.from_parsed(read_swizzle(text))

    @classmethod
    def from_parsed(cls, parts: ParsedSwizzle) -> SwizzleLayout:
        """The swizzle that a text was read as."""
        try:
            return cls(parts.per_element, parts.swizzle_len, parts.atom_len, parts.swizzle_inner)
        except LayoutError as error:
            raise LayoutError(str(error), parts.position) from None

    def __str__(self) -> str:
        return f"Swizzle({self.arguments})"

    @property
    def arguments(self) -> str:
        """The numbers of the notation, and the direction unless it is the usual one."""
        numbers = f"{self.per_element}, {self.swizzle_len}, {self.atom_len}"
        return numbers if self.swizzle_inner else f"{numbers}, swizzle_inner=False"

    @property
    def address_bits(self) -> int:
        """M + S + B: bits of the address that take part; those above only pass through."""
        return self.per_element + self.atom_len + self.swizzle_len

    @property
    def period(self) -> int:
        """Elements after which the pattern repeats, 2**(M + S + B): apply(x + period) == apply(x) + period."""
        return 1 << self.address_bits

    @property
    def is_identity(self) -> bool:
        """Returns True if nothing moves (B = 0)."""
        return self.swizzle_len == 0

    @overload
    def apply(self, address: int) -> int: ...
    @overload
    def apply(self, address: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def apply(self, address: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """The swizzled element address of one address or of an array of them."""
        group = ((1 << self.swizzle_len) - 1) << self.per_element
        if self.swizzle_inner:
            return address ^ ((address >> self.atom_len) & group)
        return address ^ ((address & group) << self.atom_len)

    @overload
    def inverse(self, address: int) -> int: ...
    @overload
    def inverse(self, address: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def inverse(self, address: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """The address that `apply` sends here. The bits read are not changed, so a swizzle undoes itself."""
        return self.apply(address)

    def mode(self, element_bits: int) -> SwizzleMode | None:
        """The shared-memory mode that this swizzle is for elements so wide, or None when the hardware has none."""
        if self.is_identity:
            return "none"
        return next((mode for mode in SWIZZLE_MODES if SwizzleLayout.for_bits(element_bits, mode) == self), None)

    # As a linear map on address bits.

    def matrix(self, bits: int | None = None) -> BitMatrix:
        """The map on the low `bits` address bits, M + S + B of them unless said otherwise.

        Raises LayoutError when there are fewer, because then bits that take part are missing, and for more than 62.
        """
        bits = self.address_bits if bits is None else index(bits)
        if not self.address_bits <= bits <= _ADDRESS_BITS:
            raise LayoutError(f"expected {self.address_bits} to {_ADDRESS_BITS} address bits for {self}, found {bits}")
        from tirx.layout.gf2 import BitMatrix

        return BitMatrix(tuple(self.apply(1 << i) for i in range(bits)), bits)

    @classmethod
    def from_matrix(cls, matrix: BitMatrix) -> SwizzleLayout:
        """The swizzle that is this map; Swizzle(0, 0, 0) for the identity. LayoutError when no swizzle is."""
        bits = len(matrix.columns)
        if matrix.rows != bits:
            raise LayoutError(f"no swizzle is this map of {bits} bits to {matrix.rows}: a swizzle keeps their number")
        moves = [(i, column ^ 1 << i) for i, column in enumerate(matrix.columns) if column != 1 << i]
        if not moves:
            return cls(0, 0, 0)
        source, target = moves[0][0], moves[0][1].bit_length() - 1
        distance = abs(source - target)
        if len(moves) <= distance:
            found = cls(min(source, target), len(moves), distance, swizzle_inner=target < source)
            if found.address_bits <= bits and found.matrix(bits) == matrix:
                return found
        raise LayoutError("no swizzle is this map: a swizzle XORs one run of address bits into another")

    def compose(self, inner: SwizzleLayout) -> SwizzleLayout | BitMatrix:
        """The map that applies `inner` first: a swizzle where one is that map, else the matrix of it."""
        if not isinstance(inner, SwizzleLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a SwizzleLayout, found {inner!r}; ComposeLayout is a swizzle after a tile")
        bits = max(self.address_bits, inner.address_bits)
        product = self.matrix(bits) @ inner.matrix(bits)
        try:
            return SwizzleLayout.from_matrix(product)
        except LayoutError:
            return product

    def equivalent(self, other: SwizzleLayout) -> bool:
        """Returns True if both are the same permutation. Exact: they are when they are equal or both move nothing."""
        return self == other or (self.is_identity and other.is_identity)

    def commutes_with(self, offset: int, within: NDArray[np.int64] | None = None) -> bool:
        """Returns True if apply(x + offset) == apply(x) + offset, for all x, or for all addresses `within`. Exact.

        Where it holds, an address that was swizzled already moves by a plain add. For all x that is so for whole
        periods only: any other offset changes a bit that takes part, for some x by a carry.
        """
        if self.is_identity or offset % self.period == 0:
            return True
        if within is None:
            return False
        offset %= self.period
        return bool((self.apply(within + offset) == self.apply(within) + offset).all())

    # As a layout of one period.

    @property
    def axes(self) -> tuple[str, ...]:
        """Always the memory axis m."""
        return ("m",)

    @property
    def extents(self) -> tuple[int, ...]:
        """One dimension of one period."""
        return (self.period,)

    def size(self) -> int:
        """Elements of one period."""
        return self.period

    def table(self, shape: Shape | None = None) -> dict[str, NDArray[np.int64]]:
        """Swizzled addresses of a row-major tensor of that shape, by default of one period."""
        dims = check_shape(self.extents if shape is None else shape, None)
        check_entries(prod(dims), self)
        return {"m": self.apply(np.arange(prod(dims), dtype=np.int64)).reshape(dims)}

    def owners(self, address: int) -> list[dict[str, int]]:
        """The swizzled address of an element of a row-major tensor, as a list of one coordinate."""
        return [{"m": self.apply(address)}]

    def footprint(self) -> dict[str, tuple[int, int]]:
        """Smallest and largest address of one period, which is permuted in place."""
        return {"m": (0, self.period - 1)}

    def span(self, axis: str = "m") -> int:
        """Length of the footprint; 1 on any axis but m."""
        return self.period if canonical_name(axis) == "m" else 1

    def is_injective(self) -> bool:
        """Always: a swizzle is a permutation."""
        return True

    def canonicalize(self) -> SwizzleLayout:
        """Swizzle(0, 0, 0) for all that move nothing; any other swizzle is the only one of its map."""
        return SwizzleLayout(0, 0, 0) if self.is_identity else self
