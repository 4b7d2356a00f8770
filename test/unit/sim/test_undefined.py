"""Values that were never written may be carried around, but not used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.core.types import Array
from tirx.sim.program.undefined import carries

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


@together("seed", [None, 1])
@together("body", _UNUSED.values())
def test_what_is_not_used(body: str, seed: int | None) -> None:
    out = np.zeros(64, np.uint32)
    run(_KERNEL.format(header=HEADER, body=body), "k", 1, 64, [out], seed=seed)
    np.testing.assert_array_equal(out, 7)


@pytest.mark.sample(14)
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


@together(
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


# Of columns 0 and 1 the lower 16 lanes of each warp are written, of column 4 all, of column 8 none.
_CELLS = """.version 8.8
.target sm_103a
.address_size 64
.visible .entry k(.param .u64 out) {{
  .reg .b32 %t, %m, %v, %c, %a, %r<9>; .reg .b64 %d; .reg .pred %low, %first, %p<3>; .shared .align 4 .b8 s[512];
  ld.param.u64 %d, [out]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %r0, %c, 64, %t;
  mad.wide.u32 %d, %r0, 4, %d; setp.lt.u32 %first, %t, 32; and.b32 %r0, %t, 16; setp.eq.u32 %low, %r0, 0;
  mov.b32 %a, s; mad.lo.u32 %a, %t, 4, %a; mov.b32 %v, 7; mov.b32 %r0, 6;
  @%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;
  bar.sync 0; ld.shared.b32 %m, [s]; and.b32 %r1, %t, 32; mad.lo.u32 %m, %r1, 65536, %m; bar.sync 0;
  tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%m], 1, {{%v}};
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%m+4], {{%v}};
  tcgen05.wait::st.sync.aligned;
  {body}
  st.global.b32 [%d], %r0;
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  @%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %m, 32;
  ret;
}}
"""
_WAIT = "tcgen05.wait::ld.sync.aligned;"
_LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%m];"
_LOADED = _LOAD + _WAIT
_NOTHING = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%m+8];"
_FULL = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%m+4];"
_STORE = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%m+4], {%r5}; tcgen05.wait::st.sync.aligned;"
_LOW = "selp.b32 %r0, %r5, 7, %low;"
_COPY = "mov.b32 %r0, %r5;"
_LOADS = [
    ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5, %r6}, [%m];", "%r5", 7),
    ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5, %r6}, [%m];", "%r6", 7),
    ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {_, %r6}, [%m];", "%r6", 7),
    ("tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r5, %r6}, %r7, [%m];", "%r7", 7),
    ("tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%r5}, [%m];", "%r5", 7 << 16 | 7),
]
_CELLS_UNUSED = {
    "the lower lanes": _LOADED + _LOW,
    "two loads": f"{_LOAD} tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r6}}, [%m+4]; {_WAIT} mov.b32 %r0, %r6;",
    "loaded anew": _LOADED + _FULL + _WAIT + _COPY,
    "written anew": f"{_LOADED} mov.b32 %r5, 7; {_COPY}",
    "a load that is not executed": f"{_FULL}{_WAIT} setp.ne.u32 %p0, %v, 7; @%p0 {_LOAD} {_COPY}",
    "another lane": f"{_LOADED} shfl.sync.idx.b32 %r0, %r5, 3, 31, 0xffffffff;",
    "stored in tensor memory": _LOADED + _STORE + _FULL + _WAIT + _LOW,
    "stored and written there": _LOADED + _STORE + _STORE.replace("%r5", "%v") + _FULL + _WAIT + _COPY,
    "another warp": f"add.u32 %r1, %m, 4; selp.b32 %r1, %r1, %m, %first; {_LOAD.replace('%m', '%r1')}{_WAIT}"
    "or.pred %p0, %first, %low; selp.b32 %r0, %r5, 7, %p0;",
}
_BEHIND = "tcgen05.ld reads cells that were never written, and %r5 depends on it"
_CELLS_USED = {
    "global memory": (f"{_LOADED} st.global.b32 [%d], %r5;", _BEHIND),
    "a sum": (f"{_LOADED} add.u32 %r0, %r5, 1;", "never written, and %r0 depends on it"),
    "a branch": (f"{_LOADED} setp.eq.u32 %p0, %r5, 0; @%p0 bra END; mov.b32 %r0, 1; END:", "and %p0 depends on it"),
    "an address": (f"{_LOADED} add.u32 %r2, %r5, %a; ld.shared.b32 %r0, [%r2];", "and %r2 depends on it"),
    "an address of tensor memory": (f"{_LOADED} {_FULL.replace('%m', '%r5').replace('%r5}', '%r6}')}", _BEHIND),
    "shared memory": (f"{_LOADED} st.shared.b32 [%a], %r5; ld.shared.b32 %r0, [%a];", "which was never written"),
    "an atomic": (f"{_LOADED} red.global.add.u32 [%d], %r5;", _BEHIND),
    "a vote": (f"{_LOADED} setp.eq.u32 %p0, %r5, 0; vote.sync.any.pred %p1, %p0, 0xffffffff;", "and %p0 depends on it"),
    "another lane": (f"{_LOADED} shfl.sync.idx.b32 %r0, %r5, 19, 31, 0xffffffff;", "and %r0 depends on it"),
    "a product": (
        f"{_LOADED} mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%r1, %r2, %r3, %r4}}, {{%r5, %v, %v, %v}}, "
        "{%v, %v}, {%v, %v, %v, %v};",
        _BEHIND,
    ),
    "the first of two loads": (
        f"{_LOAD} tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r6}}, [%m+4]; {_WAIT} {_COPY}",
        "and %r0 depends on it",
    ),
    "the second of two loads": (f"{_LOAD.replace('%r5', '%r6')} {_NOTHING} {_WAIT} {_COPY}", "and %r0 depends on it"),
    "loaded anew": (_FULL + _WAIT + _LOADED + _COPY, "and %r0 depends on it"),
    "bytes of a word": (
        f"{_LOADED} prmt.b32 %r5, %r5, %v, 0x3254; {_LOAD}{_WAIT} and.b32 %r0, %r5, 255;",
        "never written, and %r0 depends on it",
    ),
    "a load that is executed": (
        f"{_FULL}{_WAIT} setp.eq.u32 %p0, %v, 7; @%p0 {_LOAD} {_WAIT} {_COPY}",
        "and %r0 depends on it",
    ),
    "stored in tensor memory": (_LOADED + _STORE + _FULL + _WAIT + _COPY, "never written, and %r0 depends on it"),
    "one warp": (
        f"add.u32 %r1, %m, 4; selp.b32 %r1, %r1, %m, %first; {_LOAD.replace('%m', '%r1')} {_WAIT}"
        "setp.eq.u32 %p0, %r5, 7; @%p0 mov.b32 %r0, 7;",
        "(threads 48-63), CTA (0, 0, 0)",
    ),
    "one block": (
        "setp.eq.u32 %p0, %c, 2; selp.b32 %r1, 0, 4, %p0; add.u32 %r1, %m, %r1;"
        f"{_LOAD.replace('%m', '%r1')} {_WAIT} {_COPY}",
        "CTA (2, 0, 0)",
    ),
    "written before the wait": (
        f"{_NOTHING} mov.b32 %r5, 7; {_WAIT}",
        "%r5 is written while a tcgen05.ld to it is not",
    ),
    "loaded before the wait": (_NOTHING + _FULL + _WAIT, "%r5 is written while a tcgen05.ld to it is not"),
    "before the wait": (f"{_NOTHING} {_COPY} {_WAIT}", "%r5 is read before tcgen05.wait::ld"),
    "no wait": (f"{_NOTHING} bra.uni END; END: ret;", "exits before tcgen05.wait::ld of register %r5"),
}


def _run_cells(body: str, **options: Any) -> Array:
    out = np.zeros((3, 64), np.uint32)
    run(_CELLS.format(body=body), "k", 3, 64, [out], **options)
    return out


@pytest.mark.parametrize(("load", "register", "value"), _LOADS)
def test_loads_of_cells(load: str, register: str, value: int) -> None:
    use = f"{load} {_WAIT} add.u32 %r0, {register}, 1;"
    lower = np.arange(64) & 16 == 0
    found = _run_cells(f"{use} selp.b32 %r0, %r0, 6, %low;")
    np.testing.assert_array_equal(found, np.broadcast_to(np.where(lower, value + 1, 6), (3, 64)))
    with pytest.raises(SimError, match="reads cells that were never written, and %r0 depends on it"):
        _run_cells(use)


def test_loads_of_cells_one_of_which_was_written() -> None:
    for load, register, _ in _LOADS[3:]:
        with pytest.raises(SimError, match="reads cells that were never written, and %r0 depends on it"):
            _run_cells(f"{load.replace('%m', '%m+4')} {_WAIT} mov.b32 %r0, {register};")


@pytest.mark.sample(9)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("body", _CELLS_UNUSED.values(), ids=_CELLS_UNUSED.keys())
def test_cells_that_are_not_used(body: str, seed: int | None) -> None:
    np.testing.assert_array_equal(_run_cells(body, seed=seed), 7)


@pytest.mark.sample(22)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("body", "message"), _CELLS_USED.values(), ids=_CELLS_USED.keys())
def test_cells_that_are_used(body: str, message: str, seed: int | None) -> None:
    with pytest.raises(SimError) as caught:
        _run_cells(body, seed=seed)
    assert message in str(caught.value), str(caught.value)


_DROPPED = """{ .reg .b64 %x, %y; .reg .f32 %f<3>; mov.b64 %x, {%r5, %r6}; mul.f32x2 %y, %x, %x;
  mov.b64 {%f0, %f1}, %y; max.f32 %f2, %f0, %f1; fma.rn.f32 %f2, %f2, %f2, %f0; cvt.rn.bf16x2.f32 %r0, %f1, %f2; }"""
_PAIR = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5, %r6}, [%m+8];"


@pytest.mark.parametrize("wait", ["", _WAIT])
def test_cells_that_are_computed_with(wait: str) -> None:
    """A GPU completes loads before a use that LLVM has moved to before the wait; nobody wrote what these read."""
    dropped = f"{_PAIR} {wait} {_DROPPED} mov.b32 %r0, 7; {_WAIT}"
    check = "strict" if wait else "hardware"
    np.testing.assert_array_equal(_run_cells(dropped, check=check), 7)
    with pytest.raises(SimError, match="tcgen05.ld reads cells that were never written, and %r0 depends on it"):
        _run_cells(f"{_PAIR} {wait} {_DROPPED} {_WAIT}", check=check)


@pytest.mark.parametrize(
    ("use", "register"),
    [
        (_COPY, "%r0"),
        ("@!%low st.global.b32 [%d], %r5;", "%r5"),
        ("add.u32 %r2, %r5, %a; ld.shared.b32 %r0, [%r2];", "%r2"),
        ("setp.eq.u32 %p0, %r5, 0; @%p0 bra END; mov.b32 %r0, 1; END:", "%p0"),
        ("setp.eq.u32 %p0, %r5, 0; vote.sync.any.pred %p1, %p0, 0xffffffff;", "%p0"),
        ("shfl.sync.idx.b32 %r0, %r5, 19, 31, 0xffffffff;", "%r0"),
        ("st.shared.b32 [%a], %r5; ld.shared.b32 %r0, [%a];", "%r0"),  # by way of memory
    ],
)
def test_cells_that_are_used_before_the_wait_by_hardware(use: str, register: str) -> None:
    with pytest.raises(SimError, match=f"which was never written|never written, and {register} depends on it"):
        _run_cells(f"{_LOAD} {use} {_WAIT}", check="hardware")


def test_cells_that_are_written_before_the_wait_by_hardware() -> None:
    for body in (
        f"{_FULL} {_COPY} {_WAIT}",
        f"mov.b32 %r0, 7; {_LOAD} @%low {_COPY} {_WAIT}",
        f"{_LOAD} {_LOW} {_WAIT}",
    ):
        np.testing.assert_array_equal(_run_cells(body, check="hardware"), 7)


def test_which_instructions_may_read_what_nobody_wrote() -> None:
    for opcode, expected in (
        ("ld.global.u32", True), ("st.shared.u32", True), ("shfl.sync.bfly.b32", True), ("add.u32", True),
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32", False), ("st.bulk.shared::cta", False),
        ("atom.global.add.u32", False), ("bra", False),
    ):  # fmt: skip
        instruction: Any = SimpleNamespace(opcode=opcode, root=opcode.partition(".")[0])
        assert carries(instruction) is expected, opcode
