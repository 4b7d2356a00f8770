"""Index expressions as `arith` operations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from tirx.passes.ir.emitter import Emitter
from tirx.symbolic.index_expr import Add, And, Const, FloorDiv, IndexExpr, Mod, Mul, Var, Xor


class IndexEmission:
    """Emits expressions at one place; equal expressions are emitted once.

    `variables` are of `type_`, in which all arithmetic happens: intermediate values must fit into it.
    """

    def __init__(self, emit: Emitter, variables: Mapping[str, SSAValue], type_: IntegerType):
        self.emit = emit
        self.variables = variables
        self.type_ = type_
        self._emitted: dict[IndexExpr, SSAValue] = {}

    def __call__(self, x: IndexExpr) -> SSAValue:
        if x not in self._emitted:
            self._emitted[x] = self._value(x)
        return self._emitted[x]

    def _value(self, x: IndexExpr) -> SSAValue:
        match x:
            case Const(value):
                return self.emit.constant(value, self.type_)
            case Var(name):
                return self.variables[name]
            case Mul(operand, factor):
                return self.emit.mul(self(operand), factor)
            case FloorDiv(operand, divisor):
                assert operand.known.least >= 0  # sums that may be negative are divided with an addend
                return self.emit.div(self(operand), divisor)
            case Mod(operand, modulus):
                assert operand.known.least >= 0
                return self.emit.mod(self(operand), modulus)
            case And(operand, mask):
                return self.emit.bit_and(self(operand), mask)
            case Xor(terms):
                return reduce(self.emit.xor, map(self, terms))
            case Add(terms):
                varying = [t for t in terms if not isinstance(t, Const)]
                constant = sum(t.value for t in terms if isinstance(t, Const))
                return self.emit.add(reduce(self.emit.add, map(self, varying)), constant)
            case _:
                raise AssertionError(f"expected an index expression, found {x!r}")
