"""Special registers (PTX ISA, section 10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import PRED, U32, U64, WARP, Array, PtxType
from tirx.sim.memory.addresses import RESERVED_OFFSETS

_Read: TypeAlias = Callable[[ThreadGroup], Array]

_MULTIPROCESSORS = 132
# Registers that are zero: of the grid and of the graph, of the driver, and counters of events.
_ZEROS = (
    *("%gridid", "%current_graph_exec"),
    *(f"%envreg{index}" for index in range(32)),
    *(f"%pm{index}{end}" for index in range(8) for end in ("", "_64")),
)
_WIDE_ZERO = re.compile("%gridid|%current_graph_exec|%pm[0-9]_64")

_LANE = np.arange(WARP, dtype=np.uint64)
_LANE_MASKS = {
    "eq": np.uint64(1) << _LANE,
    "lt": (np.uint64(1) << _LANE) - np.uint64(1),
    "le": (np.uint64(2) << _LANE) - np.uint64(1),
    "gt": np.uint64(0xFFFFFFFF) & ~((np.uint64(2) << _LANE) - np.uint64(1)),
    "ge": np.uint64(0xFFFFFFFF) & ~((np.uint64(1) << _LANE) - np.uint64(1)),
}


def _same(value: Callable[[ThreadGroup], int]) -> _Read:
    """A register that has one value in all lanes."""
    return lambda group: np.full(len(group.lanes), value(group), np.uint32)


def _same64(value: Callable[[ThreadGroup], int]) -> _Read:
    return lambda group: np.full(len(group.lanes), value(group), np.uint64)


def _lane_mask(name: str) -> _Read:
    values = _LANE_MASKS[name].astype(np.uint32)
    return lambda group: np.tile(values, group.warps)


def _axis(i: int, axis: str) -> dict[str, tuple[PtxType, _Read]]:
    """The registers of one axis of threads, CTAs and clusters."""
    values: dict[str, Callable[[ThreadGroup], int]] = {
        "%ntid": lambda group: group.cta.launch.block[i],
        "%ctaid": lambda group: group.cta.index[i],
        "%nctaid": lambda group: group.cta.launch.grid[i],
        "%clusterid": lambda group: group.cta.index[i] // group.cta.launch.cluster[i],
        "%nclusterid": lambda group: group.cta.launch.grid[i] // group.cta.launch.cluster[i],
        "%cluster_ctaid": lambda group: group.cta.index[i] % group.cta.launch.cluster[i],
        "%cluster_nctaid": lambda group: group.cta.launch.cluster[i],
    }
    found: dict[str, tuple[PtxType, _Read]] = {f"{name}.{axis}": (U32, _same(read)) for name, read in values.items()}
    found[f"%tid.{axis}"] = (U32, lambda group: group.cta.thread_ids[i][group.first : group.last])
    return found


def _table() -> dict[str, tuple[PtxType, _Read]]:
    table: dict[str, tuple[PtxType, _Read]] = {}
    for index, axis in enumerate("xyz"):
        table |= _axis(index, axis)
    table["%laneid"] = (U32, lambda group: (group.lanes % WARP).astype(np.uint32))
    table["%warpid"] = (U32, lambda group: (group.lanes // WARP).astype(np.uint32))
    table["%nwarpid"] = (U32, _same(lambda group: len(group.cta.lanes) // WARP))
    table["%smid"] = (U32, _same(lambda group: group.cta.linear_index % _MULTIPROCESSORS))
    table["%nsmid"] = (U32, _same(lambda group: _MULTIPROCESSORS))
    for name in _LANE_MASKS:
        table[f"%lanemask_{name}"] = (U32, _lane_mask(name))
    table["%cluster_ctarank"] = (U32, _same(lambda group: group.cta.rank))
    table["%cluster_nctarank"] = (U32, _same(lambda group: len(group.cta.cluster.ctas)))
    table["%is_explicit_cluster"] = (
        PRED,
        lambda group: np.full(len(group.lanes), len(group.cta.cluster.ctas) > 1),
    )
    table["%dynamic_smem_size"] = (U32, _same(lambda group: group.cta.launch.dynamic_shared))
    table["%total_smem_size"] = (U32, _same(lambda group: group.cta.launch.program.shared_end))
    table["%aggr_smem_size"] = table["%total_smem_size"]
    for name, offset in RESERVED_OFFSETS.items():
        table[name] = (U32, _same(lambda group, offset=offset: offset))
    for name in _ZEROS:
        zero = U64 if _WIDE_ZERO.fullmatch(name) else U32
        table[name] = (zero, lambda group, zero=zero: np.zeros(len(group.lanes), zero.dtype))
    # The driver's: cooperative groups expect the address of the grid's workspace, high word first.
    table["%envreg1"] = (U32, _same(lambda group: group.cta.launch.grid_workspace >> 32))
    table["%envreg2"] = (U32, _same(lambda group: group.cta.launch.grid_workspace & 0xFFFFFFFF))
    # Time is the number of instructions executed so far.
    table["%clock"] = (U32, _same(lambda group: group.cta.launch.executed & 0xFFFFFFFF))
    table["%clock_hi"] = (U32, _same(lambda group: group.cta.launch.executed >> 32))
    table["%clock64"] = (U64, _same64(lambda group: group.cta.launch.executed))
    table["%globaltimer"] = (U64, _same64(lambda group: group.cta.launch.executed))
    table["%globaltimer_lo"] = table["%clock"]
    table["%globaltimer_hi"] = table["%clock_hi"]
    return table


SPECIAL_REGISTERS = _table()
