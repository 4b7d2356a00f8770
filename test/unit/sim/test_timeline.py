"""Timelines: clocks of warps, units that work in order, slots of rings, and what ends a wait."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tirx
from tirx.runtime.launch import Launch
from tirx.sim import SimError, Timeline, run
from tirx.sim.timeline import Lane
from tirx.tools.timeline_page import named_timeline, timeline_html, timeline_trace

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

_GEMM = """
tirx.kernel @gemm(%a: memref<64x192xf16>, %b: memref<32x192xf16>, %d: memref<64x32xf32>)
    target("sm_90a") grid(1) threads(128) attributes {tirx.stages = 2} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x32xf32, register>
  %gd = tirx.view %d[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x32xf32, register>
  scf.for %k = %c0 to %c192 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x192xf16> -> !tirx.tile<64x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<32x192xf16> -> !tirx.tile<32x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf16, shared>,
      !tirx.tile<64x32xf32, register>
  } {tirx.stages = 2}
  tirx.copy %acc, %gd : !tirx.tile<64x32xf32, register>, !tirx.tile<64x32xf32, global>
  tirx.return
}
"""


@pytest.fixture(scope="module")
def gemm() -> tuple[Timeline, Launch]:
    kernel = tirx.build(_GEMM, options="stages=2").kernels["gemm"]
    timeline = named_timeline(kernel.launch.schedule)
    a, b = (np.ones((rows, 192), np.float16) for rows in (64, 32))
    kernel.simulate(a, b, d := np.zeros((64, 32), np.float32), observer=timeline, check=False)
    timeline.finish()
    assert (d == 192).all()
    return timeline, kernel.launch


def _lanes(timeline: Timeline, kind: str) -> list[Lane]:
    return [lane for lane in timeline.lanes if lane.kind == kind]


def test_descriptor_names_roles_and_rings(gemm: tuple[Timeline, Launch]) -> None:
    schedule = gemm[1].schedule
    assert (sum(role.warps for role in schedule.roles) * 32, 1, 1) == gemm[1].block
    (ring,) = schedule.rings
    assert (ring.slots, ring.stations, len(ring.tiles)) == (2, ("fill", "use"), 2)
    assert ring.tiles[0].stride == 64 * 64 * 2
    assert Launch.from_json(json.loads(json.dumps(gemm[1].to_json()))) == gemm[1]


def test_slots_are_filled_and_read_in_turn(gemm: tuple[Timeline, Launch]) -> None:
    slots = _lanes(gemm[0], "slot")
    kinds = [[segment.kind for segment in lane.segments] for lane in slots]
    assert kinds == [["fill", "use", "fill", "use"], ["fill", "use"]]  # three iterations over two slots
    for lane in slots:
        for before, after in zip(lane.segments, lane.segments[1:], strict=False):
            assert before.end <= after.start, "a slot is not overwritten while it is read"


def test_units_work_in_order_and_waits_end_with_them(gemm: tuple[Timeline, Launch]) -> None:
    timeline, _ = gemm
    units = {lane.name: lane for lane in _lanes(timeline, "unit")}
    copies, products = units["copies in"], units["tensor core"]
    assert len(copies.segments) == 6
    assert [s.start for s in products.segments] == sorted(s.start for s in products.segments)
    filled = {copies.segments[i].end for i in (1, 3, 5)}
    waits = [s for lane in _lanes(timeline, "warp") for s in lane.segments if s.label.endswith("to pass 'fill'")]
    assert waits and all(s.cause is not None and timeline.lanes[s.cause[0]] is copies for s in waits)
    assert {s.end for s in waits} <= filled


def test_page_and_trace(gemm: tuple[Timeline, Launch]) -> None:
    timeline, _ = gemm
    page = timeline_html(timeline, "a </script> & b")
    assert "http" not in page and "<link" not in page and page.count("</script>") == 2
    data = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    assert data["title"] == "a </script> & b"
    assert [len(lane["segments"]) for lane in data["lanes"]] == [len(lane.segments) for lane in timeline.lanes]
    events = json.loads(timeline_trace(timeline))["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == sum(len(lane.segments) for lane in timeline.lanes)
    assert len([e for e in events if e["ph"] == "s"]) == len([e for e in events if e["ph"] == "f"]) > 0
    for thread in {e["tid"] for e in slices}:
        ends = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if e["tid"] == thread)
        assert all(first[1] <= second[0] for first, second in zip(ends, ends[1:], strict=False))


def test_barrier_waits_for_the_last_warp() -> None:
    ptx = _HEAD + (
        ".visible .entry f() { .reg .pred %p<1>; .reg .b32 %r<2>; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32;\n"
        "@%p0 bra $go; add.u32 %r1, %r0, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;\n$go: bar.sync 0;\nret; }"
    )
    run(ptx, "f", grid=1, block=64, args=[], observer=(timeline := Timeline()), check=False)
    timeline.finish()
    first, second = timeline.lanes
    (wait,) = [s for s in first.segments if s.kind == "wait"]
    assert (wait.end - wait.start, wait.cause) == (3, (1, wait.end))
    assert all(s.kind == "run" for s in second.segments)


def test_deadlock_is_in_the_picture() -> None:
    ptx = _HEAD + (
        ".visible .entry f() { .reg .pred %p<1>; .reg .b32 %r<1>; .shared .align 8 .b64 m; mov.b32 %r0, m;\n"
        "mbarrier.init.shared::cta.b64 [%r0], 64;\n"
        "$w: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0;\n@!%p0 bra $w;\nret; }"
    )
    timeline = Timeline()
    with pytest.raises(SimError, match="deadlock"):
        run(ptx, "f", grid=1, block=1, args=[], observer=timeline, check=False)
    timeline.finish()
    stuck = timeline.lanes[0].segments[-1]
    assert stuck.kind == "stuck" and stuck.label.startswith("for ever: waits for phase 0 of the mbarrier")
    assert (stuck.end, stuck.line, stuck.last_line) == (timeline.steps, 6, 6)


def test_barrier_that_completes_before_an_error() -> None:
    """The first warp would go on: it does not wait for ever."""
    ptx = _HEAD + (
        ".visible .entry f() { .reg .pred %p<1>; .reg .b32 %r<1>; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32;\n"
        "@%p0 bra $wait; bar.arrive 1, 64; trap;\n$wait: bar.sync 1, 64;\nret; }"
    )
    timeline = Timeline()
    with pytest.raises(SimError, match="trap"):
        run(ptx, "f", grid=1, block=64, args=[], observer=timeline, check=False)
    timeline.finish()
    assert [s.kind for lane in timeline.lanes for s in lane.segments] == ["run", "run"]


def test_deadlock_of_a_pair() -> None:
    """One warp of the second block waits at a barrier for another, which waits for the first block."""
    ptx = _HEAD + (
        ".visible .entry f() { .reg .pred %p<2>; .reg .b32 %r<2>; mov.u32 %r0, %cluster_ctarank;\n"
        "setp.eq.u32 %p0, %r0, 0; @%p0 bra $end; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n"
        "@%p1 bra $end;\nbar.sync 1, 64;\n$end:\nbarrier.cluster.arrive; barrier.cluster.wait; ret; }"
    )
    timeline = Timeline(clusters=1)
    assert timeline.steps == 0
    with pytest.raises(SimError, match="deadlock"):
        run(ptx, "f", grid=2, block=64, cluster=2, args=[], observer=timeline, check=False)
    last = timeline.steps
    timeline.finish()
    stuck = [
        (lane.block[0], lane.name, s.start, s.end, s.line, s.label.partition(",")[0])
        for lane in timeline.lanes
        for s in lane.segments
        if s.kind == "stuck"
    ]
    for_ever = "for ever: at barrier"
    assert stuck == [
        (0, "warp 0", 5, last + 1, 9, f"{for_ever}.cluster.wait"),
        (0, "warp 1", 5, last + 1, 9, f"{for_ever}.cluster.wait"),
        (1, "warp 0", 8, last + 1, 9, f"{for_ever}.cluster.wait"),
        (1, "warp 1", 7, last + 1, 7, f"{for_ever} 1"),
    ]
    assert timeline.texts[7] == "bar.sync 1, 64;"
    assert not timeline._clocks[0].mark()  # pyright: ignore[reportPrivateUsage]


def test_only_some_clusters_are_recorded() -> None:
    run(_HEAD + ".visible .entry f() { ret; }", "f", grid=6, block=32, args=[], observer=(t := Timeline()), check=False)
    t.finish()
    assert [lane.block for lane in t.lanes] == [(x, 0, 0) for x in range(4)]
