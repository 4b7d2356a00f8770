"""Facts about index values: ranges, and numbers that divide them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import gcd

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.hints import isa

from tirx.dialects.definition import item
from tirx.dialects.formula import Call, Formula, lookups
from tirx.dialects.nesting import enclosing
from tirx.dialects.tirx import BlockIdOp, CtaRankOp, ForOp, GridAxis, GridDimOp, KernelOp, LaunchValueOp, TilesOp
from tirx.dialects.tirx.kernel import MOST_BLOCKS
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.caching import bounded_cache
from tirx.passes.ir.emitter import constant_value
from tirx.symbolic.integers import Integers

INDEX_BITS = 64
"""Bits of an index."""

NARROW_LIMIT = (1 << 31) - (1 << 20)
"""Places in memrefs up to here are computed in 32 bits: so far, and a tile further on, no sum is 2^31 or more."""

_GRID_DIMENSION = {GridAxis.X: 0, GridAxis.Y: 1, GridAxis.Z: 2}

_BINARY: Mapping[type[Operation], Callable[[Integers, Integers], Integers]] = {
    arith.AddiOp: bounded_cache(Integers.__add__),
    arith.SubiOp: bounded_cache(Integers.__sub__),
    arith.MuliOp: Integers.__mul__,
}

_BY_CONSTANT: Mapping[type[Operation], Callable[[Integers, int], Integers]] = {
    arith.ShLIOp: bounded_cache(Integers.__lshift__),
    arith.ShRUIOp: bounded_cache(lambda x, n: x.shift_right(n, signed=False)),
    arith.ShRSIOp: lambda x, n: x.shift_right(n, signed=True),
    arith.DivUIOp: lambda x, n: x.unsigned_quotient(n) if n else Integers(x.width),
    arith.DivSIOp: lambda x, n: x.unsigned_quotient(n) if n and x.least >= 0 else Integers(x.width),
    arith.FloorDivSIOp: lambda x, n: x // n if n else Integers(x.width),
    arith.RemUIOp: lambda x, n: _multiples(x.unsigned_remainder(n)) if n else Integers(x.width),
    arith.RemSIOp: lambda x, n: _signed_remainder(x, n) if n else Integers(x.width),
}
"""Operations whose second operand is a constant of 0 or more, below the width where bits are shifted by it."""

_JOINED: Mapping[type[Operation], Callable[[Integers, Integers], Integers]] = {
    arith.AndIOp: Integers.__and__,
    arith.OrIOp: Integers.__or__,
    arith.XOrIOp: Integers.__xor__,
    arith.MinSIOp: Integers.join,
    arith.MinUIOp: Integers.join,
    arith.MaxSIOp: Integers.join,
    arith.MaxUIOp: Integers.join,
    arith.SelectOp: Integers.join,
}
"""Operations of whose result only the divisor is certain: neither end need be reached."""

_CASTS = frozenset((arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp))

_OPERANDS: Mapping[type[Operation], slice] = {
    **dict.fromkeys((*_BY_CONSTANT, *_CASTS), slice(1)),
    **dict.fromkeys((*_BINARY, *_JOINED), slice(None)),
}
"""Operation -> the operands whose ranges its own follows from."""

_SHIFTS = (arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp)


_Known = dict[SSAValue, Integers]

_KNOWN: ContextVar[tuple[_Known, _Known] | None] = ContextVar("ranges and limits that were found", default=None)


@contextmanager
def ranges_found_once() -> Generator[None]:
    """`index_range` and `index_limits` look once at each value, which operations of a block compute as long as it runs.

    Inside of it no operation that computes an index may change, unless `forget_ranges` says so, and no kernel its grid.
    """
    before = _KNOWN.get()
    token = _KNOWN.set(before or ({}, {}))
    try:
        yield
    finally:
        _KNOWN.reset(token)


def forget_ranges(*of: SSAValue) -> None:
    """Lets `ranges_found_once` look again at all values, if it has looked at one that another gets the place of."""
    found = _KNOWN.get() or ()
    if not all(known.keys().isdisjoint(of) for known in found):
        for known in found:
            known.clear()


def index_range(value: SSAValue) -> Integers:
    """The values that an index or integer may have, by the operations that define it. A kernel may reach both ends."""
    found, _ = _KNOWN.get() or ({}, {})
    return found.get(value) or _ranges(value, _derive, _sources, found)[value]


def index_limits(value: SSAValue) -> Integers:
    """Limits of the values of an index or integer, which no launch need reach.

    Beyond `index_range` it counts on what a launch can have: blocks of a grid, elements of memory.
    """
    _, found = _KNOWN.get() or ({}, {})
    return found.get(value) or _ranges(value, partial(_derive_limits, _ELEMENT_LIMIT), _all_operands, found)[value]


def narrow_sizes(value: SSAValue) -> tuple[Call, ...] | None:
    """The sizes of arguments which, where each is at most `NARROW_LIMIT`, keep an index between `-NARROW_LIMIT` and it.

    None if they do not.
    """
    if value.type != IndexType():
        return None
    known = _ranges(value, partial(_derive_limits, NARROW_LIMIT), _all_operands, {})
    found = known[value]
    if not -NARROW_LIMIT <= found.least <= found.greatest <= NARROW_LIMIT:
        return None
    formulas = [formula for each in known for formula in _formulas(each)]
    sizes = dict.fromkeys(Call(what, (i, d)) for each in formulas for what, i, d in lookups(each) if what == "size")
    return tuple(sizes)


_Derive = Callable[[SSAValue, Mapping[SSAValue, Integers]], Integers]


def _ranges(
    value: SSAValue, derive: _Derive, sources: Callable[[SSAValue], tuple[SSAValue, ...]], known: _Known
) -> Mapping[SSAValue, Integers]:
    """Adds the range of a value and of all values that it is computed from to those that are `known`; returns these."""
    # Operands first, without recursion: chains of operations may be longer than the stack.
    pending = [value]
    while pending:
        one = pending.pop()
        if one not in known:
            waiting = [source for source in sources(one) if source not in known]
            if waiting:
                pending += one, *waiting
            else:
                known[one] = derive(one, known)
    return known


def _width(value: SSAValue) -> int:
    return type_.width.data if type(type_ := value.type) is IntegerType else INDEX_BITS


def _loop_of(value: SSAValue) -> scf.ForOp | None:
    """The loop that counts with `value`."""
    if type(value) is not BlockArgument or value.index or not isinstance(loop := value.block.parent_op(), scf.ForOp):
        return None
    return loop


def _extent_of(value: SSAValue) -> SSAValue | int | None:
    """Returns the end to which an iteration of `tirx.for` or a coordinate of a tile counts; None for other values."""
    if type(value) is not BlockArgument:
        return None
    match value.block.parent_op():
        case ForOp() as loop if value is loop.index:
            return loop.iterations
        case TilesOp() as loop if loop.extents:
            return loop.extents[value.index]
        case _:
            return None


def _sources(value: SSAValue) -> tuple[SSAValue, ...]:
    """The values that `_derive` asks for."""
    if type(value) is OpResult:
        operands = _OPERANDS.get(type(value.op))
        return () if operands is None else item(operands_of(value.op), operands)
    if (loop := _loop_of(value)) is not None:
        return loop.lb, loop.ub
    extent = _extent_of(value)
    return () if extent is None or isinstance(extent, int) else (extent,)


def _derive_by_constant(
    op: Operation, by_constant: Callable[[Integers, int], Integers], source: Integers, width: int
) -> Integers:
    second = constant_value(op.operands[1])
    if second is None or second < 0 or (isinstance(op, _SHIFTS) and second >= width):
        return Integers(width)
    found = by_constant(source, second)
    # What follows of the width alone is no limit that any value is known to reach.
    return found if source.high is not None else Integers(width, low=found.low, divisor=found.divisor)


def _cast(op: Operation, source: Integers, width: int) -> Integers:
    if isinstance(op, arith.ExtUIOp) and source.least < 0:
        return Integers(width, divisor=source.divisor & -source.divisor)
    if source.width <= width:
        return Integers.within(source.low, source.high, width, source.divisor)
    return source.extend(width, signed=True)


def _derive(value: SSAValue, known: Mapping[SSAValue, Integers]) -> Integers:
    width = _width(value)
    if type(value) is OpResult:
        return _derive_result(value.op, width, value, known)
    if (loop := _loop_of(value)) is not None:
        return _induction_range(known[loop.lb], known[loop.ub], constant_value(loop.step))
    if (extent := _extent_of(value)) is not None:
        high = extent if isinstance(extent, int) else known[extent].high
        return Integers.within(0, None if high is None else max(high - 1, 0), width)
    return Integers.any(width)


def _derive_result(op: Operation, width: int, value: SSAValue, known: Mapping[SSAValue, Integers]) -> Integers:
    kind = type(op)
    if (constant := constant_value(value)) is not None:
        return Integers.of(constant, width)
    if (by_constant := _BY_CONSTANT.get(kind)) is not None:
        return _derive_by_constant(op, by_constant, known[item(operands_of(op), 0)], width)
    if (join := _JOINED.get(kind)) is not None:
        return _multiples(join(*(known[each] for each in [*operands_of(op)][-2:])))
    if kind in _CASTS:
        return _cast(op, known[item(operands_of(op), 0)], width)
    if (binary := _BINARY.get(kind)) is not None:
        lhs, rhs = operands_of(op)
        left, right = known[lhs], known[rhs]
        found = binary(left, right)
        signed = kind is arith.SubiOp or min(left.least, right.least) < 0
        # The ends of x - x / 4 * 4 are not those of the operands, which are not reached together.
        if not signed or (multiples := _multiples(found)) == found:
            return found
        return multiples if _share_a_source(lhs, rhs) else found
    if isinstance(op, CtaRankOp | BlockIdOp):
        kernel = enclosing(op, KernelOp)
        if isinstance(op, CtaRankOp):
            return Integers.within(0, (MOST_BLOCKS if kernel is None else kernel.cluster_size) - 1, width)
        grid = None if kernel is None else kernel.grid_dims
        return Integers.within(0, None if grid is None else grid[_GRID_DIMENSION[op.axis.data]] - 1, width)
    return Integers.any(width)


_MOST_VALUES = 64
"""Values that are looked at for the sources of one: with more of them, any two expressions count as sharing one."""


def _share_a_source(a: SSAValue, b: SSAValue) -> bool:
    """Returns True if arithmetic computes both values from one that is no constant, or may do so."""
    if constant_value(a) is not None or constant_value(b) is not None:
        return False
    left, right = _arithmetic_sources(a), _arithmetic_sources(b)
    return left is None or right is None or not left.isdisjoint(right)


def _arithmetic_sources(value: SSAValue) -> set[SSAValue] | None:
    """Returns the leaves of the arithmetic that computes a value; None for too long an expression."""
    known, new, leaves = set[SSAValue](), {value}, set[SSAValue]()
    while new:
        known |= new
        if len(known) > _MOST_VALUES:
            return None
        computed = [each.op for each in new if type(each) is OpResult and each.op.name.startswith("arith.")]
        leaves |= new.difference(*(op.results for op in computed))
        new = {operand for op in computed for operand in operands_of(op)} - known
    return leaves


def _multiples(x: Integers) -> Integers:
    """The same multiples, without limits that no value need reach."""
    return x if x.value is not None else Integers(x.width, divisor=x.divisor)


def _signed_remainder(x: Integers, n: int) -> Integers:
    """The remainder of a division that rounds towards zero: of a negative integer it is negative."""
    if x.least >= 0:
        return _multiples(x % n)
    return Integers(x.width, divisor=gcd(x.divisor, n) % n)  # 0 for multiples of n: they leave nothing


def _induction_range(low: Integers, high: Integers, step: int | None) -> Integers:
    """The values of the counter of a loop from `low` to `high`, in its body."""
    if step is None or step <= 0:
        return Integers(low.width, low=low.low)
    divisor = Integers.of(step, low.width).join(low).divisor
    last = None
    if high.high is not None:
        last = (high.high - 1) // divisor * divisor
        if low.low is not None and low.low == low.high:
            last = low.low + max(0, high.high - 1 - low.low) // step * step
    return Integers(low.width, low=low.low, high=last, divisor=divisor)


def _all_operands(value: SSAValue) -> tuple[SSAValue, ...]:
    """The values that `_derive_limits` asks for."""
    op = value.owner
    if isinstance(op, Block) or type(op) not in _LIMITS:
        return _sources(value)
    return tuple([x for x in operands_of(op) if isinstance(x.type, IndexType | IntegerType)])


def _derive_limits(elements: int, value: SSAValue, known: Mapping[SSAValue, Integers]) -> Integers:
    """Limits of a value at launches whose arrays have at most so many elements along each dimension."""
    found = _derive(value, known)
    op = value.owner
    if isinstance(op, Block):
        return found
    if (of_launch := _LAUNCH_LIMITS.get(type(op))) is not None:
        low, high = of_launch(op, elements)
    elif (of_operands := _LIMITS.get(type(op))) is not None:
        low, high = of_operands(op, [known[x] for x in _all_operands(value)])
    else:
        return found
    low = found.low if low is None else max(low, found.least)
    high = found.high if high is None else min(high, found.greatest)
    return Integers.within(low, high, found.width, found.divisor)


_Limits = tuple[int | None, int | None]

_GRID_LIMITS = {GridAxis.X: (1 << 31) - 1, GridAxis.Y: 65535, GridAxis.Z: 65535}
"""Blocks of a grid along an axis (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""

_ELEMENT_LIMIT = 1 << 48
"""More elements than the memory of any GPU has."""


def _grid_formula(op: BlockIdOp) -> Formula | None:
    """The blocks of the grid along the axis of a block's index; None where the kernel does not say."""
    kernel = enclosing(op, KernelOp)
    grid = None if kernel is None else kernel.grid_formulas
    return None if grid is None else grid[_GRID_DIMENSION[op.axis.data]]


def _formulas(value: SSAValue) -> tuple[Formula, ...]:
    match value.owner:
        case BlockIdOp() as op:
            formula = _grid_formula(op)
            return () if formula is None else (formula,)
        case LaunchValueOp() as op:
            return (op.formula.data,)
        case memref.DimOp() as op if (size := _size(op)) is not None:
            return (size,)
        case _:
            return ()


def _size(op: memref.DimOp) -> Formula | None:
    """The size of an argument that an operation asks for; None for another memref or a computed dimension."""
    source, dimension = op.source, constant_value(op.index)
    if not isinstance(source, BlockArgument) or not isinstance(source.block.parent_op(), KernelOp):
        return None
    rank = source.type.get_num_dims() if isa(source.type, MemRefType) else 0
    if dimension is None or not 0 <= dimension < rank:
        return None
    return Call("size", (source.index, dimension))


def _block_limits(op: Operation, elements: int) -> _Limits:
    assert isinstance(op, BlockIdOp | GridDimOp)
    most = _GRID_LIMITS[op.axis.data]
    if isinstance(op, GridDimOp):
        return 1, most
    if (formula := _grid_formula(op)) is not None:
        most = max(1, min(most, _formula_limits(formula, elements)[1]))  # no block runs in a grid without blocks
    return None, most - 1


def _launch_limits(op: Operation, elements: int) -> _Limits:
    assert isinstance(op, LaunchValueOp)
    return _formula_limits(op.formula.data, elements)


def _dim_limits(op: Operation, elements: int) -> _Limits:
    assert isinstance(op, memref.DimOp)
    return 0, _ELEMENT_LIMIT if _size(op) is None else elements


def _formula_limits(formula: Formula, elements: int) -> tuple[int, int]:
    match formula:
        case int():
            return formula, formula
        case Call("add" | "mul" | "min" | "max" as name, (a, b)):
            combine = {"add": operator.add, "mul": operator.mul, "min": min, "max": max}[name]
            left, right = _formula_limits(a, elements), _formula_limits(b, elements)
            corners = [combine(x, y) for x in left for y in right]
            return min(corners), max(corners)
        case Call("ceildiv", (a, b)):
            # The divisor is positive, or there is no launch.
            low, high = _formula_limits(a, elements)
            least = b if isinstance(b, int) and b > 0 else 1
            return min(low, 0), max(-(-high // least), 0)
        case Call("stride"):
            return -_ELEMENT_LIMIT, _ELEMENT_LIMIT
        case _:
            return 0, elements


_LAUNCH_LIMITS: Mapping[type[Operation], Callable[[Operation, int], _Limits]] = {
    BlockIdOp: _block_limits,
    GridDimOp: _block_limits,
    LaunchValueOp: _launch_limits,
    memref.DimOp: _dim_limits,
}
"""Operation -> the ends of its result, where arrays have at most so many elements along a dimension."""


def _quotient_limits(op: Operation, operands: Sequence[Integers]) -> _Limits:
    left, right = operands
    if min(left.least, right.least) < 0:
        return None, None
    by = max(1, right.least)
    if left.high is None or not isinstance(op, arith.CeilDivUIOp):
        return 0, None if left.high is None else left.high // by
    return 0, -(-left.high // by)


def _remainder_limits(op: Operation, operands: Sequence[Integers]) -> _Limits:
    left, right = operands
    if right.least < 0 or (left.least < 0 and isinstance(op, arith.RemSIOp)):
        return None, None
    highs = left.high if left.least >= 0 else None, None if right.high is None else right.high - 1
    return 0, min((high for high in highs if high is not None), default=None)


def _least_limits(op: Operation, operands: Sequence[Integers]) -> _Limits:
    if isinstance(op, arith.MinSIOp):
        return min(x.least for x in operands), min(x.greatest for x in operands)
    # Read as unsigned, a negative number is greater than all others.
    from_zero = [x.greatest for x in operands if x.least >= 0]
    return (max(0, min(x.least for x in operands)), min(from_zero)) if from_zero else (None, None)


def _greatest_limits(op: Operation, operands: Sequence[Integers]) -> _Limits:
    if isinstance(op, arith.MaxUIOp) and min(x.least for x in operands) < 0:
        return None, None
    return max(x.least for x in operands), max(x.greatest for x in operands)


def _either_limits(op: Operation, operands: Sequence[Integers]) -> _Limits:
    _, left, right = operands
    return min(left.least, right.least), max(left.greatest, right.greatest)


def _and_limits(op: Operation, operands: Sequence[Integers]) -> _Limits:
    both = operands[0] & operands[1]
    return both.low, both.high


_LIMITS: Mapping[type[Operation], Callable[[Operation, Sequence[Integers]], _Limits]] = {
    arith.DivUIOp: _quotient_limits,
    arith.DivSIOp: _quotient_limits,
    arith.CeilDivUIOp: _quotient_limits,
    arith.RemUIOp: _remainder_limits,
    arith.RemSIOp: _remainder_limits,
    arith.MinUIOp: _least_limits,
    arith.MinSIOp: _least_limits,
    arith.MaxUIOp: _greatest_limits,
    arith.MaxSIOp: _greatest_limits,
    arith.SelectOp: _either_limits,
    arith.AndIOp: _and_limits,
}
"""Operation -> the ends of its result, from those of its operands, in their order."""


def never_runs(op: Operation) -> bool:
    """Returns True if `op` is a loop whose bounds show that its body does not run."""
    if not isinstance(op, scf.ForOp):
        return False
    low, high = constant_value(op.lb), constant_value(op.ub)
    return low is not None and high is not None and low >= high


def trip_count_is_positive(loop: scf.ForOp) -> bool:
    """Returns True if the bounds of a loop show that its body runs at least once."""
    low, high = constant_value(loop.lb), constant_value(loop.ub)
    return low is not None and high is not None and low < high
