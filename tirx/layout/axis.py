"""The named hardware axes that a layout may map to, as a table.

A thread axis counts one execution scope inside another (lanes inside a warp); a memory axis counts addresses;
a device axis counts whole devices. Users add rows with `register_axis`.
"""

from __future__ import annotations

from math import inf
from operator import index
from typing import Literal, overload

from tirx.layout.arrays import NDArray, np
from tirx.layout.errors import LayoutError
from tirx.values import dataclass

AxisKind = Literal["thread", "memory", "device"]

SCOPE_THREADS: dict[str, int] = {"thread": 1, "warp": 32, "warpgroup": 128}
"""Threads in one instance of each scope whose size the hardware fixes."""

WARP_SIZE = SCOPE_THREADS["warp"]


@dataclass(frozen=True)
class Axis:
    """One named axis.

    unit, parent: for a thread axis, the scope it counts and the scope it counts it in ("thread" in "warp").
    bound:        exclusive upper bound of the coordinate, None when no fixed bound exists.
    weight:       linear threads of the CTA per step of a thread axis, None when it counts whole CTAs.
    cell_bits:    when set, the bound counts cells of so many bits, while the coordinate counts elements.
    alias_of:     the axis that this name stands for; canonical forms use that name.

    >>> from tirx.layout import Axis, axis
    >>> axis("warpid").of_thread(70)
    2
    >>> 4 @ axis("laneid")
    Scaled(count=4, axis='laneid')
    """

    name: str
    kind: AxisKind
    meaning: str
    unit: str | None = None
    parent: str | None = None
    bound: int | None = None
    weight: int | None = None
    cell_bits: int | None = None
    alias_of: str | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise LayoutError(f"axis name must be an identifier, found {self.name!r}")
        if self.bound is not None and self.bound < 1:
            raise LayoutError(f"bound of axis '{self.name}' must be positive, found {self.bound}")
        if self.weight is not None and (self.kind != "thread" or self.weight < 1):
            raise LayoutError(
                f"weight of axis '{self.name}' must be a positive number of threads on a thread axis, "
                f"found {self.weight} on a {self.kind} axis"
            )

    def __rmatmul__(self, count: int) -> Scaled:
        """`4 @ laneid`: a stride or an offset of 4 on the axis."""
        return Scaled(index(count), self.name)

    @overload
    def of_thread(self, thread: int) -> int: ...
    @overload
    def of_thread(self, thread: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def of_thread(self, thread: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Coordinate on this axis of a thread given by its linear index in the CTA: (thread // weight) % bound.

        Raises LayoutError when the axis is not a function of the thread index.
        """
        if self.weight is None or self.bound is None:
            raise LayoutError(f"axis '{self.name}' is not a function of the thread index in the CTA")
        return (thread // self.weight) % self.bound

    def depends_on(self, other: Axis) -> bool:
        """Returns True if the coordinates on both axes depend on common bits of the thread index."""
        one, two = self._span(), other._span()
        return one is not None and two is not None and max(one[0], two[0]) < min(one[1], two[1])

    def _span(self) -> tuple[int, float] | None:
        """The thread index at which the coordinate becomes 1, and the one at which it begins again with 0."""
        if self.weight is None:
            return None
        return self.weight, inf if self.bound is None else self.weight * self.bound

    def limit(self, element_bits: int = 32) -> int | None:
        """Exclusive bound of the coordinate for elements of `element_bits` bits; None when unbounded.

        Raises LayoutError for a width that is not positive, or more than all cells.
        """
        if self.bound is None or self.cell_bits is None:
            return self.bound
        if not 1 <= element_bits <= self.bound * self.cell_bits:
            raise LayoutError(
                f"expected elements of 1 to {self.bound * self.cell_bits} bits on axis '{self.name}', found "
                f"{element_bits}"
            )
        return self.bound * self.cell_bits // element_bits


@dataclass(frozen=True)
class Scaled:
    """`count @ axis` in a layout that is spelled in Python; see `tirx.layout.spelling`."""

    count: int
    axis: str

    def __str__(self) -> str:
        return f"{self.count}@{self.axis}"


# Grids, CTAs and clusters: CUDA programming guide, technical specifications (clusters of more than 8 CTAs are not
# portable, more than 16 do not exist). Tensor memory: PTX ISA, tensor memory addressing. P, F and Bank belong to
# scratchpads of other machines.
_BUILTIN = (
    Axis("bx", "thread", "CTA index in the grid, x", "cta", "kernel", bound=2**31 - 1),
    Axis("by", "thread", "CTA index in the grid, y", "cta", "kernel", bound=65535),
    Axis("bz", "thread", "CTA index in the grid, z", "cta", "kernel", bound=65535),
    Axis("cbx", "thread", "CTA index in the cluster, x", "cta", "cluster", bound=16),
    Axis("cby", "thread", "CTA index in the cluster, y", "cta", "cluster", bound=16),
    Axis("cbz", "thread", "CTA index in the cluster, z", "cta", "cluster", bound=16),
    Axis("tx", "thread", "linear thread index in the CTA", "thread", "cta", bound=1024, weight=1),
    Axis("tid", "thread", "block-wide thread id, the same as tx", "thread", "cta", 1024, 1, alias_of="tx"),
    Axis("warpid", "thread", "warp index in the CTA", "warp", "cta", bound=32, weight=32),
    Axis("wgid", "thread", "warpgroup index in the CTA", "warpgroup", "cta", bound=8, weight=128),
    Axis("laneid", "thread", "lane index in the warp", "thread", "warp", bound=32, weight=1),
    Axis("tid_in_wg", "thread", "thread index in the warpgroup", "thread", "warpgroup", bound=128, weight=1),
    Axis("wid_in_wg", "thread", "warp index in the warpgroup", "warp", "warpgroup", bound=4, weight=32),
    Axis("pid", "device", "device index in the mesh"),
    Axis("m", "memory", "linear position in elements; the scope of the buffer says in which memory"),
    Axis("P", "memory", "partition of a two-dimensional scratchpad", bound=128),
    Axis("F", "memory", "free position inside a scratchpad partition, in elements"),
    Axis("Bank", "memory", "accumulation bank of a scratchpad partition", bound=8),
    Axis("TLane", "memory", "tensor memory lane", bound=128),
    # A coordinate on TCol counts elements packed into the cells: there are 1024 for 16 bits. A layout that keeps one
    # narrower element per cell has stride 32 / bits.
    Axis("TCol", "memory", "tensor memory column, in elements; 512 cells of 32 bits", bound=512, cell_bits=32),
)

_REGISTRY: dict[str, Axis] = {row.name: row for row in _BUILTIN}
_CANONICAL: dict[str, str] = {row.name: row.alias_of or row.name for row in _BUILTIN}


def known_axes() -> tuple[Axis, ...]:
    """All registered axes, in the order of registration.

    >>> from tirx.layout import known_axes
    >>> "laneid" in [each.name for each in known_axes()]
    True
    """
    return tuple(_REGISTRY.values())


def axis(name: str, position: int | None = None) -> Axis:
    """The registered axis of that name; LayoutError, with the known names, when there is none.

    >>> from tirx.layout import axis
    >>> axis("TCol").bound
    512
    """
    found = _REGISTRY.get(name)
    if found is None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected the name of an axis, found {name!r}")
        from difflib import get_close_matches

        by_lower_case = {known.lower(): known for known in _REGISTRY}
        close = [by_lower_case[name.lower()]] if name.lower() in by_lower_case else get_close_matches(name, _REGISTRY)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise LayoutError(f"unknown axis '{name}'; {hint}known axes: {', '.join(_REGISTRY)}", position)
    return found


def canonical_name(name: str) -> str:
    """The name that canonical forms use for an axis: the axis it is an alias of, or its own."""
    found = _CANONICAL.get(name)
    return axis(name).name if found is None else found


def register_axis(new: Axis) -> Axis:
    """Adds an axis. Registering an equal axis again is a no-op.

    Raises LayoutError for a name that stands for another axis; for a thread axis that does not say which scope it
    counts inside of which, or whose weight is not the number of threads of that scope; for scopes that would lie
    inside of themselves; and for an alias of an unknown axis or of another kind.

    >>> from tirx.layout import Axis, TileLayout, register_axis
    >>> row = register_axis(Axis("dram_row", "memory", "a row of a DRAM"))
    >>> print(TileLayout("S[4 : 2@dram_row]"))
    S[4 : 2@dram_row]
    """
    old = _REGISTRY.get(new.name)
    if old is not None:
        if old != new:
            raise LayoutError(f"axis '{new.name}' is already registered as: {old.meaning}")
        return old
    if new.alias_of is not None and axis(new.alias_of).kind != new.kind:
        raise LayoutError(f"axis '{new.name}' stands for '{new.alias_of}', which is no {new.kind} axis")
    if new.kind == "thread":
        _check_scopes(new)
    _REGISTRY[new.name] = new
    _CANONICAL[new.name] = new.alias_of or new.name
    return new


def _check_scopes(new: Axis) -> None:
    if new.unit is None or new.parent is None:
        raise LayoutError(
            f"thread axis '{new.name}' must say which scope it counts (unit) and inside of which (parent)"
        )
    threads = SCOPE_THREADS.get(new.unit)
    if new.weight is not None and threads is not None and new.weight != threads:
        raise LayoutError(f"axis '{new.name}' counts {new.unit}s of {threads} threads, found weight {new.weight}")
    around: set[str | None] = {new.parent}
    while grown := {row.parent for row in _REGISTRY.values() if row.unit in around} - around:
        around |= grown
    if new.unit in around:
        raise LayoutError(f"axis '{new.name}' puts {new.unit} inside of {new.parent}, which lies inside of {new.unit}")
