"""Statements about the operations of `linalg` that `tirx-tile-linalg` makes kernels of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Operation

from tirx.dialects.structured import Structured, contracted, memref_type
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.mma.fragments import FragmentError, variants_for
from tirx.passes.match.mma_product import WIDENED, is_emulated
from tirx.passes.match.tile_choice import Operands, choose_tiles
from tirx.rules import LinalgError


def factors_of(step: Structured) -> tuple[int, int] | None:
    """The inputs of a product of matrices, rows times rows: by the parallel dimension before the last, and the last."""
    match step.parallel, step.reduction:
        case (*batch, m, n), (k,) if contracted(step) is not None:
            inside = [set(dims).difference(batch) for dims in step.dims[:2]]
            return next((order for order in ((0, 1), (1, 0)) if [inside[i] for i in order] == [{m, k}, {n, k}]), None)
        case _:
            return None


def has_instructions(step: Structured, factors: Sequence[int], target: Target) -> bool:
    """Returns True if tensor cores of the target have the types of a contraction, or do it in other ones."""
    a, b, d = (memref_type(step.operands[i]).element_type for i in (factors[0], factors[1], len(step.inputs)))
    names = [TileType.get((1, 1), each, MemorySpace.REGISTER).dtype.name for each in (a, d, b)]
    try:
        variants = variants_for(names[0], names[1], names[2])
    except FragmentError:
        variants = ()
    if any(names[0] in WIDENED or supports(target, each.feature) or is_emulated(each, target) for each in variants):
        return True
    found = choose_tiles(Operands((128, 128, 128), a, b, d, d), target)
    return bool(found) and not found[0].family.startswith("mma_sync")


def has_index(step: Structured) -> bool:
    """Returns True if a body asks for the places of its elements."""
    return step.body is not None and any(isinstance(op, IndexOp) for op in step.body.ops)


def require_computable(op: Operation) -> None:
    """Raises LinalgError for an operation on elements that a `tirx.map` does not compute with as they are."""
    for type_ in (*op.operand_types, *op.result_types):
        require_type(op, type_)


def require_type(op: Operation, type_: Attribute) -> None:
    """Raises LinalgError for a type of elements that maps compute with in another one."""
    if scalar_type(type_) != type_:
        raise LinalgError(op, f"expected arithmetic on floats and on integers without a sign, found {type_}")


def needs_nothing(op: Operation) -> bool:
    """Returns True for operations beside structured ones that have no part in what blocks do."""
    match op:
        case func.ReturnOp():
            return not op.operands
        case memref.DimOp():
            return all(isinstance(use.operation, memref.AllocOp) for use in op.result.uses)
        case _:
            return isinstance(op, arith.ConstantOp | memref.AllocOp | memref.DeallocOp)


def needs_value(step: Structured, number: int) -> bool:
    """Returns True if the operation needs the values that operand `number` has before it."""
    if number < len(step.inputs):
        return True
    return step.body is not None and step.body.args[number].first_use is not None


def used_inputs(step: Structured, count: int) -> list[int]:
    """The memrefs among the first `count` operands whose elements the body uses."""
    assert step.body is not None
    used = enumerate(step.body.args[:count])
    return [i for i, each in used if each.first_use is not None and isinstance(step.operands[i].type, MemRefType)]
