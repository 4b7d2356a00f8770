"""Every operation by its definition: `op.tirx.copy(x, y, engine="tma")`, `op.arith.divui(i, j)`.

Fields are those that the operation's definition names, operands first; `to` are the types of results that do not
follow. What a definition gains, Python can say at once. `tirx.builder.printer` writes the same calls.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, AttrSizedResultSegments, BaseAttr
from xdsl.irdl.operations import IRDLOperation, VariadicDef
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from tirx.builder import functions
from tirx.builder.dtypes import LATE, ArrayType, DType, dtype_of, index
from tirx.builder.memory import Memory
from tirx.builder.scalars import Scalar
from tirx.builder.tiles import Tile
from tirx.builder.trace import BuildError, Trace, current, tracing
from tirx.builder.views import Array, View
from tirx.dialects.constructor import Constructor
from tirx.dialects.definition import constructor_of
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.frames import hiding_frames
from tirx.universe import new_context


@cache
def _context() -> Any:
    return new_context()


def attribute(text: str) -> Attribute:
    """An attribute or a type, as MLIR text says it.

    >>> import tirx as tx
    >>> str(tx.attribute("memref<4xf32, strided<[2]>>"))
    'memref<4xf32, strided<[2]>>'
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BuildError(f"expected an attribute or a type in MLIR, as text, found {text!r}")
    return _parsed(text)


@cache
def _parsed(text: str) -> Attribute:
    try:
        return Parser(_context(), text).parse_attribute()
    except ParseError as error:
        raise BuildError(f"expected an attribute or a type in MLIR, found {text!r}: {error}") from None


def type_of(value: Any) -> Attribute:
    """The type in the IR, of a type of Python."""
    if isinstance(value, ArrayType):
        return value.memref
    if isinstance(value, DType):
        return value.attribute
    return attribute(value) if isinstance(value, str) else value


@cache
def definition(name: str) -> type[IRDLOperation]:
    """The class of an operation. Raises BuildError for one that nobody has defined."""
    found = _context().get_optional_op(name)
    if found is None or not issubclass(found, IRDLOperation):
        raise BuildError(f"expected an operation of a dialect, found {name}")
    return found


def python_name(name: str) -> str:
    """A name that Python can say: `yield_` for `yield`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def wrapped(value: SSAValue) -> Any:
    """A value of the IR as one of Python."""
    match value.type:
        case TileType() as type_ if not type_.parameters_of_shape:
            if type_.memory in (MemorySpace.SHARED, MemorySpace.TENSOR, MemorySpace.ACCUMULATOR):
                return Memory(current(), value)
            return Tile.of(value)
        case MemRefType():
            return Array(current(), value, array_type(value.type), None)
        case _:
            trace, dtype = current(), dtype_of(value.type)
            return Scalar(trace, trace.typed(value, dtype.scalar), dtype)


def array_type(type_: MemRefType[Attribute]) -> ArrayType:
    """The type of an array, of a memref's; other layouts than strides are those of `type_of`."""
    shape = tuple(None if n < 0 else n for n in type_.get_shape())
    strides = type_.get_strides() if isinstance(type_.layout, StridedLayoutAttr) else None
    return ArrayType(dtype_of(type_.element_type), shape, None if strides is None else tuple(strides))


def _value(given: Any) -> SSAValue:
    """An operand; a number is an index."""
    if isinstance(given, View | Memory):
        return given.op_value
    if isinstance(given, Tile):
        return given.ssa()
    if isinstance(given, Scalar | Array):
        return given.value
    if isinstance(given, SSAValue):
        return cast("SSAValue", given)
    if type(given) is int:
        return functions.scalar(given, index).value
    raise BuildError(f"expected a tile, a scalar or an array as an operand, found {given!r}")


@cache
def conversions(kind: type[IRDLOperation]) -> dict[str, Callable[[Any], Attribute]]:
    """The functions that make properties of values of Python, by name."""
    return {key: convert for _, key, convert, _ in _constructor(kind).converted}


