"""Alternatives to the layout of a tile or the engine of a copy, and their cost, from the planners of the passes."""

from __future__ import annotations

from tirx.copy.cost import CopyEnd, copy_cost
from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import AllocOp, AsyncCopyOp, CopyOp, Engine, MemorySpace, TileType
from tirx.hw.dtypes import DTYPES
from tirx.hw.errors import LegalityError
from tirx.layout import LayoutError
from tirx.passes.layouts.operand_layouts import copies_cost, placed_copies
from tirx.passes.match.bulk_copies import async_engine, plan_tma
from tirx.passes.match.product import target_of
from tirx.passes.match.run_time_strides import placed
from tirx.smem.atoms import smem_layout
from tirx.smem.canonical import canonical_layout
from tirx.smem.swizzle_modes import TCGEN05_OPERANDS, legal_modes

_BULK = (Engine.TMA, Engine.TMA_MULTICAST, Engine.TMA_STORE, Engine.TMA_REDUCE)
_THREADS = 128
"""Threads of a copy that is priced but not made."""


def other_swizzles(alloc: AllocOp, threads: int) -> str | None:
    """The cost of all copies of an operand under the other swizzles that its product can read; None for others."""
    type_ = alloc.result.type
    copies = list(placed_copies(alloc))
    if type_.memory is not MemorySpace.SHARED or type_.layout is None or len(type_.dims) != 2 or not copies:
        return None
    rows, columns = type_.dims
    name = type_.dtype.name
    if name not in TCGEN05_OPERANDS.dtypes:
        return None
    try:
        chosen = canonical_layout(type_.layout, (rows, columns), name)
    except LegalityError:
        return None  # no operand
    found: list[str] = []
    for mode in legal_modes(DTYPES[name], chosen.major):
        if mode == chosen.swizzle:
            continue
        try:
            layout = smem_layout(name, mode, chosen.major, (rows, columns))
            cost, _ = copies_cost(alloc.result, layout, copies, threads)
        except (LegalityError, LayoutError, LocatedError):
            continue  # too few columns for it, or no copy of threads
        found.append(f"{mode} {cost.cycles:g} cycles")
    return f"other swizzles: {', '.join(found)}" if found else None


def copy_facts(copy: CopyOp | AsyncCopyOp) -> list[tuple[str, str]]:
    """The boxes of a bulk copy between global and shared memory, and what threads would take for it."""
    source, destination = TileType.of(copy.source), TileType.of(copy.destination)
    if {source.memory, destination.memory} != {MemorySpace.GLOBAL, MemorySpace.SHARED} or copy.engine is None:
        return []
    loads = source.memory is MemorySpace.GLOBAL
    outside, inside = (copy.source, destination) if loads else (copy.destination, source)
    if inside.layout is None:
        return []  # a written engine, before tirx-pick-layouts
    facts: list[tuple[str, str]] = []
    is_bulk = copy.engine.data in _BULK
    if is_bulk:
        try:
            boxes = plan_tma(outside, inside, target_of(copy)).boxes
        except LegalityError:
            return []  # a written engine that tirx-select-copies refuses
        size = "x".join(map(str, reversed(boxes.box)))
        each = f"{size} {boxes.unit.type}, {boxes.box_bytes} bytes, swizzle {boxes.swizzle}"
        facts.append(("boxes", f"{len(boxes.boxes)} of {each}"))
    elif copy.engine.data is Engine.LD_ST and (reason := async_engine(copy).reason):
        facts.append(("faster engines", reason))
    tile = placed(outside)
    if tile.layout is not None:
        outer, inner = CopyEnd(tile.layout, "global"), CopyEnd(inside.layout, "shared")
        ends = (outer, inner) if loads else (inner, outer)
        try:
            cost = copy_cost(inside.dims, ends, inside.dtype.storage_bits, _THREADS)
        except LayoutError:
            return facts  # threads cannot share it out
        facts.append(("instead, threads" if is_bulk else "cost", str(cost)))
    return facts
