"""Rules of structured operations: what those of `linalg` and `memref.copy` do to whole memrefs, in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import Float32Type, IndexType, IntegerType, i32
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import BroadcastOp, IndexOp, ReduceOp, YieldOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tirx.dialects.structured import Structured, contracted, memref_type, reduced, structured
from tirx.dialects.tirx import MemorySpace, MmaOp, TileType
from tirx.interp.errors import RunError
from tirx.interp.formats import Array, dtype_of
from tirx.interp.memory import Numbers, Tile, joined
from tirx.interp.numbers import Value
from tirx.interp.products import Sum, multiply, reduce
from tirx.interp.state import Block as Run
from tirx.interp.state import block_of
from tirx.interp.tiles import full, rules, value_of

KINDS = (
    *(kind for kind in Linalg.operations if issubclass(kind, LinalgStructuredOperation)),
    BroadcastOp, ReduceOp, memref.CopyOp,
)  # fmt: skip
"""Structured operations."""


def outputs(op: Operation) -> Iterator[SSAValue]:
    """Yields the memrefs that a structured operation writes."""
    if isinstance(op, KINDS):
        yield from structured(op).outputs


def _run(interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
    step, block = structured(op), block_of(interpreter)
    sizes = _sizes(step, args)
    order = (*step.parallel, *step.reduction)
    read = [each if not isinstance(each, Tile) else block.read(op, each) for each in args]
    placed = [
        _placed(each, dims, order) if isinstance(each, Numbers) else each
        for each, dims in zip(read, step.dims, strict=True)
    ]
    shape = tuple(sizes[d] for d in order)
    if 0 in shape:
        return ()
    if not step.reduction:
        results = _elementwise(interpreter, step, placed, shape)
    elif _is_product(step):
        results = [block.launch.numbers(_product(block, step, placed))]
    elif reduced(step) is not None:
        results = [block.launch.numbers(_reduced(interpreter, step, placed, shape))]
    else:
        results = _sequence(interpreter, step, placed, shape)
    for output, dims, numbers in zip(args[len(step.inputs) :], step.dims[len(step.inputs) :], results, strict=True):
        turned = [step.parallel.index(d) for d in dims]
        block.write(op, output, numbers.each(lambda x, turned=turned: x.transpose(turned)))
    return ()


def _sizes(step: Structured, args: PythonValues) -> dict[int, int]:
    """Returns the extent of each dimension. Raises RunError where operands differ."""
    found: dict[int, int] = {}
    for value, dims in zip(args, step.dims, strict=True):
        for d, size in zip(dims, value.shape if isinstance(value, Tile) else (), strict=False):
            if found.setdefault(d, size) != size:
                message = f"expected operands with one extent along dimension {d}, found {found[d]} and {size}"
                raise RunError(step.op, "bounds", message)
    return found


def _placed(numbers: Numbers, dims: Sequence[int], order: Sequence[int]) -> Numbers:
    """Returns the elements of an operand with the dimensions `order`, of extent 1 where it has none."""
    turned = [dims.index(d) for d in order if d in dims]
    where = tuple(slice(None) if d in dims else np.newaxis for d in order)
    return numbers.each(lambda each: each.transpose(turned)[where])


def _elementwise(interpreter: Interpreter, step: Structured, operands: Sequence[Any], shape: tuple[int, ...]) -> Any:
    if step.body is None:
        values: Sequence[Value] = [_value(operands[0])]
    else:
        values = _body(interpreter, step, operands, step.yielded, shape)
    types = [dtype_of(memref_type(output).element_type) for output in step.outputs]
    return [full(shape, value, dtype) for value, dtype in zip(values, types, strict=True)]


def _body(
    interpreter: Interpreter,
    step: Structured,
    operands: Sequence[Any],
    yielded: Sequence[SSAValue],
    shape: tuple[int, ...],
    at: Sequence[int] = (),
) -> Sequence[Value]:
    """Returns the values of a body for operands of a `shape`, parallel dimensions first, `at` a place along others."""
    assert step.body is not None
    region, own = Region(), dict[SSAValue, SSAValue]()
    parent = step.body.parent
    assert parent is not None
    parent.clone_into(region, value_mapper=own)
    last = region.block.last_op
    assert last is not None
    last.operands = [own.get(each, each) for each in yielded]
    values = [_value(each, argument.type) for each, argument in zip(operands, step.body.args, strict=True)]
    axes = range(len(shape))
    along = [np.arange(n).reshape([-1 if i == axis else 1 for i in axes]) for axis, n in enumerate(shape)]
    along[len(step.parallel) :] = [np.asarray(n) for n in at] or along[len(step.parallel) :]
    block_of(interpreter).coordinates = dict(zip((*step.parallel, *step.reduction), along, strict=True))
    found = interpreter.run_ssacfg_region(region, tuple(values))
    causes = block_of(interpreter).launch.causes
    for op, copy in zip(parent.walk(), region.walk(), strict=True):
        if copy in causes:
            causes[op] = causes.pop(copy)
    return found


def _value(operand: Any, type_: Attribute | None = None) -> Value:
    return value_of(operand, type_) if isinstance(operand, Numbers) else operand


def _is_product(step: Structured) -> bool:
    """Returns True for a product of matrices: of inputs that share the reduction and, with the output, a batch."""
    if contracted(step) is None or len(step.reduction) != 1 or len(step.parallel) < 2:
        return False
    if not _is_multiplied(step):
        return False
    *batch, m, n = step.parallel
    own = [set(dims) - set(batch) - {*step.reduction} for dims in step.dims[:2]]
    return all(step.reduction[0] in dims for dims in step.dims[:2]) and sorted(map(tuple, own)) == [(m,), (n,)]


def _is_multiplied(step: Structured) -> bool:
    """Returns True for types that tensor cores have; others are multiplied and added one after the other."""
    a, out = memref_type(step.inputs[0]).element_type, memref_type(step.outputs[0]).element_type
    match a:
        case IntegerType(width=width):
            return width.data <= 8 and out == i32
        case _:
            return not isinstance(a, Float32Type | IndexType)


def _product(block: Run, step: Structured, operands: Sequence[Numbers]) -> Sum:
    """Multiplies as `tirx.mma` does, whose errors are those of every order of the additions."""
    first = 0 if step.parallel[-2] in step.dims[0] else 1
    *_, m_axis, n_axis, _ = range(len(step.parallel) + 1)
    a, b = (
        operands[first].each(lambda x: np.take(x, 0, n_axis)),
        operands[1 - first].each(lambda x: np.take(x, 0, m_axis)),
    )
    out = operands[2].each(lambda x: x[..., 0])
    elements = [memref_type(step.operands[i]).element_type for i in (first, 1 - first, 2)]
    spaces = (MemorySpace.SHARED, MemorySpace.SHARED, MemorySpace.REGISTER)
    shapes = [each.data.shape for each in (a, b, out)]
    tiles = Block(arg_types=[TileType.get(*each) for each in zip(shapes, elements, spaces, strict=True)])
    launch = block.launch
    exact = launch.exact or launch.bounds
    return multiply(MmaOp(*tiles.args), a, b, out, (), exact=exact, **launch.arithmetic)


def _sequence(
    interpreter: Interpreter, step: Structured, operands: Sequence[Any], shape: tuple[int, ...]
) -> list[Numbers]:
    """Does the body for one place along the dimensions of a reduction after the other."""
    rank, count = len(step.parallel), len(step.inputs)
    whole = (*shape[:rank], *(1,) * len(step.reduction))
    found: list[Numbers] = list(operands[count:])
    for at in np.ndindex(*shape[rank:]):
        where = (..., *(slice(n, n + 1) for n in at))

        def part(x: Array, where: Any = where) -> Array:
            return np.broadcast_to(x, (*x.shape[:rank], *shape[rank:]))[where]

        inputs = [each.each(part) if isinstance(each, Numbers) else each for each in operands[:count]]
        values = _body(interpreter, step, [*inputs, *found], step.yielded, whole, at)
        found = [full(whole, value, old.data.dtype) for value, old in zip(values, found, strict=True)]
    return [each.each(lambda x: x.reshape(shape[:rank])) for each in found]


def _reduced(interpreter: Interpreter, step: Structured, operands: Sequence[Any], shape: tuple[int, ...]) -> Sum:
    found = reduced(step)
    assert found is not None
    how, value = found
    rank, launch = len(step.parallel), block_of(interpreter).launch
    (values,) = _body(interpreter, step, operands, [value], shape)
    out: Numbers = operands[-1]
    terms = full(shape, values, out.data.dtype)
    lines = [each.each(lambda x: x.reshape(*x.shape[:rank], -1)) for each in (out, terms)]
    total = reduce(joined(lines, rank), (rank,), how, **launch.arithmetic)
    return Sum(total.numbers.each(lambda x: x[..., 0]), total.exact)


def _index(interpreter: Interpreter, op: IndexOp, args: PythonValues) -> PythonValues:
    return (block_of(interpreter).coordinates[op.dim.value.data],)


def _allocated(interpreter: Interpreter, op: memref.AllocOp, args: PythonValues) -> PythonValues:
    sizes, type_ = iter(map(int, args)), memref_type(op.memref)
    shape = [next(sizes) if size < 0 else size for size in type_.get_shape()]
    return (Tile.new(shape, dtype_of(type_.element_type), bounds=block_of(interpreter).launch.bounds),)


STRUCTURED = rules(
    {memref.AllocOp: _allocated, memref.DeallocOp: lambda run, op, args: (), IndexOp: _index},
    carrying=dict.fromkeys(KINDS, _run),
    terminators=(YieldOp,),
)
"""Implementations for an interpreter."""