@cache
def _constructor(kind: type[IRDLOperation]) -> Constructor:
    return constructor_of(kind)


def property_of(kind: type[IRDLOperation], name: str, value: Any) -> Attribute | None:
    """A property, of a value of Python: a number, a word, a list of them, True, or MLIR text in `tx.attribute`.

    Text for a property of one attribute is what stands in its brackets: `zero_columns="start = 0, zero = 1, use = 31"`.
    """
    if value is None or value is False:
        return None
    if isinstance(value, Attribute):
        return value
    known = kind.get_irdl_definition().properties
    if name not in known:
        expected = ", ".join(each for each in known if not each.endswith("SegmentSizes")) or "none"
        raise BuildError(f"expected clauses of {kind.name} ({expected}), found {name}")
    if value is True:
        return UnitAttr()
    of = cast(Any, constraint).attr if isinstance(constraint := known[name].constr, BaseAttr) else None
    if isinstance(value, str) and of is not None and "." in of.name and not issubclass(of, EnumAttribute):
        return attribute(f"#{of.name}<{value}>")
    try:
        return conversions(kind)[name](value)
    except (KeyError, TypeError, ValueError, AttributeError, VerifyException):
        if type(value) is int:  # an attribute of any integer, such as the predicate of a comparison
            return IntegerAttr(value, i64)
        raise BuildError(f"expected another value of the clause {name} of {kind.name}, found {value!r}") from None


def python_of(kind: type[IRDLOperation], name: str, value: Attribute) -> str:
    """The text of a property in Python; the counterpart of `property_of`."""
    match value:
        case UnitAttr():
            return "True"
        case IntegerAttr(value=IntAttr(data=number)):
            plain = number
        case StringAttr(data=word):
            plain = word
        case EnumAttribute(data=member):
            plain = str(member)
        case ArrayAttr(data=items) if all(isinstance(each, IntegerAttr) for each in items):
            plain = [cast("IntegerAttr[Any]", each).value.data for each in items]
        case _:
            return f"tx.attribute({str(value)!r})"
    try:
        if property_of(kind, name, plain) == value:
            return repr(plain)
    except BuildError:
        pass
    return f"tx.attribute({str(value)!r})"


def operation(
    name: str, *operands: Any, to: Any = None, attributes: dict[str, Any] | None = None, **fields: Any
) -> Any:
    """Inserts an operation of whichever dialect; returns its results, one as itself.

    `operands` are in the order of its definition, lists for those of which there may be several, and None for those
    that are missing. `fields` are its clauses, regions (`tx.region`) and later operands by name; `to` is the type of
    each result that does not follow from the operands.
    """
    kind = definition(name)
    known = kind.get_irdl_definition()
    given = dict(zip((field for field, _ in known.operands), operands, strict=False))
    if len(operands) > len(known.operands):
        raise BuildError(f"expected {len(known.operands)} operands of {name}, found {len(operands)}")
    values: list[SSAValue] = []
    sizes: list[int] = []
    for field, each in known.operands:
        found = fields.pop(field, given.get(field))
        if found is None and not isinstance(each, VariadicDef):
            raise BuildError(f"expected the operand {field} of {name}, found none")
        items = (
            [] if found is None else list(cast("Sequence[Any]", found)) if isinstance(found, list | tuple) else [found]
        )
        values += [_value(item) for item in items]
        sizes.append(len(items))
    regions = [fields.pop(field, None) for field, _ in known.regions]
    if known.regions and all(region is None for region in regions) and "regions" in fields:
        regions = fields.pop("regions")
    properties = {field: made for field, each in fields.items() if (made := property_of(kind, field, each)) is not None}
    for field, each in known.properties.items():
        if field not in properties and each.default_value is not None:
            properties[field] = each.default_value
    segmented = any(isinstance(option, AttrSizedOperandSegments) for option in known.options)
    if segmented:
        properties[AttrSizedOperandSegments.attribute_name] = DenseArrayBase.from_list(i32, sizes)
    assert not any(isinstance(option, AttrSizedResultSegments) for option in known.options)
    types = _types(kind, values, to)
    made = [
        region if region is not None else Region() for region in regions if region is not None or not _optional(kind)
    ]
    op = kind.create(operands=values, result_types=types, properties=properties, regions=made)
    for field, each in (attributes or {}).items():
        op.attributes[field] = type_of(each)
    trace = current()
    trace.before(op)
    trace(op)
    results = [wrapped(result) for result in op.results]
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _optional(kind: type[IRDLOperation]) -> bool:
    return any(type(each).__name__.startswith("Opt") for _, each in kind.get_irdl_definition().regions)


