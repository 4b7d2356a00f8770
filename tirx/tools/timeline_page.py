"""Timelines of the simulator as a page that needs nothing else, and as a trace that Perfetto opens."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from tirx.dialects.schedule_names import Schedule
from tirx.sim.timeline import Lane, RingName, RoleName, Segment, TileName, Timeline

_SLASH = "\\u002f"  # in JSON the same as '/', but `</script>` does not end the page's data


def named_timeline(schedule: Schedule) -> Timeline:
    """Returns a timeline that knows roles and rings by the names of a launch descriptor."""
    roles = [RoleName(role.name, role.first, role.warps) for role in schedule.roles]
    rings = [
        RingName(
            ring.name,
            ring.slots,
            ring.stations,
            tuple(None if at < 0 else at for at in ring.barriers),
            tuple(TileName(tile.name, tile.memory, tile.start, tile.stride) for tile in ring.tiles),
        )
        for ring in schedule.rings
    ]
    return Timeline(roles, rings)


def timeline_html(timeline: Timeline, title: str) -> str:
    """Returns a finished timeline as one HTML page, which loads nothing."""
    model = timeline.model
    labels: dict[str, int] = {"": 0}
    lanes = [
        {
            "block": f"block {lane.block}",
            "group": lane.group,
            "name": lane.name,
            "kind": lane.kind,
            "segments": [_row(segment, labels) for segment in lane.segments],
        }
        for lane in timeline.lanes
    ]
    data = {
        "title": title,
        "steps": timeline.steps,
        "blocks": len({lane.block for lane in timeline.lanes}),
        "lanes": lanes,
        "labels": list(labels),
        "texts": timeline.texts,
        "note": "A step is an instruction of a warp. A copy takes a step for every "
        f"{model.copy_bytes} bytes and arrives {model.copy_latency} steps later, a product a step for every "
        f"{model.products} multiplications: this is no measurement.",
    }
    page = files("tirx.tools").joinpath("timeline.html").read_text(encoding="utf-8")
    text = json.dumps(data, separators=(",", ":")).replace("</", "<" + _SLASH)
    return page.replace("DATA</script>", text + "</script>", 1)


def _row(segment: Segment, labels: dict[str, int]) -> list[object]:
    label = labels.setdefault(segment.label, len(labels))
    row: list[object] = [segment.start, segment.end, segment.kind, label, segment.line, segment.last_line]
    return row if segment.cause is None else [*row, *segment.cause]


def timeline_trace(timeline: Timeline) -> str:
    """Returns a finished timeline in the Trace Event Format of Chrome, which Perfetto (https://ui.perfetto.dev) opens.

    A block is a process and a lane a thread; a step is a microsecond. Segments that overlap get threads of their own.
    """
    blocks = list(dict.fromkeys(lane.block for lane in timeline.lanes))
    events: list[dict[str, Any]] = []
    tracks: list[list[int]] = []  # of each lane, the thread of each segment
    threads = 0
    for number, block in enumerate(blocks):
        events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": f"block {block}"}})
    for lane in timeline.lanes:
        rows = _packed(lane)
        process = blocks.index(lane.block)
        for row in range(max(rows, default=0) + 1):
            name = {"name": f"{lane.group}: {lane.name}"}
            events.append({"ph": "M", "name": "thread_name", "pid": process, "tid": threads + row, "args": name})
            order = {"sort_index": threads + row}
            events.append({"ph": "M", "name": "thread_sort_index", "pid": process, "tid": threads + row, "args": order})
        tracks.append([threads + row for row in rows])
        threads += max(rows, default=0) + 1
    arrows = 0
    for lane, own in zip(timeline.lanes, tracks, strict=True):
        process = blocks.index(lane.block)
        for segment, thread in zip(lane.segments, own, strict=True):
            place = {"pid": process, "tid": thread}
            events.append(
                {
                    "ph": "X",
                    "name": f"{segment.kind} {segment.label}".strip(),
                    "cat": segment.kind,
                    "ts": segment.start,
                    "dur": segment.end - segment.start,
                    "args": {"lines": f"{segment.line}-{segment.last_line}", "ptx": timeline.texts.get(segment.line)},
                    **place,
                }
            )
            if segment.cause is None:
                continue
            arrows += 1
            source, step = segment.cause
            flow = {"cat": "order", "name": "goes on by" if lane.kind == "warp" else "started by", "id": arrows}
            thread_of_source = _thread_at(timeline, tracks, source, step)
            origin = {"pid": blocks.index(timeline.lanes[source].block), "tid": thread_of_source}
            events.append({"ph": "s", "ts": max(step - 1, 0), **flow, **origin})
            at = segment.end if lane.kind == "warp" else segment.start
            events.append({"ph": "f", "bp": "e", "ts": at, **flow, **place})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, separators=(",", ":")) + "\n"


def _packed(lane: Lane) -> list[int]:
    """Returns the row of each segment: the first one that is free."""
    ends: dict[int, int] = {}  # row -> where its last segment ends
    rows: list[int] = []
    for segment in lane.segments:
        row = next((row for row, end in ends.items() if end <= segment.start), len(ends))
        ends[row] = segment.end
        rows.append(row)
    return rows


def _thread_at(timeline: Timeline, tracks: list[list[int]], lane: int, step: int) -> int:
    """Returns the thread of the segment of a lane that ends or runs at a step."""
    segments = zip(timeline.lanes[lane].segments, tracks[lane], strict=True)
    return next((thread for segment, thread in segments if segment.start < step <= segment.end), tracks[lane][0])
