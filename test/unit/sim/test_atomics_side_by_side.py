"""Blocks that run side by side and meet in global memory: atomics, locks, tickets and barriers of the grid."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from tirx.sim import run
from tirx.sim.core import schedule
from tirx.sim.core.execute_wide import run_wide
from tirx.sim.core.wave import WideGroup
from tirx.sim.errors import HazardError
from tirx.sim.memory import spaces
from tirx.sim.program.code import Program

_KERNEL = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 state) {{
  .reg .b64 %d<5>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .pred %p<4>; .shared .align 4 .b32 s[64];
  ld.param.u64 %d0, [out]; ld.param.u64 %d1, [state];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
  mad.lo.u32 %r3, %r1, 32, %r0; mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d0, %d2; setp.eq.u32 %p0, %r0, 0;
  {body}
  ret;
}}
"""
# The last block to come sums what all of them have stored.
_LAST = """cvt.rn.f32.u32 %f0, %r3; st.global.f32 [%d2], %f0; membar.gl; bar.sync 0;
  @!%p0 bra END; atom.global.inc.u32 %r4, [%d1], 1000; add.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, %r2; @%p1 bra END;
  membar.gl; mov.f32 %f1, 0f00000000; mov.u32 %r5, 0; shl.b32 %r6, %r2, 5;
NEXT: mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d0, %d3; ld.global.f32 %f2, [%d3]; add.f32 %f1, %f1, %f2;
  add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r6; @%p2 bra NEXT; st.global.f32 [%d1+4], %f1;
END:"""
# A counter that is not updated atomically, behind a lock.
_LOCK = """@!%p0 bra END;
AGAIN: atom.global.acquire.gpu.cas.b32 %r4, [%d1], 0, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra AGAIN;
  ld.global.u32 %r5, [%d1+4]; add.u32 %r5, %r5, %r1; st.global.u32 [%d1+4], %r5;
  membar.gl; atom.global.release.gpu.exch.b32 %r4, [%d1], 0;
END:"""
# Two rounds: each block reads what its neighbour has stored in the first one.
_GRID = """st.global.u32 [%d2], %r3; membar.gl; bar.sync 0; @!%p0 bra MET; red.release.gpu.global.add.u32 [%d1], 1;
WAIT: ld.acquire.gpu.global.u32 %r4, [%d1]; setp.lt.u32 %p1, %r4, %r2; @%p1 bra WAIT;
MET: bar.sync 0; xor.b32 %r5, %r3, 32; mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d0, %d3;
  ld.volatile.global.u32 %r6, [%d3]; red.global.add.u32 [%d1+4], %r6;"""
# Each thread of the grid gets another number.
_TICKETS = """@%p0 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %r10, [s], 1;
  atom.global.add.u32 %r4, [%d1], 1; mul.wide.u32 %d3, %r4, 4; add.u64 %d3, %d0, %d3; st.global.u32 [%d3], %r4;
  red.global.max.u32 [%d1+4], %r3;"""
