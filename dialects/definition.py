"""`irdl_op_definition` with less work at import and in the verifier.

xDSL parses the assembly format of every operation when it is defined, and interprets the whole definition each time it
verifies an operation. There are hundreds of definitions and thousands of operations: here formats are parsed when they
are first used, and of a definition only what the operation has is looked at. The results are the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from types import new_class
from typing import Any, Self, TypeVar, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, FileLineColLoc, IntAttr, StringAttr, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, OpResult, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import AnyAttr, AttrSizedOperandSegments, RangeOf, VerificationContext, irdl_attr_definition
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.irdl.operations import (
    AfterVariadicSingleAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    IRDLOperation,
    OpDef,
    OptionalAttrAccessor,
    OptionalDef,
    ParsePropInAttrDict,
    SingleAttrAccessor,
    SingleBlockRegionDef,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
    VariadicDef,
    VarIRConstruct,
    get_accessors_from_op_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.constructor import ONE_VALUE, VALUES, Constructor, constraint_of_each, region_of
from tirx.dialects.constructor import UNIT as UNIT
from tirx.dialects.constructor import Value as Value
from tirx.dialects.constructor import i32_attr as i32_attr
from tirx.dialects.constructor import i64_attr as i64_attr
from tirx.dialects.constructor import value_of as value_of
from tirx.dialects.xdsl_parser import input_of
from tirx.dialects.xdsl_private import ITEMS, operands_of, signature_of, successors_of, type_of
from tirx.dialects.xdsl_private import fill as fill
from tirx.rules import UnboundParameterError

OpT = TypeVar("OpT", bound=IRDLOperation)
_OperationT = TypeVar("_OperationT", bound=Operation)
_EnumT = TypeVar("_EnumT", bound=StrEnum)
_DefinedT = TypeVar("_DefinedT", Operation, Attribute)


def defined(names: Mapping[str, object], dialect: str, kind: type[_DefinedT]) -> list[type[_DefinedT]]:
    """The operations or attributes among the `names` of a module whose own names begin with `dialect`."""
    # `issubclass` would ask every subclass of `kind`, an abstract class, about every class that is none.
    classes = [value for value in names.values() if isinstance(value, type) and kind in value.__mro__]
    return [cls for cls in classes if str(getattr(cls, "name", "")).startswith(f"{dialect}.")]


class _Values:
    """The operands or results of a definition. At most one is variadic, unless the operation knows the sizes of all."""

    def __init__(self, definitions: Sequence[tuple[str, Any]]):
        variadic = [i for i, (_, definition) in enumerate(definitions) if isinstance(definition, VariadicDef)]
        found = [constraint_of_each(d.constr, i in variadic) for i, (_, d) in enumerate(definitions)]
        self.constraints = [constraint for constraint in found if constraint is not None]
        self.variadic = variadic[0] if variadic else None
        self.is_known = None not in found
        self.is_simple = (
            self.is_known
            and len(variadic) <= 1
            and not any(isinstance(definition, OptionalDef) for _, definition in definitions)
        )
        self._most = [
            1 if i not in variadic or isinstance(definition, OptionalDef) else None
            for i, (_, definition) in enumerate(definitions)
        ]
        self._fewest = [0 if i in variadic else 1 for i in range(len(definitions))]

    def check(self, values: tuple[SSAValue, ...], context: VerificationContext) -> bool:
        """Returns True if there are as many as the definition says. Raises VerifyException if a type is wrong."""
        constraints = self.constraints
        if surplus := len(values) - len(constraints):
            if surplus < -1 or self.variadic is None:
                return False
            first, behind = constraints[: self.variadic], constraints[self.variadic + 1 :]
            constraints = [*first, *(1 + surplus) * [constraints[self.variadic]], *behind]
        known = type_before = None
        for constraint, value in zip(constraints, values, strict=True):
            type_ = type_of(value)
            if constraint is not known or type_ is not type_before:
                constraint.verify(type_, context)
                known, type_before = constraint, type_
        return True

    def check_segments(self, values: tuple[SSAValue, ...], sizes: Sequence[int], context: VerificationContext) -> bool:
        """The same for values in segments of the given sizes."""
        if len(sizes) != len(self.constraints) or sum(sizes) != len(values):
            return False
        start = 0
        for constraint, size, fewest, most in zip(self.constraints, sizes, self._fewest, self._most, strict=True):
            if size < fewest or (most is not None and size > most):
                return False
            before = None
            for type_ in map(type_of, item(values, slice(start, start + size))):
                if type_ is not before:
                    constraint.verify(type_, context)
                    before = type_
            start += size
        return True


Signatures = dict[Hashable, list[Attribute]]
"""Signatures of operations -> the attributes whose identities are in there."""

_MOST_SIGNATURES = 10_000
"""Signatures that are kept."""


def remember(known: Signatures, signature: Hashable, op: Operation) -> None:
    """Adds the signature of an operation to those that are `known`."""
    if len(known) >= _MOST_SIGNATURES:
        known.clear()
    values = (*operands_of(op), *op.results)
    known[signature] = [*map(type_of, values), *op.properties.values(), *op.attributes.values()]


_FITTING: Signatures = {}
"""Those of operations that are as their definitions say."""


class _Definition(OpDef):
    """The definition of an operation, which verifies quickly what has no regions."""

    @cached_property
    def _operands(self) -> _Values:
        return _Values(self.operands)

    @cached_property
    def _results(self) -> _Values:
        return _Values(self.results)

    @cached_property
    def _has_segments(self) -> bool:
        return any(isinstance(option, AttrSizedOperandSegments) for option in self.options)

    @cached_property
    def _is_simple(self) -> bool:
        known = all(
            isinstance(option, ParsePropInAttrDict) or (type(option) is AttrSizedOperandSegments and option.as_property)
            for option in self.options
        )
        operands = self._operands.is_known if self._has_segments else self._operands.is_simple
        ends = any(isinstance(definition, VariadicDef) for _, definition in self.successors)
        regions = self._follows_signatures and not any(isinstance(each, VariadicDef) for _, each in self.regions)
        return known and operands and self._results.is_simple and regions and not ends

    @cached_property
    def _follows_signatures(self) -> bool:
        """Returns True unless arguments of regions have types that the definition says."""
        return all(each.entry_args == RangeOf(AnyAttr()) for _, each in self.regions)

    @cached_property
    def _checked_traits(self) -> list[OpTrait]:
        """In one order, in every process: traits are a set, and the first one that is broken is what users read."""
        checked = [trait for trait in self.traits if type(trait).verify is not OpTrait.verify]
        return sorted(checked, key=lambda trait: type(trait).__name__)

    @cached_property
    def _checked_properties(self) -> list[tuple[str, Any, bool]]:
        """Name, constraint, and whether each property must be there."""
        known = self.properties.items()
        return [(name, each.constr, not isinstance(each, OptionalDef)) for name, each in known]

    def verify(self, op: Operation) -> None:
        """As that of OpDef, which also finds the words for what is wrong."""
        signature = signature_of(op) if self._follows_signatures else None
        if signature not in _FITTING:
            try:
                is_right = self._is_simple and self._check(op)
            except VerifyException:
                is_right = False
            if not is_right:
                super().verify(op)
            if signature is not None:
                remember(_FITTING, signature, op)
        for trait in self._checked_traits:
            trait.verify(op)

    def _check(self, op: Operation) -> bool:
        context = VerificationContext()
        values = operands_of(op)
        found = op.properties
        if self._has_segments:
            sizes = found.get(AttrSizedOperandSegments.attribute_name)
            if type(sizes) is not DenseArrayBase or (sizes.elt_type is not i32 and sizes.elt_type != i32):
                return False
            if not self._operands.check_segments(values, _sizes(sizes.data.data), context):
                return False
        elif not self._operands.check(values, context):
            return False
        if not self._results.check(op.results, context):
            return False
        if len(successors_of(op)) != len(self.successors) or len(op.regions) != len(self.regions):
            return False
        for region, (_, each) in zip(op.regions, self.regions, strict=True):
            if isinstance(each, SingleBlockRegionDef) and (region.first_block or self) is not region.last_block:
                return False
        for name, constraint, is_needed in self._checked_properties:
            value = found.get(name)
            if value is not None:
                constraint.verify(value, context)
            elif is_needed:
                return False
        for name, definition in self.attributes.items():
            value = op.attributes.get(name)
            if value is not None:
                definition.constr.verify(value, context)
            elif not isinstance(definition, OptionalDef):
                return False
        return found.keys() <= self.properties.keys()


@lru_cache(maxsize=4096)
def quicken(kind: type[Operation]) -> None:
    """Lets operations of a class that is defined with xDSL verify, and find their operands, results, regions and
    successors, as those of tirx do, in a part of the time.
    """
    definition = kind.get_irdl_definition() if issubclass(kind, IRDLOperation) else None
    if type(definition) is OpDef:
        definition.__class__ = _Definition
        for name, accessor in [*vars(kind).items()]:
            if type(accessor) in _DIRECT:
                setattr(kind, name, _direct(accessor))


class DirectOperation(IRDLOperation):
    """
    An operation whose constructor takes the fields of its definition, several times as fast as that of IRDLOperation.

    Fields are given by name or by position: those that are needed come first, each group in the order of the class
    body, base classes before it. Flags (UnitAttr) are given by name only. A result whose type follows from the
    definition or from an operand is no field; any other is given by its type. Values of Python become attributes of the
    class that a property has: 3 an `IntegerAttr`, "add" one of an enumeration, True a `UnitAttr`; None and a flag of
    False mean that there is none, or the default. Operands are values or operations, sequences for variadic ones.

    Raises TypeError for a field that is unknown, missing or given twice; the verifier finds types that do not fit. The
    arguments of IRDLOperation are taken, too, where `operands` or `result_types` is among them.
    """

    def __init__(self, *arguments: Any, **named: Any):
        constructor = constructor_of(type(self))
        call = constructor.calls.get((len(arguments), *named))
        if call is None:
            if "result_types" in named or "operands" in named:
                super().__init__(*arguments, **named)
                return
            call = constructor.call(len(arguments), [*named])
        given: tuple[Any, ...] = *arguments, *named.values(), None
        operands: list[SSAValue] = []
        sizes: list[int] = []
        for at in call.operands:
            values = given[at]
            if type(values) in VALUES:
                operands.append(values)
                sizes.append(1)
            else:
                several = (given[at],) if isinstance(values, ONE_VALUE) else given[at] or ()
                for value in several:
                    operands.append(value if type(value) is OpResult else value_of(value))
                sizes.append(len(several))
        types: list[Any] = []
        for known in call.types:
            found = given[known] if type(known) is int else known
            if isinstance(found, Attribute):
                types.append(found)
            elif isinstance(found, ONE_VALUE):
                types.append(value_of(given[known]).type)
            else:
                types += found or ()
        properties: dict[str, Attribute] = {}
        for key, at, convert, default in call.properties:
            value = given[at]
            if value is None:
                value = default
            if value is not None:
                properties[key] = value if isinstance(value, Attribute) else convert(value)
        for key, at in call.flags:
            if given[at]:
                properties[key] = UNIT
        if constructor.has_segments:
            properties[AttrSizedOperandSegments.attribute_name] = _segments(tuple(sizes))
        fill(self, operands, types, properties)
        if call.successors:
            self.successors = [given[at] for at in call.successors]
        for at, is_single, is_optional in call.regions:
            if given[at] is not None or not is_optional:
                self.add_region(region_of(given[at], is_single))

    def with_attributes(self, attributes: Mapping[str, Attribute]) -> Self:
        """Returns the operation itself, which gets these attributes."""
        self.attributes.update(attributes)
        return self


constructor_of = cache(Constructor)
"""The constructor of a class of operations."""


def built(
    kind: type[_OperationT],
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    regions: Sequence[Region] = (),
) -> _OperationT:
    """
    As `kind.create(...)`, in a third of the time, for operations of any dialect that get no successors.

    Properties that have a default must be given.
    """
    quicken(kind)
    op = kind.__new__(kind)
    fill(op, operands, result_types, dict(properties))
    for region in regions:
        op.add_region(region)
    return op


def enum_attribute(name: str, enum: type[_EnumT]) -> type[EnumAttribute[_EnumT]]:
    """Defines the attribute of a member of `enum`, printed as `#dialect<name member>`, or `member` in a format."""
    bases = (EnumAttribute[enum], SpacedOpaqueSyntaxAttribute)
    body = {"name": name, "__module__": enum.__module__, "__doc__": enum.__doc__}
    return irdl_attr_definition(new_class(f"{enum.__name__}Attr", bases, exec_body=lambda names: names.update(body)))


@lru_cache(maxsize=256)
def _segments(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def irdl_op_definition(cls: type[OpT]) -> type[OpT]:
    """Class decorator of an operation; see `xdsl.irdl.irdl_op_definition`."""
    definition = cast(_Definition, OpDef.from_pyrdl(cls))
    definition.__class__ = _Definition
    text, definition.assembly_format = definition.assembly_format, None
    inherited = cls.verify_ if cls.verify_ is not Operation.verify_ else None
    for name, value in get_accessors_from_op_def(definition, None).items():
        setattr(cls, name, _direct(value))
    cls.verify_ = _verifier(definition, inherited)  # pyright: ignore[reportAttributeAccessIssue]
    definition.assembly_format = text
    if text is not None:
        _add_format(cls, text, definition)
    _locate(cls)
    return cls


@lru_cache(maxsize=4)
def _line_ends(text: str) -> list[int]:
    return [i for i, character in enumerate(text) if character == "\n"]


def _locate(cls: type[IRDLOperation]) -> None:
    """Lets operations know their line where the parser does not say it: that of the stock `xdsl-opt`."""
    parse = cls.parse.__func__  # pyright: ignore[reportFunctionMemberAccess, reportUnknownMemberType, reportUnknownVariableType]

    def located(cls: type[OpT], parser: Parser) -> OpT:
        start = parser.pos
        op: OpT = parse(cls, parser)
        if not getattr(parser, "locates", False) and op.location == UNKNOWN_LOC:
            source = input_of(parser)
            name = source.content.rfind(cls.name, 0, start)
            at = start if name < 0 else name
            ends = _line_ends(source.content)
            line = bisect_left(ends, at)
            column = at - (ends[line - 1] if line else -1)
            op.location = FileLineColLoc(StringAttr(source.name), IntAttr(line + 1), IntAttr(column))
        return op

    cls.parse = classmethod(located)  # pyright: ignore[reportAttributeAccessIssue]


def _verifier(definition: _Definition, custom: Callable[[Any], None] | None) -> Callable[[Operation], None]:
    """The verifier of an operation, whose errors know the place: xDSL's only say which text of the module it is."""

    def verify_(self: Operation) -> None:
        try:
            definition.verify(self)
            if custom is not None:
                custom(self)
        except UnboundParameterError as error:
            # Numbers that a kernel's parameters decide are verified once they are bound.
            if not set(error.names) <= _declared(self):
                error.location = self.location  # pyright: ignore[reportAttributeAccessIssue]
                raise
        except VerifyException as error:
            error.location = self.location  # pyright: ignore[reportAttributeAccessIssue]
            raise

    return verify_


