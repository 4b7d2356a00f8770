"""Room for the slots of a ring, before there is code for each of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tirx.hw.targets import Target
from tirx.passes.rings.ring_code import RingStorage
from tirx.rules import RingLoweringError


def test_slots_fill_shared_memory_at_most() -> None:
    """With two mbarriers of 8 bytes for three stations; tiles in tensor memory take none of it."""
    tiles = [SimpleNamespace(stride=stride, in_tensor_memory=stride == 512) for stride in (512, 896, 104)]
    stations = [SimpleNamespace(first=first) for first in (0, None, 7)]
    target = Target.parse("sm_90a")  # 232448 bytes, 227 KiB
    storage: Any = RingStorage(SimpleNamespace(), target)  # pyright: ignore[reportArgumentType]
    for slots in (227, 228):
        plan = SimpleNamespace(tiles=tiles, stations=stations, word_bytes=8, slots=slots)
        ring = SimpleNamespace(location=None)
        if slots * 1024 <= target.shared_limit:
            storage._check_size(ring, plan)
        else:
            with pytest.raises(RingLoweringError) as error:
                storage._check_size(ring, plan)
            assert str(error.value.message) == (
                "expected at most 232448 bytes of shared memory on sm_90a, found 233472 in 228 slots of 1024 bytes "
                "with their mbarriers"
            )