def _types(kind: type[IRDLOperation], values: list[SSAValue], to: Any) -> list[Attribute]:
    if to is not None:
        return [type_of(each) for each in (cast("list[Any]", to) if isinstance(to, list | tuple) else [to])]
    return inferred_types(kind, [value.type for value in values])


def inferred_types(kind: type[IRDLOperation], operands: Sequence[Attribute]) -> list[Attribute]:
    """The types of results that follow from the definition and the types of the operands; none where they do not."""
    types: list[Attribute] = []
    names = [name for name, _ in kind.get_irdl_definition().operands]
    for field, known in _constructor(kind).result_types:
        if known is not None:
            types.append(known)
        elif field in names and len(names) == len(operands):
            types.append(operands[names.index(field)])
        else:
            return []
    return types


LATE["operation"] = operation


class _Dialect:
    """The operations of a dialect, or one whose name begins so."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> _Dialect:
        if name.startswith("__"):  # asked for by Python
            raise AttributeError(name)
        return _Dialect(f"{self._name}.{name.removesuffix('_')}")

    @hiding_frames
    def __call__(self, *operands: Any, **fields: Any) -> Any:
        return operation(self._name, *operands, **fields)


class Operations:
    """The operations of all dialects: `op.tirx.copy(x, y, engine="tma")`.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=128)
    ... def staged(a: tx.Array) -> None:
    ...     tx.op.tirx.copy(a[:, :], tx.allocate(tx.f32[64, 64].shared), engine="ld_st")
    >>> "engine ld_st" in str(staged.module)
    True
    """

    def __getattr__(self, name: str) -> _Dialect:
        if name.startswith("__"):  # asked for by Python
            raise AttributeError(name)
        return _Dialect(name.removesuffix("_"))


op = Operations()
"""The operations of all dialects."""


def region(*types: Any) -> Callable[[Callable[..., Any]], Region]:
    """Makes a region of a function of its arguments, of these types; the function writes its operations.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def twice(a: tx.Array) -> None:
    ...     @tx.region(tx.f32)
    ...     def body(x: tx.Scalar) -> None:
    ...         tx.op.tirx.yield_([x + x])
    ...     a[:] = tx.op.tirx.map([a[:].load()], body=body, to=tx.f32[64].register)
    >>> "tirx.map" in str(twice.module)
    True
    """

    @hiding_frames
    def make(function: Callable[..., Any]) -> Region:
        trace = current()
        trace.flush()
        block = Block(arg_types=[each.scalar if isinstance(each, DType) else type_of(each) for each in types])
        # What stands beside kernels has constants of its own.
        with tracing(Trace(block)) if trace.kernel is None and trace.is_module else trace.inside(block):
            function(*(wrapped(argument) for argument in block.args))
        return Region(block)

    return make


def module(*parts: Any) -> ModuleOp:
    """A module of kernels, and of functions that write what stands beside them.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32, target="sm_80")
    ... def nothing(a: tx.Array) -> None:
    ...     pass
    >>> len(tx.module(nothing).ops)
    1
    """
    made = ModuleOp([])
    block = made.body.block
    for part in parts:
        if hasattr(part, "write"):
            block.add_op(part.write()[0])
        else:
            with tracing(Trace(block, is_module=True)):
                part()
    return made
