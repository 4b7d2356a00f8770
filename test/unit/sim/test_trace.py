"""Traces with values and filters, dumps of memories and registers, and who waits for whom."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest

from tirx.sim import Dump, Observer, SimError, Trace, run
from tirx.sim.trace import DumpedState

_SCALE = """
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 x) {
  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f<4>;
  .shared .align 16 .b8 tile[256];
  .shared .align 4 .b8 slot[4];
  ld.param.u64 %d0, [x];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %d1, %r0, 4, %d0;
  ld.global.f32 %f1, [%d1];
  mul.f32 %f1, %f1, 0f40000000;
  mov.u32 %r1, tile;
  mad.lo.u32 %r1, %r0, 4, %r1;
  st.shared.f32 [%r1], %f1;
  bar.sync 0;
  mov.u32 %r2, slot;
  setp.lt.u32 %p0, %r0, 32;
  @!%p0 bra end;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
  bar.warp.sync 0xffffffff;
  ld.shared.b32 %r3, [%r2];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3], {%r0};
  tcgen05.wait::st.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
end:
  ret;
}
""".replace(".reg .f32 %f<4>;", ".reg .f32 %f<4>; .reg .pred %p<2>;")


def _observed(observer: Observer) -> None:
    run(_SCALE, "k", 1, 64, [np.arange(64, dtype=np.float32)], observer=observer)


def _line(text: str) -> int:
    return next(number for number, line in enumerate(_SCALE.splitlines(), 1) if text in line)


def test_values() -> None:
    output = StringIO()
    trace = Trace(output, values=True, threads=range(2, 4), lines=[_line("mul.f32"), _line("mov.u32 %r0")])
    _observed(trace)
    trace.finish()
    assert output.getvalue().splitlines() == [
        f"cta (0, 0, 0) warp 0 line {_line('mov.u32 %r0')}: mov.u32 %r0, %tid.x;",
        "    -> %r0 = [2: 2, 3: 3]",
        f"cta (0, 0, 0) warp 0 line {_line('mul.f32')}: mul.f32 %f1, %f1, 0f40000000;",
        "    %f1 = [2: 2.0, 3: 3.0] -> %f1 = [2: 4.0, 3: 6.0]",
    ]


def test_filters_without_values() -> None:
    output = StringIO()
    trace = Trace(output, threads=range(40, 41))
    _observed(trace)
    trace.finish()
    lines = output.getvalue().splitlines()
    assert lines and all("warp 1 line" in line for line in lines)


def _dumped(line: int, what: DumpedState) -> str:
    output = StringIO()
    _observed(Dump(output, line, what))
    return output.getvalue()


def test_dump_of_registers() -> None:
    text = _dumped(_line("st.shared"), "registers")
    assert text.startswith(f"registers at line {_line('st.shared')}")
    assert "%r0 = [0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, ...]" in text
    assert "%f1 = [0: 0.0, 1: 2.0, 2: 4.0" in text


def test_dump_of_shared_memory() -> None:
    text = _dumped(_line("mov.u32 %r2"), "shared")
    assert "00000000 00000040 00008040 0000c040" in text  # 0, 2, 4, 6
    assert text.count("\n") == 1 + 8


def test_dump_of_tensor_memory() -> None:
    text = _dumped(_line("tcgen05.dealloc"), "tensor")
    assert "columns 480 to 511" in text
    assert "lane  31 column 480: 0000001f" in text and "lane   0" not in text
    assert "nothing is allocated" in _dumped(_line("bar.sync"), "tensor")


_DEADLOCK = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k() {
  .reg .b32 %r<4>; .reg .pred %p<3>;
  .shared .align 8 .b8 bar[16];
  mov.u32 %r0, bar; mov.u32 %r1, %tid.x;
  setp.eq.u32 %p0, %r1, 0;
  @%p0 mbarrier.init.shared.b64 [%r0], 2;
  @%p0 mbarrier.init.shared.b64 [%r0+8], 1;
  bar.sync 0;
  setp.lt.u32 %p1, %r1, 32;
  @!%p1 bra other;
  @%p0 mbarrier.arrive.shared.b64 _, [%r0];
w: mbarrier.try_wait.parity.shared.b64 %p2, [%r0], 0;
  @!%p2 bra w;
  ret;
other:
v: mbarrier.try_wait.parity.shared.b64 %p2, [%r0+8], 0;
  @!%p2 bra v;
  ret;
}
"""


def test_who_waits_for_whom() -> None:
    with pytest.raises(SimError) as caught:
        run(_DEADLOCK, "k", 1, 64, [])
    text = str(caught.value)
    arrived = next(n for n, line in enumerate(_DEADLOCK.splitlines(), 1) if "mbarrier.arrive" in line)
    assert f"thread 0 has used it on line {arrived} (mbarrier.arrive.shared.b64), now at line {arrived + 1}" in text
    assert "nobody has arrived there, and no copy or commit was told to" in text


def test_barriers_name_the_warps_that_came() -> None:
    text = _DEADLOCK.replace("@!%p1 bra other;", "@!%p1 bra other; bar.sync 1;")
    with pytest.raises(SimError, match=r"at barrier 1, where 32 of 64 threads are \(of warps 0\)"):
        run(text, "k", 1, 64, [])
