"""The bounds of clipped views: which accesses of threads lie within the memref."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i1, i32, i64
from xdsl.ir import SSAValue

from tirx.copy.access import THREAD_VARIABLE
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.ir.index_emission import IndexEmission
from tirx.passes.ir.views import ClipPlan, OpenBound
from tirx.symbolic.index_expr import IndexExpr


@dataclass(frozen=True)
class Bound:
    """
    A bound whose tile begins at `start`; elements of the memref exist from 0 to `size` - 1.

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
    """
    The bounds of a tile in a memref; `size` gives the size of an argument along a dimension, as an i32 or i64.

    `is_narrow` says whether all places of the tile along a dimension, and its size, fit into 32 bits.
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
        for bound in plan.bounds:
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

    def contains_tile(self, emit: Emitter) -> SSAValue:
        """Emits the test that all elements of the tile exist (i1), the same in all threads."""
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

    def contains(self, emission: IndexEmission, flat: IndexExpr, *, inner: bool = True) -> SSAValue:
        """Emits the test that the element of a flat index exists (i1); without `inner`, but for that dimension."""
        emit = emission.emit
        # An index below 0 is a large unsigned number.
        conditions = [
            emit.compare(self.position(emission, bound, flat), bound.size, "ult")
            for bound in self.bounds
            if inner or bound is not self.innermost
        ]
        return all_of(emit, conditions)

    @property
    def innermost(self) -> Bound | None:
        """The bound of the dimension whose elements are neighbours, None where it is known to hold."""
        if self.plan.inner is None:
            return None
        return next((bound for bound in self.bounds if bound.open.of_tile == self.plan.inner), None)

    def position(self, emission: IndexEmission, bound: Bound, flat: IndexExpr) -> SSAValue:
        """Where an element of the tile is along a bounded dimension of the memref (of the type of the bound)."""
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
    positions, zero = emit.constant(bound.positions, IndexType()), emit.constant(0, IndexType())
    count = emit(arith.MinSIOp(emit(arith.MaxSIOp(bound.size, zero)).result, positions)).result
    end = emit.add(index, emit.mul(emit.cast(count, type_), bound.step))
    return emit(arith.MaxSIOp(emit(arith.MinSIOp(end, size)).result, emit.constant(0, type_))).result


def all_of(emit: Emitter, conditions: Sequence[SSAValue]) -> SSAValue:
    """Emits the conjunction of conditions (i1)."""
    if not conditions:
        return emit.constant(1, i1)
    found = conditions[0]
    for condition in conditions[1:]:
        found = emit.bit_and(found, condition)
    return found
