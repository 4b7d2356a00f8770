"""A few cases of the check of canonical layouts on hardware, in the simulator."""

from __future__ import annotations

from gpu.wgmma_layouts import cases, main

from tirx.wgmma import KINDS


def test_all_kinds_are_there():
    found = {(case.kind.a, case.kind.b, case.sparse) for case in cases(1)}
    expected = {(a, b, sparse) for (a, b), kind in KINDS.items() for sparse in (False, True) if kind.bits >= 8}
    assert found == expected


def test_some_cases():
    assert main(["--simulate", "--count", "1", "--every", "250", "--start", "7"]) == 0
