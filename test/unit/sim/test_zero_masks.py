"""Zero-column masks: every field, against runs that are written one behind another."""

from __future__ import annotations

from itertools import chain, cycle, islice
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import message_of

from tirx.sim.tensor import mma
from tirx.sim.tensor.zero_mask import expand_zero_mask, late_start

_PARTS = {128: 1, 64: 2, 32: 4}


def _mask(*, zeroed: int, used: int, first: int, starts: tuple[int, ...] = (), shift: int = 0) -> int:
    """The descriptor of runs of so many columns; bit i of `first`: sub-mask i begins with zeroed ones."""
    counts = sum(count << 8 * index for index, count in enumerate(starts))
    return counts | first << 32 | 1 << 39 | zeroed - 1 << 40 | used - 1 << 48 | shift << 56


def _columns(m: int, n: int, zeroed: int, used: int, first: int, starts: tuple[int, ...]) -> list[bool]:
    found: list[bool] = []
    for index in range(_PARTS[m]):
        runs = [[True] * zeroed, [False] * used]
        endless = chain.from_iterable(cycle(runs if first >> index & 1 else runs[::-1]))
        found += islice(endless, starts[index], starts[index] + n // _PARTS[m])
    return found


@together("m", _PARTS)
@together(
    ("zeroed", "used", "first", "starts"),
    [
        (5, 3, 0b1010, (2, 4, 1, 0)),
        (1, 7, 0b0001, (0, 6, 3, 5)),
        (7, 1, 0b0111, (6, 3, 0, 0)),
        (1, 1, 0b0110, (0, 0, 0, 0)),
        (256, 256, 0b0101, (255, 254, 129, 128)),
        (255, 130, 0b0011, (254, 127, 64, 129)),
        (128, 64, 0b1100, (63, 33, 127, 90)),
    ],
)
def test_runs(m: int, zeroed: int, used: int, first: int, starts: tuple[int, ...]) -> None:
    own = starts[: _PARTS[m]]
    bits = _mask(zeroed=zeroed, used=used, first=first & (1 << _PARTS[m]) - 1, starts=own, shift=13)
    zero, shift = expand_zero_mask(bits, m, 136, 16)
    assert (zero.tolist(), shift) == (_columns(m, 136, zeroed, used, first, own), 13)


def test_masks_that_are_off() -> None:
    """Without bit 39 the rest says nothing, but the shift."""
    bits = _mask(zeroed=4, used=2, first=5, starts=(9, 9), shift=8) & ~(1 << 39)
    for kept in (bits, bits | 1 << 35, 8 << 56):
        zero, shift = expand_zero_mask(kept, 64, 24, 8)
        assert (zero.tolist(), shift) == ([False] * 24, 8)


@together("bit", [36, 37, 38, 62, 63])
def test_reserved_bits(bit: int) -> None:
    bits = 1 << bit | 1 << 39
    assert message_of(lambda: expand_zero_mask(bits, 128, 32, 32)) == (
        f"illegal zero-column mask {bits:#018x}: bits 36-38 and 62-63 must be zero"
    )


@together(("m", "given", "limit"), [(128, 32, 32), (64, 32, 32), (32, 32, 16), (32, 8, 8), (128, 16, 16), (64, 0, 0)])
def test_largest_shifts(m: int, given: int, limit: int) -> None:
    assert expand_zero_mask(limit << 56, m, 32, given)[1] == limit
    for shift in (limit + 1, 63):
        assert message_of(lambda shift=shift: expand_zero_mask(shift << 56, m, 32, given)) == (
            f"illegal zero-column mask {shift << 56:#018x}: shift {shift} is more than {limit} "
            f"(M={m}, maximum shift {given} in the instruction descriptor)"
        )


@pytest.mark.parametrize(("first", "length"), [(0b0100, 6), (0b1011, 200)])
def test_start_counts_beyond_the_first_run(first: int, length: int) -> None:
    starts = (0, 0, length, 0)
    bits = _mask(zeroed=6, used=200, first=first, starts=starts)
    assert expand_zero_mask(bits, 32, 64, 16)[0].tolist() == _columns(32, 64, 6, 200, first, starts)
    assert late_start(bits, 64) is None and late_start(bits & ~(1 << 39), 32) is None  # a sub-mask, a mask that is off
    assert (late_start(bits, 32) or "").startswith(
        f"start count {length} of sub-mask 2 is not below the length {length} "
    )
    starts = (0, 0, length - 1, 0)
    bits = _mask(zeroed=6, used=200, first=first, starts=starts)
    zero, _ = expand_zero_mask(bits, 32, 64, 16)
    assert zero.tolist() == _columns(32, 64, 6, 200, first, starts) and late_start(bits, 32) is None


def test_start_counts_beyond_the_first_run_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mma, "indexed_operand", Mock(return_value=np.zeros((64, 1))))
    fields = Mock(m=32, n=64, max_shift=16)
    for length, count in ((6, 1), (5, 0)):
        bits = _mask(zeroed=6, used=200, first=0b0100, starts=(0, 0, length, 0))
        cta = Mock()
        _, zero, shift = mma._b((cta,), 0, Mock(zero_mask=bits), fields, "tcgen05.mma")  # pyright: ignore[reportPrivateUsage]
        assert zero.tolist() == _columns(32, 64, 6, 200, 0b0100, (0, 0, length, 0)) and shift == 0
        assert cta.launch.note.call_count == count
        if count:
            rule, text = cta.launch.note.call_args.args
            assert rule == "start count of a mask" and text.startswith("tcgen05.mma: start count 6 of sub-mask 2 ")
