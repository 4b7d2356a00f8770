"""Copies between global and shared memory as tensor maps, boxes and `cp.async` see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, SSAValue

from tirx.copy.cp_async import CpAsyncPlan, plan_cp_async
from tirx.copy.tma import (
    ATOM_32B_SINCE,
    REDUCTIONS,
    BoxPlan,
    GlobalTensor,
    TmaError,
    TmaReason,
    plan_boxes,
)
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import (
    AsyncCopyOp,
    CopyOp,
    Engine,
    KernelOp,
    MemorySpace,
    SubviewOp,
    TensorMap,
    TileType,
    ViewOp,
    has_run_time_strides,
    thread_set,
)
from tirx.hw.errors import LegalityError
from tirx.hw.targets import Target
from tirx.passes.analysis.index_analysis import index_range
from tirx.passes.plan.product import ILLEGAL, target_of

POINTER_ALIGNMENT = 16
"""Bytes to which kernel arguments in global memory are aligned: the widest vector access."""


@dataclass(frozen=True)
class Origin:
    """A tile of global memory as a part of a memref: its view, and where it begins in the tile of the view."""

    view: ViewOp
    start: tuple[int, ...]

    @staticmethod
    def of(tile: SSAValue) -> Origin | None:
        """The origin of a view or of a part of one; None for other shapes of it."""
        start = [0] * len(TileType.of(tile).dims)
        while isinstance(part := tile.owner, SubviewOp):
            start = [a + b for a, b in zip(start, part.start, strict=True)]
            tile = part.source
        return Origin(tile.owner, tuple(start)) if isinstance(tile.owner, ViewOp) else None


def view_alignment(view: ViewOp) -> int:
    """Bytes to which the address of a view is aligned, at most `POINTER_ALIGNMENT`; 0 where it may split a byte."""
    type_ = view.source_type
    bits = view.result.type.dtype.bits
    alignment = POINTER_ALIGNMENT * 8
    for index, stride in zip(view.indices, type_.get_strides() or (), strict=True):
        alignment = gcd(alignment, index_range(index).divisor * bits * (1 if stride is None else stride))
    return alignment // 8 if alignment % 8 == 0 else 0


def argument_number(value: SSAValue) -> int | None:
    """The position of a memref among the arguments of its kernel."""
    owner = value.owner
    if not isinstance(owner, Block) or not isinstance(owner.parent_op(), KernelOp):
        return None
    return owner.args.index(value)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class TmaCopy:
    """
    A copy of a tile by the tensor memory accelerator: its origin in global memory, the boxes and the tensor map.

    `order` are the dimensions of the memref in the order of the map, innermost first. `run_time_strides` are the
    dimensions of the memref whose strides are known at the launch only; they must be multiples of 16 bytes.
    """

    origin: Origin
    boxes: BoxPlan
    tensor_map: TensorMap
    order: tuple[int, ...]
    run_time_strides: tuple[int, ...]


def plan_tma(global_tile: SSAValue, shared: TileType, target: Target | None) -> TmaCopy:
    """
    The boxes and the tensor map of a copy between a tile of global memory and one of type `shared`, either way.

    Raises TmaError where there are none.
    """
    origin = Origin.of(global_tile)
    number = None if origin is None else argument_number(origin.view.source)
    if origin is None or number is None:
        raise TmaError(
            TmaReason.VIEW, "expected a view of a kernel argument or a part of one for a bulk tensor copy, found none"
        )
    if shared.layout is None:
        raise TmaError(TmaReason.BOX, f"expected a layout on {shared}; tirx-pick-layouts chooses one")
    memref = origin.view.source_type
    strides = memref.get_strides()
    if strides is None:
        raise TmaError(TmaReason.VIEW, f"expected a memref with strides, found {memref}")
    tensor = GlobalTensor(tuple(strides), len(shared.dims), shared.dtype.name)
    boxes = plan_boxes(shared.layout, shared.dims, shared.dtype.name, tensor.inner())
    if boxes.swizzle == "128B_atom_32B" and target is not None and target.cc < ATOM_32B_SINCE:
        raise TmaError(
            TmaReason.TARGET,
            f"expected sm_{ATOM_32B_SINCE} or later for swizzles of 32-byte atoms in tensor maps, found {target}",
        )
    leading = len(strides) - len(shared.dims)
    if view_alignment(origin.view) == 0 or origin.start[boxes.order[0]] % boxes.unit.elements:
        raise TmaError(TmaReason.VIEW, "expected a view that starts on a whole byte for a tensor map, found none")
    order = (*(leading + d for d in boxes.order), *reversed(range(leading)))
    unit = boxes.unit

    def size(dimension: int) -> Formula:
        static = memref.get_shape()[dimension]
        known: Formula = Call("size", (number, dimension)) if static == DYNAMIC_INDEX else static
        if dimension != order[0] or unit.elements == 1:
            return known
        if isinstance(known, int) and known % unit.elements:
            raise TmaError(
                TmaReason.ELEMENT,
                f"expected rows of an even number of {shared.dtype.name} elements for a tensor map, found {known}",
            )
        return known // unit.elements if isinstance(known, int) else Call("ceildiv", (known, unit.elements))

    def stride(dimension: int) -> Formula:
        static = strides[dimension]
        if static is not None:
            return static * shared.dtype.bits // 8
        elements: Formula = Call("stride", (number, dimension))
        scaled: Formula = elements if unit.bytes == 1 else Call("mul", (elements, unit.bytes))
        return scaled if unit.elements == 1 else Call("ceildiv", (elements, unit.elements))

    tensor_map = TensorMap(
        argument=number,
        type=unit.type,
        dims=tuple(size(d) for d in order),
        strides=tuple(stride(d) for d in order[1:]),
        box=(*boxes.box, *(1 for _ in range(leading))),
        swizzle=boxes.swizzle,
    )
    return TmaCopy(origin, boxes, tensor_map, order, tensor.run_time_strides())


def check_strides(global_tile: SSAValue, what: str) -> None:
    """Raises LegalityError for a view with strides that are known at the launch only."""
    origin = Origin.of(global_tile)
    if origin is not None and has_run_time_strides(origin.view.source_type):
        raise LegalityError(f"expected a memref with static strides for {what}, found {origin.view.source_type}")


def plan_thread_copies(global_tile: SSAValue, shared: TileType, threads: int) -> CpAsyncPlan:
    """The `cp.async` of every thread of `threads`. Raises LegalityError or LayoutError where there are none."""
    outside = TileType.of(global_tile)
    check_strides(global_tile, "cp.async")
    if outside.layout is None or shared.layout is None:
        raise LegalityError(f"expected layouts on {outside} and {shared}; tirx-pick-layouts chooses them")
    if outside.dtype.bits != outside.dtype.storage_bits:
        raise LegalityError(
            f"expected elements that global and shared memory hold alike for cp.async, found {outside.dtype.name}, "
            "which shared memory pads"
        )
    origin = Origin.of(global_tile)
    if origin is None or (alignment := view_alignment(origin.view)) == 0:
        raise LegalityError("expected a view that starts on a whole byte for cp.async, found none")
    if origin.view.clipped is not None:
        raise LegalityError("expected a view that is not clipped for cp.async, found a clipped one")
    return plan_cp_async(outside.layout, shared.layout, shared.dims, shared.dtype.storage_bits, threads, alignment)


ASYNC_SINCE: Mapping[Engine, int] = {
    Engine.TMA: 90,
    Engine.TMA_MULTICAST: 90,
    Engine.TMA_STORE: 90,
    Engine.TMA_REDUCE: 90,
    Engine.CP_ASYNC: 80,
}
"""Engine -> the compute capability (times ten) that it begins with (PTX ISA, "cp.async.bulk.tensor", "cp.async")."""


@dataclass(frozen=True)
class EngineChoice:
    """
    The engine of a copy between global and shared memory, and why none of the faster ones: (engine, reason) pairs.

    `run_time_strides`: the dimensions of the memref whose strides must be multiples of 16 bytes for the engine.
    """

    engine: Engine
    refused: tuple[tuple[Engine, str], ...] = ()
    run_time_strides: tuple[int, ...] = ()

    @property
    def is_asynchronous(self) -> bool:
        """Returns True if the copy can join a ring."""
        return self.engine is not Engine.LD_ST

    @property
    def reason(self) -> str:
        """Why it is not a faster engine, in one sentence; empty for the fastest."""
        return "; ".join(f"no {engine}: {why}" for engine, why in self.refused)


def async_engine(copy: CopyOp | AsyncCopyOp) -> EngineChoice:
    """
    Chooses the engine of a copy from global to shared memory or back, by target and legality, the fastest first.

    Copies between other memories are `ld_st` with a reason. Tiles need their layouts.
    """
    source, destination = TileType.of(copy.source), TileType.of(copy.destination)
    match source.memory, destination.memory:
        case MemorySpace.GLOBAL, MemorySpace.SHARED:
            engines = (Engine.TMA, Engine.CP_ASYNC)
        case MemorySpace.SHARED, MemorySpace.GLOBAL:
            engines = (Engine.TMA_STORE,)
        case _:
            why = f"expected a copy between global and shared memory, found {source.memory} to {destination.memory}"
            return EngineChoice(Engine.LD_ST, ((Engine.TMA, why),))
    refused: list[tuple[Engine, str]] = []
    for engine in engines:
        try:
            return EngineChoice(engine, tuple(refused), check_engine(copy, engine))
        except ILLEGAL as e:
            refused.append((engine, str(e)))
    return EngineChoice(Engine.LD_ST, tuple(refused))


def check_engine(copy: CopyOp | AsyncCopyOp, engine: Engine) -> tuple[int, ...]:
    """
    Checks that an asynchronous engine can do a copy between global and shared memory.

    Returns the dimensions of the memref whose strides have to be multiples of 16 bytes at the launch. Raises one of
    `ILLEGAL` with the reason why it cannot.
    """
    target = target_of(copy)
    if target is not None and target.cc < (since := ASYNC_SINCE[engine]):
        raise TmaError(TmaReason.TARGET, f"expected sm_{since} or later, found {target}")
    loads = TileType.of(copy.source).memory is MemorySpace.GLOBAL
    outside, inside = (copy.source, copy.destination) if loads else (copy.destination, copy.source)
    if engine is Engine.CP_ASYNC:
        plan_thread_copies(outside, TileType.of(inside), thread_set(copy).count)
        return ()
    planned = plan_tma(outside, TileType.of(inside), target)
    if engine is Engine.TMA_REDUCE:
        reduce = copy.reduce.data if isinstance(copy, CopyOp) and copy.reduce is not None else "add"
        check_reduction(reduce, planned.boxes.unit.type, TileType.of(inside).dtype.name)
    return planned.run_time_strides


def check_reduction(reduce: str, unit: str, element: str) -> None:
    """Raises TmaError unless bulk tensor copies reduce elements of this type, which tensor maps call `unit`."""
    if unit not in REDUCTIONS[reduce]:
        raise TmaError(
            TmaReason.ELEMENT,
            f"expected elements of {', '.join(REDUCTIONS[reduce])} for {reduce} in a bulk tensor copy, found {element}",
        )
