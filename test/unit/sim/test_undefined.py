"""Values that were never written may be carried around, but not used."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.kernels import HEADER
from unit.sim.strict import run

from tirx.sim import SimError

# %t is the thread, %even whether it is even, %u, %v and %q were never written; %d is the thread's place in the result.
_KERNEL = """{header}.visible .entry k(.param .u64 out) {{
  .reg .b32 %t, %u, %v, %r<8>; .reg .pred %even, %q, %p<4>; .reg .b64 %d, %d1; .reg .f32 %f<4>; .reg .b16 %h<4>;
  .shared .align 16 .b8 s[256]; .local .align 16 .b8 l[16];
  mov.u32 %t, %tid.x; ld.param.u64 %d, [out]; mad.wide.u32 %d, %t, 4, %d;
  mov.b32 %r7, s; mad.lo.u32 %r7, %t, 4, %r7; and.b32 %r1, %t, 1; setp.eq.u32 %even, %r1, 0; mov.b32 %r0, 7;
  {body}
  st.global.b32 [%d], %r0; ret;
}}
"""

_UNUSED = {
    "a register": "add.u32 %v, %u, 1; mul.lo.u32 %r2, %v, %v;",
    "the other choice": "selp.b32 %r2, %u, 7, %even; mov.b32 %r0, 7; selp.b32 %r0, %r0, %r2, %even;",
    "a predicate that decides": "and.pred %p0, %even, %q; selp.b32 %r2, 1, 7, %p0; selp.b32 %r0, 7, %r2, %even;",
    "a comparison that decides": "setp.lt.and.u32 %p0, %u, 5, %even; selp.b32 %r2, 1, 7, %p0; "
    "selp.b32 %r0, 7, %r2, %even;",
    "another lane": "@%even mov.b32 %u, 7; shfl.sync.idx.b32 %r0, %u, 2, 31, 0xffffffff;",
    "both parts of a pair": "mov.b64 %d1, {%u, %v}; mov.b64 {%r2, %r3}, %d1;",
    "shared memory": "ld.shared.b32 %r2, [%r7]; add.u32 %r2, %r2, 1;",
    "shared memory, stored there": "st.shared.b32 [%r7], %u; st.shared.b32 [%r7], 7; ld.shared.b32 %r0, [%r7];",
    "one thread's shared memory": "@%even st.shared.b32 [%r7], 7; ld.shared.b32 %r2, [%r7]; "
    "selp.b32 %r0, %r2, 7, %even;",
    "local memory": "st.local.b32 [l], %u; st.local.b32 [l+4], 7; ld.local.b32 %r2, [l]; ld.local.b32 %r0, [l+4];",
    "local memory by generic addresses": "mov.b64 %d1, l; cvta.local.u64 %d1, %d1; st.b32 [%d1], %u; "
    "st.b32 [%d1], 7; ld.b32 %r0, [%d1];",
}
_USED = {
    "a sum": ("add.u32 %r0, %u, 1;", "register %u is read but was never written, and %r0 depends on it"),
    "a choice": ("selp.b32 %r0, %u, 7, %even;", "register %u is read"),
    "a predicate": ("and.pred %p0, %even, %q; selp.b32 %r0, 1, 7, %p0;", "register %q is read"),
    "a disjunction": ("or.pred %p0, %even, %q; selp.b32 %r0, 1, 7, %p0;", "register %q is read"),
    "a comparison": ("setp.lt.or.u32 %p0, %u, 5, %even; selp.b32 %r0, 1, 7, %p0;", "register %u is read"),
    "a branch": ("setp.eq.u32 %p0, %u, 0; @%p0 bra END; mov.b32 %r0, 1; END:", "and %p0 depends on it"),
    "another lane": ("@%even mov.b32 %u, 7; shfl.sync.idx.b32 %r0, %u, 3, 31, 0xffffffff;", "register %u is read"),
    "a pair": ("mov.b64 %d1, {%u, %t}; mov.b64 {%r0, %r2}, %d1;", "register %u is read"),
    "an address": ("add.u32 %r2, %u, %r7; ld.shared.b32 %r0, [%r2];", "and %r2 depends on it"),
    "shared memory": ("ld.shared.b32 %r0, [%r7];", "a load reads shared address 0x400, which was never written"),
    "shared memory, stored there": ("st.shared.b32 [%r7], %u; ld.shared.b32 %r0, [%r7];", "shared address 0x400"),
    "local memory": ("st.local.b32 [l], %u; ld.local.b32 %r0, [l];", "local memory that holds what was never written"),
    "an atomic": ("atom.shared.add.u32 %r0, [%r7], 1;", "reads shared address 0x400, which was never written"),
    "a vote": ("vote.sync.ballot.b32 %r0, %q, 0xffffffff;", "register %q is read"),
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("body", _UNUSED.values(), ids=_UNUSED.keys())
def test_what_is_not_used(body: str, seed: int | None) -> None:
    out = np.zeros(64, np.uint32)
    run(_KERNEL.format(header=HEADER, body=body), "k", 1, 64, [out], seed=seed)
    np.testing.assert_array_equal(out, 7)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("body", "message"), _USED.values(), ids=_USED.keys())
def test_what_is_used(body: str, message: str, seed: int | None) -> None:
    with pytest.raises(SimError) as caught:
        run(_KERNEL.format(header=HEADER, body=body), "k", 1, 32, [np.zeros(32, np.uint32)], seed=seed)
    assert message in str(caught.value), str(caught.value)


_CALL = """{header}.func (.param .b32 r) f(.param .b32 a) {{
  .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 1; st.param.b32 [r], %x; ret;
}}
.visible .entry k(.param .u64 out) {{
  .reg .b32 %u, %r; .reg .b64 %d; .param .b32 q; .param .b32 s;
  ld.param.u64 %d, [out]; mov.b32 %r, 6;
  {body}
  st.global.b32 [%d], %r; ret;
}}
"""
_PASSED = "st.param.b32 [q], %u; call (s), f, (q);"


@pytest.mark.parametrize(
    "body",
    [
        f"{_PASSED} ld.param.b32 %r, [s];",
        f"{_PASSED} st.param.b32 [q], %r; call (s), f, (q); {_PASSED} ld.param.b32 %r, [s];",
        "st.param.b32 [q], %u; call (%r), f, (q);",
        "call (%r), f, (%u);",
    ],
)
def test_what_a_function_makes_of_it(body: str) -> None:
    with pytest.raises(SimError, match="never written"):
        run(_CALL.format(header=HEADER, body=body), "k", 1, 1, [np.zeros(1, np.uint32)])


@pytest.mark.parametrize(
    "body",
    [
        f"{_PASSED} st.param.b32 [q], %r; call (s), f, (q); ld.param.b32 %r, [s];",
        f"{_PASSED} call (s), f, (%r); ld.param.b32 %r, [s];",
        f"{_PASSED} call (%r), f, (6);",
    ],
)
def test_a_function_is_called_with_other_values_later(body: str) -> None:
    out = np.zeros(1, np.uint32)
    run(_CALL.format(header=HEADER, body=body), "k", 1, 1, [out])
    assert out[0] == 7
