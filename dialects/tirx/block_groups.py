"""Groups of the blocks of a cluster: those whose ranks differ in one digit."""

from __future__ import annotations

from tirx.values import dataclass


@dataclass(frozen=True)
class BlockGroup:
    """`count` blocks whose ranks are `stride` apart, both powers of two: (2, 2) are ranks 0 and 2, or 1 and 3, of four.

    Clusters of rows and columns of tiles have rank `row * columns + column`: a row is (columns, 1), a column
    (rows, columns).
    """

    count: int
    stride: int

    @property
    def differences(self) -> frozenset[int]:
        """The ranks of a group, each combined with that of any of its members by exclusive or."""
        return frozenset(n * self.stride for n in range(self.count))

    @property
    def first_mask(self) -> int:
        """A bit for each rank of the group of rank 0."""
        return sum(1 << rank for rank in self.differences)

    @property
    def digit(self) -> int:
        """The bits of a rank that differ within a group."""
        return (self.count - 1) * self.stride

    def fits(self, blocks: int) -> bool:
        """Returns True if a cluster of `blocks` consists of such groups."""
        both = self.count, self.stride, blocks
        powers = all(n > 0 and n & (n - 1) == 0 for n in both)
        return powers and self.count > 1 and self.count * self.stride <= blocks
