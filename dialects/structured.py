"""Reads structured operations (`linalg`, `memref.copy`) as loops over dimensions, and what their bodies compute.

`Form` is how a kernel has an operand whose dimensions are not those of its tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import BroadcastOp, FillOp, IndexOp, ReduceOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from tirx.diagnostics import operation_name
from tirx.dialects.tirx import Combination
from tirx.rules import LinalgError
from tirx.values import dataclass

_T = TypeVar("_T")

_COMBINATIONS: dict[type[Operation], Combination] = {
    arith.AddfOp: Combination.ADD,
    arith.AddiOp: Combination.ADD,
    arith.MaxnumfOp: Combination.MAX,
    arith.MinnumfOp: Combination.MIN,
}


@dataclass(frozen=True)
class Structured:
    """An operation as loops: `parallel` and `reduction` are dimensions by number, in order.

    `dims` has the dimensions that index each operand, `inputs` before `outputs`. `body` has an argument for each
    operand and yields the outputs; None copies the only input.
    """

    op: Operation
    inputs: tuple[SSAValue, ...]
    outputs: tuple[SSAValue, ...]
    dims: tuple[tuple[int, ...], ...]
    parallel: tuple[int, ...]
    reduction: tuple[int, ...]
    body: Block | None

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        """All operands."""
        return self.inputs + self.outputs

    @property
    def is_fill(self) -> bool:
        """Returns True if every element of the output becomes the only, scalar, input."""
        return isinstance(self.op, FillOp)

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """Returns the operands of the yield of the body."""
        last = None if self.body is None else self.body.last_op
        return () if last is None else last.operands


@dataclass(frozen=True)
class Form:
    """The form of an argument in a kernel: dimensions in the order `permutation`, extents of 1 at the positions
    `units`. Positions are those in the kernel, in ascending order.

    A vector that tiles of two dimensions need is a row (unit in front of it) or a column (unit behind it).
    """

    permutation: tuple[int, ...]
    units: tuple[int, ...] = ()

    def inserted(self, values: Sequence[_T], unit: _T) -> list[_T]:
        """`values`, which are in the order of the permutation, with `unit` at each position of `units`."""
        found = list(values)
        for position in self.units:
            found.insert(position, unit)
        return found

    def type_of(self, type_: MemRefType[Attribute]) -> MemRefType[Attribute]:
        """The type of the kernel's argument, with strides, whose elements stay where they are."""
        is_in_order = self.permutation == tuple(range(len(self.permutation)))
        if is_in_order and not self.units:
            return type_
        shape = self.inserted([type_.get_shape()[i] for i in self.permutation], 1)
        if is_in_order and isinstance(type_.layout, NoneAttr):
            return MemRefType(type_.element_type, shape)
        strides = type_.get_strides()
        assert strides is not None
        layout = StridedLayoutAttr(self.inserted([strides[i] for i in self.permutation], 1), type_.get_offset())
        return MemRefType(type_.element_type, shape, layout)

    def __str__(self) -> str:
        turned = "" if self.permutation == tuple(range(len(self.permutation))) else f" turned to {self.permutation}"
        return f"it is{turned}" + (f" with extents of 1 at {self.units}" if self.units else "")


def is_structured(op: Operation) -> bool:
    """Returns True for operations that `structured` reads, or refuses."""
    return operation_name(op).startswith("linalg.") or isinstance(op, memref.CopyOp)


def structured(op: Operation) -> Structured:
    """The operation as loops. Raises LocatedError for forms that no tiles have."""
    step = _read(op)
    given = [value.type for value in step.yielded]
    if step.is_fill or step.body is None:
        value = step.inputs[0]
        given = [memref_type(value).element_type if isinstance(value.type, MemRefType) else value.type]
    wanted = [memref_type(output).element_type for output in step.outputs]
    if given != wanted:
        found, expected = (", ".join(map(str, types)) for types in (given, wanted))
        raise LinalgError(
            op, f"expected values of the type of the output, {expected}, found {found}; convert them first"
        )
    rank = len(step.parallel) + len(step.reduction)
    for inner in () if step.body is None else step.body.walk():
        if isinstance(inner, IndexOp) and not 0 <= (found := inner.dim.value.data) < rank:
            raise LinalgError(inner, f"expected a dimension of the {rank} of '{op.name}', from 0, found {found}")
    return step


