"""tensormap.replace, tensormap.cp_fenceproxy, and tensor maps at addresses (PTX ISA, sections 9.7.9.27, 9.7.13.16)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, B64, WARP, Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import COLLECTIVE, Fence, Scope
from tirx.sim.isa.decoder import Decoder, uniform
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import global_accesses, spaces
from tirx.sim.memory.addresses import OFFSET_MASK, SPACES, WINDOW_SHIFT
from tirx.sim.memory.tensor_map_bytes import ALIGNMENT, FIELDS, MAGIC, SIZE
from tirx.sim.program.code import Step
from tirx.sim.reader.syntax import Immediate
from tirx.sim.tensor_map import TensorMap

_WHAT = "the tensor map"
# Fields with a value of 64 bits, those with an index (and the number of them), and those with a literal value.
_WIDE = ("global_address", "global_stride")
_INDEXED = {"box_dim": 5, "global_dim": 5, "global_stride": 4, "element_stride": 5}
_LITERAL = ("elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode")
_REPLACED = ("global_address", "rank", *_INDEXED, *_LITERAL)
_SPACES = {"global": "global", "shared::cta": "shared", None: "generic"}
_SCOPES = ("cta", "cluster", "gpu", "sys")


def map_at(
    group: ThreadGroup, lane: int, address: int, rank: int, moved: int | None = None, *, stores: bool = False
) -> TensorMap:
    """The tensor map of `rank` dimensions at a generic address, as the tensormap proxy sees it for a copy of a lane.

    `moved`: the global address of the tensor for this copy, in place of that of the map.
    """
    launch = group.cta.launch
    space, offset = SPACES.get(address >> WINDOW_SHIFT), address & OFFSET_MASK
    if space not in ("param", "const", "global"):
        raise SimError(f"expected the generic address of a tensor map, found {address:#x}")
    if address % ALIGNMENT:
        raise SimError(f"expected an address of a tensor map that is a multiple of {ALIGNMENT}, found {address:#x}")
    if space == "param":
        raw: Array = launch.parameters.data[offset : offset + SIZE]
    elif space == "const":
        raw = launch.const_memory.bytes_at(address, SIZE, _WHAT)
    else:
        raw = launch.global_memory.bytes_at(address, SIZE, _WHAT)
        if launch.checks:
            launch.tensor_maps.check_visible(group.cta.linear_index, address, raw)
        global_accesses.map_read(group, lane, address, raw, stores=stores)
    if moved is not None:
        raw = raw.copy()
        _set(raw, "global_address", None, moved)
    found = launch.tensor_maps.find(raw)
    if found.rank != rank:
        raise SimError(f"expected a tensor map of {rank} dimensions, found one of {found.rank}")
    return found


@instruction("tensormap")
def _tensormap(decoder: Decoder) -> Step:
    operation = decoder.need("replace", "cp_fenceproxy")
    return _replace(decoder) if operation == "replace" else _copy(decoder)


def _replace(decoder: Decoder) -> Step:
    """[map] [, index], value: the rank is given less one, strides in bytes (as ptxas has them since CUDA 12.5)."""
    decoder.need("tile")
    field = decoder.need(*_REPLACED)
    space = _SPACES[decoder.take("global", "shared::cta")]
    decoder.need("b1024")
    value_type = decoder.type(B64 if field in _WIDE else B32)
    indexed = field in _INDEXED
    decoder.finish(2 + indexed)
    addresses = decoder.address(0)
    space = addresses.space or space
    index = decoder.constant(1, "the index of a dimension as a literal") if indexed else None
    if index is not None and not 0 <= index < _INDEXED[field]:
        raise decoder.error(f"expected an index from 0 to {_INDEXED[field] - 1} of .{field}, found {index}")
    if field in _LITERAL and not isinstance(decoder.operand(1), Immediate):
        raise decoder.error(f"expected a literal for .{field}")
    values = decoder.source(1 + indexed, value_type)

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        where, value = addresses.values(group, mask), values(group, mask)
        for lane in np.flatnonzero(mask).tolist():
            one, at = np.array([lane]), where[lane : lane + 1]
            own_space, _, own = spaces.split_generic(at)[0] if space == "generic" else (space, None, at)
            raw = _read(group, one, own_space, own)
            _set(raw, field, index, int(value[lane]))
            spaces.store(group, np.repeat(one, SIZE // 16), own_space, _pieces(own), raw.reshape(-1, 16))
            if own_space == "global":
                cta.launch.tensor_maps.replaced(int(own[0]))

    return step


def _pieces(address: Array) -> Array:
    return (address + np.arange(0, SIZE, 16).astype(np.uint64)).astype(np.uint64)


def _read(group: ThreadGroup, lane: Array, space: str, address: Array) -> Array:
    """The 128 bytes at an address of a state space, read by one lane (a copy)."""
    if int(address[0]) % ALIGNMENT:
        raise SimError(
            f"expected an address of a tensor map that is a multiple of {ALIGNMENT}, found {int(address[0]):#x}"
        )
    lanes = np.repeat(lane, SIZE // 16)
    return spaces.load(group, lanes, space, _pieces(address), np.dtype(np.uint8), 16).reshape(-1)


def _set(raw: Array, field: str, index: int | None, value: int) -> None:
    record = raw.view(FIELDS)[0]
    # A map may be made of zeros.
    record["magic"] = MAGIC
    limit = np.iinfo(FIELDS[field].base).max
    if value > limit:
        raise SimError(f"expected a value of .{field} up to {limit}, found {value}")
    if index is None:
        record[field] = value
    else:
        record[field][index] = value


def _copy(decoder: Decoder) -> Step:
    """[target in global memory], [source in shared memory], 128: copied by the warp, and released."""
    for modifier in ("global", "shared::cta", "tensormap::generic", "release"):
        decoder.need(modifier)
    fence = Fence(Scope[decoder.need(*_SCOPES).upper()], acquires=False)
    decoder.need("sync")
    decoder.need("aligned")
    decoder.finish(3)
    if decoder.constant(2) != SIZE:
        raise decoder.error(f"expected a size of {SIZE}, found {decoder.constant(2)}")
    targets, sources = decoder.address(0).values, decoder.address(1).values
    width = SIZE // WARP

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "tensormap.cp_fenceproxy")
        offsets = (np.arange(WARP) * width).astype(np.uint64)
        for first in range(0, len(mask), WARP):
            own = np.zeros_like(mask)
            own[first : first + WARP] = mask[first : first + WARP]
            target = uniform(targets(group, mask), own, "the target")
            source = uniform(sources(group, mask), own, "the source")
            if target % SIZE or source % SIZE:
                raise SimError(f"expected addresses that are multiples of {SIZE}, found {target:#x} and {source:#x}")
            lanes = np.arange(first, first + WARP)
            # Every lane copies its part: what other lanes have written has to be visible to it.
            data = spaces.load(group, lanes, "shared", source + offsets, np.dtype(np.uint8), width)
            spaces.store(group, lanes, "global", target + offsets, data, COLLECTIVE)
        group.cta.monitor.fence(group.cta.threads(group, mask), fence)
        global_accesses.fence(group, np.flatnonzero(mask), fence)

    return step
