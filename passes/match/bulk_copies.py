"""Copies between global and shared memory as tensor maps, boxes and `cp.async` see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from tirx.copy.cp_async import CpAsyncPlan, plan_cp_async
from tirx.copy.tma import (
    ATOM_32B,
    MAX_BOX,
    MAX_STEP,
    REDUCTIONS,
    ROW_UNIT,
    STRIDE_LIMIT,
    BoxPlan,
    GlobalTensor,
    TmaError,
    TmaReason,
    Unit,
    plan_boxes,
)
from tirx.dialects import tirx
from tirx.dialects.formula import Call, Formula
from tirx.hw.errors import MissingLayoutError, ThreadCopyError
from tirx.hw.features import first_target, supporting_targets, supports
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.caching import bounded_cache
from tirx.layout.dtypes import ElementType, element_type
from tirx.passes.ir.emitter import constant_value
from tirx.passes.ir.index_analysis import NARROW_LIMIT, index_range, ranges_found_once
from tirx.passes.ir.views import (
    Origin,
    argument_number,
    plan_clip,
    surely_negative_start,
    unproved_starts,
    view_alignment,
)
from tirx.passes.match.narrow_places import MOST_ELEMENTS_FURTHER
from tirx.passes.match.product import ILLEGAL, target_of
from tirx.passes.match.run_time_strides import placed, run_time_strides, takes_any_strides, why_beyond_threads
from tirx.values import dataclass


def _times(formula: Formula, factor: int) -> Formula:
    if isinstance(formula, int):
        return formula * factor
    return formula if factor == 1 else Call("mul", (formula, factor))


@dataclass(frozen=True)
class TmaCopy:
    """A copy of a tile by the tensor memory accelerator: its origin in global memory, the boxes and the tensor map.

    `groups` are the dimensions of the memref in the order of the map, innermost first: each is one, or several that
    are one run of elements, the outermost first. `run_time_strides` are the dimensions of the memref whose strides are
    known at the launch only; they must be multiples of 16 bytes. Where it `is_indexed`, an
    index tile names the rows of a matrix.
    """

    origin: Origin
    boxes: BoxPlan
    tensor_map: tirx.TensorMap
    groups: tuple[tuple[int, ...], ...]
    run_time_strides: tuple[int, ...]

    @property
    def is_indexed(self) -> bool:
        """Returns True if an index tile names the rows."""
        return self.boxes.rows_apart > 0


def _row_units(elements: Formula, unit: Unit, dtype: ElementType) -> Formula:
    """Returns how many units of a tensor map a row of `elements` has. Raises TmaError for a part of one."""
    if unit.elements == 1:
        return elements
    if not isinstance(elements, int):
        return Call("ceildiv", (elements, unit.elements))
    if elements % unit.elements:
        raise TmaError(
            TmaReason.ELEMENT,
            f"expected rows of an even number of {dtype.name} elements for a tensor map, found {elements}",
        )
    return elements // unit.elements


def _row_stride(static: int | None, argument: int, dimension: int, unit: Unit, dtype: ElementType) -> Formula:
    """Returns the bytes from one row to the next; `static` counts elements. Raises TmaError if they are too many."""
    if static is None:
        elements: Formula = Call("stride", (argument, dimension))
        return _times(elements, unit.bytes) if unit.elements == 1 else Call("ceildiv", (elements, unit.elements))
    # A dimension of one element may have a stride that tensor maps do not have; it is never used.
    found = -(-static * dtype.bits // (8 * ROW_UNIT)) * ROW_UNIT
    if found >= STRIDE_LIMIT:
        raise TmaError(
            TmaReason.STRIDE,
            f"expected strides below {STRIDE_LIMIT} bytes for a tensor map, found {found} in dimension {dimension}",
        )
    return found


@ranges_found_once()
def plan_tma(global_tile: SSAValue, shared: tirx.TileType, target: Target | None) -> TmaCopy:
    """The boxes and the tensor map of a copy between a tile of global memory and one of type `shared`, either way.

    Raises TmaError where there are none.
    """
    origin = Origin.of(global_tile)
    if origin is None or (number := argument_number(origin.view.source)) is None:
        raise TmaError(
            TmaReason.VIEW, "expected a view of a kernel argument or a part of one for a bulk tensor copy, found none"
        )
    places, of_memref = origin.view.places, origin.view.of_memref
    indexed = _indexed_dimension(global_tile, origin.view)
    if any(place.size is not None for place in places) or None in of_memref:
        raise TmaError(
            TmaReason.VIEW, "expected dimensions of the memref, without sizes, for a tensor map, found others"
        )
    if shared.layout is None:
        raise TmaError(TmaReason.BOX, f"expected a layout on {shared}; tirx-pick-layouts chooses one")
    memref = origin.view.source_type
    strides = memref.get_strides()
    assert strides is not None, memref
    sizes = tuple([None if n == DYNAMIC_INDEX else n for n in memref.get_shape()])
    of_tile = tuple([place.of_tile for place in places])
    whole = [
        t is not None
        and indexed is None
        and constant_value(place.index) == 0
        and (size, place.step) == (shared.dims[t], 1)
        for t, place, size in zip(of_tile, places, sizes, strict=True)
    ]
    steps = tuple([place.step for place in places])
    viewed = tuple([None if t is None else step for t, step in zip(of_tile, steps, strict=True)])
    tensor = GlobalTensor(sizes, tuple(strides), viewed, shared.dtype.name, tuple(whole))
    boxes, groups, tensor_map = _tensor_map(number, tensor, shared.layout, shared.dims, of_tile, steps, indexed)
    if boxes.swizzle == "128B_atom_32B" and target is not None and not supports(target, ATOM_32B):
        raise TmaError(
            TmaReason.TARGET,
            f"expected {first_target(ATOM_32B)} or later for swizzles of 32-byte atoms in tensor maps, found {target}",
        )
    _check_coordinates(origin, places, groups, sizes, shared.dims)
    splits = origin.view.result.type.dtype.bits % 8 != 0 and view_alignment(origin.view) == 0
    if splits or origin.start[boxes.groups[0][-1]] % boxes.unit.elements:
        raise TmaError(TmaReason.VIEW, "expected a view that starts on a whole byte for a tensor map, found none")
    return TmaCopy(origin, boxes, tensor_map, groups, tensor.run_time_strides())


@bounded_cache
def _tensor_map(
    number: int,
    tensor: GlobalTensor,
    layout: TileLayout | ComposeLayout,
    dims: tuple[int, ...],
    of_tile: tuple[int | None, ...],
    steps: tuple[int, ...],
    indexed: int | None,
) -> tuple[BoxPlan, tuple[tuple[int, ...], ...], tirx.TensorMap]:
    """Returns the boxes of a tile, the dimensions of the memref in the order of the map (see `TmaCopy`), and the map.

    The memref is argument `number`; `of_tile` and `steps` are those of the places of the view. Raises TmaError where
    there are none.
    """
    inner = tuple(t for d in tensor.inner() if (t := of_tile[d]) is not None)
    boxes = plan_boxes(layout, dims, tensor.dtype, inner, indexed)
    groups = (
        *(tuple(map(of_tile.index, group)) for group in boxes.groups),
        *((d,) for d, t in reversed([*enumerate(of_tile)]) if t is None),
    )
    extents = boxes.box if indexed is None else (boxes.box[0], 1)
    extents = (*extents, *(1 for t in of_tile if t is None))
    box, apart = _spans(extents, [steps[d] for d, *_ in groups])
    unit, dtype = boxes.unit, element_type(tensor.dtype)
    lengths = [
        # Of several dimensions all but the outermost are static.
        _times(
            Call("size", (number, group[0])) if (n := tensor.sizes[group[0]]) is None else n,
            prod(tensor.sizes[d] or 0 for d in group[1:]),
        )
        for group in groups
    ]
    tensor_map = tirx.TensorMap(
        argument=number,
        type=unit.type,
        dims=(_row_units(lengths[0], unit, dtype), *lengths[1:]),
        strides=tuple(_row_stride(tensor.strides[d], number, d, unit, dtype) for (d,) in groups[1:]),
        box=box,
        swizzle=boxes.swizzle,
        steps=apart,
    )
    return boxes, groups, tensor_map


def _indexed_dimension(tile: SSAValue, view: tirx.ViewOp) -> int | None:
    """Returns the dimension of a tile, a part of a view, along which an index tile names rows of a matrix.

    None for a box. Raises TmaError for views with index tiles that name something else.
    """
    if not (index_tiles := view.index_tiles):
        return None
    dims, ((d, _), *others) = view.result.type.dims, index_tiles.items()
    at = view.places[d].of_tile
    moving = [t for t in range(len(dims)) if t not in view.still_dims(d)]
    strides = view.source_type.get_strides() or ()
    matrix = len(view.indices) == len(dims) == 2 and view.result is tile and strides[1 - d] == 1
    if others or not matrix or moving != [at]:
        raise TmaError(
            TmaReason.VIEW,
            "expected an index for each row of a memref of two dimensions, whose rows are neighbours, in a bulk tensor "
            "copy with an index tile, found another view",
        )
    return at


def _spans(extents: tuple[int, ...], steps: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the box of a tensor map that copies so many elements along each dimension, and its steps; () where all
    are 1. Raises TmaError for steps or a box that tensor maps do not have.
    """
    if all(step == 1 for step in steps):
        return extents, ()
    box = tuple((extent - 1) * step + 1 for extent, step in zip(extents, steps, strict=True))
    if max(steps) > MAX_STEP or max(box) > MAX_BOX:
        raise TmaError(
            TmaReason.BOX,
            f"expected steps of at most {MAX_STEP}, and boxes that span at most {MAX_BOX} elements along a dimension, "
            f"found {max(steps)} and {max(box)}",
        )
    return box, tuple(steps)


