"""Loops of the scheduled level: skewed loops over logical iterations, whose parts run in different rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import I32, AnyFloat, IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    lazy_traits_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, RecursiveMemoryEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.nesting import top_of
from tirx.dialects.syntax import (
    AnyOrder,
    Clause,
    Form,
    Shown,
    in_parens,
    parse_attributes,
    parse_defined,
    parse_integer,
    types_text,
    write,
)
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.folds import FoldOp, ReduceOp, ScanOp
from tirx.dialects.tirx.maps import MapOp
from tirx.dialects.tirx.ring_types import PendingType
from tirx.dialects.traits import UsableBeforeDefinition
from tirx.dialects.xdsl_parser import resume_from
from tirx.dialects.xdsl_private import operations
from tirx.rules import LoopError, LoopPartError


@irdl_op_definition
class YieldOp(DirectOperation):
    """`tirx.yield %a, %b`: the values that a `tirx.for` carries to its next iteration, or that a `tirx.at` gives.

    In a `tirx.map`, `tirx.yield %a : f32`: the elements of its results. In a `tirx.reduce` or `tirx.scan`: the new
    accumulators.
    """

    name = "tirx.yield"

    values = var_operand_def(AnyAttr())

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ForOp, AtOp, MapOp, ReduceOp, ScanOp)))

    def __init__(self, *values: SSAValue):
        super().__init__(values)

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        values: list[SSAValue] = []
        if (operand := parser.parse_optional_unresolved_operand()) is not None:
            resume_from(parser, operand.span.start)
            values = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_defined(parser))
        op = cls(*values)
        op.attributes.update(parse_attributes(parser, cls))
        start = parser.pos
        if parser.parse_optional_punctuation(":") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            if types != (found := [value.type for value in values]):
                parser.raise_error(f"expected types {types_text(found)}, found {types_text(types)}", start, parser.pos)
        return op

    def print(self, printer: Printer) -> None:
        if self.values:
            write(printer, " ", self.values)
        printer.print_op_attributes(self.attributes)
        if self.values and isinstance(self.parent_op(), MapOp | FoldOp):
            write(printer, " : ", [value.type for value in self.values])


def _with_yield(region: Region) -> Region:
    """The region with a `tirx.yield` without values at its end if it has none."""
    if not region.blocks:
        region.add_block(Block())
    block = region.blocks[-1]
    if not isinstance(block.last_op, YieldOp):
        block.add_op(YieldOp())
    return region


def _yielded(region: Region) -> YieldOp:
    """The terminator of a body. Raises VerifyException for another one."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        assert last is not None, "an empty body is refused before, or gets a yield"
        raise LoopError(f"expected a body that ends in 'tirx.yield', found '{last.name}'")
    return last


MOST_ROUNDS_AHEAD = 256
"""The largest skew: rings are proved by walking through rounds, and no ring has so many slots."""


@irdl_op_definition
class AtOp(DirectOperation):
    """
    `%p = tirx.at(1) { ...; tirx.yield %v }`: a part of the body of `tirx.for`; iteration j of it runs in round j + 1.

    Its results are the values that other parts of the same iteration use. They live until the last round that uses
    them, so a part of an earlier round may stand behind one of a later round that uses its results: the textual order
    is that of the parts of one round, and `tirx.for` verifies that every value is computed before its uses.
    """

    name = "tirx.at"

    stage = prop_def(IntegerAttr[I32])
    body = region_def("single_block")
    values = var_result_def(AnyAttr())

    traits = lazy_traits_def(lambda: (HasParent(ForOp), RecursiveMemoryEffect(), UsableBeforeDefinition()))

    def __init__(self, stage: int, body: Region):
        body = _with_yield(body)
        types = [value.type for value in _yielded(body).values]
        super().__init__(stage, body, types)

    @property
    def offset(self) -> int:
        """Rounds between the start of an iteration and this part of it."""
        return self.stage.value.data

    def verify_(self) -> None:
        found = tuple(value.type for value in _yielded(self.body).values)
        if found != tuple(self.values.types):
            raise LoopPartError(f"expected values of types {types_text(self.values.types)}, found {types_text(found)}")
        loop = self.parent_op()
        assert isinstance(loop, ForOp)  # its trait has said so
        if not 0 <= self.offset <= loop.rounds_ahead:
            raise LoopPartError(
                f"expected at(s) with s from 0 to the skew of the loop, {loop.rounds_ahead}, found at({self.offset})"
            )

    @classmethod
    def parse(cls, parser: Parser) -> AtOp:
        stage = in_parens(parser, lambda: parse_integer(parser))
        attributes = parse_attributes(parser, cls, keyword=True)
        return cls(stage, parser.parse_region()).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f"({self.offset})")
        _print_body(self, self.body, printer)


