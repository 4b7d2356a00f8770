"""Operations of other dialects: scalar ones, in kernels and in the bodies of maps, and what tile operations become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.tirx import ScalarOpInterface, ThreadLowering, TileOpInterface, TileType, is_foreign
from tirx.dialects.tirx.interface import errors_of_guest
from tirx.hw.targets import Target
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_values import register_format
from tirx.rules import ForeignOperationError


def lower_tiles(op: Operation, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]] | None:
    """Lowers an operation by its own method.

    Returns the registers of each result, None for an operation of tirx that has no such method. Raises LocatedError for
    registers that its tiles do not have.
    """
    assert isinstance(op, TileOpInterface)
    if type(op).lower is TileOpInterface.lower and not is_foreign(op):
        return None
    with errors_of_guest(op, "lower"):
        made = _sequence(op, "lower", op.lower(threads), "a list of the registers of each result")
    if len(made) != len(op.results):
        wanted = f"expected the registers of {len(op.results)} results of 'lower' of '{op.name}'"
        raise ForeignOperationError(op, f"{wanted}, found {len(made)}")
    for number, (result, registers) in enumerate(zip(op.results, made, strict=True)):
        wanted = [result.type]
        if isinstance(result.type, TileType):
            form = register_format(result.type)
            wanted = [form.type] * form.count
        _check_types(op, "lower", number, registers, wanted)
    return made


def _sequence(op: Operation, method: str, answer: object, wanted: str) -> Sequence[Any]:
    if not isinstance(answer, Sequence):
        raise ForeignOperationError(op, f"expected '{method}' of '{op.name}' to return {wanted}, found {answer!r}")
    return cast("Sequence[Any]", answer)


def _check_types(op: Operation, method: str, number: int, answer: object, wanted: Sequence[Attribute]) -> None:
    values = _sequence(op, method, answer, f"a list for result {number}")
    found: list[object] = [getattr(value, "type", type(value).__name__) for value in values]
    if found != [*wanted]:
        raise ForeignOperationError(
            op,
            f"expected '{method}' of '{op.name}' to return {_described(wanted)} for result {number}, found "
            f"{_described(found)}",
        )


def _described(types: Sequence[object]) -> str:
    kinds = ", ".join(map(str, dict.fromkeys(types)))
    return f"{len(types)} of {kinds}" if types else "none"


def lower_scalars(ops: Sequence[Operation], target: Target) -> None:
    """Replaces the operations with `ScalarOpInterface`, of `ops` of a kernel, by what they lower to."""
    if not any(issubclass(kind, ScalarOpInterface) for kind in {*map(type, ops)}):
        return
    for op in ops:
        if not isinstance(op, ScalarOpInterface):
            continue
        emit = Emitter.before(op)
        assert isinstance(op, Operation)
        pair = "a list of operations and a value"
        with errors_of_guest(op, "lower_scalar"):
            answer = _sequence(op, "lower_scalar", op.lower_scalar(target), pair)
        if len(answer) != 2:
            raise ForeignOperationError(
                op, f"expected 'lower_scalar' of '{op.name}' to return {pair}, found {answer!r}"
            )
        inserted, value = answer
        for each in inserted:
            emit(each)
        _check_types(op, "lower_scalar", 0, [value], [op.results[0].type])
        op.results[0].replace_all_uses_with(value)
        erase(op)
