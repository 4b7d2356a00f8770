"""Whole timelines of small kernels: every segment of every lane."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from unit.cases import together
from unit.sim.kernels import entry

from tirx.sim import Timeline, run
from tirx.sim.timeline import RingName, RoleName, StepModel, TileName


def _picture(timeline: Timeline) -> list[str]:
    """A line for each lane and, indented, for each segment: steps, kind, instructions, PTX lines, label and cause."""
    lines: list[str] = []
    for number, lane in enumerate(timeline.lanes):
        lines.append(f"{number} {lane.kind} of block {lane.block}: {lane.group}, {lane.name}")
        for each in lane.segments:
            cause = "" if each.cause is None else f" <- lane {each.cause[0]} at {each.cause[1]}"
            place = f"{each.count} at {each.line}-{each.last_line}"
            lines.append(f"  {each.start}-{each.end} {each.kind} {place} {each.label}{cause}".rstrip())
    return lines


def _tile(name: str, start: int, stride: int) -> TileName:
    return TileName(name, "shared", start, stride)


# Bulk copies into both tiles of slot 0, cp.async into those of slot 1, with another mbarrier, and a copy out.
_COPIES = entry(
    """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, s; mov.b32 %r2, bar; ld.param.u64 %d0, [x];
  @!%p0 bra $ready;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.init.shared::cta.b64 [%r2+8], 64;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d0], 256, [%r2];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+512], [%d0], 256, [%r2];
$ready:
  bar.sync 0;
$w0: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra $w0;
  shl.b32 %r3, %r0, 2; add.u32 %r3, %r1, %r3;
  ld.shared.b32 %r4, [%r3]; add.u32 %r5, %r4, 1; ld.shared.b32 %r4, [%r3];
  st.shared.b32 [%r3+512], %r4;
  cvt.u64.u32 %d1, %r0; shl.b64 %d1, %d1, 2; add.u64 %d1, %d1, %d0;
  cp.async.ca.shared.global [%r3+256], [%d1], 4;
  cp.async.ca.shared.global [%r3+768], [%d1], 4;
  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2+8];
$w1: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2+8], 0; @!%p1 bra $w1;
  cp.async.ca.shared.global [%r3+256], [%d1], 4;
  cp.async.wait_all;
  @!%p0 bra $end;
  cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1+256], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
$end:
""",
    ("x",),
    ".shared .align 128 .b8 s[1024]; .shared .align 8 .b8 bar[16];",
)

# Each CTA of a pair stores a word and adds 16 bytes to slot 1 of the other one.
_REMOTE = entry(
    """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, s; mov.b32 %r2, bar; mov.u32 %r6, %cluster_ctarank;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 20;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  xor.b32 %r7, %r6, 1; shl.b32 %r3, %r0, 2; add.u32 %r3, %r1, %r3;
  mapa.shared::cluster.u32 %r4, %r3, %r7; mapa.shared::cluster.u32 %r5, %r2, %r7;
  mov.b32 %r10, s; mapa.shared::cluster.u32 %r9, %r10, %r7;
  @%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4+128], %r0, [%r5];
  fence.proxy.async.shared::cta;
  @%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32
    [%r9+128], [%r1], 16, [%r5];
$w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra $w;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
""",
    (),
    ".shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar;",
).replace("8.6", "9.0")

# Two warpgroups share the tensor core.
_WARPGROUPS = entry(
    """
  mov.b32 %r1, s; shr.u32 %r2, %r1, 4; cvt.u64.u32 %d0, %r2; st.shared.b32 [%r1], 0; st.shared.b32 [%r1+4], 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d0, 0, 1, 1, 0, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d0, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
""",
    (),
    ".shared .align 1024 .b8 s[8192];",
).replace("sm_100a", "sm_90a")

# Two products into the two slots of a ring of tensor memory, whose operands are in its first shared tile.
_TENSOR = entry(
    """
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; setp.eq.u32 %p1, %r0, 0; mov.b32 %r1, s; mov.b32 %r2, bar;
  mov.b32 %r3, slot;
  @!%p0 bra $ready;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
$ready:
  bar.sync 0;
  ld.shared.b32 %r4, [%r3]; shr.u32 %r5, %r0, 5; shl.b32 %r5, %r5, 21; add.u32 %r5, %r5, %r4; mov.b32 %r8, 0;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5+32], {%r8};
  tcgen05.wait::st.sync.aligned;
  bar.sync 0;
  @!%p1 bra $wait;
  shr.u32 %r6, %r1, 4; cvt.u64.u32 %d0, %r6; mov.b32 %r7, 0x8040010; mov.b64 %d1, 0x400800800000; or.b64 %d0, %d0, %d1;
  tcgen05.mma.cta_group::1.kind::f16 [%r4], %d0, %d0, %r7, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%r4+32], %d0, %d0, %r7, 1;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];
$wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra $wait;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r8}, [%r5];
  tcgen05.wait::ld.sync.aligned;
  bar.sync 0;
  @!%p0 bra $end;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;
