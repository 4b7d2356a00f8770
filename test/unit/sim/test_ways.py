"""Lanes of blocks side by side that branch differently compute, and report, what one block after another does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tirx.sim import Observer, SimWarning, run
from tirx.sim.core import schedule
from tirx.sim.core.execute_wide import run_wide
from tirx.sim.core.wave import WideGroup
from tirx.sim.program.code import Program

_BLOCKS, _THREADS = 6, 72
_KERNEL = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 bins) {{
  .reg .b64 %out, %bins, %d; .reg .b32 %x, %h, %g, %n<9>; .reg .f32 %f<4>; .reg .pred %p; .local .align 4 .b32 slot;
  ld.param.u64 %out, [out]; ld.param.u64 %bins, [bins];
  mov.u32 %g, %ctaid.x; mov.u32 %x, %ntid.x; mov.u32 %h, %tid.x; mad.lo.u32 %g, %g, %x, %h; mov.u32 %x, %g;
  {body}
  mul.wide.u32 %d, %g, 4; add.u64 %d, %out, %d; st.global.u32 [%d], %x;
  ret;
}}
"""
# A number of few bits that differs from lane to lane, or from block to block.
_HASHES = (
    "mad.lo.u32 %h, %x, 0x9E3779B1, 7; shr.u32 %h, %h, 29;",
    "mov.u32 %h, %ctaid.x; and.b32 %h, %h, 3;",
    "shr.u32 %h, %g, 5; and.b32 %h, %h, 3;",
)
_STEPS = (
    "mad.lo.u32 %x, %x, 5, 3;",
    "xor.b32 %x, %x, %g;",
    "and.b32 %h, %x, 7; mul.wide.u32 %d, %h, 4; add.u64 %d, %bins, %d; red.global.add.u32 [%d], 1;",
    "and.b32 %h, %x, 7; mul.wide.u32 %d, %h, 4; add.u64 %d, %bins, %d; atom.global.add.u32 %h, [%d+32], %x;",
    "st.local.u32 [slot], %x; add.u32 %x, %x, 1; ld.local.u32 %h, [slot]; xor.b32 %x, %x, %h;",  # not for all blocks
)


def _body(rng: random.Random, depth: int, label: list[int]) -> str:
    """Returns random steps, with branches and loops inside of each other."""
    lines: list[str] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(("step", "if", "loop")) if depth else "step"
        label[0] += 1
        name, some = f"L{label[0]}", rng.choice(_HASHES)
        if kind == "step":
            lines.append(rng.choice(_STEPS))
        elif kind == "if":
            inner, other = (_body(rng, depth - 1, label) for _ in range(2))
            test = f"setp.lt.u32 %p, %h, {rng.randint(1, 3)}; @%p bra {name}A;"
            lines.append(f"{some} {test} {inner} bra {name}B; {name}A: {other} {name}B:")
        else:
            count = f"%n{depth}"
            again = f"setp.ne.u32 %p, {count}, 0; sub.u32 {count}, {count}, 1; @%p bra {name};"
            lines.append(f"{some} mov.u32 {count}, %h; {name}: {_body(rng, depth - 1, label)} {again}")
    return "\n  ".join(lines)


def _run(
    body: str, blocks: int = _BLOCKS, threads: int = _THREADS, **options: Any
) -> tuple[list[int], list[int], list[str]]:
    out, bins, found = np.zeros(blocks * threads, np.uint32), np.zeros(16, np.uint32), list[SimWarning]()
    run(_KERNEL.format(body=body), "k", blocks, threads, [out, bins], report=found.append, **options)
    return out.tolist(), bins.tolist(), [f"{each.line}: {each.message}" for each in found]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of instructions that blocks have executed side by side."""
    found: list[int] = []

    def counted(group: WideGroup, program: Program, limit: int) -> int:
        found.append(run_wide(group, program, limit))
        return found[-1]

    monkeypatch.setattr(schedule, "run_wide", counted)
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sample(2)
def test_random_ways(seed: int, steps: list[int]) -> None:
    body = _body(random.Random(seed), 3, [0])
    alone = _run(body, observer=Observer())
    assert not steps
    assert _run(body) == alone and len(steps)


def test_loops_of_different_lengths_need_one_group(steps: list[int]) -> None:
    body = f"{_HASHES[0]} mov.u32 %n0, %h; A: mad.lo.u32 %x, %x, 5, 3; sub.u32 %n0, %n0, 1; setp.lt.s32 %p, %n0, 0; "
    body += "@!%p bra A;"
    alone = _run(body, observer=Observer())
    assert _run(body) == alone
    assert len(steps) == 1 and steps[0] == _BLOCKS * (7 + 2 + 1 + 8 * 4 + 3)


def test_lanes_that_have_not_met_again_are_reported() -> None:
    """An .aligned instruction behind a branch that parts a warp: as one block finds it."""
    product = (
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%x, %x, %x, %x}, {%x, %x}, "
        "{%f0, %f1, %f2, %f3};"
    )
    zero = " ".join(f"mov.f32 %f{index}, 0f00000000;" for index in range(4))
    body = f"{zero} mov.u32 %x, 0; setp.lt.u32 %p, %h, 9; @%p bra A; add.u32 %x, %x, 0; A: BETWEEN {product}"
    for between, count in (("", 1), ("bar.warp.sync 0xFFFFFFFF;", 0)):
        text = body.replace("BETWEEN", between)
        found = [_run(text, 4, 64, **options)[2] for options in ({}, {"observer": Observer()})]
        assert found[0] == found[1] and len(found[0]) == count


def test_a_lane_that_waits_for_another_of_its_warp(steps: list[int]) -> None:
    """Lanes that spin until one that has left the loop goes on: blocks leave each other, and go on alone."""
    body = """
A: atom.global.cas.b32 %n0, [%bins], 0, 1; setp.ne.u32 %p, %n0, 0; @%p bra A;
  ld.volatile.global.u32 %n1, [%bins+4]; add.u32 %n1, %n1, 1; st.volatile.global.u32 [%bins+4], %n1; membar.gl;
  atom.global.exch.b32 %n0, [%bins], 0;"""
    _, bins, _ = _run(body, 2, 40)
    assert bins[:2] == [0, 80] and steps
