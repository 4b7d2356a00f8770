"""The fields that the constructor of an operation takes, as its definition states them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    I32,
    I64,
    ArrayAttr,
    ArrayOfConstraint,
    IntAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    AttrSizedOperandSegments,
    EqIntConstraint,
    ParamAttrConstraint,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    VarConstraint,
    VerificationContext,
)
from xdsl.irdl.operations import IRDLOperation, OptionalDef, SingleBlockRegionDef, VariadicDef

Value = SSAValue | Operation
"""An operand: an operation stands for its single result."""


ONE_VALUE = (SSAValue, Operation)
"""The classes of operands that stand for one value."""

VALUES = {OpResult, BlockArgument}
"""The classes of operands that need no look."""


def value_of(value: Value) -> SSAValue:
    """Returns the single result of an operation, or the value itself. Raises TypeError for anything else."""
    if type(value) is OpResult:
        return value  # `SSAValue.get` takes several times as long
    if not isinstance(value, SSAValue | Operation):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a value or an operation, found {type(value).__name__}")
    return SSAValue.get(value)


@lru_cache(maxsize=4096)
def i32_attr(value: int) -> IntegerAttr[I32]:
    """Returns the attribute of an integer of 32 bits, which is built once."""
    return IntegerAttr(value, i32)


@lru_cache(maxsize=4096)
def i64_attr(value: int) -> IntegerAttr[I64]:
    """Returns the attribute of an integer of 64 bits, which is built once."""
    return IntegerAttr(value, i64)


UNIT = UnitAttr()
"""The attribute of a flag that is set."""


def constraint_of_each(constraint: RangeConstraint, is_variadic: bool) -> AttrConstraint | None:
    """Returns the constraint of each element of a range (of one unless it is variadic), None if it says more."""
    match constraint:
        case RangeOf(constr=inner):
            return inner
        case RangeLengthConstraint(constraint=RangeOf(constr=inner), length=EqIntConstraint(1)) if not is_variadic:
            return inner
        case _:
            return None


def _conversion(constraint: AttrConstraint) -> Callable[[Any], Attribute]:
    """Returns the function that makes an attribute of the class that a property has from a value of Python."""
    match constraint:
        case ArrayOfConstraint(elem_range_constraint=RangeOf(constr=inner)):
            element = _conversion(inner)
            return lambda values: ArrayAttr([v if isinstance(v, Attribute) else element(v) for v in values])
        case ParamAttrConstraint(base_attr=base, param_constrs=(_, type_)) if base is IntegerAttr:
            known = cast(Any, type_.infer(VerificationContext())) if type_.can_infer(set()) else None
            if known is None:
                return _refuse
            return i32_attr if known == i32 else i64_attr if known == i64 else lambda value: IntegerAttr(value, known)
        case _:
            bases = constraint.get_bases() or set()
    if len(bases) != 1:
        return _refuse
    base = cast(Any, bases.pop())
    if base in _plain:
        return _plain[base]
    members: Any = getattr(base, "enum_type", None)  # of an EnumAttribute

    @lru_cache
    def member(value: str) -> Attribute:
        return base(members(value))

    return base if members is None else member


_plain = {base: lru_cache(maxsize=4096)(base) for base in (StringAttr, IntAttr)}
"""Classes of attributes of one word or number -> what builds each attribute once."""


def _refuse(value: object) -> Attribute:
    raise TypeError(f"expected an attribute, found {value!r}")


def _is_flag(constraint: AttrConstraint) -> bool:
    return constraint.get_bases() == {UnitAttr}


def region_of(region: Region | None, is_single_block: bool) -> Region:
    """Returns the region, one of an empty block for None and where parsers leave out the only block."""
    if region is None:
        return Region(Block())
    if is_single_block and not region.blocks:
        region.add_block(Block())
    return region


def _declared(operation: type[IRDLOperation], names: set[str]) -> list[str]:
    """Returns these names in the order in which the class bodies have them, base classes first."""
    found = dict.fromkeys(name for cls in reversed(operation.__mro__) for name in vars(cls) if name in names)
    return list(found)


class Call:
    """Where a call of a constructor has what an operation gets: places among its arguments, those by name behind those
    by position. The last one, -1, has None.
    """

    __slots__ = ("flags", "operands", "properties", "regions", "successors", "types")

    operands: list[int]
    types: list[Any]
    """Of each result its type, or the place of the type or of an operand that has it."""
    properties: list[tuple[str, int, Callable[[Any], Attribute], Attribute | None]]
    """Key, place, conversion of a value of Python, and default of those that are given or have one."""
    flags: list[tuple[str, int]]
    successors: list[int]
    regions: list[tuple[int, bool, bool]]
    """Place, whether it has a single block, and whether it may be missing."""


class Constructor:
    """The parameters of an operation's constructor, and how they become operands, types and properties."""

    def __init__(self, operation: type[IRDLOperation]):
        definition = operation.get_irdl_definition()
        self._operation = operation.name
        self._operands = [name for name, _ in definition.operands]
        self._regions = [(name, isinstance(each, SingleBlockRegionDef)) for name, each in definition.regions]
        self._optional_regions = {name for name, each in definition.regions if isinstance(each, OptionalDef)}
        self._successors = [name for name, _ in definition.successors]
        self.has_segments = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)

        variables: dict[str, str] = {}
        for name, each in definition.operands:
            constraint = None if isinstance(each, VariadicDef) else constraint_of_each(each.constr, False)
            if isinstance(constraint, VarConstraint):
                variables.setdefault(constraint.name, name)
        self._types: list[tuple[str | None, Attribute | None]] = []
        """Of each result the field with its type or with an operand of its type, or the type itself."""
        typed: list[str] = []
        for name, each in definition.results:
            constraint = None if isinstance(each, VariadicDef) else constraint_of_each(each.constr, False)
            if constraint is not None and constraint.can_infer(set()):
                self._types.append((None, constraint.infer(VerificationContext())))
            elif isinstance(constraint, VarConstraint) and constraint.name in variables:
                self._types.append((variables[constraint.name], None))
            else:
                self._types.append((name, None))
                typed.append(name)
                if isinstance(constraint, VarConstraint):
                    variables[constraint.name] = name

        self._flags: list[tuple[str, str]] = []
        self._properties: list[tuple[str, str, Callable[[Any], Attribute], Attribute | None]] = []
        several = {name for name, each in (*definition.operands, *definition.results) if isinstance(each, VariadicDef)}
        optional = {name for name, each in (*definition.operands, *definition.results) if isinstance(each, OptionalDef)}
        for name, (key, _) in definition.accessor_names.items():
            each = definition.properties[key]  # no operation has attributes of its own
            if isinstance(each, OptionalDef) and _is_flag(each.constr):
                self._flags.append((name, key))
                continue
            self._properties.append((name, key, _conversion(each.constr), each.default_value))
            if isinstance(each, OptionalDef) or each.default_value is not None:
                optional.add(name)

        properties = [name for name, *_ in self._properties]
        known = {*self._operands, *properties, *typed, *(name for name, _ in definition.regions), *self._successors}
        order = _declared(operation, known)
        self._required = known - optional - several - {name for name, _ in self._regions}
        self._positional = sorted(order, key=lambda name: name in optional)
        self._known = known | {name for name, _ in self._flags}
        self.calls: dict[tuple[int | str, ...], Call] = {}
        """How many arguments are given by position, and the names of the others -> the call."""

    @property
    def converted(self) -> list[tuple[str, str, Callable[[Any], Attribute], Attribute | None]]:
        """Of each property that is no flag the field, its key, the conversion of a value of Python, and the default."""
        return self._properties

    @property
    def result_types(self) -> list[tuple[str | None, Attribute | None]]:
        """Of each result the field with its type or with an operand of its type, or the type itself."""
        return self._types

    def call(self, arguments: int, names: Sequence[str]) -> Call:
        """Returns the call with so many arguments by position, others by name. Raises TypeError for a field that is
        unknown, missing or given twice.
        """
        given = {name: at for at, name in enumerate((*self._positional[:arguments], *names))}
        if len(given) != arguments + len(names) or not self._required <= given.keys() <= self._known:
            flags = [f"{name}=False" for name, _ in self._flags]
            expected = [*(name if name in self._required else f"{name}=None" for name in self._positional), *flags]
            found = ", ".join([f"{arguments} by position", *names])
            raise TypeError(f"{self._operation}: expected ({', '.join(expected)}), found {found}")
        call = Call()
        call.operands = [given.get(name, -1) for name in self._operands]
        call.types = [given.get(field or "", -1) if type_ is None else type_ for field, type_ in self._types]
        call.properties = [
            (key, given.get(name, -1), convert, default)
            for name, key, convert, default in self._properties
            if name in given or default is not None
        ]
        call.flags = [(key, given[name]) for name, key in self._flags if name in given]
        call.successors = [given[name] for name in self._successors]
        call.regions = [(given.get(name, -1), single, name in self._optional_regions) for name, single in self._regions]
        self.calls[arguments, *names] = call  # whole: threads may look at once
        return call
