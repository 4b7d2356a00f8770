"""From the entries of a lowered module to their launch descriptors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.copy.tma import DIMENSION_LIMIT, ROW_UNIT, STRIDE_LIMIT
from tirx.diagnostics import LocatedError
from tirx.dialects import ptx
from tirx.dialects.formula import Formula
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.requirements import Requirement, requirements, variants
from tirx.dialects.schedule_attr import stored_schedule
from tirx.dialects.tirx.tensor_maps import TensorMapAttr
from tirx.layout import LayoutError
from tirx.layout.dtypes import element_type
from tirx.passes.ir.in_place import passed_values
from tirx.rules import LaunchParameterError
from tirx.runtime.launch import (
    Access,
    Argument,
    ComputedArgument,
    Launch,
    PointerArgument,
    Precondition,
    ScalarArgument,
    TensorMapArgument,
    Variant,
    WorkspaceArgument,
)

_ExtentT = TypeVar("_ExtentT", bound=Formula)


def describe(module: ModuleOp) -> tuple[Launch, ...]:
    """The launch descriptors of all entries of a module of the ptx dialect, in order.

    Raises LocatedError for a parameter that no launch could pass, and for variants that take other arguments.
    """
    found = [(entry, describe_entry(entry)) for entry in ptx.entries(module)]
    for entry, launch in found:
        near = {each.entry: each for own, each in found if own.parent is entry.parent}
        for variant in launch.variants:
            other = near.get(variant.entry)
            if other is None or (other is not launch and other.variants) or _passed(other) != _passed(launch):
                raise LaunchParameterError(
                    entry, f"expected an entry of the same arguments, without variants, found '{variant.entry}'"
                )
    return tuple(launch for _, launch in found)


def _passed(launch: Launch) -> list[PointerArgument | ScalarArgument]:
    """The arguments as a caller sees them: writable or not."""
    return [
        replace(each, access="write" if each.is_written else "read") if isinstance(each, PointerArgument) else each
        for each in launch.passed
    ]


def describe_entry(entry: ptx.EntryOp) -> Launch:
    """The launch descriptor of one entry. Raises LocatedError for a parameter that no launch could pass."""
    accesses = _accesses(entry)
    arguments = tuple(_argument(entry, param.data, accesses[param.data.name]) for param in entry.params)
    grid = None if entry.grid is None else _three([n.data for n in entry.grid])
    return Launch(
        entry=entry.sym_name.data,
        target=entry.target.data,
        grid=grid,
        block=None if entry.reqntid is None else _three([n.data for n in entry.reqntid]),
        cluster=_three([n.data for n in entry.cluster or ()]),
        dynamic_shared=0 if entry.dynamic_shared is None else entry.dynamic_shared.data,
        arguments=arguments,
        preconditions=_preconditions(entry, arguments, _stored_maps(entry)),
        schedule=stored_schedule(entry),
        variants=tuple(
            Variant(each.entry, tuple(map(_precondition, each.conditions)), each.cost) for each in variants(entry)
        ),
    )


def _precondition(each: Requirement) -> Precondition:
    return Precondition(each.value, each.test, each.bound, each.message)


def _three(values: Sequence[_ExtentT]) -> tuple[_ExtentT | int, _ExtentT | int, _ExtentT | int]:
    x, y, z = (*values, *(1 for _ in range(3 - len(values))))
    return x, y, z


def _argument(entry: ptx.EntryOp, param: ptx.EntryParam, access: Access) -> Argument:
    match param.source:
        case TensorMapAttr(data=of):
            how = of.argument, of.type, of.dims, of.strides, of.box, of.swizzle, of.fill
            return TensorMapArgument(param.name, *how, steps=of.steps)
        case FormulaAttr(data=formula):
            return ComputedArgument(param.name, param.type, formula)
        case IntegerAttr():
            return WorkspaceArgument(param.name, param.source.value.data)
        case MemRefType():
            return _array(entry, param, param.source, access)
        case _ if param.pointer:
            return PointerArgument(param.name, None, None, None, param.align or 1, access)
        case _ if param.count is None:
            return ScalarArgument(param.name, param.type)
        case _:
            raise LaunchParameterError(
                entry, f"expected parameters that a launch can pass, found '{param.name}' of {param.count} bytes"
            )


def _preconditions(entry: ptx.EntryOp, arguments: Sequence[Argument], stored: set[str]) -> tuple[Precondition, ...]:
    """Returns the requirements of an entry and its tensor maps on a launch, each of which says more than those before.

    `stored` names the tensor maps through which the entry writes.
    """
    found = [_precondition(each) for each in requirements(entry)]
    for argument in arguments:
        for each in _of_tensor_map(argument, stored) if isinstance(argument, TensorMapArgument) else ():
            if not any(_implies(other, each) for other in found):
                found.append(each)
    return tuple(found)


def _implies(a: Precondition, b: Precondition) -> bool:
    """Returns True if launches that pass `a` pass `b`, as far as both say the same of one value."""
    if (a.value, a.test) != (b.value, b.test):
        return False
    if a.test == "at_most" and isinstance(a.bound, int) and isinstance(b.bound, int):
        return a.bound <= b.bound
    return a.bound == b.bound


def _of_tensor_map(tensor_map: TensorMapArgument, stored: set[str]) -> Iterator[Precondition]:
    """Returns the requirements of `cuTensorMapEncodeTiled` on sizes and strides that are not known before the launch.

    Arrays without elements, of which it has no map, can be loaded: their map is one of zeros. There is none that drops
    what is stored.
    """
    of, most = f"of tensor map '{tensor_map.name}'", STRIDE_LIMIT - ROW_UNIT
    for dimension, size in enumerate(tensor_map.shape):
        if not isinstance(size, int):
            where = f"along dimension {dimension} {of}"
            if tensor_map.name in stored:
                yield Precondition(
                    size, "at_least", 1, f"expected 1 element or more {where}, which the kernel stores to"
                )
            yield Precondition(size, "at_most", DIMENSION_LIMIT, f"expected at most {DIMENSION_LIMIT} elements {where}")
    for dimension, stride in enumerate(tensor_map.strides, 1):
        if not isinstance(stride, int):
            where = f"along dimension {dimension} {of}"
            unit = f"expected a stride of a multiple of {ROW_UNIT} bytes {where}"
            yield Precondition(stride, "multiple_of", ROW_UNIT, unit)
            yield Precondition(stride, "at_most", most, f"expected a stride of at most {most} bytes {where}")


def _array(entry: ptx.EntryOp, param: ptx.EntryParam, type_: MemRefType[Attribute], access: Access) -> PointerArgument:
    try:
        known = element_type(str(type_.element_type))
    except LayoutError as error:
        raise LocatedError(entry, f"parameter '{param.name}': {error}") from error
    is_signless = str(type_.element_type) == f"i{known.bits}"
    element = f"b{known.bits}" if is_signless else known.name
    shape = tuple(None if n < 0 else n for n in type_.get_shape())
    strides = type_.get_strides()
    if strides is None:
        raise LaunchParameterError(entry, f"expected a memref with strides for parameter '{param.name}', found {type_}")
    return PointerArgument(param.name, element, shape, tuple(strides), param.align or 1, access)


# What a kernel does with its arrays


def _accesses(entry: ptx.EntryOp) -> dict[str, Access]:
    """Returns what the entry does with the memory behind each parameter, through tensor maps too."""
    names = [param.data.name for param in entry.params]
    derived: dict[str, list[SSAValue]] = {name: [] for name in names}
    through = {
        p.data.name: names[p.data.source.data.argument]
        for p in entry.params
        if isinstance(p.data.source, TensorMapAttr)
    }
    for op in entry.walk():
        if isinstance(op, ptx.LdParamOp | ptx.ParamAddressOp):
            name = op.param.data
            derived[through.get(name, name)].append(op.result)
    return {name: _access(values) for name, values in derived.items()}


def _stored_maps(entry: ptx.EntryOp) -> set[str]:
    """Names of the tensor maps through which the entry writes."""
    addresses = (op for op in entry.walk() if isinstance(op, ptx.ParamAddressOp))
    return {op.param.data for op in addresses if _access([op.result]) in ("write", "read_write")}


def _access(roots: list[SSAValue]) -> Access:
    """Returns what instructions do with memory at addresses that are computed from `roots`."""
    reads = writes = False
    seen, pending = set(roots), list(roots)
    while pending:
        value = pending.pop()
        for use in value.uses:
            op = use.operation
            found: list[SSAValue] = [argument for argument, passed in passed_values(op) if passed is value]
            if isinstance(op, ptx.PTXInstruction) and op.effects().access is None:
                found += op.results
            reads |= _reads(op, value)
            writes |= _writes(op, value)
            fresh = [each for each in found if each not in seen]
            seen.update(fresh)
            pending += fresh
    match reads, writes:
        case True, True:
            return "read_write"
        case True, False:
            return "read"
        case False, True:
            return "write"
        case _:
            return "none"


def _writes(op: Operation, address: SSAValue) -> bool:
    access = op.effects().access if isinstance(op, ptx.PTXInstruction) else None
    if access is None:
        return False
    if access.kind is ptx.AccessKind.BULK_STORE:
        return True
    return any(isinstance(region, ptx.Bytes) and region.address is address for region in access.writes)


def _reads(op: Operation, address: SSAValue) -> bool:
    """Returns True if `op` reads memory at `address`, or may do so: what it copies to shared memory counts."""
    access = op.effects().access if isinstance(op, ptx.PTXInstruction) else None
    if access is None:
        return False
    if any(isinstance(region, ptx.Bytes) and region.address is address for region in access.reads):
        return True
    return not _writes(op, address) and address.type == i64
