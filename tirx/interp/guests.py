"""Operations on tiles that say by a method what they compute, as those of other dialects do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation, SSAValue

from tirx.diagnostics import operation_name
from tirx.dialects.nesting import walk
from tirx.dialects.tirx import TileOpInterface, TileType
from tirx.dialects.tirx.interface import errors_of_guest
from tirx.interp.errors import RunError
from tirx.interp.formats import Array, dtype_of, is_float
from tirx.interp.formats import cast as in_format
from tirx.interp.memory import Numbers, Tile
from tirx.interp.numbers import Near
from tirx.interp.state import Functions, block_of, located
from tirx.interp.tiles import value_of
from tirx.rules import ForeignOperationError


def can_evaluate(op: Operation) -> bool:
    """Returns True for an operation on tiles that has a method `evaluate` of its own."""
    return isinstance(op, TileOpInterface) and type(op).evaluate is not TileOpInterface.evaluate


def guest_functions(kernel: Operation) -> tuple[Functions, ...]:
    """Returns implementations of the operations in a kernel that have `evaluate`."""
    return tuple(map(_functions, dict.fromkeys(type(op) for op in walk(kernel) if can_evaluate(op))))


def written(op: Operation) -> Iterator[SSAValue]:
    """Yields the tiles and memrefs in memory that an operation with `evaluate` writes."""
    if isinstance(op, TileOpInterface) and can_evaluate(op):
        yield from op.tile_writes()


@lru_cache(maxsize=256)
def _functions(kind: type[Operation]) -> Functions:
    def run(self: Functions, interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
        return _evaluate(interpreter, op, args)

    return register_impls(type("Guest", (Functions,), {"run": impl(kind)(located(run, carries=True))}))()


def _evaluate(interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
    """Runs the method on copies of the operands, and writes those back that the operation writes."""
    block, targets = block_of(interpreter), set(written(op))
    if block.launch.modular:
        raise RunError(op, "unsupported", f"expected operations that residues have, found '{operation_name(op)}'")
    overwritten = targets.difference(op.tile_reads())
    given: list[Any] = []
    used: list[Numbers] = []
    for value, arg in zip(op.operands, args, strict=True):
        if value in overwritten:
            given.append(np.zeros(arg.shape, arg.dtype))
            continue
        match arg:
            case Tile():
                used.append(block.read(op, arg))
            case Near():
                used.append(Numbers(np.asarray(arg.value), arg.known, arg.error))
            case _:
                used.append(Numbers(np.asarray(arg)))
        given.append(used[-1].data.copy() if isinstance(arg, Tile) else used[-1].data[()])
    with errors_of_guest(op, "evaluate"), np.errstate(all="ignore"):
        answer: Any = op.evaluate(*given)
    answers: list[Any] | None = [*answer] if isinstance(answer, list | tuple) else None  # pyright: ignore[reportUnknownVariableType]
    if answers is None or len(answers) != len(op.results):
        found = f"{answer}" if answers is None else len(answers)
        wanted = f"expected 'evaluate' of '{operation_name(op)}' to return a list of {len(op.results)} results"
        raise ForeignOperationError(op, f"{wanted}, found {found}")
    known = all(each.known is None or bool(each.known.all()) for each in used)
    exact = not any(each.error is not None and each.error.any() for each in used)

    def numbers(value: SSAValue, shape: tuple[int, ...], result: Any) -> Numbers:
        data, error = cast("tuple[Any, Any]", result) if isinstance(result, tuple) else (result, 0)
        off = np.broadcast_to(np.asarray(error if exact else np.inf, np.float64), shape)
        block.launch.exact = block.launch.exact and not off.any()
        marks = None if known else np.zeros(shape, np.bool_)
        return Numbers(_checked(op, value, shape, np.asarray(data)), marks, off if block.launch.bounds else None)

    for value, arg, array in zip(op.operands, args, given, strict=True):
        if value in targets:
            block.write(op, arg, numbers(value, arg.shape, array))
    return tuple(
        Tile(value.type.dims, numbers(value, value.type.dims, result))
        if isinstance(value.type, TileType)
        else value_of(numbers(value, (), result))
        for value, result in zip(op.results, answers, strict=True)
    )


def _checked(op: Operation, value: SSAValue, shape: tuple[int, ...], data: Array) -> Array:
    """Returns elements in the format of a value: floats are rounded. Raises ForeignOperationError for others."""
    dtype = dtype_of(getattr(value.type, "element_type", value.type))
    if data.shape != shape or (data.dtype != dtype and not (is_float(dtype) and is_float(data.dtype))):
        wanted = f"expected 'evaluate' of '{operation_name(op)}' to give {dtype} of shape {shape} for {value.type}"
        raise ForeignOperationError(op, f"{wanted}, found {data.dtype} of shape {data.shape}")
    return in_format(data, dtype)
