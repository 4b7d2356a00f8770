"""The bounds of clipped views: which accesses of threads lie within the memref."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from math import prod
from types import MappingProxyType

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i1, i32, i64
from xdsl.ir import SSAValue

from tirx.copy.access import THREAD_VARIABLE
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.ir.index_emission import IndexEmission
from tirx.passes.ir.views import ClipPlan, OpenBound
from tirx.symbolic.index_expr import IndexExpr
from tirx.values import dataclass, replace

NO_COORDINATES: Mapping[int, SSAValue] = MappingProxyType({})
"""The coordinates that index tiles give where there are none."""


@dataclass(frozen=True)
class Bound:
    """A bound whose tile begins at `start`; elements of the memref exist from 0 to `size` - 1.

    Both are i32 where all places fit into it, i64 elsewhere.
    """

    open: OpenBound
    start: SSAValue
    size: SSAValue

    @property
    def type(self) -> IntegerType:
        """The type of places along the dimension."""
        return i64 if self.start.type == i64 else i32


class Clip:
    """The bounds of a tile in a memref; `size` gives the size of an argument along a dimension, as an i32 or i64.

    `is_narrow` says whether all places of the tile along a dimension, and its size, fit into 32 bits. `indexed` are the
    sizes (i64) of the dimensions whose coordinates come from index tiles.
    """

    def __init__(
        self,
        emit: Emitter,
        plan: ClipPlan,
        size: Callable[[int, int, IntegerType], SSAValue],
        is_narrow: Callable[[OpenBound], bool],
    ):
        self.plan = plan
        self.bounds: list[Bound] = []
        self.indexed: dict[int, SSAValue] = {}
        for bound in plan.bounds:
            if bound.of_memref is None:
                self.bounds.append(Bound(bound, emit.constant(bound.first, i32), _count(emit, bound, bound.index, i32)))
                continue
            if not bound.is_plain:
                self.indexed[bound.of_memref] = size(plan.argument, bound.of_memref, i64)
                continue
            type_ = i32 if is_narrow(bound) else i64
            value = constant_value(bound.index)
            index = emit.cast(bound.index, type_) if value is None else emit.constant(value, type_)
            found = size(plan.argument, bound.of_memref, type_)
            if bound.size is not None:
                found = _up_to(emit, bound, index, found)
            self.bounds.append(Bound(bound, emit.add(index, bound.first), found))

    @staticmethod
    def emission(emit: Emitter, tid: SSAValue) -> IndexEmission:
        """Emits expressions of the thread (i32) at one place."""
        return IndexEmission(emit, {THREAD_VARIABLE: tid}, i32)

    def of_index_tiles(self) -> Clip | None:
        """Returns the bounds of the dimensions with index tiles, where all others hold; None if there are none."""
        if not self.indexed:
            return None
        clip = copy(self)
        clip.bounds, clip.plan = [], replace(self.plan, run=self.plan.row_run)
        return clip

    def contains_tile(self, emit: Emitter) -> SSAValue:
        """Emits the test that all elements of the tile exist (i1) but for index tiles, the same in all threads."""
        conditions: list[SSAValue] = []
        for bound in self.bounds:
            conditions.append(emit.compare(bound.start, emit.constant(0, bound.type), "sge"))
            if bound.type == i32:
                end = emit.add(bound.start, bound.open.extent)
                conditions.append(emit.compare(end, bound.size, "sle"))
            else:  # where the end may be beyond 2^63
                last = emit.add(bound.size, -bound.open.extent)
                conditions.append(emit.compare(bound.start, last, "sle"))
        return all_of(emit, conditions)

    def contains(
        self,
        emission: IndexEmission,
        flat: IndexExpr,
        *,
        inner: bool = True,
        coordinates: Mapping[int, SSAValue] = NO_COORDINATES,
    ) -> SSAValue:
        """Emits the test that the element of a flat index exists (i1); without `inner`, but for that dimension.

        `coordinates` (i64) are those along the dimensions with index tiles.
        """
        emit = emission.emit
        # An index below 0 is a large unsigned number.
        conditions = [
            emit.compare(self.position(emission, bound, flat), bound.size, "ult")
            for bound in self.bounds
            if inner or bound is not self.innermost
        ]
        conditions += [emit.compare(coordinates[d], size, "ult") for d, size in self.indexed.items()]
        return all_of(emit, conditions)

    @property
    def innermost(self) -> Bound | None:
        """The bound of the dimension whose elements are neighbours, None where it is known to hold."""
        if self.plan.inner is None:
            return None
        return next((bound for bound in self.bounds if bound.open.of_tile == self.plan.inner), None)

    def position(self, emission: IndexEmission, bound: Bound, flat: IndexExpr) -> SSAValue:
        """The place of an element of the tile along a bounded dimension of the memref (of the type of the bound)."""
        dimension, dims = bound.open.of_tile, self.plan.dims
        if dimension is None:
            return bound.start
        coordinate = flat // prod(dims[dimension + 1 :])
        if dimension:
            coordinate = coordinate % dims[dimension]
        further = emission(coordinate * bound.open.step)
        if bound.type == i64:
            further = emission.emit.extend(further, i64)
        return emission.emit.add(bound.start, further)


def _up_to(emit: Emitter, bound: OpenBound, index: SSAValue, size: SSAValue) -> SSAValue:
    """The end of a view whose positions have a size of their own: at most `size`, of its type, and 0 or more."""
    assert bound.size is not None
    type_ = i64 if index.type == i64 else i32
    end = emit.add(index, emit.mul(_count(emit, bound, bound.size, type_), bound.step))
    return emit(arith.MaxSIOp(emit(arith.MinSIOp(end, size)).result, emit.constant(0, type_))).result


def _count(emit: Emitter, bound: OpenBound, size: SSAValue, type_: IntegerType) -> SSAValue:
    """The positions of a view that `size` (index) leaves, from 0 to all of them."""
    positions, zero = emit.constant(bound.positions, IndexType()), emit.constant(0, IndexType())
    return emit.cast(emit(arith.MinSIOp(emit(arith.MaxSIOp(size, zero)).result, positions)).result, type_)


def all_of(emit: Emitter, conditions: Sequence[SSAValue]) -> SSAValue:
    """Emits the conjunction of conditions (i1)."""
    if not conditions:
        return emit.constant(1, i1)
    found = conditions[0]
    for condition in conditions[1:]:
        found = emit.bit_and(found, condition)
    return found
