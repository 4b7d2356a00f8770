"""Litmus tests of order through global memory: every fault and its right twin, at both levels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from unit.cases import Sampled
from unit.sim.litmus import ACCEPT, LEVELS, LitmusError, Pair, Twin, pairs

from tirx.ptx.ptxas import assemble, find_ptxas

PAIRS = pairs()
IN_PROCESSES = [pair for pair in PAIRS if pair.fault.jobs > 1]
SEEDS = (None, 1, 2)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair not in IN_PROCESSES], ids=lambda pair: pair.name)
def test_verdicts(pair: Pair, pytestconfig: pytest.Config):
    """Both twins have their verdicts at both levels, for one target and seed, or for all with `--all-cases`."""
    for twin in pair.twins:
        cases = twin.cases(SEEDS)
        _check(twin, cases if pytestconfig.getoption("--all-cases") else [random.Random(twin.name).choice(cases)])


@pytest.mark.usefixtures("shares_in_turn")
@pytest.mark.sample(1)
@pytest.mark.parametrize("pair", IN_PROCESSES, ids=lambda pair: pair.name)
def test_verdicts_in_processes(pair: Pair):
    """The same of blocks that several processes share."""
    for twin in pair.twins:
        _check(twin, twin.cases(SEEDS))


def _check(twin: Twin, cases: Sequence[tuple[str, int | None]]) -> None:
    for target, seed in cases:
        for level in LEVELS:
            found = twin.verdict(level, target, seed)
            assert twin.agrees(level, found), f"{twin.name} for {target}, seed {seed}, {level}: {found}"


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
def test_ptxas_takes_them(sampled: Sampled):
    """A sample for one target each; all with `--all-cases`."""
    cases = [(twin, target) for pair in PAIRS for twin in pair.twins for target in twin.targets]
    for twin, target in sampled(cases, 8):
        result = assemble(twin.ptx(target), target)
        assert result.ok, f"{twin.name} for {target}: {result.stderr}"


def test_twins_differ():
    """A right twin is another program or launch, every fault names a line of its race, and every twin its result."""
    for pair in PAIRS:
        fault, right = pair.twins
        assert fault.ptx("sm_100a") != right.ptx("sm_100a") or fault.launch != right.launch, pair.name
        assert fault.race_lines("sm_100a") or ACCEPT in fault.expected.values(), pair.name
        assert any(after for _, after in right.arguments.values()), pair.name


def test_files_that_cannot_be_read(tmp_path: Path):
    path = tmp_path / "one.ptx"
    path.write_text("// one: why\n  bar.sync 0;\n")
    with pytest.raises(LitmusError, match="one.ptx: expected `// NAME: why` and `// right: why`"):
        pairs(tmp_path)
    path.write_text("// one: why\n// right: why\n// launch: gird=1\n// x: zeros(4)\n  bar.sync 0;\n")
    with pytest.raises(LitmusError, match="expected grid, cluster, jobs, .*, found gird"):
        pairs(tmp_path)
    path.write_text("// one: why\n// right: why\n  bar.sync 0;\n// -----\n// one: why\n// right: why\n  bar.sync 0;\n")
    with pytest.raises(LitmusError, match="expected one test one, found two"):
        pairs(tmp_path)


def test_lines_of_twins(tmp_path: Path):
    """Markers choose the lines of each twin, and the lines of the race."""
    (tmp_path / "one.ptx").write_text(
        "// one: why\n// right: why\n// launch: grid=2|4\n// hardware: warning global order\n"
        "// x: zeros(4) -> [1, 0, 0, 0]\n"
        "  st.global.u32 [%x], 1;   // race\n  bar.sync 0; // right\n  bar.sync 1;  // fault // race\n"
    )
    (pair,) = pairs(tmp_path)
    fault, right = pair.twins
    assert _body(fault) == ["  st.global.u32 [%x], 1;", "  bar.sync 1;"]
    assert _body(right) == ["  st.global.u32 [%x], 1;", "  bar.sync 0;"]
    lines = fault.ptx("sm_90a").splitlines()
    assert [lines[number - 1] for number in sorted(fault.race_lines("sm_90a"))] == _body(fault)
    assert right.race_lines("sm_90a") == set()
    assert (fault.launch["grid"], right.launch["grid"]) == ("2", "4")
    assert (fault.expected["hardware"], fault.rule, fault.expected["strict"]) == ("warning", "global order", "error")
    assert right.verdict("strict", "sm_90a") == ACCEPT


def _body(twin: Twin) -> list[str]:
    return [text for text, _ in twin.lines]
