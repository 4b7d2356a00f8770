"""Verdicts of the check of synchronisation on random small programs, most of them one step from right."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.dialects.ptx.core import EntryOp, entries
from tirx.passes.checks.synchronization_rules import check_synchronization
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_PROGRAMS = 18

_HEAD = """ptx.entry @k(a : u64 ptr, n : u32, t : u32, map : b8[128] align 64)
target("{target}") reqntid({threads}){more} {{
%tid = ptx.read_special tid.x
%lane = ptx.read_special laneid
%0 = ptx.constant 0 : i32
%1 = ptx.constant 1 : i32
%4 = ptx.constant 4 : i32
%16 = ptx.constant 16 : i32
%32 = ptx.constant 32 : i32
%last = ptx.constant {last} : i32
%yes = ptx.constant true
%idesc = ptx.constant 138412048 : i32
%rows = ptx.constant 0x4000004000010000 : i64
%tile = ptx.shared_alloc @tile bytes 4096 align 1024
%bars = ptx.shared_alloc @bars bytes 32 align 8
%bar2 = ptx.add %bars, %16 : i32
%n = ptx.ld.param @n : i32
%t = ptx.ld.param @t : i32
%g = ptx.ld.param @a : i64
%map = ptx.param_address @map
%t32 = ptx.add %t, %32 : i32
%offset = ptx.shl %tid, %4 : i32
%own = ptx.add %tile, %offset : i32
%mirror = ptx.xor %tid, %last : i32
%far = ptx.shl %mirror, %4 : i32
%other = ptx.add %tile, %far : i32
%wide = ptx.cvt unsigned %offset : i32 -> i64
%gown = ptx.add %g, %wide : i64
%gfar = ptx.cvt unsigned %far : i32 -> i64
%gother = ptx.add %g, %gfar : i64
%row = ptx.shr unsigned %tile, %4 : i32
%wrow = ptx.cvt unsigned %row : i32 -> i64
%desc = ptx.or %wrow, %rows : i64
%first = ptx.setp eq %tid, %0 : i32
%warp0 = ptx.setp lt %tid, %32 : i32
%lane0 = ptx.setp eq %lane, %0 : i32
%some = ptx.setp eq %n, %0 : i32
%loaded = ptx.ld global %g offset 4096 : i64 -> i32
%any = ptx.setp eq %loaded, %0 : i32
"""
_GUARDS = ("first", "warp0", "lane0", "some", "any")

_SHARED = (
    "ptx.st shared %own, %0 : i32, i32",
    "ptx.st shared %tile, %0 : i32, i32",
    "ptx.st shared %other offset 4, %0, %1 : i32, i32, i32",
    "%v = ptx.ld shared %own offset 12 : i32 -> i32",
    "%v = ptx.ld shared %other : i32 -> i32",
    "%v, %w = ptx.ld shared %tile : i32 -> i32, i32",
)
_GLOBAL = (
    "ptx.st global %gown, %0 : i64, i32",
    "%v = ptx.ld global %gother : i64 -> i32",
    "ptx.st global %g, %0 : i64, i32",
)
_COPIES = (
    'ptx.cp.async "cg" %own, %gown bytes 16',
    'ptx.cp.async "ca" %other, %gown bytes 8',
    "ptx.cp.async.commit_group",
    "ptx.cp.async.commit_group",
    "ptx.cp.async.wait_group 0",
    "ptx.cp.async.wait_group 1",
    "ptx.cp.async.mbarrier.arrive noinc %bars",
)
_BULK = (
    'ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0], %bars',
    "ptx.cp.async.bulk.tensor.store %map[%0], %tile",
    "ptx.cp.async.bulk.commit_group",
    "ptx.cp.async.bulk.wait_group 0",
    "ptx.cp.async.bulk.wait_group 1 read",
    "ptx.mbarrier.arrive.expect_tx %bars, 4096",
)
_MEETING = (
    "ptx.bar.sync 0",
    "ptx.bar.sync 0",
    "ptx.bar.warp.sync",
    'ptx.fence.proxy.async "shared::cta"',
    "ptx.mbarrier.arrive %bars",
    "ptx.mbarrier.arrive %bars relaxed",
    "ptx.mbarrier.wait_parity %bars, %0",
    "ptx.mbarrier.arrive %bar2",
    "ptx.mbarrier.wait_parity %bar2, %0",
)
_BARRIERS = (
    "ptx.mbarrier.init %bars, 1",
    "ptx.mbarrier.init %bar2, 128",
    "ptx.fence.mbarrier_init",
    "ptx.mbarrier.inval %bars",
)
_CLUSTER = ("ptx.barrier.cluster.arrive", "ptx.barrier.cluster.arrive relaxed", "ptx.barrier.cluster.wait")
_TENSOR = (
    "tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64",
    "tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64",
    'tcgen05.cp "128x256b" %t32, %desc : i32',
    "tcgen05.commit %bars",
    "tcgen05.commit %bar2",
    'tcgen05.st "32x32b" num 1 %t, %0 : i32, i32',
    '%v = tcgen05.ld "32x32b" num 1 %t32 : i32 -> i32',
    "tcgen05.wait ld",
    "tcgen05.wait st",
    "tcgen05.fence before_thread_sync",
    "tcgen05.fence after_thread_sync",
    "ptx.mbarrier.wait_parity %bars, %0",
    "ptx.bar.sync 0",
)
_WARPGROUP = (
    "wgmma.fence",
    '%v, %w, %x, %y = wgmma.mma_async "f16" "f16" a(%desc : i64) b(%desc) -> f32, f32, f32, f32',
    "wgmma.commit_group",
    "wgmma.wait_group 0",
    "wgmma.wait_group 1",
    "ptx.bar.sync 0",
    'ptx.fence.proxy.async "shared::cta"',
)
_POOLS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("sm_90", "", _SHARED + _MEETING),
    ("sm_90", "", _GLOBAL + _MEETING),
    ("sm_90", "", _SHARED + _COPIES + _MEETING[:4]),
    ("sm_90", "", _SHARED + _BULK + _MEETING),
    ("sm_90", " cluster(2)", _SHARED + _CLUSTER + _BARRIERS + _MEETING[4:]),
    ("sm_100a", "", _TENSOR),
    ("sm_100a", "", _TENSOR + _SHARED[:4] + _BARRIERS + _MEETING[:5]),
    ("sm_90a", "", _WARPGROUP + _SHARED[:5]),
    ("sm_90a", "", _WARPGROUP[:5] + _SHARED[:1]),
)
"""Target, clauses, and instructions that programs are made of."""


def synchronization() -> str:
    """The first thing that is wrong with each program, as it is and without each of its instructions; and warnings."""
    rng = random.Random(17)
    lines: list[str] = []
    for number in range(_PROGRAMS):
        target, more, pool = _POOLS[number % len(_POOLS)]
        text = _Program(rng, pool).text(target, more)
        (entry,) = entries(parse_located(new_context(), text, "k"))
        lines.append(f"{number}: {_said(entry)}")
        for op in [op for op in entry.walk() if op is not entry and not any(result.uses for result in op.results)]:
            block, following = op.parent_block(), op.next_op
            if block is not None and following is not None:
                op.detach()
                lines.append(f"{number} without {op.location}: {_said(entry)}")
                block.insert_op_before(op, following)
    return "\n".join(lines)


def _said(entry: EntryOp) -> str:
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(f"{each.location}: {each.message}")):
        try:
            check_synchronization(entry)
        except LocatedError as error:
            said.append(f"{error.diagnostic.location}: {error.diagnostic.message}")
    return " ".join(said) or "nothing"


class _Program:
    """Random instructions, some under a guard, some in a loop."""

    def __init__(self, rng: random.Random, pool: tuple[str, ...]):
        self._rng, self._pool = rng, pool
        self._count = 0

    def text(self, target: str, more: str) -> str:
        threads = self._rng.choice((64, 128)) if target == "sm_90" else 128
        lines: list[str] = []
        for _ in range(self._rng.randint(1, 3)):
            shape = self._rng.random()
            part = self._part(self._rng.randint(1, 4))
            lines += self._guarded(part) if shape < 0.3 else self._loop(part) if shape < 0.45 else part
        if not set(_BARRIERS) & set(lines) and any("%bar" in line for line in lines):
            lines[:0] = [*_BARRIERS[:3], "ptx.bar.sync 0"]
        body = "\n".join([*lines, "ptx.ret", "}"])
        head = _HEAD.format(target=target, threads=threads, last=threads - 1, more=more)
        return _without_unused(head, body)

    def _part(self, count: int) -> list[str]:
        return [self._named(self._rng.choice(self._pool)) for _ in range(count)]

    def _named(self, line: str) -> str:
        """A line whose results have names of their own."""
        self._count += 1
        results, equals, rest = line.partition(" = ")
        return f"{re.sub(r'%(?=.)', f'%r{self._count}', results)}{equals}{rest}" if equals else line

    def _guarded(self, part: list[str]) -> list[str]:
        self._count += 1
        yes, end = f"^yes{self._count}", f"^end{self._count}"
        return [
            f"ptx.cond_bra %{self._rng.choice(_GUARDS)}, {yes}, {end}",
            f"{yes}:",
            *part,
            f"ptx.bra {end}",
            f"{end}:",
        ]

    def _loop(self, part: list[str]) -> list[str]:
        self._count += 1
        loop, end, n = f"^loop{self._count}", f"^end{self._count}", self._count
        cut = self._rng.randint(0, len(part))
        inner = [*part[:cut], *(self._guarded(part[cut:]) if part[cut:] and self._rng.random() < 0.4 else part[cut:])]
        return [
            f"ptx.bra {loop}(%0 : i32)",
            f"{loop}(%i{n}: i32):",
            *inner,
            f"%j{n} = ptx.add %i{n}, %1 : i32",
            f"%more{n} = ptx.setp lt %j{n}, %n : i32",
            f"ptx.cond_bra %more{n}, {loop}(%j{n} : i32), {end}",
            f"{end}:",
        ]


def _without_unused(head: str, body: str) -> str:
    """The program without definitions of the head that nothing uses."""
    kept: list[str] = []
    used = set(re.findall(r"%\w+", body))
    for line in reversed(head.splitlines()):
        name, equals, rest = line.partition(" = ")
        if not equals or name in used:
            used.update(re.findall(r"%\w+", rest))
            kept.append(line)
    return "\n".join([*reversed(kept), body])
