"""The choice of the engine of a copy: the instructions that move its elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, SSAValue

from tirx.copy.matrix import MatrixPlan, plan_matrices
from tirx.dialects import tirx
from tirx.dialects.ptx.reductions import Red
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.hw.errors import MissingLayoutError, ScaleFactorError, ThreadCopyError
from tirx.hw.features import required_version, supports
from tirx.layout import LayoutError, TileLayout
from tirx.passes.ir.views import Origin, clipped_view
from tirx.passes.match.bulk_copies import ASYNC_FEATURES, async_engine, check_engine
from tirx.passes.match.product import ILLEGAL, legal, target_of
from tirx.passes.match.run_time_strides import run_time_strides, why_beyond_threads
from tirx.rules import RegisterLayoutError, WrittenChoiceError
from tirx.tcgen05.scale_copy import ScaleCopy, scale_copies
from tirx.values import dataclass

_scale_copies = lru_cache(maxsize=256)(scale_copies)

_TENSOR_ENGINES: Mapping[tuple[bool, bool], tirx.Engine] = MappingProxyType(
    {
        (False, False): tirx.Engine.LD_ST,
        (True, False): tirx.Engine.TCGEN05_LD,
        (False, True): tirx.Engine.TCGEN05_ST,
        (True, True): tirx.Engine.TCGEN05_LD,
    }
)
"""Whether source and destination are in tensor memory -> the engine. The other end, where it is not registers, is
reached by `ld_st` or `tcgen05_st` once `tirx-expand-copies` has taken the copy through registers."""


@dataclass(frozen=True)
class _MatrixEngine:
    """Moves tiles between shared memory and registers, on targets that have the instruction."""

    engine: tirx.Engine
    feature: str
    repeats: bool
    """Returns True if several warps may move the same elements."""


_MATRIX_ENGINES: Mapping[type[tirx.LoadOp | tirx.StoreOp], _MatrixEngine] = MappingProxyType(
    {
        tirx.LoadOp: _MatrixEngine(tirx.Engine.LDMATRIX, "ldmatrix", repeats=True),
        tirx.StoreOp: _MatrixEngine(tirx.Engine.STMATRIX, "stmatrix", repeats=False),
    }
)


def match_engine(copy: tirx.CopyOp) -> tirx.Engine | None:
    """Chooses the engine of a copy; None for one between registers, which moves nothing. One to or from registers keeps
    a written engine of `match_transfer`, which looks at the layouts once they are there.

    Raises LocatedError, saying what is legal, for a copy that no instructions do, and for a written engine that is not
    the one that does it.
    """
    with legal(copy):
        found = _engine(copy)
    if copy.engine is not None and copy.engine.data is not found:
        if copy.engine.data in _written_engines(copy):
            check_written(copy, copy.engine.data)
            return copy.engine.data
        what = f"a copy from {copy.source_type.memory.place} to {copy.destination_type.memory.place}"
        expected = "no engine" if found is None else f"engine {found}"
        raise WrittenChoiceError(copy, f"expected {expected} on {what}, found {copy.engine.data}")
    return found


def _written_engines(copy: tirx.CopyOp) -> tuple[tirx.Engine, ...]:
    """The engines that a copy can have besides the one that `match_engine` chooses."""
    match copy.source_type.memory, copy.destination_type.memory:
        case tirx.MemorySpace.SHARED, tirx.MemorySpace.REGISTER:
            return (tirx.Engine.LDMATRIX,)
        case tirx.MemorySpace.REGISTER, tirx.MemorySpace.SHARED:
            return (tirx.Engine.STMATRIX,)
        case tirx.MemorySpace.GLOBAL, tirx.MemorySpace.SHARED:
            return tirx.Engine.TMA, tirx.Engine.CP_ASYNC, tirx.Engine.LD_ST
        case tirx.MemorySpace.SHARED, tirx.MemorySpace.GLOBAL if copy.reduce is not None:
            return (tirx.Engine.LD_ST,)
        case tirx.MemorySpace.SHARED, tirx.MemorySpace.GLOBAL:
            return tirx.Engine.TMA_STORE, tirx.Engine.LD_ST
        case _:
            return ()


def check_written(copy: tirx.CopyOp | tirx.AsyncCopyOp, engine: tirx.Engine) -> None:
    """Raises LocatedError where a written engine between global and shared memory cannot do a copy, and why."""
    if engine not in ASYNC_FEATURES:
        for tile in (copy.source, copy.destination):
            if (problem := beyond_threads(tile)) is not None:
                raise WrittenChoiceError(copy, problem)
        return
    try:
        check_engine(copy, engine)
    except ILLEGAL as e:
        raise WrittenChoiceError(copy, f"expected a copy that engine {engine} can do: {e}") from e


def match_transfer(op: tirx.LoadOp | tirx.StoreOp) -> tirx.Engine | None:
    """Chooses the engine of a load or store of registers: matrix instructions for fragments that rows of 16 bytes in
    shared memory hold, on targets that have them. None for tiles in other memories, which have one engine each.

    Raises LocatedError for a written matrix engine that the target or the layouts do not allow.
    """
    row = _MATRIX_ENGINES[type(op)]
    memory, registers = _ends(op)
    if (problem := beyond_threads(op.source if isinstance(op, tirx.LoadOp) else op.destination)) is not None:
        raise RegisterLayoutError(op, problem)
    if registers.dtype.bits == PACKED_BITS:  # words are moved, not elements
        if op.engine is not None and op.engine.data is not tirx.Engine.LD_ST:
            raise WrittenChoiceError(
                op, f"expected {tirx.Engine.LD_ST} for {PACKED_BITS}-bit elements, found {op.engine.data}"
            )
        return tirx.Engine.LD_ST if memory.memory is tirx.MemorySpace.SHARED else None
    if memory.memory is not tirx.MemorySpace.SHARED or memory.layout is None or registers.layout is None:
        return None if op.engine is None else op.engine.data
    by_element = isinstance(op, tirx.StoreOp) and op.reduce is not None
    if by_element or is_seen(op) or (op.engine is not None and op.engine.data is tirx.Engine.LD_ST):
        return tirx.Engine.LD_ST
    target = target_of(op)
    supported = target is None or supports(target, row.feature)
    if supported and planned_matrices(op) is not None:
        return row.engine
    if op.engine is None:
        return tirx.Engine.LD_ST
    with legal(op):
        if target is not None:
            required_version(row.feature, target)
    raise RegisterLayoutError(
        op,
        f"expected rows of 16 bytes of shared memory in the fragments of {row.feature} (four neighbouring lanes hold 4 "
        f"bytes each, or for .trans eight rows of 16-bit elements are columns), found {registers.layout} in registers "
        f"and {memory.layout} in shared memory",
    )


def planned_matrices(op: tirx.LoadOp | tirx.StoreOp) -> MatrixPlan | None:
    """The matrix instructions of a load or store between shared memory and registers; None where there are none."""
    memory, registers = _ends(op)
    layout = registers.layout
    if not isinstance(layout, TileLayout) or memory.layout is None or layout.offsets.get("m"):
        return None
    if not _MATRIX_ENGINES[type(op)].repeats and any(it.axis == "warpid" for it in layout.replica):
        return None
    try:
        return plan_matrices(
            layout, memory.layout, registers.dims, registers.dtype.storage_bits, tirx.thread_set(op).count
        )
    except LayoutError:
        return None  # the load itself says what is wrong with the layouts


def _ends(op: tirx.LoadOp | tirx.StoreOp) -> tuple[tirx.TileType, tirx.TileType]:
    """The types of the tile in memory and of that in registers."""
    if isinstance(op, tirx.LoadOp):
        return tirx.TileType.of(op.source), op.result.type
    return tirx.TileType.of(op.destination), tirx.TileType.of(op.value)


def _engine(copy: tirx.CopyOp) -> tirx.Engine | None:
    if is_scale_copy(copy):
        planned_scale_copies(copy)
        return tirx.Engine.TCGEN05_CP
    if is_seen(copy):
        return engine_between(copy.source_type.memory, copy.destination_type.memory)
    if copy.reduce is None and any(map(tirx.indexed_view, copy.operands)):
        if (choice := async_engine(copy)).is_asynchronous:
            return choice.engine
    origin = Origin.of(copy.destination)
    is_box = origin is None or origin.view.is_box
    if copy.reduce is not None and copy.source_type.memory is not tirx.MemorySpace.TENSOR and is_box:
        try:
            check_engine(copy, tirx.Engine.TMA_REDUCE, is_written=copy.engine is not None)
        except ILLEGAL:
            by_threads = threads_combine(copy.reduce.data, copy.source_type.element_type)
            if not by_threads or beyond_threads(copy.destination) is not None:
                raise
            return tirx.Engine.LD_ST
        return tirx.Engine.TMA_REDUCE
    for tile in (copy.source, copy.destination):
        problem = beyond_threads(tile)
        if problem is not None or run_time_strides(tile) or clipped_view(tile) is not None:
            choice = async_engine(copy)
            if choice.engine in (tirx.Engine.TMA, tirx.Engine.TMA_STORE):
                return choice.engine
            if problem is not None:
                raise ThreadCopyError(f"{problem} ({choice.reason})")
    return engine_between(copy.source_type.memory, copy.destination_type.memory)


def threads_combine(operation: str, element: Attribute) -> bool:
    """Returns True if `red` of threads has an operation for elements of a type."""
    match element:
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return operation == Red.ADD
        case IntegerType(width=width):
            return width.data in (32, 64)
        case _:
            return False


def is_seen(op: tirx.CopyOp | tirx.AsyncCopyOp | tirx.LoadOp | tirx.StoreOp) -> bool:
    """Returns True if an operation moves a tile of shared memory by way of a `tirx.view` of it."""
    return any(isinstance(view := tile.owner, tirx.ViewOp) and not view.is_global for tile in op.operands)


def beyond_threads(tile: SSAValue) -> str | None:
    """Why loads and stores of threads do not move a tile of global memory, though tensor maps may; None if they do."""
    return why_beyond_threads(tile) if tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL else None


def engine_between(source: tirx.MemorySpace, destination: tirx.MemorySpace) -> tirx.Engine | None:
    """The engine between two memories, but for scale factors; None between registers."""
    if source is tirx.MemorySpace.REGISTER and destination is tirx.MemorySpace.REGISTER:
        return None
    return _TENSOR_ENGINES[source is tirx.MemorySpace.TENSOR, destination is tirx.MemorySpace.TENSOR]


def is_scale_copy(copy: tirx.CopyOp) -> bool:
    """Returns True if a copy is to a tile of scale factors."""
    return holds_scales(copy.destination)


def holds_scales(tile: SSAValue) -> bool:
    """Returns True if a product reads scale factors from the allocation of the tile."""
    return tirx.TileType.of(tile).memory is tirx.MemorySpace.TENSOR and any(
        isinstance(op, tirx.MmaOp) and part in op.scales for op, part in tirx.views_in_use(tirx.base_allocation(tile))
    )


def planned_scale_copies(copy: tirx.CopyOp | tirx.AsyncCopyOp) -> tuple[ScaleCopy, ...]:
    """The `tcgen05.cp` of a copy of scale factors. Raises LegalityError for one that tcgen05.cp cannot do."""
    source, destination = tirx.TileType.of(copy.source), tirx.TileType.of(copy.destination)
    check_scale_source(source)
    if (from_layout := source.layout) is None or not isinstance(to_layout := destination.layout, TileLayout):
        raise MissingLayoutError("expected layouts on both tiles; tirx-pick-layouts chooses them")
    return _scale_copies(from_layout, to_layout, source.dims)


def check_scale_source(source: tirx.TileType) -> None:
    """Raises LegalityError unless scale factors come from a tile that tcgen05.cp reads."""
    if source.memory is not tirx.MemorySpace.SHARED:
        raise ScaleFactorError(
            "expected scale factors from a shared tile, which tcgen05.cp copies to all four partitions of lanes, "
            f"found one in {source.memory.place}"
        )
