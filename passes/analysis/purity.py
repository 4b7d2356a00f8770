"""Which operations may be computed anywhere, any number of times, or not at all."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation
from xdsl.traits import Pure

_DIVISIONS = frozenset(
    {
        arith.CeilDivSIOp,
        arith.CeilDivUIOp,
        arith.DivSIOp,
        arith.DivUIOp,
        arith.FloorDivSIOp,
        arith.RemSIOp,
        arith.RemUIOp,
    }
)
"""Undefined for a divisor of zero in MLIR; in PTX the result is unspecified, and nothing traps (PTX ISA, "div")."""


def is_pure(op: Operation) -> bool:
    """True if an operation only computes its results from its operands."""
    return type(op) in _DIVISIONS or op.has_trait(Pure)
