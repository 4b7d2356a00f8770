"""Building IR at one place with the location of the operation that is being lowered."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

OpT = TypeVar("OpT", bound=Operation)


def constant_value(value: SSAValue) -> int | None:
    """The value of an integer `arith.constant`, None for anything else."""
    if isinstance(op := value.owner, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def bit_pattern(value: int, width: int) -> IntegerAttr[IntegerType]:
    """The signless integer of `width` bits with the bits of `value`, which may be unsigned."""
    return IntegerAttr(value - (1 << width) if value >> (width - 1) else value, width)


class Emitter:
    """
    Inserts operations at a point, in order, each with the given location.

    The arithmetic methods fold constants and neutral elements, so that lowerings can be written plainly.
    """

    def __init__(self, point: InsertPoint, location: LocationAttr):
        self.point = point
        self.location = location

    @staticmethod
    def before(op: Operation) -> Emitter:
        return Emitter(InsertPoint.before(op), op.location)

    @staticmethod
    def after(op: Operation) -> Emitter:
        return Emitter(InsertPoint.after(op), op.location)

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it."""
        op.location = self.location
        if self.point.insert_before is None:
            self.point.block.add_op(op)
        else:
            self.point.block.insert_op_before(op, self.point.insert_before)
        return op

    def constant(self, value: int, type_: IntegerType | IndexType) -> SSAValue:
        return self(arith.ConstantOp(IntegerAttr(value, type_))).result

    def _binary(
        self, op_type: type[arith.AddiOp | arith.MuliOp | arith.XOrIOp | arith.AndIOp], a: SSAValue, b: SSAValue
    ) -> SSAValue:
        return self(op_type(a, b)).result

    def add(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        if isinstance(b, int):
            if b == 0:
                return a
            b = self.constant(b, _integer(a.type))
        return self._binary(arith.AddiOp, a, b)

    def mul(self, a: SSAValue, b: int) -> SSAValue:
        if b == 1:
            return a
        if b > 0 and b & (b - 1) == 0:
            return self(arith.ShLIOp(a, self.constant(b.bit_length() - 1, _integer(a.type)))).result
        return self._binary(arith.MuliOp, a, self.constant(b, _integer(a.type)))

    def div(self, a: SSAValue, b: int) -> SSAValue:
        """Unsigned division by a positive constant."""
        if b == 1:
            return a
        if b & (b - 1) == 0:
            return self(arith.ShRUIOp(a, self.constant(b.bit_length() - 1, _integer(a.type)))).result
        return self(arith.DivUIOp(a, self.constant(b, _integer(a.type)))).result

    def mod(self, a: SSAValue, b: int) -> SSAValue:
        """Unsigned remainder by a positive constant."""
        if b & (b - 1) == 0:
            return self._binary(arith.AndIOp, a, self.constant(b - 1, _integer(a.type)))
        return self(arith.RemUIOp(a, self.constant(b, _integer(a.type)))).result

    def bit_and(self, a: SSAValue, mask: int) -> SSAValue:
        return self._binary(arith.AndIOp, a, self.constant(mask, _integer(a.type)))

    def xor(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        if isinstance(b, int):
            if b == 0:
                return a
            b = self.constant(b, _integer(a.type))
        return self._binary(arith.XOrIOp, a, b)


def _integer(type_: Attribute) -> IntegerType | IndexType:
    match type_:
        case IntegerType(width=width):
            return IntegerType(width)
        case IndexType():
            return type_
        case _:
            raise TypeError(f"expected an integer or index type, found {type_}")
