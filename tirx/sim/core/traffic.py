"""Records of accesses and products, reported by memories and tensor cores."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tirx.sim.core.types import Array

Space: TypeAlias = Literal["global", "shared", "tensor"]
Direction: TypeAlias = Literal["read", "written"]


class Traffic:
    """Hears of bytes that are moved and of products of matrices; this base class ignores them."""

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        """Notes that `count` bytes of a memory were read or written, by threads or asynchronously."""

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        """Each of `lanes` (32 to a warp) reads or writes `width` bytes at its place of `offsets` in shared memory."""

    def multiplied(self, a: Array, b: Array) -> None:
        """A tensor core computes a (..., M, K) times the transpose of b (..., N, K)."""
