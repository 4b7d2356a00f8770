"""The parameters of an entry: the arguments of its kernel, and numbers that a launch computes from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from tirx.dialects import ptx, tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.layout.dtypes import element_type
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.views import POINTER_ALIGNMENT
from tirx.passes.match.workspaces import workspace_places
from tirx.passes.scalars.narrow_numbers import narrow_format
from tirx.rules import KernelArgumentError
from tirx.values import dataclass


@dataclass(frozen=True)
class _Parameter:
    """The PTX type of the parameter of a scalar argument, and that of the register it is loaded into."""

    ptx_type: str
    register: Attribute


def _parameter(type_: Attribute) -> _Parameter | None:
    match type_:
        case MemRefType() | IndexType():
            return _Parameter("u64", i64)
        case IntegerType(width=width) if type_ in (i32, i64):
            return _Parameter(f"u{width.data}", type_)
        case Float32Type() | Float64Type():
            return _Parameter(str(type_), type_)
        case _:
            return None


class Parameters:
    """The parameters of the entry of one kernel, which are loaded at `start`.

    `name` gives a new name from a hint and a default. `pointers` are the global addresses (i64) of the memref arguments
    are used.
    """

    def __init__(self, kernel: tirx.KernelOp, start: Emitter, name: Callable[[str | None, str], str]):
        self._kernel = kernel
        self._start = start
        self._name = name
        self._values: dict[Call, SSAValue] = {}
        self._computed: list[ptx.EntryParam] = []
        self.pointers: dict[SSAValue, SSAValue] = {}
        arguments, places = kernel.body.block.args, workspace_places(kernel)
        self._places: dict[SSAValue, int] = {}
        self._places.update(zip(arguments[len(arguments) - len(places) :], places, strict=True))
        self._arguments = [self._declare(argument, i) for i, argument in enumerate(arguments)]
        for argument, parameter in zip(kernel.body.block.args, self._arguments, strict=True):
            self._load(argument, parameter)

    def load(self, op: memref.LoadOp, emit: Emitter) -> SSAValue:
        """Every thread loads the same element of an argument."""
        address = self.element(op, op.memref, op.indices, emit)
        type_ = tirx.scalar_type(op.results[0].type)
        if type_ == i8 or narrow_format(type_) is not None:
            byte = emit.value(arith.TruncIOp(emit(ptx.LdU8Op(ptx.Space.GLOBAL, address)).result, i8))
            return emit.retyped(byte, type_)
        return emit.value(ptx.LdOp(ptx.Space.GLOBAL, address, [type_]))

    def store(self, op: memref.StoreOp, emit: Emitter, thread: SSAValue) -> None:
        """The thread of index 0 (i32) stores an element of an argument."""
        first = emit.compare(thread, emit.constant(0, i32), "eq")
        address = self.element(op, op.memref, op.indices, emit)
        value = op.value
        if value.type == i8 or narrow_format(value.type) is not None:
            byte = emit.retyped(value, i8)
            store = ptx.StU8Op(ptx.Space.GLOBAL, address, emit.value(arith.ExtUIOp(byte, i32)))
        else:
            store = ptx.StOp(ptx.Space.GLOBAL, address, [value])
        emit.branch(first, [store])
        emit(ptx.BarWarpSyncOp())

    def element(self, op: Operation, memref: SSAValue, indices: Sequence[SSAValue], emit: Emitter) -> SSAValue:
        """The address (i64) of an element that an operation loads or stores."""
        type_ = memref.type
        found = type_.element_type if isa(type_, MemRefType) else None
        strides = type_.get_strides() if isa(type_, MemRefType) else None
        if strides is None or found not in tirx.SCALAR_ELEMENTS:
            names = ", ".join(map(str, tirx.SCALAR_ELEMENTS))
            raise KernelArgumentError(op, f"expected one of {names} in a memref with strides, found {type_}")
        address, size = self.pointers[memref], element_type(str(found)).bits // 8
        for dimension, (index, stride) in enumerate(zip(indices, strides, strict=True)):
            step = self.stride(memref, dimension) if stride is None else stride * size
            address = emit.add(address, emit.mul(emit.cast(index, i64), step))
        return address

    @property
    def declared(self) -> list[ptx.EntryParam]:
        """The parameters so far, in order."""
        return [*self._arguments, *self._computed]

    def size(self, argument: int, dimension: int, integer: IntegerType) -> SSAValue:
        """The size of a memref argument along a dimension, as an i64 or, where it is known to fit, an i32."""
        memref = self._kernel.body.block.args[argument]
        type_ = memref.type
        if isa(type_, MemRefType) and (known := type_.get_shape()[dimension]) != DYNAMIC_INDEX:
            if known >> 63:
                raise KernelArgumentError(self._kernel, f"expected memrefs of fewer than 2^63 elements, found {type_}")
            return self._start.constant(known, integer)
        hint = f"{memref.name_hint or f'arg{argument}'}_size{dimension}"
        size = Call("size", (argument, dimension))
        if (
            isa(type_, MemRefType)
            and element_type(str(type_.element_type)).bits == 4
            and dimension == type_.get_num_dims() - 1
        ):
            self._require_bytes(memref, size, "a size", dimension)
        return self._start.cast(self.launch_value(size, hint), integer)

    def stride(self, memref: SSAValue, dimension: int) -> SSAValue:
        """The run-time stride (i64, bytes) of a memref argument along a dimension."""
        formula = self._stride_bytes(memref, dimension)
        hint = f"{memref.name_hint or 'argument'}_stride{dimension}"
        return self._start.cast(self.launch_value(formula, hint), i64)

    def workspace(self, size: int) -> SSAValue:
        """The address (i64) of `size` bytes of zeros that a launch has to itself, and leaves as zeros."""
        name = self._name(None, "workspace")
        self._computed.append(ptx.EntryParam(name, "u64", True, POINTER_ALIGNMENT, source=IntegerAttr(size, i64)))
        return self._start(ptx.CvtaToGlobalOp(self._start(ptx.LdParamOp(name, i64)).result)).result

    def require_vectors(self, memref: SSAValue, dimension: int, divisor: int, purpose: str) -> None:
        """Lets launches check that a run-time stride is a multiple of `divisor` bytes, as `purpose` needs it."""
        name = memref.name_hint or f"argument {self._kernel.body.block.args.index(memref)}"  # pyright: ignore[reportArgumentType]
        message = (
            f"expected a stride of a multiple of {divisor} bytes along dimension {dimension} of '{name}' for {purpose}"
        )
        add_requirement(
            self._kernel, Requirement(self._stride_bytes(memref, dimension), "multiple_of", divisor, message)
        )

    def _stride_bytes(self, memref: SSAValue, dimension: int) -> Call:
        number, type_ = self._kernel.body.block.args.index(memref), memref.type  # pyright: ignore[reportArgumentType]
        assert isa(type_, MemRefType)
        stride, bits = Call("stride", (number, dimension)), element_type(str(type_.element_type)).bits
        if bits >= 8:
            return Call("mul", (stride, bits // 8))
        self._require_bytes(memref, stride, "a stride", dimension)
        return Call("ceildiv", (stride, 8 // bits))

    def _require_bytes(self, memref: SSAValue, value: Call, what: str, dimension: int) -> None:
        """Lets launches check that 4-bit elements fill whole bytes."""
        message = f"expected {what} of whole bytes along dimension {dimension} of '{memref.name_hint or 'argument'}'"
        add_requirement(self._kernel, Requirement(value, "multiple_of", 2, message))

    def launch_value(self, formula: Formula, hint: str | None = None) -> SSAValue:
        """The value (index) of a formula, which the launch computes."""
        if isinstance(formula, int):
            return self._start.constant(formula, IndexType())
        if formula not in self._values:
            name = self._name(hint, "launch")
            self._computed.append(ptx.EntryParam(name, "u64", source=FormulaAttr(formula)))
            value = self._start(ptx.LdParamOp(name, i64)).result
            self._values[formula] = self._start.retyped(value, IndexType())
        return self._values[formula]

    def _declare(self, argument: SSAValue, index: int) -> ptx.EntryParam:
        parameter = _parameter(argument.type)
        if parameter is None:
            raise KernelArgumentError(
                self._kernel,
                f"expected kernel arguments of type memref, index, i32, i64, f32 or f64, found {argument.type}",
            )
        name = self._name(argument.name_hint, f"arg{index}")
        type_: Attribute = argument.type
        if isa(type_, MemRefType) and argument in self._places:
            size = prod(type_.get_shape()) * element_type(str(type_.element_type)).bits // 8
            type_ = IntegerAttr(self._places[argument] + size, i64)
        if isinstance(argument.type, MemRefType):
            return ptx.EntryParam(name, parameter.ptx_type, True, POINTER_ALIGNMENT, source=type_)
        return ptx.EntryParam(name, parameter.ptx_type, source=type_)

    def _load(self, argument: SSAValue, declared: ptx.EntryParam) -> None:
        parameter = _parameter(argument.type)
        if parameter is None or argument.first_use is None:
            return
        value = self._start(ptx.LdParamOp(declared.name, parameter.register)).result
        if isinstance(argument.type, MemRefType):
            address = self._start(ptx.CvtaToGlobalOp(value)).result
            self.pointers[argument] = self._start.add(address, self._places.get(argument, 0))
            return
        if isinstance(argument.type, IndexType):
            value = self._start.retyped(value, argument.type)
        argument.replace_all_uses_with(value)
