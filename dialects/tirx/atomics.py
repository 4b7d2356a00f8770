"""Atomic operations on tiles in memory, and flags by which blocks wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import I64, IndexType, IntegerAttr, IntegerType, MemRefType, UnitAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.hints import isa

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.nesting import enclosing
from tirx.dialects.ptx.atomics import Atomic, AtomicAttr, Order, OrderAttr, Scope, ScopeAttr
from tirx.dialects.syntax import (
    AnyOrder,
    Clause,
    Form,
    in_parens,
    parse_attributes,
    parse_operands,
    parse_types,
    words,
    write,
    write_types,
)
from tirx.dialects.tirx.attributes import MemorySpace, TileType, shape_text
from tirx.dialects.tirx.index_text import parse_index
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.kernel import KernelOp
from tirx.dialects.tirx.transfers import of_indices
from tirx.rules import AtomicError, ElementTypeError, FlagError, TileMemoryError, TileShapeError

_EFFECTS = (MemoryReadEffect(), MemoryWriteEffect())

_FLOATS = {
    Atomic.ADD: ("f16", "bf16", "f32", "f64"),
    Atomic.MIN: ("f32",),
    Atomic.MAX: ("f32",),
    Atomic.EXCH: ("f32", "f64"),
    Atomic.CAS: ("f32", "f64"),
}
"""Kinds of `tirx.atomic` -> the floating-point types that they have, beside integers of 32 and 64 bits."""


_SCOPE = words("scope", ScopeAttr, Scope, unsaid=Scope.GPU)
_CLAUSES = AnyOrder(*words("order", OrderAttr, Order, unsaid=Order.RELAXED), *_SCOPE)
_CLAUSES_OF_FLAGS = AnyOrder(*_SCOPE)


@irdl_op_definition
class AtomicOp(DirectOperation, TileOpInterface):
    """`%old = tirx.atomic add %v, %place acquire gpu : !v, !place -> !v`: combines each element in one step.

    `%place` is a tile in global or shared memory, `%v` a register tile of its shape; in place of tiles of one element
    stands a number, which the block combines once and all threads get. The kinds are `add`, `min`, `max`, `and`, `or`,
    `xor`, `exch` and `cas(%expected)`. The result is what was in memory before, 0 outside of a clipped view.

    The order is `relaxed` unless `acquire`, `release` or `acq_rel` is written, towards threads of the scope `cta`,
    `cluster`, `gpu` (the default) or `sys`. With `release` all that the block has done happens before, with `acquire`
    all that it does later happens after.
    """

    name = "tirx.atomic"

    kind = prop_def(AtomicAttr)
    order = prop_def(OrderAttr, default_value=OrderAttr(Order.RELAXED))
    scope = prop_def(ScopeAttr, default_value=ScopeAttr(Scope.GPU))
    value = operand_def(AnyAttr())
    place = operand_def(TileType)
    expected = opt_operand_def(AnyAttr())
    result = result_def(AnyAttr())

    traits = traits_def(*_EFFECTS)

    @property
    def acquires(self) -> bool:
        """Returns True if the block sees behind it what others have done before they released."""
        return self.order.data.acquires

    @property
    def releases(self) -> bool:
        """Returns True if others may see behind it what the block has done."""
        return self.order.data.releases

    @property
    def _data(self) -> list[SSAValue]:
        return [self.value] if self.expected is None else [self.value, self.expected]

    def tile_reads(self) -> Sequence[SSAValue]:
        return [each for each in (*self._data, self.place) if isinstance(each.type, TileType)]

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.place,)

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [[*self._data, self.result]] if isinstance(self.value.type, TileType) else ()

    def reductions(self) -> Sequence[Reduced]:
        return of_indices(self.place, self.value) if isinstance(self.value.type, TileType) else ()

    def verify_(self) -> None:
        place, kind = TileType.of(self.place), self.kind.data
        if place.memory not in (MemorySpace.GLOBAL, MemorySpace.SHARED):
            raise TileMemoryError(f"expected a tile in global or shared memory, found {place}")
        given = self.value.type
        if (self.expected is None) != (kind is not Atomic.CAS) or kind is Atomic.INC:
            raise AtomicError(f"expected add, min, max, and, or, xor, exch or cas with what it expects, found {kind}")
        if isinstance(given, TileType):
            if given.memory is not MemorySpace.REGISTER or (given.dims, given.element_type) != (
                place.dims,
                place.element_type,
            ):
                raise TileShapeError(f"expected a register tile like {place}, found {given}")
        elif place.num_elements != 1 or given != place.element_type:
            raise TileShapeError(
                f"expected a register tile like {place}, or a number for one element, found {given} for "
                f"{shape_text(place)}"
            )
        if self.result.type != given or any(each.type != given for each in self._data):
            raise ElementTypeError(f"expected values and a result of type {given}, found {self.result.type}")
        element = str(place.element_type)
        if element.lstrip("su") not in ("i32", "i64") and element not in _FLOATS.get(kind, ()):
            known = ", ".join(("integers of 32 and 64 bits", *_FLOATS.get(kind, ())))
            raise AtomicError(f"expected {kind} on {known}, found {element}")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicOp:
        kind = parser.parse_str_enum(Atomic)
        expected = in_parens(parser, parser.parse_unresolved_operand) if kind is Atomic.CAS else None
        operands = parse_operands(parser, 2)
        found: dict[str, Any] = {}
        _CLAUSES.parse(parser, found, before_types=True)
        attributes = parse_attributes(parser, cls)
        value, place = parse_types(parser, operands)
        if expected is not None:
            found["expected"] = parser.resolve_operand(expected, value.type)
        parser.parse_punctuation("->")
        return cls(kind=kind, value=value, place=place, result=parser.parse_type(), **found).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        expected = () if self.expected is None else ("(", self.expected, ")")
        write(printer, f" {self.kind.data}", *expected, " ", [self.value, self.place])
        _CLAUSES.print(printer, self)
        write_types(printer, self, self.value, self.place)


class FlagOp(DirectOperation, TileOpInterface):
    """An operation on one flag, an integer of 32 or 64 bits in global memory."""

    scope = prop_def(ScopeAttr, default_value=ScopeAttr(Scope.GPU))
    flags = operand_def(MemRefType)
    number = operand_def(IntegerType)
    indices = var_operand_def(IndexType())

    BEFORE: ClassVar[Sequence[Clause]] = ()
    BEHIND: ClassVar[Sequence[Clause]] = ()
    """Clauses before and behind the flag."""

    WAITS: ClassVar = False
    """Whether it reads the flag, and does not write it."""

    traits = traits_def(*_EFFECTS)

    @property
    def acquires(self) -> bool:
        return self.WAITS

    @property
    def releases(self) -> bool:
        return not self.WAITS

    def tile_reads(self) -> Sequence[SSAValue]:
        return (self.flags,) if self.WAITS else ()

    def tile_writes(self) -> Sequence[SSAValue]:
        return () if self.WAITS else (self.flags,)

    def verify_(self) -> None:
        type_ = self.flags.type
        if not isa(type_, MemRefType) or type_.element_type not in (i32, i64):
            raise FlagError(f"expected flags of i32 or i64 in a memref, found {type_}")
        if len(self.indices) != type_.get_num_dims():
            raise FlagError(f"expected {type_.get_num_dims()} indices into {type_}, found {len(self.indices)}")
        if self.number.type != type_.element_type:
            raise FlagError(f"expected a number of type {type_.element_type}, found {self.number.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        found: dict[str, Any] = {}
        for clause in cls.BEFORE:
            clause.parse(parser, found)
        flags = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_index(parser))
        for clause in cls.BEHIND:
            clause.parse(parser, found)
        parser.parse_punctuation(",")
        number = parser.parse_unresolved_operand()
        _CLAUSES_OF_FLAGS.parse(parser, found, before_types=True)
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_type()
        if not isa(type_, MemRefType):
            parser.raise_error(f"expected a memref of flags, found {type_}", start, parser.pos)
        element = type_.element_type
        results = {name: element for name, _ in cls.get_irdl_definition().results}
        operands = parser.resolve_operand(flags, type_), parser.resolve_operand(number, element), indices
        return cls(*operands, **found, **results).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        for clause in self.BEFORE:
            clause.print(printer, self)
        write(printer, " ", self.flags, "[", self.indices, "]")
        for clause in self.BEHIND:
            clause.print(printer, self)
        write(printer, ", ", self.number)
        _CLAUSES_OF_FLAGS.print(printer, self)
        write_types(printer, self, self.flags, results=False)


def _parse_comparison(parser: Parser) -> int:
    start = parser.pos
    word = parser.parse_identifier(context_msg=" of a comparison")
    if word not in CMPI_COMPARISON_OPERATIONS:
        known = ", ".join(CMPI_COMPARISON_OPERATIONS)
        parser.raise_error(f"expected a comparison ({known}), found '{word}'", start, parser.pos)
    return CMPI_COMPARISON_OPERATIONS.index(word)


@irdl_op_definition
class SignalOp(FlagOp):
    """`tirx.signal %flags[%i], %n gpu : memref<?xi32>`: sets a flag behind all that the block has done.

    Whoever waits for it by `tirx.wait_until` sees that. `tirx.signal add` adds the number to the flag in one step.
    The scope is `gpu` unless `cta`, `cluster` or `sys` is written.
    """

    name = "tirx.signal"

    adds = opt_prop_def(UnitAttr)

    BEFORE: ClassVar = (Clause("add", field="adds"),)


@irdl_op_definition
class WaitUntilOp(FlagOp):
    """`%x = tirx.wait_until %flags[%i] sge, %n gpu : memref<?xi32>`: goes on when the flag compares so with a number.

    The comparison is one of `arith.cmpi`, the result the flag that was seen, the same in all threads. All that other
    blocks had done before they set it by `tirx.signal` has happened. The kernel has the clause `in_order`, where blocks
    wait for earlier ones only, or `cooperative`.
    """

    name = "tirx.wait_until"
    WAITS: ClassVar = True

    predicate = prop_def(IntegerAttr[I64])
    result = result_def(AnyAttr())

    BEHIND: ClassVar = (
        Clause("", Form(_parse_comparison, lambda n: [CMPI_COMPARISON_OPERATIONS[int(n.value.data)]]), "predicate"),
    )

    @property
    def comparison(self) -> str:
        """The comparison, as `arith.cmpi` names it."""
        return CMPI_COMPARISON_OPERATIONS[self.predicate.value.data]

    def verify_(self) -> None:
        super().verify_()
        kernel = enclosing(self, KernelOp)
        if kernel is not None and kernel.progress is None:
            raise FlagError(
                "expected a kernel with the clause in_order or cooperative, where blocks may wait for each other, "
                "found neither"
            )


@irdl_op_definition
class TicketOp(DirectOperation):
    """`%n = tirx.ticket : i32`: how many blocks of the launch have begun before, in one thread, and 0 in all others."""

    name = "tirx.ticket"

    result = result_def(i32)

    assembly_format = "attr-dict `:` type($result)"

    traits = traits_def(*_EFFECTS)


OrderingOp = AtomicOp | SignalOp | WaitUntilOp
"""Operations that may order what blocks do."""