def _declared(op: Operation) -> set[str]:
    """The names of the parameters of the kernel that an operation is, or is in."""
    around: Operation | None = op
    while around is not None:
        if (parameters := around.properties.get("params")) is not None:
            return {each.name for each in cast(Any, parameters).data}
        around = around.parent_op()
    return set()


_ARGUMENTS: Mapping[VarIRConstruct, str] = {
    VarIRConstruct.OPERAND: "_operands",
    VarIRConstruct.RESULT: "results",
    VarIRConstruct.REGION: "regions",
    VarIRConstruct.SUCCESSOR: "_successors",
}
"""What a name of a definition stands for -> the tuple of all of that kind that an operation has."""

_VALUES = ("_operands", "results")

item: Callable[[tuple[Any, ...], Any], Any] = cast(Any, tuple).__getitem__
"""An item of a tuple. The classes of xDSL for operands and results have one of their own, in Python."""


def _part(whole: tuple[Any, ...], start: int, end: int) -> tuple[Any, ...]:
    return type(whole)(item(whole, slice(start, end)))


@lru_cache(maxsize=256)
def _sizes(data: bytes) -> tuple[int, ...]:
    """The numbers of 32 bits of a property with the sizes of segments."""
    return i32.unpack(data, len(data) // 4)


@lru_cache(maxsize=1024)
def _slice(data: bytes, index: int) -> slice:
    """The slice of the operands that a segment is."""
    start = sum(_sizes(data)[:index])
    return slice(start, start + _sizes(data)[index])


def _direct(accessor: Any) -> object:
    """The same accessor, but quicker if it is one of operands, results, regions or successors."""
    if type(accessor) not in _DIRECT:
        return accessor
    name = _ARGUMENTS[accessor.construct]
    if type(accessor) is BeforeVariadicSingleAccessor and name in _VALUES and accessor.idx < len(ITEMS):
        return property(attrgetter(f"{name}.{ITEMS[accessor.idx]}"))
    return property(_DIRECT[type(accessor)](accessor, attrgetter(name)))


_Read = Callable[[Operation], tuple[Any, ...]]


def _before_variadic(accessor: BeforeVariadicSingleAccessor, read: _Read) -> Callable[[Operation], object]:
    index = accessor.idx
    return lambda op: item(read(op), index)


def _after_variadic(accessor: AfterVariadicSingleAccessor, read: _Read) -> Callable[[Operation], object]:
    index = accessor.idx - accessor.num_defs
    return lambda op: item(read(op), index)


def _variadic(accessor: UniqueVariadicAccessor, read: _Read) -> Callable[[Operation], object]:
    first, behind = accessor.idx, accessor.num_defs - accessor.idx - 1
    if not first and not behind:
        return read
    return lambda op: _part(whole := read(op), first, len(whole) - behind)


def _segment(accessor: BaseAttrAccessor, read: _Read) -> Callable[[Operation], object]:
    index, name = accessor.idx, accessor.option.attribute_name
    properties = attrgetter("properties" if accessor.option.as_property else "attributes")
    is_variadic = isinstance(accessor, VariadicAttrAccessor)
    is_optional = isinstance(accessor, OptionalAttrAccessor)

    def get(op: Operation) -> object:
        found = _slice(properties(op)[name].data.data, index)
        if is_variadic:
            whole = read(op)
            return type(whole)(item(whole, found))
        return None if is_optional and found.start == found.stop else item(read(op), found.start)

    return get


_DIRECT: Mapping[type, Callable[[Any, _Read], Callable[[Operation], object]]] = {
    BeforeVariadicSingleAccessor: _before_variadic,
    AfterVariadicSingleAccessor: _after_variadic,
    UniqueVariadicAccessor: _variadic,
    SingleAttrAccessor: _segment,
    VariadicAttrAccessor: _segment,
    OptionalAttrAccessor: _segment,
}
"""The accessors of xDSL -> what reads the same."""


def _add_format(cls: type[IRDLOperation], text: str, definition: OpDef) -> None:
    program: list[FormatProgram] = []

    def parsed() -> FormatProgram:
        if not program:
            program.append(FormatProgram.from_str(text, definition))
        return program[0]

    def parse(cls: type[OpT], parser: Parser) -> OpT:
        start = parser.pos
        op = parsed().parse(parser, cls)
        for name in op.attributes.keys() & definition.properties.keys():
            parser.raise_error(f"expected '{name}' in its own place, found it among the attributes", start, parser.pos)
        return op

    def print_(self: IRDLOperation, printer: Printer) -> None:
        parsed().print(printer, self)

    for name, method in {"parse": classmethod(parse), "print": print_}.items():
        setattr(cls, name, method)
