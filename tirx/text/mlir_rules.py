"""Rules of MLIR for operations of its own dialects that xDSL's verifiers leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DenseArrayBase, FixedBitwidthType, ShapedType
from xdsl.ir import Attribute, Operation, Region

from tirx.dialects.xdsl_private import successors_of
from tirx.rules import DefinitionError


def _text(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def _require_end(op: Operation, region: Region, name: str, types: Sequence[Attribute], skipped: int = 0) -> None:
    """The region ends in `name` with operands of these types behind the first `skipped` ones."""
    last = region.blocks.last.last_op if region.blocks.last is not None else None
    if last is None or last.name != name:
        found = "none" if last is None else f"'{last.name}'"
        raise DefinitionError(f"expected '{name}' at the end of each region of '{op.name}', found {found}")
    if (found := last.operand_types[skipped:]) != tuple(types):
        raise DefinitionError(f"expected '{name}' of {_text(types)} in '{op.name}', found {_text(found)}")


def _require_arguments(op: Operation, region: Region, types: Sequence[Attribute]) -> None:
    block = region.blocks.first
    found = () if block is None else tuple(argument.type for argument in block.args)
    if found != tuple(types):
        raise DefinitionError(f"expected arguments {_text(types)} of the region of '{op.name}', found {_text(found)}")


def _if(op: Operation) -> None:
    for region in op.regions:
        if op.results or region.blocks:
            _require_end(op, region, "scf.yield", op.result_types)


def _while(op: Operation) -> None:
    before, after = op.regions
    _require_arguments(op, before, op.operand_types)
    _require_arguments(op, after, op.result_types)
    _require_end(op, before, "scf.condition", op.result_types, skipped=1)
    _require_end(op, after, "scf.yield", op.operand_types)


def _execute_region(op: Operation) -> None:
    if len(op.regions[0].blocks) == 1:
        _require_end(op, op.regions[0], "scf.yield", op.result_types)


def _cast(what: str, sign: int) -> Callable[[Operation], None]:
    def check(op: Operation) -> None:
        source, result = op.operand_types[0], op.result_types[0]
        if isinstance(source, FixedBitwidthType) and isinstance(result, FixedBitwidthType):
            if (result.bitwidth - source.bitwidth) * sign <= 0:
                raise DefinitionError(f"expected a result of {what} bits than {source}, found {result}")

    return check


def _dimensions(name: str, operand: int) -> Callable[[Operation], None]:
    """The attribute `name` has different dimensions of the shape of an operand."""

    def check(op: Operation) -> None:
        found, type_ = op.properties.get(name), next(iter(op.operand_types[operand:]), None)
        if not isinstance(found, DenseArrayBase) or not isinstance(type_, ShapedType):
            return  # which xDSL's verifiers report
        dimensions = list(found.get_values())
        if len(set(dimensions)) < len(dimensions) or not set(dimensions) <= set(range(type_.get_num_dims())):
            raise DefinitionError(
                f"expected {name} of '{op.name}' to be different dimensions of {type_}, found {dimensions}"
            )

    return check


_RULES: dict[str, Callable[[Operation], None]] = {
    "scf.if": _if,
    "scf.while": _while,
    "scf.execute_region": _execute_region,
    "linalg.transpose": _dimensions("permutation", 0),
    "linalg.reduce": _dimensions("dimensions", 0),
    "linalg.broadcast": _dimensions("dimensions", 1),
    "arith.extf": _cast("more", 1),
    "arith.truncf": _cast("fewer", -1),
}
"""Operation -> its check, which raises DefinitionError."""


def check_mlir_rules(op: Operation) -> None:
    """Raises DefinitionError for an operation that MLIR does not accept, though xDSL does."""
    for successor in successors_of(op):
        if successor.parent is not None and successor is successor.parent.blocks.first:
            raise DefinitionError(
                f"expected '{op.name}' to branch to other blocks than the first one of a region, found a branch to it"
            )
    rule = _RULES.get(op.name)
    if rule is not None:
        rule(op)
