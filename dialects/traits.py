"""Traits of operations that several dialects share."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from operator import attrgetter

from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, OpTrait, Pure, SymbolTable

from tirx.dialects.nesting import walk
from tirx.dialects.xdsl_private import operands_of
from tirx.rules import DefinitionError, SymbolTableError

_RESULTS = attrgetter("results")


class UsableBeforeDefinition(OpTrait):
    """Results may be used by operations that stand before this one in the same block, as in a graph region of MLIR.

    Whoever owns the block verifies the order that it gives such values (`tirx.for` does for `tirx.at`).
    """


class Isolated(IsolatedFromAbove):
    """IsolatedFromAbove of an operation with many inside, which compares sets of values."""

    def verify(self, op: Operation) -> None:
        _, *inside = walk(op)
        places = {block for inner in inside if (block := inner.parent) is not None}
        # A union of as many sets takes several times as long.
        defined = set[SSAValue](chain.from_iterable(map(_RESULTS, inside)))
        defined.update(*(block.args for block in places))
        if not defined.issuperset(chain.from_iterable(map(operands_of, inside))):
            super().verify(op)  # which says what is wrong


class InSymbolTable(OpTrait):
    """The operation stands directly in a symbol table, of whichever dialect, or at the top level."""

    def verify(self, op: Operation) -> None:
        parent = op.parent_op()
        if parent is not None and not parent.has_trait(SymbolTable, value_if_unregistered=True):
            raise SymbolTableError(
                f"expected '{op.name}' in a symbol table, such as builtin.module or gpu.module, "
                f"found it in '{parent.name}'"
            )


_DIVISIONS = frozenset(
    f"arith.{name}" for name in ("ceildivsi", "ceildivui", "divsi", "divui", "floordivsi", "remsi", "remui")
)
"""Undefined for a divisor of zero in MLIR; in PTX the result is unspecified, and nothing traps (PTX ISA, "div")."""


def is_terminator(op: Operation) -> bool:
    """True if an operation ends a block. Of unregistered ones nothing is known."""
    return _are_terminators(type(op))


def is_pure(op: Operation) -> bool:
    """True if an operation only computes its results from its operands. Of unregistered ones nothing is known."""
    return _are_pure(type(op))


@lru_cache(maxsize=1024)
def _are_terminators(kind: type[Operation]) -> bool:
    return kind.has_trait(IsTerminator, value_if_unregistered=False)


@lru_cache(maxsize=1024)
def _are_pure(kind: type[Operation]) -> bool:
    return kind.name in _DIVISIONS or kind.has_trait(Pure, value_if_unregistered=False)


class NoEnd(NoTerminator):
    """The operations of the region are all that it has: none of them ends it."""

    def verify(self, op: Operation) -> None:
        super().verify(op)
        for block in (block for region in op.regions for block in region.blocks):
            if (last := block.last_op) is not None and last.has_trait(IsTerminator):
                raise DefinitionError(f"expected no terminator in '{op.name}', found '{last.name}'")