$end:
""",
    (),
    ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar; .shared .b32 slot;",
)

# Products of a warp: 2048 and 1024 multiplications.
_PRODUCTS = entry(
    """
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};
  add.u32 %r6, %r6, 1;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4}, {%f0,%f1,%f2,%f3};
""",
    (),
)

# A byte below the tiles, then a slot that all units use in turn, one of them again and again.
_SLOTS = entry(
    """
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; ld.param.u64 %d0, [x];
  cvt.u64.u32 %d1, %r2; add.u64 %d1, %d1, %d0;
  st.shared.b32 [%r3+124], %r0;
  cp.async.ca.shared.global [%r3+128], [%d1], 4;
  st.shared.b32 [%r3+128], %r0;
  ld.shared.b32 %r4, [%r3+128];
  cp.async.ca.shared.global [%r3+128], [%d1], 4;
  add.u32 %r4, %r4, 1; add.u32 %r4, %r4, 1; add.u32 %r4, %r4, 1; add.u32 %r4, %r4, 1;
  ld.shared.b32 %r4, [%r3+128];
  cp.async.wait_all;
  ld.shared.b32 %r4, [%r1+384]; ld.shared.b32 %r4, [%r1+256];
""",
    ("x",),
    ".shared .align 128 .b8 s[512];",
)

# Each warp waits for bulk copies that read its half of a slot; threads that did not ask for any wait for nothing.
_READS = entry(
    """
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; ld.param.u64 %d0, [x]; setp.eq.u32 %p0, %r0, 33; add.u32 %r2, %r1, 256;
  cp.async.bulk.wait_group.read 0;
  @!%p0 bra $end;
  cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r2], 240;
  cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r2], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
$end:
  mov.u32 %r3, 1;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};
""",
    ("x",),
    ".shared .align 128 .b8 s[512];",
)

# Scale factors are copied into tensor memory before anything is multiplied.
_SCALES = _TENSOR.replace(
    "  tcgen05.mma.cta_group::1.kind::f16 [%r4], ",
    "  tcgen05.cp.cta_group::1.128x256b [%r4], %d0;\n  tcgen05.mma.cta_group::1.kind::f16 [%r4], ",
)

_TENSOR_TILE = TileName("d", "tensor", 0, 32)
_CASES: dict[str, tuple[str, int, int, int, int, Timeline]] = {
    # name: PTX, bytes of an array, blocks, threads, CTAs of a cluster, the timeline
    "copies": (
        _COPIES, 1024, 1, 64, 1,
        Timeline(
            [RoleName("load", 0, 1)],
            [RingName("r", 2, ("fill", "use"), (1024, None), (_tile("a", 0, 256), _tile("b", 512, 256)))],
            StepModel(100, 128),
        ),
    ),
    "small copies": (
        _COPIES, 1024, 1, 64, 1,
        Timeline([], [RingName("r", 2, ("fill",), (None,), (_tile("a", 0, 512),))], StepModel(7, 256)),
    ),
    "remote": (
        _REMOTE, 0, 2, 96, 2,
        Timeline([], [RingName("r", 2, ("use",), (None,), (_tile("a", 0, 128),))], StepModel(10, 8)),
    ),
    "warpgroups": (
        _WARPGROUPS, 0, 1, 256, 1,
        Timeline([], [RingName("r", 1, ("use",), (None,), (_tile("a", 0, 8192),))], StepModel(products=1024)),
    ),
    "tensor": (
        _TENSOR, 0, 2, 128, 2,
        Timeline(
            [RoleName("load", 0, 2), RoleName("math", 2, 1)],
            [RingName("acc", 2, ("mma", "load"), (16384, None), (_TENSOR_TILE, _tile("x", 0, 16384)))],
            StepModel(products=4096),
        ),
    ),
    "scales": (
        _SCALES, 0, 1, 128, 1,
        Timeline([], [RingName("acc", 2, ("mma",), (None,), (_TENSOR_TILE,))], StepModel(products=65536)),
    ),
    "slots": (
        _SLOTS, 1024, 1, 32, 1,
        Timeline(
            [], [RingName("r", 1, ("fill",), (None,), (_tile("a", 128, 0), _tile("b", 384, 128)))], StepModel(50, 32)
        ),
    ),
    "reads": (
        _READS, 1024, 2, 64, 1,
        Timeline([], [RingName("r", 2, ("fill",), (None,), (_tile("a", 0, 256),))], StepModel(50, 32), 1),
    ),
    "products": (_PRODUCTS, 0, 1, 96, 1, Timeline(model=StepModel(products=1000))),
}  # fmt: skip

_PICTURES = Path(__file__).parent / "data" / "timelines.txt"


def _record(case: str) -> list[str]:
    ptx, size, grid, block, cluster, timeline = _CASES[case]
    run(ptx, "k", grid, block, [np.zeros(size, np.uint8)] * (size > 0), cluster=cluster, observer=timeline, check=False)
    timeline.finish()
    return _picture(timeline)


@together("case", _CASES)
def test_picture(case: str) -> None:
    """An instruction is a step; copies and products take what the model says, and waits end with them."""
    pictures = _PICTURES.read_text().split("\n\n")
    assert [case, *_record(case)] == next(p.splitlines() for p in pictures if p.startswith(f"{case}\n"))
