"""`tirx-specialize`: parameters of kernels become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.builtin import i64 as word
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call, Formula, LaunchSizes
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.dialects.tirx import KernelOp, LaunchValueOp, Parameter, ParamOp, Size, SizeAttr, TileType, kernels
from tirx.dialects.tirx.kernel import grid_attr
from tirx.dialects.tirx.sizes import NAME, bound_formula
from tirx.passes.ir.emitter import Emitter
from tirx.rules import KernelParameterError, ParameterValueError, invalid
from tirx.values import dataclass, field

PARAMETERS = "tirx.params"
"""The attribute of a kernel that says which values its parameters had."""

Values = Mapping[str, int | str]


@dataclass(frozen=True)
class TirxSpecializePass(ModulePass):
    """Binds parameters: `tirx-specialize{BM=128}`; those without a value get their default, the first candidate.

    One with a formula of the launch gets the value that the types of the arguments say; else the launch checks that it
    has the one that is bound. A value need not be a candidate, but of the same kind, number or word. Sizes, values,
    formulas and attributes become numbers; `attributes {tirx.params = {BM = 128}}` keeps them. A program that does not
    verify with them is an error at its place that names the values. Kernels without parameters stay as they are.
    """

    name = "tirx-specialize"

    values: Values = field(default_factory=dict[str, int | str])

    @classmethod
    def from_spec(cls, spec: ArgSpec) -> Self:
        """The pass with the arguments of a pipeline, any `NAME=value`."""
        values: dict[str, int | str] = {}
        for name, found in spec.parameters.items():
            if NAME.fullmatch(name) is None or len(found) != 1 or not isinstance(found[0], int | str):
                raise ValueError(f"expected NAME=value for parameters of kernels, found '{name}'")
            values[name] = found[0]
        return cls(values)

    def spec(self, *, include_default: bool = False) -> ArgSpec:
        """The pass as a pipeline says it."""
        return ArgSpec(self.name, {name: (value,) for name, value in self.values.items()})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        parametric = [kernel for kernel in kernels(op) if kernel.params is not None]
        known = {each.name for kernel in parametric if kernel.params is not None for each in kernel.params.data}
        for name in self.values:
            if name not in known:
                found = ", ".join(sorted(known)) or "none"
                raise ParameterValueError(op, f"expected parameters that a kernel declares ({found}), found {name}")
        for kernel in parametric:
            specialize(kernel, self.values_for(kernel))

    def values_for(self, kernel: KernelOp) -> Values:
        """The values of parameters of one kernel."""
        return self.values


def specialize(kernel: KernelOp, values: Values) -> None:
    """Binds the parameters of a kernel to `values`, others to their defaults. Raises LocatedError, see the pass."""
    assert kernel.params is not None
    bound: dict[str, int | str] = {}
    for parameter in kernel.params.data:
        bound[parameter.name] = _value(kernel, parameter, values)
    kernel.params = None
    text = ", ".join(f"{name} = {value}" for name, value in bound.items())
    try:
        _bind(kernel, bound)
        for op in kernel.walk():
            op.verify(verify_nested_ops=False)
    except VerifyException as error:
        where = getattr(error, "location", None)
        at = next((op for op in kernel.walk() if op.location == where), kernel)
        raise invalid(at, type(error)(f"{error}; with {text}")) from error
    kernel.attributes[PARAMETERS] = DictionaryAttr({name: _attribute(value) for name, value in bound.items()})


def verify_bound(kernel: KernelOp, values: Values) -> None:
    """Verifies a kernel whose parameters have `values`, or their defaults. Raises LocatedError, see the pass."""
    clone = kernel.clone()
    for own, copied in zip(kernel.walk(), clone.walk(), strict=True):
        copied.location = own.location
    around = kernel.parent_block()
    ModuleOp([clone, *(each.clone() for each in (around.ops if around else ()) if isinstance(each, func.FuncOp))])
    specialize(clone, values)


def _attribute(value: int | str) -> Attribute:
    return StringAttr(value) if isinstance(value, str) else IntegerAttr(value, word)


def _value(kernel: KernelOp, parameter: Parameter, values: Values) -> int | str:
    """The value of a parameter; adds what a launch has to check."""
    value = values.get(parameter.name, parameter.candidates[0])
    if type(value) is not type(parameter.candidates[0]):
        raise ParameterValueError(kernel, f"expected a value like one of {parameter}, found {value}")
    if parameter.launch is None:
        return value
    formula = _launched(kernel, parameter.launch)
    if not isinstance(formula, int):
        assert isinstance(value, int)
        message = f"expected {parameter.name} = {value}, as the kernel is compiled for"
        add_requirement(kernel, Requirement(formula, "equal", value, message))
        return value
    if values.get(parameter.name, formula) != formula or formula not in parameter.candidates:
        raise ParameterValueError(kernel, f"expected {parameter}, found {formula} by the types of the arguments")
    return formula


def _launched(kernel: KernelOp, formula: Formula) -> Formula:
    """A formula with the sizes that the types of the arguments say."""
    match formula:
        case Call("size", (int(argument), int(dimension))):
            type_ = kernel.function_type.inputs.data[argument]
            size = type_.get_shape()[dimension] if isinstance(type_, MemRefType) else DYNAMIC_INDEX
            return formula if size == DYNAMIC_INDEX else size
        case Call(function, operands):
            found = Call(function, tuple(_launched(kernel, each) for each in operands))
            is_known = found.operands and all(isinstance(each, int) for each in found.operands)
            return LaunchSizes((), (), 0).evaluate(found) if is_known and function != "stride" else found
        case _:
            return formula


def _bind(kernel: KernelOp, values: Values) -> None:
    if isinstance(kernel.threads, SizeAttr):
        kernel.threads = i32_attr(kernel.threads.data.evaluate(values))
    if kernel.grid_formulas is not None and kernel.grid is not None:
        kernel.grid = grid_attr([bound_formula(each, values) for each in kernel.grid_formulas[: len(kernel.grid)]])
    cache: dict[Attribute, Attribute] = {}
    for op in list(kernel.walk()):
        try:
            _bind_operation(op, values, cache)
        except VerifyException as error:
            error.location = op.location  # pyright: ignore[reportAttributeAccessIssue]
            raise


def _bind_operation(op: Operation, values: Values, cache: dict[Attribute, Attribute]) -> None:
    for table in (op.properties, op.attributes):
        for name, attribute in table.items():
            table[name] = _bound(attribute, values, cache)
    for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
        type_ = _bound(value.type, values, cache)
        if type_ is not value.type:
            Rewriter.replace_value_with_new_type(value, type_)
    _fold(op, values)


def _fold(op: Operation, values: Values) -> None:
    """Replaces a parameter, or a formula that is a number now, by a constant."""
    if isinstance(op, ParamOp):
        if (name := op.parameter.data) not in values:
            raise KernelParameterError(
                f"expected a parameter that the kernel declares ({', '.join(values)}), found {name}"
            )
        number = Size.of({(name,): 1}).evaluate(values)
    elif isinstance(op, LaunchValueOp) and isinstance(op.formula.data, int):
        number = op.formula.data
    else:
        return
    value = Emitter.before(op).constant(number, cast(IndexType, op.results[0].type))
    Rewriter.replace_op(op, [], [value])


def _bound(attribute: Attribute, values: Values, cache: dict[Attribute, Attribute]) -> Attribute:
    """An attribute or type with numbers for parameters; the same one where it has none."""
    if attribute not in cache:
        cache[attribute] = _replaced(attribute, values, cache)
    return cache[attribute]


def _replaced(attribute: Attribute, values: Values, cache: dict[Attribute, Attribute]) -> Attribute:
    match attribute:
        case SizeAttr(data=size):
            ((factor, names), *others) = size.terms
            value = values.get(names[0]) if names else None
            if isinstance(value, str) and (factor, len(names), others, size.divisor) == (1, 1, [], 1):
                return StringAttr(value)
            return IntegerAttr(size.evaluate(values), word)
        case TileType():
            if not attribute.parameters_of_shape:
                return attribute
            dims = [n if isinstance(n, int) else n.evaluate(values) for n in attribute.extents]
            return TileType.get(dims, attribute.element_type, attribute.memory)
        case FormulaAttr(data=formula):
            bound = bound_formula(formula, values)
            return attribute if bound is formula else FormulaAttr(bound)
        case ArrayAttr():
            items = [_bound(each, values, cache) for each in attribute]
            return attribute if all(a is b for a, b in zip(items, attribute, strict=True)) else ArrayAttr(items)
        case DictionaryAttr(data=items):
            found = {name: _bound(each, values, cache) for name, each in items.items()}
            return attribute if all(found[name] is each for name, each in items.items()) else DictionaryAttr(found)
        case ParametrizedAttribute():
            parts = [_bound(each, values, cache) for each in attribute.parameters]
            same = all(a is b for a, b in zip(parts, attribute.parameters, strict=True))
            return attribute if same else type(attribute).new(parts)
        case _:
            return attribute