def _check_coordinates(
    origin: Origin,
    places: Sequence[tirx.Place],
    groups: Sequence[Sequence[int]],
    sizes: Sequence[int | None],
    dims: Sequence[int],
) -> None:
    """
    Raises TmaError for a tile that the coordinates of tensor maps, which are signed integers of 32 bits, do not reach.

    Sizes and places that only the launch knows are checked there, or by the kernel.
    """
    for outer, *others in groups:
        run = prod([sizes[d] or 1 for d in others])
        place, first = places[outer], origin.first(outer)
        size, low = sizes[outer], None
        if place.is_plain and (size is None or origin.view.clipped is not None):  # another one is within the memref
            low = index_range(place.index).low
        extent = 1 if place.of_tile is None else (dims[place.of_tile] - 1) * place.step + 1
        if size is not None and size * run > NARROW_LIMIT:
            raise TmaError(
                TmaReason.VIEW,
                f"expected at most {NARROW_LIMIT} elements along dimension {outer} of the memref for a tensor map, "
                f"found {size * run}",
            )
        if low is not None and low > NARROW_LIMIT // run:
            raise TmaError(
                TmaReason.VIEW, f"expected an index of at most {NARROW_LIMIT // run} for a tensor map, found {low}"
            )
        if (first + extent) * run > MOST_ELEMENTS_FURTHER:
            raise TmaError(
                TmaReason.VIEW,
                f"expected a part within the first {MOST_ELEMENTS_FURTHER // run} elements of a view for a tensor map, "
                f"found one that ends at {first + extent}",
            )


