"""Building IR at one place with the location of the operation that is being lowered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, Self, TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    UnrealizedConversionCastOp,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.definition import built, item
from tirx.dialects.nesting import operations
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import erase as erase
from tirx.dialects.xdsl_private import place
from tirx.dialects.xdsl_private import replace_uses as replace_uses

OpT = TypeVar("OpT", bound=Operation)


def constant_value(value: SSAValue) -> int | None:
    """The value of an integer `arith.constant`, None for anything else."""
    if type(value) is OpResult and type(op := value.op) is arith.ConstantOp:
        constant = op.properties["value"]
        return constant.value.data if isinstance(constant, IntegerAttr) else None
    return None


def is_zero(value: SSAValue) -> bool:
    """Returns True for a constant zero."""
    constant = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return isinstance(constant, FloatAttr | IntegerAttr) and constant.value.data == 0


def keep_attributes(old: Operation, new: Operation) -> None:
    """Gives the attributes of other dialects on an operation to the one that it becomes."""
    new.attributes.update({name: each for name, each in old.attributes.items() if not name.startswith("tirx.")})


def take_over(old: SSAValue, new: SSAValue) -> None:
    """Puts a value in the place of another one, whose name it gets."""
    new.name_hint = old.name_hint
    old.replace_all_uses_with(new)


def move(ops: Iterable[Operation], block: Block) -> None:
    """Moves operations to the end of a block, in this order."""
    for op in ops:
        op.detach()
        block.add_op(op)


def erase_dead(block: Block) -> None:
    """Erases pure operations whose results nothing uses."""
    for op in reversed(tuple(operations(block))):
        if is_pure(op) and not any(result.uses for result in op.results):
            erase(op)


def bit_pattern(value: int, width: int) -> IntegerAttr[IntegerType]:
    """The signless integer of `width` bits with the bits of `value`, which may be unsigned."""
    return IntegerAttr(value, width)


def integer(value: int, type_: IntegerType | IndexType) -> IntegerAttr:
    """The attribute of an integer, the same object for the same integer of a type without a sign."""
    if type(type_) is IndexType:
        return _integer(value, None)
    if type(type_) is IntegerType and type_.signedness.data is Signedness.SIGNLESS:
        return _integer(value, type_.width.data)
    return IntegerAttr(value, type_)


@lru_cache(maxsize=4096)
def _integer(value: int, width: int | None) -> IntegerAttr:
    """By the width, None for an index: types are hashed in Python."""
    return IntegerAttr(value, IndexType() if width is None else IntegerType(width))


_MAY_WRAP: Mapping[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}

_EXPONENTS: Mapping[int, int] = {1 << exponent: exponent for exponent in range(64)}
"""Power of two -> its exponent."""


class Emitter:
    """Inserts operations at a point, in order, each with the given location.

    The arithmetic methods fold neutral elements, as `createOrFold` of an MLIR builder does. They construct operations
    without the checks of xDSL's constructors: the verifier of the final module makes them.
    """

    _replaced: Operation | None = None

    def __init__(self, point: InsertPoint | Operation, location: LocationAttr):
        """Inserts at a point, or in front of an operation."""
        if isinstance(point, Operation):
            if (block := point.parent) is None:
                raise ValueError(f"expected an operation in a block, found '{point.name}' in none")
            self._block, self._behind = block, point
        else:
            self._block, self._behind = point.block, point.insert_before
        self.location = location

    @staticmethod
    def before(op: Operation) -> Emitter:
        """Inserts in front of `op`. An operation of the type of `op` takes over its (discardable) attributes."""
        emit = Emitter(op, op.location)
        if op.attributes:
            emit._replaced = op
        return emit

    @property
    def point(self) -> InsertPoint:
        return InsertPoint(self._block, self._behind)

    @property
    def block(self) -> Block:
        """The block that operations are inserted into."""
        return self._block

    def at(self, place: Block | Operation, location: LocationAttr | None = None) -> Self:
        """Returns an emitter of this kind at the end of a block, or in front of an operation."""
        found = type(self).__new__(type(self))
        block = place if isinstance(place, Block) else place.parent
        assert block is not None
        found._block, found._behind = block, None if isinstance(place, Block) else place
        found.location = self.location if location is None else location
        return found

    def located(self, location: LocationAttr) -> Self:
        """Returns an emitter of this kind at the same place, with another location."""
        return self.at(self._behind or self._block, location)

    @staticmethod
    def after(op: Operation) -> Emitter:
        return Emitter(InsertPoint.after(op), op.location)

    def retyped(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The same registers as a value of another type."""
        return value if value.type == type_ else self._built(UnrealizedConversionCastOp, (value,), type_, {})

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it."""
        op.location = self.location
        if (replaced := self._replaced) is not None and replaced.name == op.name:
            op.attributes = replaced.attributes | op.attributes
        block, behind = self._block, self._behind
        if op.regions or op.parent is not None or (behind is not None and behind.parent is not block):
            block.add_op(op) if behind is None else block.insert_op_before(op, behind)
        else:
            place(op, block, behind)
        return op

    def put(self, op: Operation) -> None:
        """Inserts an operation without regions, which is in no block, and keeps its location."""
        place(op, self._block, self._behind)

    def either(
        self,
        condition: SSAValue,
        then: Callable[[Emitter], Sequence[SSAValue]],
        other: Callable[[Emitter], Sequence[SSAValue]] | None,
    ) -> Sequence[SSAValue]:
        """Emits a branch whose ways yield what `then` and `other` return, given where to emit. Returns its results."""
        ways: list[Block] = []
        yielded: Sequence[SSAValue] = ()
        for make in (then,) if other is None else (then, other):
            ways.append(block := Block())
            inside = self.at(block)
            yielded = make(inside)
            inside(built(scf.YieldOp, yielded))
        types = [value.type for value in yielded]
        return self(built(scf.IfOp, (condition,), types, regions=(Region(ways[0]), Region(ways[1:])))).results

    def value(self, op: Operation) -> SSAValue:
        """Inserts `op` and returns its only result."""
        (result,) = self(op).results
        return result

    def _built(
        self, kind: type[Operation], operands: Sequence[SSAValue], type_: Attribute, properties: Mapping[str, Attribute]
    ) -> SSAValue:
        return item(self(built(kind, operands, (type_,), properties)).results, 0)

    def constant(self, value: int, type_: IntegerType | IndexType) -> SSAValue:
        return self._built(arith.ConstantOp, (), type_, {"value": integer(value, type_)})

    def _binary(
        self, kind: type[Operation], a: SSAValue, b: SSAValue | int, properties: Mapping[str, Attribute] = {}
    ) -> SSAValue:
        other = self.constant(b, _integer_type(a.type)) if isinstance(b, int) else b
        return self._built(kind, (a, other), a.type, properties)

    def branch(self, condition: SSAValue, ops: Iterable[Operation] = ()) -> Emitter:
        """Emits `scf.if condition { ops }`. Returns an emitter for the end of its body."""
        last = built(scf.YieldOp)
        self(built(scf.IfOp, (condition,), regions=(Region(Block([last])), Region())))
        inside = self.at(last)
        for op in ops:
            inside(op)
        return inside

    def add(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return a if b == 0 else self._binary(arith.AddiOp, a, b, _MAY_WRAP)

    def mul(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        if b == 1:
            return a
        if isinstance(b, int) and (exponent := _EXPONENTS.get(b)) is not None:
            return self._binary(arith.ShLIOp, a, exponent, _MAY_WRAP)
        return self._binary(arith.MuliOp, a, b, _MAY_WRAP)

    def div(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """Unsigned division by a positive number."""
        if b == 1:
            return a
        if isinstance(b, int) and (exponent := _EXPONENTS.get(b)) is not None:
            return self._binary(arith.ShRUIOp, a, exponent)
        return self._binary(arith.DivUIOp, a, b)

    def mod(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """Unsigned remainder by a positive number."""
        if isinstance(b, int) and b in _EXPONENTS:
            return self._binary(arith.AndIOp, a, b - 1)
        return self._binary(arith.RemUIOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._binary(arith.SubiOp, a, b, _MAY_WRAP)

    def bit_and(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return self._binary(arith.AndIOp, a, b)

    def bit_or(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._binary(arith.OrIOp, a, b)

    def xor(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        return a if b == 0 else self._binary(arith.XOrIOp, a, b)

    def compare(
        self, a: SSAValue, b: SSAValue, predicate: Literal["eq", "ne", "slt", "sgt", "sge", "sle", "ult"]
    ) -> SSAValue:
        """An i1: the comparison of two integers that `arith.cmpi` calls so."""
        return self._built(arith.CmpiOp, (a, b), i1, {"predicate": _predicate(predicate)})

    def select(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        return self._built(arith.SelectOp, (condition, on_true, on_false), on_true.type, {})

    def cast(self, value: SSAValue, type_: IntegerType | IndexType) -> SSAValue:
        """Between `index` and integers."""
        return self._built(arith.IndexCastOp, (value,), type_, {})

    def extend(self, value: SSAValue, type_: IntegerType) -> SSAValue:
        """A larger integer, by zeros."""
        return self._built(arith.ExtUIOp, (value,), type_, {})


@lru_cache
def _predicate(name: str) -> IntegerAttr:
    return IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(name), i64)


def _integer_type(type_: Attribute) -> IntegerType | IndexType:
    match type_:
        case IntegerType() | IndexType():
            return type_
        case _:
            raise AssertionError(f"expected an integer or index type, found {type_}")
