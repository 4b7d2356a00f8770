"""Small things that each take one kernel to see: names of threads, races of one thread, products that wait."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from unit.sim.kernels import entry, run_threads
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.core.traffic import Traffic
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.isa.decoder import single, uniform
from tirx.sim.isa.deferred import Products, defer
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


def test_lanes_that_agree() -> None:
    """Only the lanes of the mask count."""
    values = np.array([9, 7, 8, 7], np.uint32)
    assert uniform(values, np.array([False, True, False, True]), "it") == 7
    assert uniform(values, np.array([False, False, True, False]), "it") == 8
    assert single(np.array([False, False, True]), "it") == 2
    with pytest.raises(SimError) as caught:
        uniform(values, np.array([False, True, True, True]), "the address")
    assert caught.value.message == "expected the address to be the same in all lanes, found 7 and 8"
    with pytest.raises(SimError) as caught:
        single(np.array([True, False, True]), "tcgen05.cp")
    assert caught.value.message == "expected one thread to issue tcgen05.cp, found 2 lanes of the warp"


class _Group:
    """What `defer` uses of a thread group."""

    def __init__(self) -> None:
        self.mask, self.deferred = np.ones(1, np.bool_), None

    def finish_deferred(self) -> None:
        waiting, self.deferred = self.deferred, None
        if waiting is not None:
            waiting.finish(self)


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ([("k", True, (1,), (1,))] * 3, [(3, 1)]),  # sums of three
        ([("k", True, (1,), (1,)), ("k", True, (2,), (2,)), ("k", True, (1,), (1,))], [(2, 1), (1, 1)]),
        ([("k", True, (1,), (1,)), ("k", True, (2,), (2,))], [(1, 2)]),  # two at once
        ([("k", False, (1,), (1,))] * 2, [(1, 1), (1, 1)]),  # which may not be one sum
        ([("k", True, (1,), (2,))] * 2, [(1, 1), (1, 1)]),  # D is overwritten
        ([("k", True, (3,), (1,)), ("k", True, (1,), (2,))], [(1, 1), (1, 1)]),  # C is a D before
        ([("k", True, (3,), (1,)), ("k", True, (3,), (2,))], [(1, 2)]),  # and here it is not
        ([("k", True, None, (1,)), ("k", True, None, (2,))], [(1, 1), (1, 1)]),  # C is a literal
        ([("k", True, (1,), (1,)), ("l", True, (1,), (1,))], [(1, 1), (1, 1)]),  # of another shape
        ([("k", True, (1,), (1,))] * 257, [(256, 1), (1, 1)]),
    ],
)
def test_products_that_wait(forms: list[tuple[Any, ...]], expected: list[tuple[int, int]]) -> None:
    """The steps of the sums that are computed together, and how many sums there are; each adds 1 to its C."""
    group: Any = _Group()
    registers = {number: 10 * number for number in range(4)}
    computed: list[tuple[int, int]] = []

    def compute(_group: Any, _mask: Any, a: Any, b: Any, c: Any) -> Any:
        computed.append(a.shape[:2])
        return c + a.sum(axis=0) * b[0]

    wanted = dict(registers)
    for key, chains, c, d in forms:
        form = Products(key, compute, chains, c, d)
        one = np.ones((1, 1))
        wanted[d[0]] = 1 + (5 if c is None else wanted[c[0]])
        read = lambda c=c: np.full((1, 1), 5 if c is None else registers[c[0]])  # noqa: E731

        def write(_group: Any, _mask: Any, words: Any, target: int = d[0]) -> None:
            registers[target] = int(words[0, 0])

        defer(group, form, group.mask, lambda one=one: one, lambda one=one: one, read, write)
    group.finish_deferred()
    assert (computed, registers) == (expected, wanted)
