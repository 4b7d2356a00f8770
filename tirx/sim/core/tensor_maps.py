"""The tensor maps of a launch, as its bulk tensor copies see them."""

from __future__ import annotations

from tirx.sim.core.types import Array
from tirx.sim.errors import HazardError
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.memory.tensor_map_bytes import decode
from tirx.sim.tensor_map import TensorMap


class TensorMaps:
    """
    Decoded tensor maps by their bytes, and the bytes that the tensormap proxy may read (PTX ISA, section 8.9.5).

    Maps in parameters and constants do not change. `initial` are those in global memory by address, at the launch.
    Whoever changes one there has to release it, and a thread of every CTA that uses it has to acquire it then.
    """

    def __init__(self, memory: FlatMemory):
        self._memory = memory
        self._decoded: dict[bytes, TensorMap] = {}
        self.initial: dict[int, bytes] = {}
        self._replaced: set[int] = set()  # addresses of those that were replaced, but not released
        self._acquired: dict[tuple[int, int], bytes] = {}  # by the place of the CTA in the grid, and address

    def find(self, raw: Array) -> TensorMap:
        """Decodes a tensor map of 128 bytes, or returns the one decoded before."""
        key = raw.tobytes()
        found = self._decoded.get(key)
        if found is None:
            found = self._decoded[key] = decode(raw, self._memory)
        return found

    def replaced(self, address: int) -> None:
        """tensormap.replace has changed a map in global memory."""
        self._replaced.add(address)

    def released(self) -> None:
        """fence.proxy.tensormap::generic.release: all that was replaced before it may be acquired."""
        self._replaced.clear()

    def acquire(self, cta: int, address: int, raw: Array) -> None:
        """fence.proxy.tensormap::generic.acquire by a thread of `cta`."""
        if address in self._replaced:
            raise HazardError(
                f"the tensor map at {address:#x} was replaced, but not released to the tensormap proxy: expected "
                "fence.proxy.tensormap::generic.release before it is acquired"
            )
        self._acquired[cta, address] = raw.tobytes()

    def check_visible(self, cta: int, address: int, raw: Array) -> None:
        """Raises HazardError if a copy of `cta` may see another map at `address` than the bytes that are there."""
        seen = raw.tobytes()
        if self._acquired.get((cta, address)) != seen and self.initial.get(address) != seen:
            raise HazardError(
                f"the tensor map at {address:#x} is not one of the launch, or has changed: expected "
                "fence.proxy.tensormap::generic.acquire of it in this CTA before it is used"
            )
