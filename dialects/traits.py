"""Traits of operations that several dialects share."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation
from xdsl.traits import OpTrait, Pure


class UsableBeforeDefinition(OpTrait):
    """
    Results may be used by operations that stand before this one in the same block, as in a graph region of MLIR.

    Whoever owns the block verifies the order that it gives such values (`tirx.for` does for `tirx.at`).
    """


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
