"""Barriers, mbarriers and races on shared memory."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim import run as simulate

_SEEDS = [None, 3]
# Every thread writes its number and reads that of its mirror image.
_EXCHANGE = "st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r5, [%r4]; bar.sync 0; st.shared.u32 [%r3], %r5;"


def _kernel(body: str) -> str:
    return entry(
        f"""
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2;
  xor.b32 %r4, %r2, 252; add.u32 %r4, %r1, %r4;
  {body}
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r5;""",
        declarations=".shared .align 16 .b8 s[512];",
    )


def _run(body: str, seed: int | None, check: bool = True) -> list[int]:
    out = np.zeros(64, np.uint32)
    run(_kernel(body), "k", 1, 64, [out], seed=seed, check=check)
    return out.tolist()


@together("seed", _SEEDS)
@together(
    "body",
    [
        _EXCHANGE,
        "barrier.sync 1;" + _EXCHANGE,
        _EXCHANGE.replace("bar.sync 0", "bar.sync 3, 64"),
        _EXCHANGE.replace("bar.sync 0", "barrier.cta.sync.aligned 2"),
        _EXCHANGE.replace("bar.sync 0", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned"),
        _EXCHANGE.replace("bar.sync 0", "bar.red.popc.u32 %r9, 1, %p0").replace("st", "setp.lt.u32 %p0, %r0, 9; st", 1),
    ],
)
def test_barriers_order(body: str, seed: int | None):
    assert _run(body, seed) == [lane ^ 63 for lane in range(64)]


@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (_EXCHANGE.replace("bar.sync 0;", "", 1), "never written|data race"),
        (_EXCHANGE[::-1].replace("bar.sync 0;"[::-1], "", 1)[::-1], "data race"),
        (_EXCHANGE.replace("[%r4]", "[%r4+2]"), "misaligned shared load"),
        (_EXCHANGE.replace("[%r4]", "[%r4+1024]"), "out-of-bounds shared load"),
        (_EXCHANGE.replace("[%r4]", "[%r4+256]"), "never written"),
        (_EXCHANGE.replace("bar.sync 0", "bar.sync 3, 96", 1), "deadlock.*at barrier 3, where 64 of 96 threads are"),
        (_EXCHANGE.replace("bar.sync 0", "bar.sync 17", 1), "expected a barrier from 0 to 15, found 17"),
        (
            _EXCHANGE.replace("bar.sync 0;", "setp.eq.u32 %p0, %r0, 3; @%p0 bra X; bar.sync 0; X:", 1),
            r"bar is .aligned: expected all threads of the warp, but it is executed without warp 0 \(thread 3\)",
        ),
        (_EXCHANGE + "add.u32 %r5, %r6, 1;", "register %r6 is read but was never written"),
        ("st.shared.u32 [%r1], %r0; mov.u32 %r5, 0;", "lanes of one store write different values"),
        (_EXCHANGE + "mov.b64 %d2, 64; st.global.u32 [%d2], %r5;", "out-of-bounds global store"),
        ("L: bra L;" + _EXCHANGE, "deadlock.*runs without effect"),
    ],
)
def test_faults(body: str, message: str, seed: int | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tirx.sim.core.schedule._QUIET_INSTRUCTIONS", 20_000)
    with pytest.raises(SimError) as caught:
        _run(body, seed)
    assert re.search(message, str(caught.value), re.DOTALL)
    assert caught.value.line is not None


@pytest.mark.parametrize("seed", _SEEDS)
def test_an_mbarrier_over_bytes_that_another_thread_reads(seed: int | None):
    """Whichever comes first: the initialisation writes what is read, or the load reads an opaque object."""
    body = """setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 32; @%p0 st.shared.u64 [%r1], 0; bar.sync 0;
  @%p1 ld.shared.u32 %r5, [%r1+4]; @%p0 mbarrier.init.shared.b64 [%r1], 1; mov.u32 %r5, 0;"""
    with pytest.raises(SimError, match="data race|is in an mbarrier object"):
        _run(body, seed)
    _run(body.replace("@%p0 mbarrier", "bar.sync 0; @%p0 mbarrier"), seed)


def test_without_checks_a_race_gives_what_the_order_of_the_warps_gives():
    """Without the barrier before the second store, a warp reads what the other has written before it or behind it."""
    racing = _EXCHANGE[::-1].replace("bar.sync 0;"[::-1], "", 1)[::-1]
    found = {tuple(_run(racing, seed, check=False)) for seed in range(8)}
    mirrored, own = [lane ^ 63 for lane in range(64)], list(range(64))
    assert found == {(*mirrored,), (*own[:32], *mirrored[32:]), (*mirrored[:32], *own[32:])}


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_named_barriers(seed: int | None):
    text = entry(
        """
  mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; shl.b32 %r1, %r1, 2; mov.b32 %r2, s; add.u32 %r2, %r2, %r1;
  setp.ge.u32 %p0, %r0, 32; @%p0 bra CONSUMER;
  st.shared.u32 [%r2], %r0; bar.arrive 1, 64; bra END;