_SUM = "cvt.rn.f32.u32 %f0, %r3; mul.f32 %f0, %f0, 0f3DCCCCCD; red.global.add.f32 [%d1+4], %f0;"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of blocks that have run side by side."""
    found: list[int] = []

    def counted(group: WideGroup, program: Program, limit: int) -> int:
        found.append(len(group.parts))
        return run_wide(group, program, limit)

    monkeypatch.setattr(schedule, "run_wide", counted)
    return found


def _run(body: str, blocks: int, **options: Any) -> tuple[Any, Any]:
    out, state = np.zeros(32 * blocks, np.uint32), np.zeros(2, np.uint32)
    run(_KERNEL.format(body=body), "k", blocks, 32, [out, state], **options)
    return out, state


def test_who_waits_for_a_lock_fails_once_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the eight takes it while the others fail, those fail once more, and it is given back."""
    counted = Mock(wraps=spaces.update)
    monkeypatch.setattr(spaces, "update", counted)
    _run(_LOCK, 8)
    assert counted.call_count == 8 + 7 + 8


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("blocks", [1, 12])
def test_what_does_not_depend_on_the_order(blocks: int, seed: int | None, wide: list[int]) -> None:
    count = 32 * blocks
    _, state = _run(_LAST, blocks, seed=seed)
    assert state[:1].tolist() == [blocks] and state.view(np.float32)[1] == count * (count - 1) // 2
    _, state = _run(_LOCK, blocks, seed=seed)
    assert state.tolist() == [0, blocks * (blocks - 1) // 2]
    out, state = _run(_TICKETS, blocks, seed=seed)
    assert out.tolist() == list(range(count)) and state.tolist() == [count, count - 1]
    if blocks > 1:
        _, state = _run(_GRID, blocks, seed=seed)
        assert state.tolist() == [blocks, count * (count - 1) // 2]
    assert (max(wide, default=1) > 8) is (blocks > 8 and seed is None)


def test_sums_in_a_fixed_order() -> None:
    """They depend on the order of the blocks, which is the same in every run."""
    sums = {_run(_SUM, 20)[1].view(np.float32)[1].item() for _ in range(2)}
    assert len(sums) == 1 and abs(sums.pop() - 0.1 * 640 * 639 / 2) < 1


# Operations, with the registers of the operands and the result, and the bytes that they update.
_OPERATIONS = (
    *((f"atom.global.{name}.u32", "%r8", "%r4", 4) for name in ("add", "min", "max", "inc", "dec")),
    *((f"atom.global.{name}.b32", "%r8", "%r4", 4) for name in ("and", "or", "xor", "exch")),
    ("atom.global.add.s32", "%r8", "%r4", 4),
    ("atom.global.cas.b32", "%r8, %r3", "%r4", 4),
    ("atom.global.cas.b32", "%r9, %r3", "%r4", 4),
    ("atom.global.exch.b128", "%q0", "%q1", 16),
    ("atom.global.cas.b128", "%q0, %q2", "%q1", 16),
    *((f"atom.global.{name}.noftz.f16x2", "%r8", "%r4", 4) for name in ("add", "min", "max")),
    ("atom.global.add.noftz.bf16x2", "%r8", "%r4", 4),
    ("atom.global.add.noftz.f16", "%h0", "%h1", 2),
    ("atom.global.add.f32", "%r8", "%r4", 4),
    ("atom.global.add.f64", "%d3", "%d4", 8),
    ("atom.global.add.v2.f32", "{%r8, %r3}", "{%r4, %r5}", 8),
    ("red.global.add.f32", "%r8", "", 4),
    ("atom.shared.add.u32", "%r8", "%r4", 4),
    ("atom.shared.add.f32", "%r8", "%r4", 4),
)
# The word that each thread updates, of its index in the grid (%r3) and in the block (%r0).
_WORDS = {
    "own": "mov.u32 %r10, %r3;",
    "of the blocks": "mov.u32 %r10, %r0;",
    "one": "mov.u32 %r10, 0;",
    "some": "mul.lo.u32 %r10, %r3, %r3; shr.u32 %r10, %r10, 7; and.b32 %r10, %r10, 7;",
}
_UPDATE = """.reg .b128 %q<3>; .reg .b16 %h<2>; .shared .align 16 .b8 sums[4096];
  mul.lo.u32 %r8, %r3, -1640531535; and.b32 %r8, %r8, {bits}; or.b32 %r8, %r8, {more}; and.b32 %r9, %r8, 3;
  mov.b64 %d3, {{%r8, %r8}}; mov.b64 %d4, {{%r0, %r1}}; mov.b128 %q0, {{%d4, %d3}}; mov.b128 %q2, {{%d3, %d4}};
  cvt.u16.u32 %h0, %r8; mov.u32 %r4, 0; mov.u32 %r5, 0; mov.b16 %h1, 0; mov.b128 %q1, {{%d3, %d3}};
  mov.u32 %r11, sums; shl.b32 %r6, %r0, 2; add.u32 %r6, %r6, %r11; st.shared.u32 [%r6], 0; bar.sync 0;
  {word} and.b32 %r6, %r10, 31; mad.lo.u32 %r11, %r6, {size}, %r11;
  mul.wide.u32 %d4, %r10, {size}; add.u64 %d1, %d1, %d4; mov.b64 %d4, 0;
  {update}
  cvt.u32.u16 %r6, %h1; xor.b32 %r4, %r4, %r6; mov.b64 {{%r6, %r7}}, %d4; xor.b32 %r4, %r4, %r6; xor.b32 %r5, %r5, %r7;
  mov.b128 {{%d3, %d4}}, %q1; mov.b64 {{%r6, %r7}}, %d3; xor.b32 %r4, %r4, %r6; xor.b32 %r4, %r4, %r5; bar.sync 0;
  ld.shared.u32 %r6, [sums]; xor.b32 %r4, %r4, %r6; st.global.u32 [%d2], %r4;"""


def _sixteen(lanes: int) -> int:
    return 512 // lanes


def _one(lanes: int) -> int:
    return 32 // lanes


@pytest.mark.parametrize("word", list(_WORDS))
@pytest.mark.parametrize("operation", _OPERATIONS, ids=lambda each: f"{each[0]} {each[1]}")
@pytest.mark.sample(6)
def test_updates_as_one_block_after_another(
    operation: tuple[str, str, str, int], word: str, monkeypatch: pytest.MonkeyPatch, wide: list[int]
) -> None:
    """Memory and results have the bits that they have without blocks side by side; numbers with and without NaNs."""
    opcode, operands, result, size = operation
    address = "[%r11]" if "shared" in opcode else "[%d1]"
    update = f"{opcode} {result + ', ' if result else ''}{address}, {operands};"
    for bits, more in ((0x03FF0FFF, 0x3C003C00), (0xFFFFFFFF, 0), (0x807FFFFF, 0)):  # of any kind; subnormal ones
        found: list[Any] = []
        body = _UPDATE.format(word=_WORDS[word], update=update, size=size, bits=bits, more=more)
        for size_of_wave in (_sixteen, _one):
            with monkeypatch.context() as patch:
                patch.setattr(schedule, "wave_size", size_of_wave)
                out, state = np.zeros(32 * 20, np.uint32), np.arange(4 * 32 * 20, dtype=np.uint32) % 7
                ptx = _KERNEL.format(body=body).replace("8.0", "8.6").replace("sm_80", "sm_90")
                run(ptx, "k", 20, 32, [out, state])
            found.append([out.tolist(), state.tolist()])
        assert found[0] == found[1] and max(wide) == 16


def test_updates_of_too_narrow_a_scope() -> None:
    """They are a race between blocks that update a word, and none where each block has its own."""
    update = "{word} mul.wide.u32 %d4, %r10, 4; add.u64 %d1, %d1, %d4; red.relaxed.cta.global.add.u32 [%d1], 1;"
    state = np.zeros(32 * 20, np.uint32)
    for name in ("own", "one"):
        ptx = _KERNEL.format(body=update.format(word=_WORDS[name]))
        if name == "own":
            run(ptx, "k", 20, 32, [np.zeros(1, np.uint32), state])
            assert (state == 1).all()
        else:
            with pytest.raises(
                HazardError, match=r"thread 0 of CTA \(1, 0, 0\) writes byte 0 .*the scope of one of them"
            ):
                run(ptx, "k", 20, 32, [np.zeros(1, np.uint32), state])
