"""The page and the trace of a small timeline, word for word."""

from __future__ import annotations

import json

from tirx.dialects.schedule_names import RingPlace, RoleWarps, Schedule, SlotTile
from tirx.sim.timeline import Lane, RingName, RoleName, Segment, TileName, Timeline
from tirx.tools.timeline_page import named_timeline, timeline_html, timeline_trace


def _timeline() -> Timeline:
    """Two blocks: a warp that waits for a unit of three copies, two of them at a time; and a lane where nothing is."""
    first, second = (0, 0, 0), (1, 0, 0)
    warp = Lane(first, "warps", "warp 0", "warp")
    unit = Lane(first, "units", "copies", "unit")
    other = Lane(second, "warps", "warp 0", "warp")
    idle = Lane(second, "units", "copies", "unit")
    warp.segments += [
        Segment(0, 3, "run", "", 5, 7),
        Segment(3, 9, "wait", "to pass", 8, 8, cause=(1, 9)),
        Segment(9, 10, "run", "", 9, 9),
    ]
    unit.segments += [
        Segment(2, 6, "copy", "a", 6, 6, cause=(0, 2)),
        Segment(4, 9, "copy", "b", 7, 7, cause=(0, 0)),
        Segment(6, 8, "copy", "a", 7, 7),
    ]
    other.segments += [Segment(1, 4, "run", "", 5, 6), Segment(4, 7, "wait", "to pass", 8, 8, cause=(1, 5))]
    timeline = Timeline()
    timeline.lanes += [warp, unit, other, idle]
    timeline.texts |= {5: "add;", 7: "copy </script>;"}
    return timeline


def test_page() -> None:
    page = timeline_html(_timeline(), "t </title>")
    text = page.split('type="application/json">')[1].split("</script>")[0]
    assert "</" not in text
    data = json.loads(text)
    model = _timeline().model
    note = (
        f"A step is an instruction of a warp. A copy takes a step for every {model.copy_bytes} bytes and arrives "
        f"{model.copy_latency} steps later, a product a step for every {model.products} multiplications: this is no "
        "measurement."
    )
    assert data == {
        "title": "t </title>",
        "steps": _timeline().steps,
        "blocks": 2,
        "lanes": [
            {"block": "block (0, 0, 0)", "group": "warps", "name": "warp 0", "kind": "warp", "segments": [
                [0, 3, "run", 0, 5, 7], [3, 9, "wait", 1, 8, 8, 1, 9], [9, 10, "run", 0, 9, 9]]},
            {"block": "block (0, 0, 0)", "group": "units", "name": "copies", "kind": "unit", "segments": [
                [2, 6, "copy", 2, 6, 6, 0, 2], [4, 9, "copy", 3, 7, 7, 0, 0], [6, 8, "copy", 2, 7, 7]]},
            {"block": "block (1, 0, 0)", "group": "warps", "name": "warp 0", "kind": "warp", "segments": [
                [1, 4, "run", 0, 5, 6], [4, 7, "wait", 1, 8, 8, 1, 5]]},
            {"block": "block (1, 0, 0)", "group": "units", "name": "copies", "kind": "unit", "segments": []},
        ],
        "labels": ["", "to pass", "a", "b"],
        "texts": {"5": "add;", "7": "copy </script>;"},
        "note": note,
    }  # fmt: skip


