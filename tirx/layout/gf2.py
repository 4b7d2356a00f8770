"""Matrices over GF(2): the maps on address bits that swizzles and linear layouts are.

A bit string is an int, bit 0 first. A matrix is the tuple of its columns, and column i is the image of bit i, so
applying it is one XOR per set bit of the argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import overload

from tirx.layout.arrays import NDArray, np
from tirx.layout.errors import LayoutError
from tirx.values import dataclass

_TABLE_BITS = 10
"""Columns that share one lookup table when a matrix is applied to an array: 8 kB each."""

_ARRAY_BITS = 62
"""Arrays hold signed 64-bit integers; the same bound as for element addresses."""


def span_table(vectors: Sequence[int]) -> NDArray[np.int64]:
    """The XOR of every subset: entry x is the XOR of vectors[i] over the set bits i of x."""
    table = np.zeros(1, dtype=np.int64)
    for vector in vectors:
        table = np.concatenate((table, table ^ vector))
    return table


def reduced_basis(vectors: Iterable[int]) -> tuple[int, ...]:
    """The reduced echelon basis of what the vectors span, largest first.

    Every vector has a leading bit that no other one has, so equal spans give equal bases.
    """
    basis: list[int] = []
    for vector in vectors:
        vector = reduce_by(vector, basis)
        if vector:
            lead = 1 << (vector.bit_length() - 1)
            basis = [other ^ vector if other & lead else other for other in basis]
            basis.append(vector)
    return tuple(sorted(basis, reverse=True))


def reduce_by(vector: int, basis: Iterable[int]) -> int:
    """The representative of `vector` modulo the span of a reduced basis: all leading bits are clear."""
    for other in basis:
        if vector >> (other.bit_length() - 1) & 1:
            vector ^= other
    return vector


@dataclass(frozen=True)
class BitMatrix:
    """A linear map from strings of `len(columns)` bits to strings of `rows` bits.

    Raises LayoutError for a column that does not fit.

    >>> from tirx.layout import SwizzleLayout
    >>> SwizzleLayout(0, 1, 1).matrix(2)
    BitMatrix(columns=(1, 3), rows=2)
    """

    columns: tuple[int, ...]
    rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(index(column) for column in self.columns))
        object.__setattr__(self, "rows", index(self.rows))
        if self.rows < 0:
            raise LayoutError(f"expected 0 or more rows of a matrix, found {self.rows}")
        for i, column in enumerate(self.columns):
            if column >> self.rows:
                raise LayoutError(f"column {i} must have at most {self.rows} bits, found {column:#b}")

    @classmethod
    def identity(cls, bits: int) -> BitMatrix:
        """The map that leaves strings of so many bits as they are."""
        return cls(tuple(1 << i for i in range(bits)), bits)

    def __str__(self) -> str:
        """One line a row, lowest bit first, columns from bit 0 on."""
        return "\n".join(" ".join(str(column >> row & 1) for column in self.columns) for row in range(self.rows))

    @overload
    def apply(self, bits: int) -> int: ...
    @overload
    def apply(self, bits: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def apply(self, bits: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """The image of a bit string, or of an array of them.

        Raises LayoutError for an argument of more bits than there are columns, or for an array and more than 62 rows.
        """
        if isinstance(bits, np.ndarray):
            return self._apply_all(bits)
        if not 0 <= bits < 1 << len(self.columns):
            raise LayoutError(f"expected a string of {len(self.columns)} bits, found {bits}")
        image = 0
        while bits:
            lowest = bits & -bits
            image ^= self.columns[lowest.bit_length() - 1]
            bits ^= lowest
        return image

    def _apply_all(self, bits: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.rows > _ARRAY_BITS:
            raise LayoutError(f"a matrix applies to arrays when it has at most {_ARRAY_BITS} rows, found {self.rows}")
        width = len(self.columns)
        if bits.size and (bits.min() < 0 or int(bits.max()) >> width):
            raise LayoutError(f"expected strings of {width} bits, found {bits.min()}..{bits.max()}")
        image = np.zeros_like(bits)
        for start in range(0, width, _TABLE_BITS):
            table = span_table(self.columns[start : start + _TABLE_BITS])
            image ^= table[bits >> start & (len(table) - 1)]
        return image

    def __matmul__(self, inner: BitMatrix) -> BitMatrix:
        """The map that applies `inner` first. LayoutError unless the widths fit."""
        if inner.rows != len(self.columns):
            raise LayoutError(f"cannot apply a map of {len(self.columns)} bits to images of {inner.rows} bits")
        return BitMatrix(tuple(self.apply(column) for column in inner.columns), self.rows)

    def _echelon(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Images with distinct leading bits and what they are images of, largest first; and a basis of the kernel."""
        pivots: list[tuple[int, int]] = []
        kernel: list[int] = []
        for i, image in enumerate(self.columns):
            source = 1 << i
            for other, other_source in pivots:
                if image >> (other.bit_length() - 1) & 1:
                    image, source = image ^ other, source ^ other_source
            if image:
                pivots.append((image, source))
                pivots.sort(reverse=True)
            else:
                kernel.append(source)
        return pivots, kernel

    @property
    def rank(self) -> int:
        """Dimension of the image."""
        return len(reduced_basis(self.columns))

    @property
    def kernel(self) -> tuple[int, ...]:
        """The reduced basis of the strings that map to zero."""
        return reduced_basis(self._echelon()[1])

    @property
    def is_injective(self) -> bool:
        """Returns True if no two strings have one image."""
        return self.rank == len(self.columns)

    @property
    def is_surjective(self) -> bool:
        """Returns True if every string of `rows` bits is an image."""
        return self.rank == self.rows

    def solve(self, image: int) -> int | None:
        """Some string with that image, or None when there is none; all others differ by the kernel."""
        source = 0
        for other, other_source in self._echelon()[0]:
            if image >> (other.bit_length() - 1) & 1:
                image, source = image ^ other, source ^ other_source
        return None if image else source

    def inverse(self) -> BitMatrix:
        """The inverse map. LayoutError for a matrix that is not square or singular."""
        if self.rows != len(self.columns):
            raise LayoutError(
                f"only a square matrix has an inverse, found {self.rows} rows, {len(self.columns)} columns"
            )
        if self.kernel:
            raise LayoutError(f"the matrix is singular: it maps {self.kernel[0]:#b} to 0")
        pivots = list(reversed(self._echelon()[0]))
        columns: list[int] = []
        # Smallest leading bit first: what remains below it has its preimage already.
        for row, (image, source) in enumerate(pivots):
            for low in range(row):
                if image >> low & 1:
                    source ^= columns[low]
            columns.append(source)
        return BitMatrix(tuple(columns), self.rows)
