"""The check of canonical layouts on hardware: one case of it, in the simulator."""

from __future__ import annotations

from pathlib import Path

from gpu.wgmma_layouts import cases, main


def test_cases():
    found = [case.name for case in cases(1, ["tf32xtf32"])]
    assert len(found) == len(set(found)) == 40
    assert main(["--simulate", "--count", "2", "--kinds", "tf32xtf32", "--every", "40", "--start", "9"]) == 0


def test_number_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "status.md").read_text()
    assert f"{sum(1 for _ in cases(1))} products today" in page
