"""The reports of `tirx-opt --time-passes` and `--time-passes-json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from tirx.text.verification import StepTime

TimeFormat = Literal["text", "json"]


def format_times(steps: Sequence[StepTime], form: TimeFormat) -> str:
    """The wall times of the steps of one compilation: a table in milliseconds, or one line of JSON in seconds.

    The JSON is `{"steps": [{"name": ..., "run": ..., "verify": ...}, ...], "total": ...}`.
    """
    total = sum(step.run + step.verify for step in steps)
    if form == "json":
        rows = [{"name": step.name, "run": step.run, "verify": step.verify} for step in steps]
        return json.dumps({"steps": rows, "total": total})
    lines = [f"{'run ms':>9} {'verify ms':>9} {'share':>6}  step"]
    for step in (*steps, StepTime("total", sum(s.run for s in steps), sum(s.verify for s in steps))):
        share = (step.run + step.verify) / total if total else 0.0
        lines.append(f"{step.run * 1e3:9.2f} {step.verify * 1e3:9.2f} {share:6.1%}  {step.name}")
    return "\n".join(lines)
