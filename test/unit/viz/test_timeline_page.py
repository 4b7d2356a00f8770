"""The page of `tirx-sim --timeline` in a browser, and its trace by the rules of the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unit.viz.viz_page import Page

from tirx.tools.tirx_sim import main
from tirx.viz.browser import Browser

# Warp 0 waits for warp 1, which adds for a while, and then the other way around.
_PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry f() {
  .reg .pred %p<1>; .reg .b32 %r<2>;
  mov.u32 %r0, %tid.x;
  setp.lt.u32 %p0, %r0, 32;
  @%p0 bra $first;
  add.u32 %r1, %r0, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;
$first:
  bar.sync 0;
  @!%p0 bra $second;
  add.u32 %r1, %r0, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;
$second:
  bar.sync 0;
  ret;
}
"""


@pytest.fixture(scope="module")
def drawn(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    directory = tmp_path_factory.mktemp("timeline")
    (directory / "f.ptx").write_text(_PTX, encoding="utf-8")
    for name in ("t.html", "t.json"):
        assert main([str(directory / "f.ptx"), "--block", "64", "--timeline", str(directory / name)]) == 0
    found = Page(browser, directory / "t.html")
    browser.open(found.path.as_uri(), "document.readyState === 'complete'")
    return found


_WAITS = (
    "D.lanes.flatMap((lane) => lane.segments.map((s, i) => ({ lane, i, s })).filter((each) => each.s[2] === 'wait'))"
)


def _middle(drawn: Page, wait: int) -> tuple[float, float]:
    """The place of a wait on the screen."""
    return tuple(
        drawn.run(
            f"(() => {{ const {{ lane, i }} = {_WAITS}[{wait}]; const [x, y, w, h] = box(lane, i); "
            "const at = canvas.getBoundingClientRect(); "
            "return [at.x + x + w / 2, at.y + y + h / 2 - wrap.scrollTop]; })()"
        )
    )


def test_hover_says_who_is_waited_for(drawn: Page) -> None:
    """Each warp waits for the other once; the tip names it, the step and the instruction."""
    said: list[str] = []
    for wait in range(drawn.run(f"{_WAITS}.length")):
        x, y = _middle(drawn, wait)
        drawn.browser.click(x, y)
        drawn.drawn()
        assert drawn.run("getComputedStyle(document.getElementById('tip')).display") == "block"
        said.append(drawn.text("#tip"))
    assert len(said) == 2
    for text, other in zip(said, ("warp 1", "warp 0"), strict=True):
        assert "waits: steps" in text and "bar.sync 0" in text
        ends = next(line for line in text.splitlines() if line.startswith("goes on by"))
        assert other in ends, text


def test_zoom(drawn: Page) -> None:
    """Keys, double click and the whole run; the address keeps what is seen."""
    drawn.run("document.getElementById('fit').click()")
    whole = drawn.run("to - from")
    drawn.browser.press("+", "+")
    assert drawn.run("to - from") < whole
    assert drawn.run("location.hash") == drawn.run("`#${Math.round(from)}-${Math.round(to)}`")
    drawn.browser.press("0", "0")
    assert drawn.run("to - from") == pytest.approx(whole)
    x, y = _middle(drawn, 0)
    drawn.run(f"canvas.dispatchEvent(new MouseEvent('dblclick', {{ clientX: {x}, clientY: {y}, bubbles: true }}))")
    start, end = drawn.run(f"{_WAITS}[0].s.slice(0, 2)")
    assert drawn.run("from") < start and end < drawn.run("to") and drawn.run("to - from") < whole


def test_labels_fit(drawn: Page) -> None:
    """Names have the room that they need, on a phone a third of it; the drawing says its role and what it shows."""
    assert drawn.run("[canvas.getAttribute('role'), canvas.getAttribute('aria-label')]") == [
        "application",
        drawn.run("`${D.title}: ${D.lanes.length} lanes, ${D.steps} steps`"),
    ]
    assert drawn.run("(ctx.font = LABEL, D.lanes.every((lane) => ctx.measureText(lane.name).width <= GUTTER - 24))")
    name = drawn.run("D.lanes[0].name")
    drawn.run("(D.lanes[0].name = 'a name that is longer than a third of the page '.repeat(4), draw())")
    assert drawn.run("GUTTER") == drawn.run("Math.ceil(width() / 3)")
    assert drawn.run("fit(D.lanes[0].name, GUTTER - 24)").endswith("…")
    drawn.run(f"(D.lanes[0].name = {json.dumps(name)}, draw())")


def test_trace_is_of_the_trace_event_format(drawn: Page) -> None:
    """Complete events with durations, names of processes and threads, and flows with both ends inside of a slice."""
    events: list[dict[str, Any]] = json.loads((drawn.path.parent / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert {event["ph"] for event in events} == {"M", "X", "s", "f"}
    assert all(event["dur"] >= 0 and (event["pid"], event["tid"]) in named for event in slices)
    for start in (event for event in events if event["ph"] == "s"):
        (end,) = (event for event in events if event["ph"] == "f" and event["id"] == start["id"])
        assert (end["cat"], end["name"], end["bp"]) == (start["cat"], start["name"], "e") and start["ts"] <= end["ts"]
        for each in (start, end):
            own = [event for event in slices if (event["pid"], event["tid"]) == (each["pid"], each["tid"])]
            assert any(event["ts"] <= each["ts"] <= event["ts"] + event["dur"] for event in own)


def test_needs_no_network(drawn: Page) -> None:
    assert drawn.run("performance.getEntriesByType('resource').length") == 0
    assert Path(drawn.run("decodeURI(location.pathname)")) == drawn.path
