"""Branches, calls, exits and reconvergence; launches and their arguments."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER, entry, run_threads
from unit.sim.strict import run

from tirx.sim import SimError

_SEEDS = [None, 0, 1, 2]


def _collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.sample(2)
def test_divergent_loop(seed: int | None):
    """Loops of different lengths with branches inside, one early exit, and communication behind them."""
    text = entry(
        """
  mov.u32 %r0, %tid.x; mov.u32 %r9, %ctaid.x; mov.u32 %r10, %ntid.x; mad.lo.u32 %r0, %r9, %r10, %r0;
  add.u32 %r1, %r0, 1; mov.u32 %r2, 0;
LOOP:
  setp.eq.u32 %p0, %r1, 1; @%p0 bra DONE;
  and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra EVEN;
  mad.lo.u32 %r1, %r1, 3, 1; bra NEXT;
EVEN: shr.u32 %r1, %r1, 1;
NEXT: add.u32 %r2, %r2, 1; bra LOOP;
DONE:
  shfl.sync.bfly.b32 %r4, %r2, 1, 31, 0xffffffff;
  vote.sync.ballot.b32 %r5, %p0, 0xffffffff;
  ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 8, %d0;
  setp.eq.u32 %p2, %r0, 5; @%p2 exit;
  st.global.v2.u32 [%d0], {%r2, %r4};
  setp.ne.u32 %p3, %r5, -1; @%p3 trap;"""
    )
    out = np.zeros((192, 2), np.uint32)
    run(text, "k", 2, 96, [out], seed=seed)
    expected = [[0, 0] if t == 5 else [_collatz(t + 1), _collatz((t ^ 1) + 1)] for t in range(192)]
    assert out.tolist() == expected


@together("seed", _SEEDS)
def test_nested_divergence(seed: int | None):
    """Lanes leave a loop at different places; the activemask at the end says that all have met again."""
    inputs = np.arange(128, dtype=np.uint32).reshape(32, 4)
    result = run_threads(
        """
  and.b32 %r0, %thread, 7; mov.u32 %o0, 0;
OUTER:
  setp.eq.u32 %p0, %r0, 0; @%p0 bra END;
  sub.u32 %r0, %r0, 1; mov.u32 %r1, %r0;
INNER:
  setp.eq.u32 %p1, %r1, 3; @%p1 bra END;
  setp.eq.u32 %p2, %r1, 0; @%p2 bra OUTER;
  sub.u32 %r1, %r1, 1; add.u32 %o0, %o0, 1; bra INNER;
END:
  activemask.b32 %o1;""",
        inputs,
        2,
        seed=seed,
    )

    def expected(lane: int) -> int:
        outer, count = lane & 7, 0
        while outer:
            outer -= 1
            inner = outer
            while True:
                if inner == 3:
                    return count
                if inner == 0:
                    break
                inner, count = inner - 1, count + 1
        return count

    assert result[:, 0].tolist() == [expected(lane) for lane in range(32)]
    assert (result[:, 1] == 0xFFFFFFFF).all()


@together("seed", _SEEDS)
def test_table_branch(seed: int | None):
    result = run_threads(
        """
  rem.u32 %r0, %thread, 3;
  T: .branchtargets A, B, C;
  brx.idx %r0, T;
A: mov.u32 %o0, 10; bra.uni END;
B: mov.u32 %o0, 20; bra.uni END;
C: mov.u32 %o0, 30;
END: activemask.b32 %o1;""",
        np.zeros((64, 4), np.uint32),
        2,
        seed=seed,
    )
    assert result[:, 0].tolist() == [10 + 10 * (lane % 3) for lane in range(64)]
    assert (result[:, 1] == 0xFFFFFFFF).all()
    with pytest.raises(SimError, match="expected an index below 1"):
        run_threads("T: .branchtargets A; brx.idx %thread, T; A: mov.u32 %o0, 1;", np.zeros((32, 4), np.uint32))


_CALLS = (
    HEADER
    + """
