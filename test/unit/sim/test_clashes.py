"""Different values that a store writes to one address: errors, unless lanes of one warp only round differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import entry

from tirx.sim import SimError, SimWarning, run
from tirx.sim.core.types import BF16, F16
from tirx.sim.hazards.clashes import RULE, differ_by_rounding

# Partners of a butterfly add products, each of which fuses another one into its sum, and store to one address.
_BUTTERFLY = entry(
    """
  mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0; add.f32 %f0, %f0, 0f3DCCCCCD; mul.f32 %f1, %f0, %f0;
  shfl.sync.bfly.b32 %f2, %f0, 1, 31, -1; mul.f32 %f3, %f2, %f2; fma.rn.f32 %f4, %f0, %f0, %f3;
  shr.u32 %r1, %r0, 1; shl.b32 %r1, %r1, 2; mov.b32 %r2, s; add.u32 %r1, %r1, %r2;
  st.shared.f32 [%r1], %f4; bar.sync 0; ld.shared.f32 %f5, [%r1];
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.f32 [%d0], %f5;""",
    declarations=".shared .align 16 .b8 s[1024];",
)


@together("grid", [1, 3])
@together("seed", [None, 1])
def test_rounding_is_a_warning(grid: int, seed: int | None):
    out, warnings = np.zeros(64, np.float32), list[SimWarning]()
    run(_BUTTERFLY, "k", grid, 64, [out], seed=seed, report=warnings.append)
    numbers = np.arange(64) + np.float64(np.float32(0.1))
    assert np.allclose(out, numbers**2 + numbers[np.arange(64) ^ 1] ** 2, rtol=1e-6) and out[0] == out[1]
    assert [each.rule for each in warnings] == [RULE] and "which differ by rounding" in warnings[0].message
    with pytest.raises(SimError, match="lanes of one store write different values"):
        run(_BUTTERFLY, "k", grid, 64, [out], seed=seed, check="strict")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("st.shared.f32 [%r1], %f4", "st.shared.f32 [%r1], %f0"),  # another number
        ("st.shared.f32 [%r1], %f4", "st.shared.u32 [%r1], %r0"),  # an integer, which is no normal number
        ("shr.u32 %r1, %r0, 1", "and.b32 %r1, %r0, 31"),  # of another warp
    ],
)
def test_more_than_rounding_is_an_error(old: str, new: str):
    assert old in _BUTTERFLY
    with pytest.raises(SimError, match="different values to shared address"):
        run(_BUTTERFLY.replace(old, new), "k", 1, 64, [np.zeros(64, np.float32)])


def _close(values: Any, warps: tuple[int, ...] = (0, 0), dtype: Any = None) -> bool:
    found = np.asarray(values, dtype)
    return differ_by_rounding(np.array([64, 64]), found.reshape(2, -1), np.array(warps))


def test_close_numbers():
    for other, expected in ((1 + 2**-12, True), (1 + 2**-10, False), (-1, False), (np.nan, False)):
        assert _close([1, other], dtype=np.float32) == expected
    assert not _close([0, 1e-40], dtype=np.float32)
    assert _close(np.array([1, 1 + 2**-27])) and not _close(np.array([1, 1 + 2**-25]))
    for dtype, step in ((F16.dtype, 2**-10), (BF16.dtype, 2**-7)):
        for steps in (2, 3):
            assert _close(np.array([1, 1 + steps * step]).astype(dtype)) == (steps == 2)
    assert not _close([1, 1 + 2**-12], (0, 1), np.float32) and _close([[1, 5], [1, 5]], (0, 1), np.float32)


def test_close_bits():
    """Untyped words may be one number or some; the halves that are equal have to be numbers, too."""
    pair = np.array([[1.5, 3], [1.5 + 2**-9, 3]], np.float16)
    assert _close(pair.view(np.uint32)) and not _close(pair.view(np.int32))
    assert not _close(np.array([[1.5, 0], [1.5 + 2**-9, 0]], np.float16).view(np.uint32))
    words = np.array([[1, 7], [1 + 2**-20, 7]], np.float32)
    assert _close(words.view(np.uint32)) and _close(words.view(np.uint64)) and not _close(words.view(np.uint8))
    assert not _close(np.array([5, 6], np.uint32)) and not _close(np.array([-5, -6], np.int32).view(np.uint32))
    # One element that differs by more is enough.
    assert not _close(np.array([[1, 1], [1 + 2**-20, 2]], np.float32))
