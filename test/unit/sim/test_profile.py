"""`Profile` counts what a kernel does; `progress` hears of the CTAs that end."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import Observer, Observers, Profile
from tirx.sim.hazards.monitor import Monitor


def _profile(body: str, outputs: int = 1024, *, block: int = 32, seed: int | None = None) -> Profile:
    profile = Profile()
    prologue = "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [out]; mov.u32 %r1, s;\n"
    text = entry(prologue + body, declarations=".shared .align 16 .b8 s[8192];")
    run(text, "k", 1, block, [np.zeros(outputs, np.uint32)], observer=profile, check=False, seed=seed)
    return profile


def _conflicts(stride: int, access: str, lanes: str = "") -> Sequence[int]:
    """Requests, wavefronts and conflicts of a load of shared memory at thread * stride."""
    found = _profile(f"{lanes} mad.lo.u32 %r1, %r0, {stride}, %r1; {access};")
    return found.requests, found.wavefronts, found.conflicts


@together(
    ("stride", "access", "counts"),
    [
        (4, "ld.shared.b32 %r2, [%r1]", (1, 1, 0)),
        (0, "ld.shared.b32 %r2, [%r1]", (1, 1, 0)),  # one word for all
        (8, "ld.shared.b32 %r2, [%r1]", (1, 2, 1)),
        (128, "ld.shared.b32 %r2, [%r1]", (1, 32, 31)),
        (132, "ld.shared.b32 %r2, [%r1]", (1, 1, 0)),
        (1, "ld.shared.u8 %r2, [%r1]", (1, 1, 0)),
        (8, "ld.shared.v2.b32 {%r2, %r3}, [%r1]", (1, 2, 0)),
        (16, "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1]", (1, 4, 0)),
        (128, "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1]", (1, 32, 28)),
        (128, "st.shared.b32 [%r1], %r0", (1, 32, 31)),
        (64, "atom.shared.add.u32 %r2, [%r1], 1", (1, 16, 15)),
    ],
)
def test_bank_conflicts(stride: int, access: str, counts: tuple[int, int, int]):
    assert _conflicts(stride, access) == counts


def test_conflicts_are_of_the_threads_that_take_part():
    assert _conflicts(128, "@%p0 ld.shared.b32 %r2, [%r1]", "setp.lt.u32 %p0, %r0, 5;") == (1, 5, 4)


@pytest.mark.parametrize("seed", [None, 1])
def test_every_warp_has_its_own_requests(seed: int | None):
    found = _profile("mad.lo.u32 %r1, %r0, 8, %r1; ld.shared.b32 %r2, [%r1];", block=96, seed=seed)
    assert (found.requests, found.wavefronts, found.conflicts) == (3, 6, 3)
    assert found.bytes == {("shared", "read"): 384}
    assert found.instructions["ld.shared.b32"] == 3


def test_bytes_of_global_memory():
    found = _profile(
        """
        mad.wide.u32 %d0, %r0, 16, %d0;
        ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%d0];
        setp.lt.u32 %p0, %r0, 4;
        @%p0 st.global.b32 [%d0], %r2;
        @%p0 red.global.add.u32 [%d0], 1;
        """
    )
    assert found.bytes == {("global", "read"): 512 + 16, ("global", "written"): 16 + 16}


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_instructions_that_split_or_wait_count_once(seed: int | None):
    """Two warps go different ways and meet at a barrier; a split thread group starts its instruction again."""
    found = _profile(
        """
        setp.lt.u32 %p0, %r0, 32;
        @%p0 bra skip;
        add.u32 %r2, %r0, 1;
        skip: bar.sync 0;
        vote.sync.ballot.b32 %r3, %p0, 0xffffffff;
        """,
        block=64,
        seed=seed,
    )
    counts = {name: found.instructions[name] for name in ("setp.lt.u32", "bra", "add.u32", "bar.sync", "ret")}
    assert counts == {"setp.lt.u32": 2, "bra": 2, "add.u32": 1, "bar.sync": 2, "ret": 2}
    assert found.instructions["vote.sync.ballot.b32"] == 2


def test_tensor_core_operations():
    text = entry(
        """
        mov.f64 %z, 0d0000000000000000;
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0, %e1}, {%z}, {%z}, {%z, %z};
        """,
        declarations=".reg .f64 %e<2>, %z;",
    )
    profile, other = Profile(), Profile()
    run(text, "k", 3, 64, [np.zeros(1)], observer=Observers(profile, other))
    assert profile.tensor_operations == other.tensor_operations == 3 * 2 * 2 * 8 * 8 * 4


def test_the_monitor_is_the_first_that_an_observer_has():
    none, monitor = Observer(), Monitor()
    some, other = Mock(), Mock()
    some.monitor.return_value, other.monitor.return_value = monitor, Monitor()
    for observers, expected in (((), None), ((none, none), None), ((none, some, other), monitor)):
        assert Observers(*observers).monitor(2, 64, print) is expected
    some.monitor.assert_called_once_with(2, 64, print)
    other.monitor.assert_not_called()


def test_table_has_the_numbers():
    found = _profile("mad.lo.u32 %r1, %r0, 128, %r1; ld.shared.b32 %r2, [%r1];").table()
    rows = {name.strip(): value for name, value in (line.rsplit(maxsplit=1) for line in found.splitlines())}
    assert rows["warp instructions"] == "6"
    assert rows["ld.shared.b32"] == "1"
    assert rows["shared memory, bytes read"] == "128"
    assert rows["shared memory wavefronts"] == "32"
    assert rows["of them bank conflicts"] == "31"


def test_progress():
    heard: list[tuple[int, int]] = []

    def progress(ended: int, total: int) -> None:
        heard.append((ended, total))

    run(entry(""), "k", (2, 3), 32, [np.zeros(1)], cluster=2, progress=progress)
    assert heard == [(2, 6), (4, 6), (6, 6)]