def test_trace() -> None:
    """Segments that overlap have threads of their own; an arrow starts in the segment that runs at its step."""
    found = json.loads(timeline_trace(_timeline()))
    assert found.keys() == {"traceEvents", "displayTimeUnit"} and found["displayTimeUnit"] == "ms"
    events = found["traceEvents"]
    named = [(e["pid"], e["args"]) for e in events if e["name"] == "process_name"]
    assert named == [(0, {"name": "block (0, 0, 0)"}), (1, {"name": "block (1, 0, 0)"})]
    threads = [(e["pid"], e["tid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"]
    assert threads == [
        (0, 0, "warps: warp 0"),
        (0, 1, "units: copies"),
        (0, 2, "units: copies"),
        (1, 3, "warps: warp 0"),
        (1, 4, "units: copies"),
    ]
    order = [(e["pid"], e["tid"], e["args"]) for e in events if e["name"] == "thread_sort_index"]
    assert order == [(pid, tid, {"sort_index": tid}) for pid, tid, _ in threads]
    slices = [
        (e["pid"], e["tid"], e["ts"], e["dur"], e["name"], e["cat"], e["args"]["lines"], e["args"]["ptx"])
        for e in events
        if e["ph"] == "X"
    ]
    assert slices == [
        (0, 0, 0, 3, "run", "run", "5-7", "add;"),
        (0, 0, 3, 6, "wait to pass", "wait", "8-8", None),
        (0, 0, 9, 1, "run", "run", "9-9", None),
        (0, 1, 2, 4, "copy a", "copy", "6-6", None),
        (0, 2, 4, 5, "copy b", "copy", "7-7", "copy </script>;"),
        (0, 1, 6, 2, "copy a", "copy", "7-7", "copy </script>;"),
        (1, 3, 1, 3, "run", "run", "5-6", "add;"),
        (1, 3, 4, 3, "wait to pass", "wait", "8-8", None),
    ]
    arrows = [
        (e["ph"], e["id"], e["name"], e["cat"], e["pid"], e["tid"], e["ts"], e.get("bp"))
        for e in events
        if e["ph"] in "sf"
    ]
    assert arrows == [
        ("s", 1, "goes on by", "order", 0, 2, 8, None),
        ("f", 1, "goes on by", "order", 0, 0, 9, "e"),
        ("s", 2, "started by", "order", 0, 0, 1, None),
        ("f", 2, "started by", "order", 0, 1, 2, "e"),
        ("s", 3, "started by", "order", 0, 0, 0, None),
        ("f", 3, "started by", "order", 0, 2, 4, "e"),
        ("s", 4, "goes on by", "order", 0, 1, 4, None),
        ("f", 4, "goes on by", "order", 1, 3, 7, "e"),
    ]


def test_threads_of_a_trace() -> None:
    """A lane where nothing is has a thread; what starts at a step of no segment is drawn from the first thread."""
    block = (0, 0, 0)
    idle, unit, warp = (
        Lane(block, "units", "none", "unit"),
        Lane(block, "units", "b", "unit"),
        Lane(block, "w", "c", "warp"),
    )
    unit.segments += [Segment(2, 6, "copy", "", 6, 6), Segment(4, 9, "copy", "", 7, 7)]
    # Steps 2, 10 and 0 are of no segment of the unit; step 3 is of the first, 9 of the second, 6 of both.
    warp.segments += [
        Segment(n, n + 1, "wait", "", 8, 8, cause=(1, step)) for n, step in enumerate((2, 10, 0, 3, 9, 6))
    ]
    timeline = Timeline()
    timeline.lanes += [idle, unit, warp]
    events = json.loads(timeline_trace(timeline))["traceEvents"]
    threads = [(e["tid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"]
    assert threads == [(0, "units: none"), (1, "units: b"), (2, "units: b"), (3, "w: c")]
    assert [(e["tid"], e["ts"]) for e in events if e["ph"] == "s"] == [(1, 1), (1, 9), (1, 0), (1, 2), (2, 8), (1, 5)]
    assert [(e["tid"], e["ts"]) for e in events if e["ph"] == "f"] == [(3, n + 1) for n in range(6)]


def test_names_of_a_schedule() -> None:
    tile = SlotTile("a", "shared", 1024, 4096)
    ring = RingPlace("r", 3, ("fill", "use", "free"), (-1, 0, 24), (tile,))
    timeline = named_timeline(Schedule((RoleWarps("load", 4, 2),), (ring,)))
    assert [*timeline.roles] == [RoleName("load", 4, 2)]
    expected = RingName("r", 3, ("fill", "use", "free"), (None, 0, 24), (TileName("a", "shared", 1024, 4096),))
    assert [*timeline.rings] == [expected]