def plan_thread_copies(global_tile: SSAValue, shared: tirx.TileType, threads: int) -> CpAsyncPlan:
    """The `cp.async` of every thread of `threads`. Raises LegalityError or LayoutError where there are none."""
    if (problem := why_beyond_threads(global_tile)) is not None:
        raise ThreadCopyError(problem)
    outside = placed(global_tile)
    if outside.layout is None or shared.layout is None:
        raise MissingLayoutError(f"expected layouts on {outside} and {shared}; tirx-pick-layouts chooses them")
    if outside.dtype.bits != outside.dtype.storage_bits:
        raise ThreadCopyError(
            f"expected elements that global and shared memory hold alike for cp.async, found {outside.dtype.name}, "
            "which shared memory pads"
        )
    origin = Origin.of(global_tile)
    if origin is None or (alignment := view_alignment(origin.view)) == 0:
        raise ThreadCopyError("expected a view that starts on a whole byte for cp.async, found none")
    bits = shared.dtype.storage_bits
    if (clip := plan_clip(global_tile)) is not None:
        alignment = max(1, min(alignment, clip.row_run * bits // 8))
    return plan_cp_async(outside.layout, shared.layout, shared.dims, bits, threads, alignment)


ASYNC_FEATURES: Mapping[tirx.Engine, str] = {
    tirx.Engine.TMA: "cp.async.bulk.tensor",
    tirx.Engine.TMA_MULTICAST: "cp.async.bulk.tensor",
    tirx.Engine.TMA_STORE: "cp.async.bulk.tensor",
    tirx.Engine.TMA_REDUCE: "cp.async.bulk.tensor",
    tirx.Engine.CP_ASYNC: "cp.async",
}
"""Engine -> the feature that its instructions need."""

_INDEXED_FEATURES: Mapping[tirx.Engine, str] = {
    tirx.Engine.TMA: "cp.async.bulk.tensor.shared::cta.gather4",
    tirx.Engine.TMA_STORE: "cp.async.bulk.tensor.scatter4",
    tirx.Engine.CP_ASYNC: "cp.async",
}
"""The same of engines that copy rows which an index tile names (PTX ISA: `cp.reduce.async.bulk.tensor` has none)."""


@dataclass(frozen=True)
class EngineChoice:
    """The engine of a copy between global and shared memory, and why none of the faster ones: (engine, reason) pairs.

    `run_time_strides`: the dimensions of the memref whose strides must be multiples of 16 bytes for the engine.
    """

    engine: tirx.Engine
    refused: tuple[tuple[tirx.Engine, str], ...] = ()
    run_time_strides: tuple[int, ...] = ()

    @property
    def is_asynchronous(self) -> bool:
        """Returns True if the copy can join a ring."""
        return self.engine is not tirx.Engine.LD_ST

    @property
    def reason(self) -> str:
        """Why it is not a faster engine, in one sentence; empty for the fastest."""
        return "; ".join(f"no {engine}: {why}" for engine, why in self.refused)


def async_engine(copy: tirx.CopyOp | tirx.AsyncCopyOp) -> EngineChoice:
    """Chooses the engine of a copy from global to shared memory or back, by target and legality, the fastest first.

    Copies between other memories are `ld_st` with a reason. Tiles need their layouts.
    """
    source, destination = tirx.TileType.of(copy.source), tirx.TileType.of(copy.destination)
    match source.memory, destination.memory:
        case tirx.MemorySpace.GLOBAL, tirx.MemorySpace.SHARED:
            engines = (tirx.Engine.TMA, tirx.Engine.CP_ASYNC)
        case tirx.MemorySpace.SHARED, tirx.MemorySpace.GLOBAL:
            combines = isinstance(copy, tirx.CopyOp) and copy.reduce is not None
            engines = (tirx.Engine.TMA_REDUCE if combines else tirx.Engine.TMA_STORE,)
        case _:
            why = f"expected a copy between global and shared memory, found {source.memory} to {destination.memory}"
            return EngineChoice(tirx.Engine.LD_ST, ((tirx.Engine.TMA, why),))
    refused: list[tuple[tirx.Engine, str]] = []
    for engine in engines:
        try:
            chosen = EngineChoice(engine, tuple(refused), check_engine(copy, engine, is_written=False))
            if engine in (tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE):
                _check_starts(copy.destination)
            return chosen
        except ILLEGAL as e:
            refused.append((engine, str(e)))
    return EngineChoice(tirx.Engine.LD_ST, tuple(refused))


CHOSEN = "tirx.chosen_engine"
"""The attribute of a copy whose threads wait for it, by an engine that nobody wrote: rings may be filled by others."""


def ring_engine(copy: tirx.CopyOp) -> EngineChoice:
    """The engine that fills a slot of a ring in place of a copy: the one that is written, else the fastest."""
    if copy.engine is None or CHOSEN in copy.attributes:
        return async_engine(copy)
    written = copy.engine.data
    return EngineChoice(written, ((tirx.Engine.TMA, f"engine {written} is written on the copy"),))


def _check_starts(tile: SSAValue) -> None:
    """Raises TmaError unless a tile is known to begin inside the memref.

    Threads drop what is before it. A bulk store would trap there, which no program asks for that does not write it.
    """
    if unproved := unproved_starts(tile):
        where = " and ".join(map(str, unproved))
        raise TmaError(
            TmaReason.VIEW,
            f"expected a tile that begins inside the memref, which its indices do not show in dimension {where}: "
            "'clipped begins_inside' on the view says so",
        )


def check_engine(
    copy: tirx.CopyOp | tirx.AsyncCopyOp, engine: tirx.Engine, *, is_written: bool = True
) -> tuple[int, ...]:
    """Checks that an asynchronous engine can do a copy between global and shared memory.

    Returns the dimensions of the memref whose strides have to be multiples of 16 bytes at the launch; one that nobody
    wrote has none in kernels for any strides. Raises one of `ILLEGAL` with the reason why it cannot.
    """
    dimensions = _rests_on(copy, engine)
    if dimensions and not is_written and takes_any_strides(copy):
        where = " and ".join(map(str, dimensions))
        raise ThreadCopyError(f"expected an engine for any stride in dimension {where}, found {engine}")
    return dimensions


def _rests_on(copy: tirx.CopyOp | tirx.AsyncCopyOp, engine: tirx.Engine) -> tuple[int, ...]:
    """Returns the dimensions whose strides an engine rests on. Raises one of `ILLEGAL` where it cannot do the copy."""
    target = target_of(copy)
    loads = tirx.TileType.of(copy.source).memory is tirx.MemorySpace.GLOBAL
    outside, inside = (copy.source, copy.destination) if loads else (copy.destination, copy.source)
    features = ASYNC_FEATURES if tirx.indexed_view(outside) is None else _INDEXED_FEATURES
    if (feature := features.get(engine)) is None:
        raise TmaError(
            TmaReason.VIEW, f"expected a view without index tiles for {engine}, which names boxes, found some"
        )
    if target is not None and not supports(target, feature):
        names = supporting_targets(feature)
        wanted = ", ".join(names) if names[0][-1] in "af" else f"{names[0]} or later"
        raise TmaError(TmaReason.TARGET, f"expected {wanted}, found {target}")
    if engine is tirx.Engine.CP_ASYNC:
        plan_thread_copies(outside, tirx.TileType.of(inside), tirx.thread_set(copy).count)
        return tuple(run_time_strides(outside))
    if isinstance(copy, tirx.CopyOp) and not isinstance(tirx.thread_owner(copy), tirx.KernelOp | None):
        raise TmaError(
            TmaReason.THREADS,
            "expected a copy by all threads of the kernel, which meet before it; a role starts bulk tensor copies by "
            "tirx.async_copy",
        )
    planned = plan_tma(outside, tirx.TileType.of(inside), target)
    if not loads and planned.tensor_map.steps:
        raise TmaError(TmaReason.VIEW, "expected a tile without steps for a bulk store, found one with some")
    if not loads and (start := surely_negative_start(outside)) is not None:
        raise TmaError(
            TmaReason.VIEW,
            f"expected a tile that begins inside the memref for a bulk store, found index {start[1]} in dimension "
            f"{start[0]}",
        )
    if engine is tirx.Engine.TMA_REDUCE:
        given = copy.reduce if isinstance(copy, tirx.CopyOp) else None
        reduce = "add" if given is None else given.data
        check_reduction(reduce, planned.boxes.unit.type, tirx.TileType.of(inside).dtype.name)
    return planned.run_time_strides


def check_reduction(reduce: str, unit: str, element: str) -> None:
    """Raises TmaError unless bulk tensor copies reduce elements of this type, which tensor maps call `unit`."""
    if unit not in REDUCTIONS[reduce]:
        raise TmaError(
            TmaReason.ELEMENT,
            f"expected elements of {', '.join(REDUCTIONS[reduce])} for {reduce} in a bulk tensor copy, found {element}",
        )