def _print_body(op: IRDLOperation, body: Region, printer: Printer) -> None:
    """Prints the attributes of a loop or a part of one, and its body without a terminator that says nothing."""
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    last = body.block.last_op
    is_bare = isinstance(last, YieldOp) and not last.values and not last.attributes
    printer.print_region(body, print_entry_block_args=False, print_block_terminators=not is_bare)


@irdl_op_definition
class ForOp(DirectOperation):
    """`%p = tirx.for @k %k = 0 to %n skew(2) iter(%acc = %zeros) { tirx.at(0) {...} tirx.at(2) {...} tirx.yield %q }`

    `%n` logical iterations. Without a skew they run one after the other. With `skew(d)` the body consists of parts,
    `tirx.at(s)`: iteration j of a part runs in round j + s, parts of the same round in the order of the text, and
    there are n + d rounds (none of them copied out as prologue or drain). `%k` is the logical iteration in every part.

    The symbol says which loop of the sequential program this is: loops of several roles with one symbol are copies of
    one loop. `iter` carries registers and scalars from an iteration to the next; with `iter(%acc : T = %zeros)` a tile
    starts a value that is pending later.
    """

    name = "tirx.for"

    loop = prop_def(StringAttr)
    trips = opt_operand_def(IndexType())
    constant_trips = opt_prop_def(IntegerAttr[IndexType])
    skew = opt_prop_def(IntegerAttr[I32])
    inits = var_operand_def(AnyAttr())
    body = region_def("single_block")
    finals = var_result_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, loop: str, trips: SSAValue | int, body: Region, inits: Sequence[SSAValue] = (), skew: int = 0):
        """`body` takes the iteration, of type index, and the values that `inits` start."""
        body = _with_yield(body)
        known, computed = (trips, None) if isinstance(trips, int) else (None, trips)
        super().__init__(
            loop=loop,
            trips=computed,
            constant_trips=known,
            inits=inits,
            skew=skew or None,
            body=body,
            finals=body.block.arg_types[1:],
        )

    @property
    def iterations(self) -> SSAValue | int:
        """The number of iterations."""
        if self.trips is not None:
            return self.trips
        assert self.constant_trips is not None  # by the verifier
        return self.constant_trips.value.data

    @property
    def rounds_ahead(self) -> int:
        """The skew d: how many rounds more than iterations there are."""
        return 0 if self.skew is None else self.skew.value.data

    @property
    def index(self) -> BlockArgument:
        """The logical iteration."""
        return self.body.block.args[0]

    @property
    def carried(self) -> Sequence[BlockArgument]:
        """The values that are carried from iteration to iteration."""
        return self.body.block.args[1:]

    @property
    def _carried(self) -> tuple[tuple[BlockArgument, SSAValue], ...]:
        return tuple(zip(self.carried, self.inits, strict=True))

    @property
    def parts(self) -> tuple[AtOp, ...]:
        """The parts of the body, none for a body that is not split."""
        return tuple([op for op in operations(self.body.block) if isinstance(op, AtOp)])

    def verify_(self) -> None:
        if (self.trips is None) == (self.constant_trips is None):
            raise LoopError("expected one number of iterations, a value or a constant")
        if self.constant_trips is not None and self.constant_trips.value.data < 0:
            raise LoopError(f"expected 0 or more iterations, found {self.constant_trips.value.data}")
        if self.rounds_ahead < 0:
            raise LoopError(f"expected a skew of 0 or more, found {self.rounds_ahead}")
        if self.rounds_ahead > MOST_ROUNDS_AHEAD:
            raise LoopError(f"expected a skew of at most {MOST_ROUNDS_AHEAD}, found {self.rounds_ahead}")
        if not self.body.block.args or not isinstance(self.index.type, IndexType):
            raise LoopError(
                f"expected a body with the iteration, an index, as its first argument, found "
                f"{types_text(self.body.block.arg_types)}"
            )
        self._verify_carried()
        if self.rounds_ahead or self.parts:
            self._verify_parts()

    def _verify_carried(self) -> None:
        next_values = _yielded(self.body).values
        types = tuple(arg.type for arg in self.carried)
        for what, found in (("results", tuple(self.finals.types)), ("values to yield", tuple(next_values.types))):
            if found != types:
                raise LoopError(f"expected {what} of the types of iter, {types_text(types)}, found {types_text(found)}")
        if len(self.inits) != len(types):
            raise LoopError(f"expected {len(types)} values to start iter, found {len(self.inits)}")
        for arg, init in zip(self.carried, self.inits, strict=True):
            if not _can_be_carried(arg.type):
                raise LoopError(
                    f"expected register tiles, pending tiles or scalars in iter, found {arg.type}; slots of a ring "
                    f"are acquired in every iteration"
                )
            starts = (arg.type, arg.type.tile) if isinstance(arg.type, PendingType) else (arg.type,)
            if init.type not in starts:
                raise LoopError(f"expected a value of type {starts[-1]} to start iter, found {init.type}")

    def _verify_parts(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, AtOp | YieldOp):
                raise LoopPartError(
                    f"expected only 'tirx.at' in the body of a loop that is split into parts, found '{op.name}'"
                )
        positions = {part: i for i, part in enumerate(self.parts)}

        def is_late(part: AtOp, rounds: int, user: AtOp) -> bool:
            """Returns True if a part of the iteration `rounds` ahead of that of `user` does not come before it."""
            return (part.offset - rounds, positions[part]) >= (user.offset, positions[user])

        for part in self.parts:
            for value in part.values:
                for user in self._users(value):
                    if is_late(part, 0, user):
                        raise LoopPartError(
                            f"expected {_name(value)}, computed {_where(part, positions)}, to be used later in the "
                            f"iteration, found a use {_where(user, positions)}"
                        )
        for arg in self.carried:
            if (source := self._source(arg)) is None:
                continue
            part, rounds = source
            for user in self._users(arg):
                if is_late(part, rounds, user):
                    raise LoopPartError(
                        f"expected the next {_name(arg)}, computed {_where(part, positions)}, to be used by a later "
                        f"iteration behind it, found a use {_where(user, positions)}"
                    )

    def _users(self, value: SSAValue) -> list[AtOp]:
        """The parts whose bodies use a value."""
        tops = (top_of(use.operation, self) for use in value.uses)
        return [each for each in tops if isinstance(each, AtOp)]

    def _source(self, arg: BlockArgument) -> tuple[AtOp, int] | None:
        """The part that computes what `arg` is in an iteration, and how many iterations before; None if none does."""
        following: dict[SSAValue, SSAValue] = dict(zip(self.carried, _yielded(self.body).values, strict=True))
        value: SSAValue = arg
        for rounds, _ in enumerate(following, start=1):  # as many as there can be before values repeat
            value = following[value]
            part = value.owner
            if isinstance(part, AtOp) and part.parent_op() is self:
                return part, rounds
            if value not in following:
                return None
        return None

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        loop = parser.parse_symbol_name()
        arguments = [parser.parse_argument(expect_type=False).resolve(IndexType())]
        parser.parse_punctuation("=")
        start = parser.pos
        if (lower := parse_integer(parser)) != 0:
            parser.raise_error(f"expected iterations that count from 0, found {lower}", start, parser.pos)
        parser.parse_keyword("to")
        operand = parser.parse_optional_unresolved_operand()
        trips = parse_integer(parser) if operand is None else parser.resolve_operand(operand, IndexType())
        found: dict[str, Any] = {"skew": 0, "_carried": ()}
        _CLAUSES.parse(parser, found)
        arguments += [argument for argument, _ in found["_carried"]]
        inits = [init for _, init in found["_carried"]]
        attributes = parse_attributes(parser, cls, keyword=True)
        return cls(loop.data, trips, parser.parse_region(arguments), inits, found["skew"]).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.loop.data)
        trips = self.iterations
        write(printer, " ", self.index, " = 0 to ", str(trips) if isinstance(trips, int) else trips)
        _CLAUSES.print(printer, self)
        _print_body(self, self.body, printer)


def _can_be_carried(type_: Attribute) -> bool:
    match type_:
        case TileType():
            return type_.memory is MemorySpace.REGISTER
        case PendingType() | IndexType() | IntegerType():
            return True
        case _:
            return isinstance(type_, AnyFloat)


def _parse_carried(parser: Parser) -> tuple[Parser.Argument, SSAValue]:
    argument = parser.parse_argument(expect_type=False)
    type_ = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else None
    parser.parse_punctuation("=")
    init = parse_defined(parser)
    return argument.resolve(init.type if type_ is None else type_), init


def _shown(carried: tuple[BlockArgument, SSAValue]) -> list[Shown]:
    arg, init = carried
    return [arg, *(() if arg.type == init.type else (" : ", arg.type)), " = ", init]


_CLAUSES = AnyOrder(Clause("skew()", int), Clause("iter(*)", Form(_parse_carried, _shown), "_carried"))


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a value"


def _where(part: AtOp, positions: dict[AtOp, int]) -> str:
    return f"at({part.offset}), part {positions[part] + 1} of the body"
