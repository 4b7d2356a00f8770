"""Operations of other dialects: scalar ones, in kernels and in the bodies of maps, and what tile operations become."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.tirx import KernelOp, ScalarOpInterface, ThreadLowering, TileOpInterface, TileType, is_foreign
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
    made = op.lower(threads)
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


def _check_types(
    op: Operation, method: str, number: int, values: Sequence[SSAValue], wanted: Sequence[Attribute]
) -> None:
    found = [value.type for value in values]
    if found != list(wanted):
        raise ForeignOperationError(
            op,
            f"expected '{method}' of '{op.name}' to return {_described(wanted)} for result {number}, found "
            f"{_described(found)}",
        )


def _described(types: Sequence[Attribute]) -> str:
    kinds = ", ".join(map(str, dict.fromkeys(types)))
    return f"{len(types)} of {kinds}" if types else "none"


def lower_scalars(kernel: KernelOp, target: Target) -> None:
    """Replaces the operations with `ScalarOpInterface` by what they lower to."""
    for op in list(kernel.walk()):
        if not isinstance(op, ScalarOpInterface):
            continue
        emit = Emitter.before(op)
        inserted, value = op.lower_scalar(target)
        for each in inserted:
            emit(each)
        assert isinstance(op, Operation)
        _check_types(op, "lower_scalar", 0, [value], [op.results[0].type])
        op.results[0].replace_all_uses_with(value)
        erase(op)
