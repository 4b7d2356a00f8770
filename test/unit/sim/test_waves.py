"""CTAs that run side by side compute what they compute one after another, and find the same errors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tirx.sim import Observer, SimError, run

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

# CTAs that go different ways, loop for different times, meet again, use shared memory and leave early.
_WAYS = (
    _HEAD
    + """
.visible .entry ways(.param .u64 out, .param .u32 limit) {
  .reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>; .shared .align 16 .b8 s[512];
  ld.param.u64 %d0, [out]; ld.param.u32 %r9, [limit];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
  setp.ge.u32 %p3, %r1, %r9; @%p3 ret;
  mov.u32 %r3, 0; mov.u32 %r4, 0;
AGAIN:
  add.u32 %r3, %r3, %r0; add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, %r1; @%p0 bra AGAIN;
  and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra EVEN;
  add.u32 %r3, %r3, 1000;
  bra JOINED;
EVEN:
  xor.b32 %r5, %r0, %r1; and.b32 %r5, %r5, 3; setp.eq.u32 %p2, %r5, 0; @%p2 add.u32 %r3, %r3, 7;
JOINED:
  mov.u32 %r6, s; shl.b32 %r7, %r0, 2; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r3;
  bar.sync 0;
  xor.b32 %r8, %r0, 1; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r6; ld.shared.u32 %r3, [%r8];
  mad.lo.u32 %r5, %r1, %r2, %r0; mul.wide.u32 %d1, %r5, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r3;
  ret;
}
"""
)


@pytest.mark.parametrize("block", [96, 40])
@pytest.mark.parametrize("check", ["strict", False])
@pytest.mark.sample(2)
def test_as_one_after_another(block: int, check: str | bool) -> None:
    found: list[np.ndarray] = []
    # An observer, and a seed, let CTAs run one after another.
    for options in ({}, {"observer": Observer()}, {"seed": 1}):
        out = np.zeros(24 * block, np.uint32)
        run(_WAYS, "ways", 24, block, [out, 21], check=check, **options)  # type: ignore[arg-type]
        found.append(out)
    assert found[0].any()
    assert all(np.array_equal(one, other) for one, other in pairwise(found))


_FAULTY = (
    _HEAD
    + """
.visible .entry faulty(.param .u64 out, .param .u32 bad) {
  .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p<2>;
  ld.param.u64 %d0, [out]; ld.param.u32 %r2, [bad]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
  setp.eq.u32 %p0, %r1, %r2;
  mad.lo.u32 %r0, %r1, 64, %r0; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1; @%p0 add.u64 %d1, %d1, 4096;
  st.global.u32 [%d1], %r1;
  ret;
}
"""
)


def test_errors_name_the_cta() -> None:
    with pytest.raises(SimError, match=r"PTX line 10: out-of-bounds global store(.|\n)*CTA \(5, 0, 0\)"):
        run(_FAULTY, "faulty", 12, 64, [np.zeros(12 * 64, np.uint32), 5])


_UNDEFINED = (
    _HEAD
    + """
.visible .entry undefined(.param .u64 out, .param .u32 bad) {
  .reg .b32 %r<5>; .reg .b64 %d<3>; .reg .pred %p<2>;
  ld.param.u64 %d0, [out]; ld.param.u32 %r2, [bad]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
  setp.ne.u32 %p0, %r1, %r2; @%p0 mov.u32 %r3, 1;
  add.u32 %r4, %r3, %r1; mad.lo.u32 %r0, %r1, 64, %r0; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1;
  @%p0 st.global.u32 [%d1], %r4;
  setp.eq.u32 %p1, %r2, 3; @%p1 st.global.u32 [%d1], %r4;
  ret;
}
"""
)


def test_undefined_values_are_carried_to_their_uses() -> None:
    run(_UNDEFINED, "undefined", 12, 64, [np.zeros(12 * 64, np.uint32), 5])
    with pytest.raises(SimError, match=r"%r3 is read but was never written(.|\n)*CTA \(3, 0, 0\)"):
        run(_UNDEFINED, "undefined", 12, 64, [np.zeros(12 * 64, np.uint32), 3])
