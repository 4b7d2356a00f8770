"""What is known of an index value: its range and what divides it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.tirx import BlockIdOp, CtaRankOp, GridAxis, KernelOp
from tirx.passes.emit.emitter import constant_value


@dataclass(frozen=True)
class IndexFact:
    """`low <= value <= high` (None: unbounded) and `divisor` divides the value; divisor 0 means the value is 0."""

    low: int | None = None
    high: int | None = None
    divisor: int = 1

    @staticmethod
    def constant(value: int) -> IndexFact:
        return IndexFact(value, value, abs(value))

    def __add__(self, other: IndexFact) -> IndexFact:
        return IndexFact(
            None if self.low is None or other.low is None else self.low + other.low,
            None if self.high is None or other.high is None else self.high + other.high,
            gcd(self.divisor, other.divisor),
        )

    def __neg__(self) -> IndexFact:
        return IndexFact(
            None if self.high is None else -self.high, None if self.low is None else -self.low, self.divisor
        )

    def __mul__(self, other: IndexFact) -> IndexFact:
        divisor = self.divisor * other.divisor
        if self.low is None or other.low is None:
            return IndexFact(divisor=divisor)
        if self.high is None or other.high is None:
            return IndexFact(self.low * other.low if min(self.low, other.low) >= 0 else None, None, divisor)
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return IndexFact(min(corners), max(corners), divisor)

    def __floordiv__(self, divisor: int) -> IndexFact:
        """Of an unsigned division by a positive constant, which says nothing of a value that may be negative."""
        if self.low is None or self.low < 0:
            return IndexFact()
        exact = self.divisor % divisor == 0
        high = None if self.high is None else self.high // divisor
        return IndexFact(self.low // divisor, high, self.divisor // divisor if exact else 1)


_GRID_DIMENSION = {GridAxis.X: 0, GridAxis.Y: 1, GridAxis.Z: 2}


def index_fact(value: SSAValue) -> IndexFact:
    """What the operations that define an index or integer value tell of it. Conservative: may know nothing."""
    return _Facts().of(value)


class _Facts:
    """Facts of one query; values that are used more than once are looked at once."""

    def __init__(self):
        self._known: dict[SSAValue, IndexFact] = {}

    def of(self, value: SSAValue) -> IndexFact:
        if value not in self._known:
            self._known[value] = self._derive(value)
        return self._known[value]

    def _derive(self, value: SSAValue) -> IndexFact:
        if (constant := constant_value(value)) is not None:
            return IndexFact.constant(constant)
        match value.owner:
            case Block() as block:
                return self._block_argument(value, block)
            case CtaRankOp():
                return IndexFact(0, 1)
            case arith.AddiOp() as op:
                return self.of(op.lhs) + self.of(op.rhs)
            case arith.SubiOp() as op:
                return self.of(op.lhs) + -self.of(op.rhs)
            case arith.MuliOp() as op:
                return self.of(op.lhs) * self.of(op.rhs)
            case arith.DivUIOp() as op if (divisor := constant_value(op.rhs)) is not None and divisor > 0:
                return self.of(op.lhs) // divisor
            case arith.IndexCastOp() as op:
                return self.of(op.input)
            case BlockIdOp() as op:
                return _block_id_fact(op)
            case _:
                return IndexFact()

    def _block_argument(self, value: SSAValue, block: Block) -> IndexFact:
        loop = block.parent_op()
        if not isinstance(loop, scf.ForOp) or value is not block.args[0]:
            return IndexFact()
        low, high, step = self.of(loop.lb), self.of(loop.ub), constant_value(loop.step)
        if step is None or step <= 0:
            return IndexFact(low.low)
        divisor = gcd(low.divisor, step)
        last = None
        if high.high is not None:
            last = (high.high - 1) // divisor * divisor
            if low.low is not None and low.low == low.high:
                last = low.low + max(0, high.high - 1 - low.low) // step * step
        return IndexFact(low.low, last, divisor)


def ancestors(op: Operation) -> Iterator[Operation]:
    """The operations around `op`, innermost first."""
    around = op.parent_op()
    while around is not None:
        yield around
        around = around.parent_op()


def _block_id_fact(op: BlockIdOp) -> IndexFact:
    kernel = next((around for around in ancestors(op) if isinstance(around, KernelOp)), None)
    grid = None if kernel is None else kernel.grid_dims
    return IndexFact(0, None if grid is None else grid[_GRID_DIMENSION[op.axis.data]] - 1)


def never_runs(op: Operation) -> bool:
    """Whether `op` is a loop whose bounds show that its body does not run."""
    if not isinstance(op, scf.ForOp):
        return False
    low, high = constant_value(op.lb), constant_value(op.ub)
    return low is not None and high is not None and low >= high


def trip_count_is_positive(loop: scf.ForOp) -> bool:
    """Whether the bounds of a loop show that its body runs at least once."""
    low, high = constant_value(loop.lb), constant_value(loop.ub)
    return low is not None and high is not None and low < high
