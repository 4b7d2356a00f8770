"""Undefined bytes: compilers put words together from parts that do not matter, and drop these again."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError, run

_KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {{
  .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .b16 %h<4>;
  ld.param.u64 %d0, [out];
  mov.b32 %r0, 0x44332211;
  {}
  st.global.b32 [%d0], %r9;
  ret;
}}
"""


def _run(body: str) -> int:
    out = np.zeros(1, np.uint32)
    run(_KERNEL.format(body), "k", 1, 32, [out])
    return int(out[0])


@together(
    ("body", "value"),
    [
        # A half that was never written is dropped.
        ("mov.b64 %d1, {%r1, %r0}; mov.b64 {_, %r9}, %d1;", 0x44332211),
        ("mov.b64 %d1, {%r0, %r1}; cvt.u32.u64 %r9, %d1;", 0x44332211),
        ("mov.b64 %d1, {%r1, %r0}; shr.u64 %d1, %d1, 32; cvt.u32.u64 %r9, %d1;", 0x44332211),
        # Bytes of %r1 are chosen, then left out.
        ("prmt.b32 %r2, %r0, %r1, 0x3340; prmt.b32 %r9, %r2, %r0, 0x4440;", 0x11111111),
        ("prmt.b32 %r2, %r0, %r1, 0x7610; and.b32 %r9, %r2, 0xffff;", 0x2211),
        ("mov.b32 %r2, {%h0, %h1}; and.b32 %r2, %r2, 0; or.b32 %r9, %r2, 7;", 7),
        ("shl.b32 %r2, %r1, 16; and.b32 %r2, %r2, 0xff; or.b32 %r9, %r2, 5;", 5),
        ("or.b32 %r2, %r1, 0xff; cvt.u32.u8 %r9, %r2;", 0xFF),
    ],
)
def test_what_is_dropped_may_be_undefined(body: str, value: int) -> None:
    assert _run(body) == value


@together(
    "body",
    [
        "mov.b64 %d1, {%r0, %r1}; mov.b64 {_, %r9}, %d1;",
        "prmt.b32 %r2, %r0, %r1, 0x3340; prmt.b32 %r9, %r2, %r0, 0x4441;",
        "prmt.b32 %r2, %r0, %r1, 0x7610; and.b32 %r9, %r2, 0xff0000;",
        "shl.b32 %r2, %r1, 8; and.b32 %r9, %r2, 0xff00;",
        # Arithmetic depends on all bytes of its operands.
        "mov.b64 %d1, {%r0, %r1}; add.u64 %d1, %d1, 1; mov.b64 {%r9, _}, %d1;",
        # What was known of another value is forgotten.
        "prmt.b32 %r2, %r0, %r1, 0x3340; add.u32 %r2, %r1, 1; prmt.b32 %r9, %r2, %r0, 0x4440;",
    ],
)
def test_what_is_used_must_be_written(body: str) -> None:
    with pytest.raises(SimError, match="register %r1 is read but was never written"):
        _run(body)