.func (.param .b32 result) twice(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [result], %a; ret;
}
.func (.param .b32 result) choose(.param .b32 x) {
  .reg .b32 %a, %b; .reg .pred %p;
  ld.param.b32 %a, [x]; and.b32 %b, %a, 1; setp.eq.u32 %p, %b, 1; @%p bra ODD;
  call (%b), twice, (%a); st.param.b32 [result], %b; ret;
ODD: setp.eq.u32 %p, %a, 9; @%p exit;
  add.u32 %a, %a, 1000; st.param.b32 [result], %a; ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %r; .reg .b64 %d; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u64 %d, [out]; mad.wide.u32 %d, %t, 4, %d; mov.u32 %r, 7;
  setp.ne.u32 %p, %t, 4;
  @%p call.uni (%r), choose, (%t);
  st.global.u32 [%d], %r;
  activemask.b32 %r; setp.ne.u32 %p, %r, 0xFFFFFDFF; @%p trap;
}
"""
)


@together("seed", _SEEDS)
def test_calls(seed: int | None):
    """Divergent and guarded calls, calls of calls, and an exit in one of them."""
    out = np.zeros(32, np.uint32)
    run(_CALLS, "k", 1, 32, [out], seed=seed)
    expected = [7 if t == 4 else 0 if t == 9 else t + 1000 if t % 2 else 2 * t for t in range(32)]
    assert out.tolist() == expected


def test_special_registers_and_dimensions():
    text = entry(
        """
  mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0;
  mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %nctaid.x; mad.lo.u32 %r7, %r5, %r6, %r4;
  mad.lo.u32 %r8, %r7, 40, %r3; ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r8, 8, %d0;
  mov.u32 %r9, %laneid; mov.u32 %r10, %lanemask_lt; st.global.v2.b32 [%d0], {%r9, %r10};"""
    )
    out = np.zeros((6 * 40, 2), np.uint32)
    run(text, "k", (3, 2), (8, 5), [out])
    lanes = np.tile(np.arange(40) % 32, 6)
    assert np.array_equal(out, np.stack([lanes, (1 << lanes) - 1], axis=1))


def test_arguments():
    text = (
        HEADER
        + """.entry k(.param .f32 f, .param .u16 h, .param .align 8 .b8 s[16], .param .f16 x, .param .u64 out) {
  .reg .b32 %a, %c, %e; .reg .b64 %d, %b; .reg .b16 %h, %x;
  ld.param.f32 %a, [f]; ld.param.u16 %h, [h]; ld.param.u64 %b, [s+8]; ld.param.b16 %x, [x];
  ld.param.u64 %d, [out];
  st.global.b32 [%d], %a; st.global.b16 [%d+4], %h; st.global.b16 [%d+6], %x; st.global.b64 [%d+8], %b;
}"""
    )
    out = np.zeros(16, np.uint8)
    run(text, "k", 1, 1, [1.5, -2, bytes(range(16)), np.float16(2.5), out])
    assert out[:4].view(np.float32)[0] == 1.5 and out[4:6].view(np.int16)[0] == -2
    assert out[6:8].view(np.float16)[0] == 2.5 and out[8:].tolist() == list(range(8, 16))


@together(
    ("arguments", "message"),
    [
        ([], "expected 1 arguments for k (x), found 0"),
        ([np.zeros(3)], "found an array: only parameters of 8 bytes hold pointers"),
        ([1 << 32], "expected a value of 32 bits for x"),
        ([1.5], "expected an integer for x"),
        ([np.zeros((), ml_dtypes.bfloat16)], "expected a value of .u32 for x, found bfloat16"),
    ],
)
def test_wrong_arguments(arguments: list[object], message: str):
    with pytest.raises(SimError) as caught:
        run(HEADER + ".entry k(.param .u32 x) { ret; }", "k", 1, 1, arguments)  # pyright: ignore[reportArgumentType]
    assert message in str(caught.value)


@together(
    ("directives", "grid", "block", "message"),
    [
        (".reqntid 64", 1, 32, "expected block (64, 1, 1) (.reqntid)"),
        (".maxntid 64", 1, 65, "at most 64 threads"),
        ("", 1, 1025, "at most 1024 threads"),
        ("", 0, 32, "positive numbers for the grid"),
        (".reqnctapercluster 2, 1, 1", 3, 32, "expected a grid that is a multiple of the cluster"),
    ],
)
def test_wrong_launches(directives: str, grid: int, block: int, message: str):
    with pytest.raises(SimError) as caught:
        run(HEADER + f".entry k() {directives} {{ ret; }}", "k", grid, block, [])
    assert message in str(caught.value)


def test_unknown_entry():
    with pytest.raises(SimError, match=r"expected the name of an entry of the module \(a, b\), found 'c'"):
        run(HEADER + ".entry a() { ret; } .entry b() { ret; }", "c", 1, 1, [])


def test_an_array_may_be_passed_twice():
    text = entry(
        "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.global.u32 %r0, [%d0+4]; st.global.u32 [%d1], %r0;",
        ("a", "b"),
    )
    x = np.array([1, 2, 3, 4], np.uint32)
    run(text, "k", 1, 1, [x, x[2:]])
    assert x.tolist() == [1, 2, 2, 4]
    y = np.zeros(4, np.uint32)
    y.flags.writeable = False
    with pytest.raises(SimError, match="argument b, which is read-only"):
        run(text, "k", 1, 1, [x, y])


def test_long_loops_are_no_deadlock(monkeypatch: pytest.MonkeyPatch):
    """A loop that only computes ends some time; one that comes to the same state again does not."""
    monkeypatch.setattr("tirx.sim.core.schedule._QUIET_INSTRUCTIONS", 20_000)
    body = """mov.u32 %r0, 0; mov.u32 %r1, 1;
L: mad.lo.u32 %r1, %r1, 3, %r0; add.u32 %r0, %r0, {step}; setp.lt.u32 %p0, %r0, 5500; @%p0 bra L;
ld.param.u64 %d0, [out]; st.global.u32 [%d0], %r0;"""
    out = np.zeros(1, np.uint32)
    run(entry(body.format(step=1)), "k", 1, 32, [out])
    assert out[0] == 5500
    with pytest.raises(SimError, match=r"deadlock(.|\n)*runs without effect"):
        run(entry(body.replace("3, %r0", "1, 0").format(step=0)), "k", 1, 32, [out])