CONSUMER:
  bar.sync 1, 64; ld.shared.u32 %r3, [%r2]; ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0;
  st.global.u32 [%d0], %r3;
END:""",
        declarations=".shared .b32 s[32];",
    )
    out = np.zeros(64, np.uint32)
    run(text, "k", 1, 64, [out], seed=seed)
    assert out.tolist() == [0] * 32 + list(range(32))


_PING_PONG = entry(
    """
  mov.u32 %r0, %tid.x; mov.b32 %r1, full; mov.b32 %r2, empty; setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 32;
  bar.sync 0;
  mov.u32 %r3, 0; mov.u32 %r8, 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra CONSUMER;
PRODUCER:
  and.b32 %r4, %r3, 1; xor.b32 %r4, %r4, 1;
P1: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r4; @!%p2 bra P1;
  mul.lo.u32 %r5, %r3, %r3; @%p0 st.shared.u32 [slot], %r5; @%p0 mbarrier.arrive.shared::cta.b64 _, [%r1];
  add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 10; @%p3 bra PRODUCER; ret;
CONSUMER:
  and.b32 %r4, %r3, 1;
C1: mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], %r4; @!%p2 bra C1;
  ld.shared.u32 %r5, [slot]; add.u32 %r8, %r8, %r5; mbarrier.arrive.shared::cta.b64 _, [%r2];
  add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 10; @%p3 bra CONSUMER;
  ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0; st.global.u32 [%d0], %r8;""",
    declarations=".shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .align 4 .b32 slot;",
)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_mbarriers(seed: int | None):
    out = np.zeros(64, np.uint32)
    run(_PING_PONG, "k", 1, 64, [out], seed=seed)
    assert out.tolist() == [0] * 32 + [sum(i * i for i in range(10))] * 32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("xor.b32 %r4, %r4, 1;", "", "waits for phase 0 of the mbarrier"),
        (
            "P1: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r4; @!%p2 bra P1;",
            "",
            "data race|arrivals|deadlock",
        ),
        ("[%r1], 1;", "[%r1], 0;", "expected an mbarrier count from 1"),
        ("[%r1], 1;", "[%r1+4], 1;", "multiple of 8"),
        ("[%r2], 32;", "[%r1], 32;", "initialised again"),
        ("bar.sync 0;", "", "not ordered behind its initialisation|it was not initialised"),
        ("[slot], %r5;", "[full], %r5;", "which is in an mbarrier object"),
    ],
)
@pytest.mark.sample(4)
def test_wrong_mbarriers(old: str, new: str, message: str):
    assert old in _PING_PONG
    with pytest.raises(SimError, match=f"(?s){message}"):
        run(_PING_PONG.replace(old, new), "k", 1, 64, [np.zeros(64, np.uint32)])


def test_a_state_is_waited_for():
    text = entry(
        """
  mov.u32 %r0, %tid.x; mov.b32 %r1, bar; setp.eq.u32 %p0, %r0, 0; mov.u32 %r2, 7;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 64;
  bar.sync 0;
  shl.b32 %r3, %r0, 2; mov.b32 %r4, s; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r0;
  mbarrier.arrive.shared.b64 %d1, [%r1];
W: mbarrier.try_wait.shared.b64 %p1, [%r1], %d1; @!%p1 bra W;
  xor.b32 %r3, %r3, 128; ld.shared.u32 %r2, [%r3];
  ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0; st.global.u32 [%d0], %r2;""",
        declarations=".shared .align 256 .b32 s[64]; .shared .align 8 .b64 bar;",
    )
    for seed in (None, 1, 2):
        out = np.zeros(64, np.uint32)
        run(text, "k", 1, 64, [out], seed=seed)
        assert out.tolist() == [lane ^ 32 for lane in range(64)]


@together(
    ("instructions", "message"),
    [
        (
            "mbarrier.arrive.shared.b64 %d0, [bar]; mbarrier.arrive.shared.b64 %d1, [bar]; "
            "mbarrier.test_wait.shared.b64 %p0, [bar], %d0;",
            "expected a state of the current phase or of the one before, which is 1, found one of phase 0",
        ),
        ("mbarrier.arrive.shared.b64 %d0, [bar]; mbarrier.test_wait.shared.b64 %p0, [bar], %d0;", None),
        (
            "mov.u32 %r0, 0x100000; mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r0;",
            r"transaction count 1048576 is not within \+-\(2\^20 - 1\)",
        ),
        ("setmaxnreg.inc.sync.aligned.u32 260;", "expected a multiple of 8 from 24 to 256, found 260"),
        ("setmaxnreg.dec.sync.aligned.u32 16;", "expected a multiple of 8 from 24 to 256, found 16"),
    ],
)
def test_undefined_numbers(instructions: str, message: str | None):
    """The ISA gives neither states of older phases nor larger counts of bytes and registers a meaning."""
    text = entry(f"mbarrier.init.shared.b64 [bar], 1; {instructions}", declarations=".shared .align 8 .b64 bar;")
    with pytest.raises(SimError, match=message) if message else nullcontext():
        simulate(text, "k", 1, 1, [np.zeros(1, np.uint32)])