def _read(op: Operation) -> Structured:
    match op:
        case memref.CopyOp():
            rank = _type(op, op.destination).get_num_dims()
            dims = tuple(range(rank))
            return Structured(op, (op.source,), (op.destination,), (dims, dims), dims, (), None)
        case FillOp():
            out = op.outputs[0]
            dims = tuple(range(_type(op, out).get_num_dims()))
            return Structured(op, tuple(op.inputs), (out,), ((), dims), dims, (), None)
        case BroadcastOp() | ReduceOp():
            is_reduction = isinstance(op, ReduceOp)
            all_, own = (op.input, op.init) if is_reduction else (op.init, op.input)
            dims = tuple(range(_type(op, all_).get_num_dims()))
            others = op.dimensions.get_values()
            kept = tuple(d for d in dims if d not in others)
            _type(op, own)
            if is_reduction:
                return Structured(op, (all_,), (own,), (dims, kept), kept, tuple(sorted(others)), op.region.block)
            return Structured(op, (own,), (all_,), (kept, dims), dims, (), op.hidden_region.block)
        case LinalgStructuredOperation():
            pass
        case _:
            raise LinalgError(
                op,
                "expected an operation of linalg that xDSL knows (linalg.generic is every other), or memref.copy, in a "
                f"kernel, found '{operation_name(op)}'",
            )
    for value in op.inputs:
        if not isinstance(value.type, AnyFloat | IntegerType | IndexType):
            _type(op, value)
    for value in op.outputs:
        _type(op, value)
    maps = [attr.data for attr in op.get_indexing_maps()]
    kinds = [attr.data for attr in op.get_iterator_types()]
    for kind in kinds:
        if kind is IteratorType.WINDOW:
            raise LinalgError(op, "expected parallel and reduction iterators, found window")
    return Structured(
        op,
        tuple(op.inputs),
        tuple(op.outputs),
        tuple(_dims(op, each) for each in maps),
        tuple(i for i, kind in enumerate(kinds) if kind is IteratorType.PARALLEL),
        tuple(i for i, kind in enumerate(kinds) if kind is IteratorType.REDUCTION),
        op.body.block,
    )


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a memref. Raises ValueError for another value."""
    if not isinstance(type_ := value.type, MemRefType):
        raise ValueError(f"expected a memref, found {type_}")
    return cast("MemRefType[Attribute]", type_)


def _type(op: Operation, value: SSAValue) -> MemRefType[Attribute]:
    try:
        return memref_type(value)
    except ValueError as error:
        raise LinalgError(op, f"{error}; bufferize tensors first") from error


def _dims(op: Operation, map_: AffineMap) -> tuple[int, ...]:
    dims = [each.position if isinstance(each, AffineDimExpr) else None for each in map_.results]
    found = [each for each in dims if each is not None]
    if len(found) < len(dims) or len(set(found)) < len(found):
        raise LinalgError(op, f"expected indexing maps to different dimensions, found {AffineMapAttr(map_)}")
    return tuple(found)


def _extended(value: SSAValue) -> SSAValue:
    """The value in front of conversions to a larger type."""
    while isinstance(op := value.owner, arith.ExtFOp | arith.ExtSIOp):
        value = op.input
    return value


def contracted(step: Structured) -> tuple[int, int] | None:
    """The inputs whose product a body adds to its output, converted to the output's type; None for other bodies."""
    if step.body is None or len(step.inputs) != 2 or len(step.outputs) != 1 or len(step.yielded) != 1:
        return None
    if not isinstance(add := step.yielded[0].owner, arith.AddfOp | arith.AddiOp):
        return None
    accumulator = step.body.args[2]
    for held, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
        if held is accumulator and isinstance(mul := other.owner, arith.MulfOp | arith.MuliOp):
            factors = [_extended(mul.lhs), _extended(mul.rhs)]
            if all(isinstance(x, BlockArgument) and x.block is step.body for x in factors):
                first, second = (x.index for x in factors if isinstance(x, BlockArgument))
                if {first, second} == {0, 1}:
                    return 0, 1
    return None


def reduced(step: Structured) -> tuple[Combination, SSAValue] | None:
    """Returns how a body combines its output with a value of its inputs, and that value; None for other bodies."""
    if step.body is None or len(step.outputs) != 1 or len(step.yielded) != 1:
        return None
    op = step.yielded[0].owner
    how = _COMBINATIONS.get(type(op)) if isinstance(op, Operation) else None
    if how is None or not isinstance(op, Operation):
        return None
    accumulator = step.body.args[-1]
    if len(list(accumulator.uses)) != 1:
        return None
    for held, other in (op.operands, reversed(op.operands)):
        if held is accumulator:
            return how, other
    return None
