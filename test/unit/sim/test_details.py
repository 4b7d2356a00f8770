"""Small things that each take one kernel to see: names of threads, races of one thread, products that wait."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from unit.sim.kernels import entry, run_threads
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.core.traffic import Traffic
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.isa.mma_sync import multiply_and_add
from tirx.sim.numerics.tensor_cores import find_rule, multiplier
from tirx.sim.tensor.memory import TensorMemory


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("setp.eq.u32 %p0, %r0, 5;", "thread 5"),
        ("setp.ge.u32 %p0, %r0, 28;", "threads 28-31"),
        ("and.b32 %r1, %r0, 7; setp.eq.u32 %p0, %r1, 1;", "threads 1, 9, 17, 25"),
        ("and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 1;", "threads 1, 3, 5, 7, 9, 11, ..."),
        ("setp.ne.u32 %p0, %r0, 2; @!%p0 mov.u32 %r1, 0; setp.lt.and.u32 %p0, %r0, 6, %p0;", "threads 0, 1, 3, 4, 5"),
        ("setp.ne.u32 %p0, %r0, 2; setp.lt.and.u32 %p0, %r0, 7, %p0;", "threads 0, 1, 3, 4, 5, 6"),
    ],
)
def test_threads_have_names(condition: str, named: str) -> None:
    with pytest.raises(SimError) as caught:
        run(entry(f"mov.u32 %r0, %tid.x; {condition} @%p0 trap;", ()), "k", 1, 32, [])
    assert caught.value.where == f"warp 0 ({named}), CTA (0, 0, 0)"


def test_a_race_of_one_thread() -> None:
    """Thread 0 reads a word that thread 32 writes."""
    body = """
      mov.u32 %r0, %tid.x; mov.b32 %r1, s; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 32;
      @%p0 st.shared.b32 [%r1+4], 1; @%p0 ld.shared.b32 %r2, [%r1+4];
      bar.sync 0; @%p0 ld.shared.b32 %r2, [%r1+4]; bar.arrive 1, 64; @%p1 st.shared.b32 [%r1+4], 2;"""
    with pytest.raises(SimError) as caught:
        run(entry(body, (), ".shared .b32 s[4];"), "k", 1, 64, [])
    assert caught.value.message == (
        "shared address 0x404 is written by thread 32 though the read by thread 0 is not ordered before that: data race"
    )


def test_products_of_two_shapes_wait_together() -> None:
    """Neither reads what the other one writes, so both are computed when they are stored."""
    first, second = ("{" + ", ".join(f"%f{each}" for each in four) + "}" for four in ((0, 1, 2, 3), (4, 5, 6, 7)))
    types = "row.col.f32.f16.f16.f32"
    wide = f"mma.sync.aligned.m16n8k16.{types} {first}, {{%r1, %r1, %r1, %r1}}, {{%r1, %r1}}, {first};"
    narrow = f"mma.sync.aligned.m16n8k8.{types} {second}, {{%r1, %r1}}, {{%r1}}, {second};"
    body = f"""
      mov.b32 %r1, 0x3c003c00; mov.b32 %f0, 0f00000000; mov.b32 %f1, %f0; mov.b32 %f2, %f0; mov.b32 %f3, %f0;
      mov.b32 %f4, 0f40000000; mov.b32 %f5, %f4; mov.b32 %f6, %f4; mov.b32 %f7, %f4;
      {wide}
      {narrow}
      {wide}
      mov.b32 %o0, %f3; mov.b32 %o1, %f4;"""
    found = run_threads(body, np.zeros((32, 4), np.uint32), 2).view(np.float32)
    assert (found == [32, 10]).all()


def test_single_cells_of_tensor_memory() -> None:
    """Accesses of one cell, and of cells of which only the first or the last has another owner."""
    memory = TensorMemory(Monitor(), 0, Traffic())
    assert (memory.allocate(64, 1), memory.allocate(32, 1)) == (448, 416)
    lane = np.array([[5]])
    memory.check_cells(lane, np.array([[448]]), "a read")
    for columns in ((447, 448), (447, 448, 448), (446, 447, 448)):
        with pytest.raises(SimError) as caught:
            memory.check_cells(lane, np.array([columns]), "a read")
        assert caught.value.message == f"a read: columns {columns[0]}-{columns[-1]} are of several allocations"
    with pytest.raises(SimError) as caught:
        memory.check_cells(lane, np.array([[415, 416]]), "a read")
    assert caught.value.message == "a read: columns 415-416, but the allocated columns are 32 at 0x1a0, 64 at 0x1c0"


def test_products_of_elements_of_two_types() -> None:
    """The smallest exponent of a subnormal number is that of its own type, which decides what is cut off."""
    decoder = Mock(symbols=Mock(target="sm_89", arithmetic="hardware"))
    rule = find_rule("mma.sync", "sm_89", "e4m3")
    a, b, c = (
        np.full((1, 32), 2.0**-9, np.float32),
        np.full((1, 32), 2.0**-16, np.float32),
        np.zeros((1, 1), np.float32),
    )
    a[0, 1:], b[0, 1:] = 2.0**-6 + 2.0**-9, 2.0**-14 + 2.0**-16
    for first, second, left, right in (("e4m3", "e5m2", a, b), ("e5m2", "e4m3", b, a)):
        found = multiply_and_add(decoder, ("f32", first, second, "f32"), None)(left, right, c)
        assert np.array_equal(found, multiplier(rule, (first, second), "f32")(left, right, c))
