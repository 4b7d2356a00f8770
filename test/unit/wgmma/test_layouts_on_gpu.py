"""The check of canonical layouts on hardware: one case of it, in the simulator."""

from __future__ import annotations

from gpu.wgmma_layouts import cases, main


def test_cases():
    found = [case.name for case in cases(1, ["tf32xtf32"])]
    assert len(found) == len(set(found)) == 40
    assert main(["--simulate", "--count", "2", "--kinds", "tf32xtf32", "--every", "40", "--start", "9"]) == 0
