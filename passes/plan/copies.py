"""The choice of the engine of a copy: the instructions that move its elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from xdsl.ir import SSAValue

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import CopyOp, Engine, MemorySpace, MmaOp, TileType, base_allocation, views_in_use
from tirx.layout import TileLayout
from tirx.passes.plan.product import ILLEGAL
from tirx.tcgen05 import LegalityError
from tirx.tcgen05.scale_copy import ScaleCopy, scale_copies

_scale_copies = lru_cache(maxsize=256)(scale_copies)

_TENSOR_ENGINES: Mapping[tuple[bool, bool], Engine] = MappingProxyType(
    {(False, False): Engine.LD_ST, (True, False): Engine.TCGEN05_LD, (False, True): Engine.TCGEN05_ST}
)
"""Whether source and destination are in tensor memory -> the engine. The other end, where it is not registers, is
reached by `ld_st` once `tirx-expand-copies` has taken the copy through registers."""


def match_engine(copy: CopyOp) -> Engine | None:
    """
    Chooses the engine of a copy; None for one between registers, which moves nothing.

    Raises LocatedError, saying what is legal, for a copy that no instructions do, and for a written engine that is not
    the one that does it.
    """
    try:
        found = _engine(copy)
    except ILLEGAL as e:
        raise LocatedError(copy, str(e)) from e
    if copy.engine is not None and copy.engine.data is not found:
        what = f"a copy from {copy.source_type.memory.place} to {copy.destination_type.memory.place}"
        expected = "no engine" if found is None else f"engine {found}"
        raise LocatedError(copy, f"expected {expected} on {what}, found {copy.engine.data}")
    return found


def _engine(copy: CopyOp) -> Engine | None:
    if is_scale_copy(copy):
        planned_scale_copies(copy)
        return Engine.TCGEN05_CP
    return engine_between(copy.source_type.memory, copy.destination_type.memory)


def engine_between(source: MemorySpace, destination: MemorySpace) -> Engine | None:
    """The engine between two memories, but for scale factors; None between registers. LegalityError for none."""
    if source is MemorySpace.TENSOR and destination is MemorySpace.TENSOR:
        raise LegalityError("expected at most one side of a copy in tensor memory, found both")
    if source is MemorySpace.REGISTER and destination is MemorySpace.REGISTER:
        return None
    return _TENSOR_ENGINES[source is MemorySpace.TENSOR, destination is MemorySpace.TENSOR]


def is_scale_copy(copy: CopyOp) -> bool:
    """Whether a copy is to a tile of scale factors."""
    return holds_scales(copy.destination)


def holds_scales(tile: SSAValue) -> bool:
    """Returns True if a product reads scale factors from the allocation of the tile."""
    return TileType.of(tile).memory is MemorySpace.TENSOR and any(
        isinstance(op, MmaOp) and part in op.scales for op, part in views_in_use(base_allocation(tile))
    )


def planned_scale_copies(copy: CopyOp) -> tuple[ScaleCopy, ...]:
    """The `tcgen05.cp` of a copy of scale factors. Raises LegalityError for one that tcgen05.cp cannot do."""
    source, destination = copy.source_type, copy.destination_type
    check_scale_source(source)
    layouts = source.layout, destination.layout
    if layouts[0] is None or not isinstance(layouts[1], TileLayout):
        raise LegalityError("expected layouts on both tiles; tirx-pick-layouts chooses them")
    return _scale_copies(layouts[0], layouts[1], source.dims)


def check_scale_source(source: TileType) -> None:
    """Raises LegalityError unless scale factors come from a tile that tcgen05.cp reads."""
    if source.memory is not MemorySpace.SHARED:
        raise LegalityError(
            "expected scale factors from a shared tile, which tcgen05.cp copies to all four partitions of lanes, "
            f"found one in {source.memory.place}"
        )
