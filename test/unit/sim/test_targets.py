"""Features of targets: the simulator and the compiler, each with a table of its own, say the same."""

from __future__ import annotations

from tirx.hw.features import supporting_targets
from tirx.hw.targets import TARGETS as KNOWN
from tirx.sim.memory.addresses import RUBIN_SHARED_LIMIT, SHARED_LIMIT
from tirx.sim.targets import TARGETS, has

_NAMES = {
    "multicast::cluster::32b": "mbarrier.multicast::cluster::32b",
    "override::global_address": "cp.async.bulk.tensor.override",
}
"""Row of the simulator -> that of the compiler, where messages have another name."""


def test_both_tables_give_features_to_the_same_targets() -> None:
    rows = {row: _NAMES.get(row, row) for row in TARGETS if row != "327 KiB"}
    differ = {row: {*targets} ^ {*supporting_targets(rows[row])} for row, targets in TARGETS.items() if row in rows}
    assert not {row: sorted(names) for row, names in differ.items() if names}


def test_shared_memory_has_the_limit_of_the_target() -> None:
    limits = {name: RUBIN_SHARED_LIMIT if has(name, "327 KiB") else SHARED_LIMIT for name in KNOWN}
    assert not {name for name, target in KNOWN.items() if target.shared_limit > limits[name]}
    assert {name for name, target in KNOWN.items() if target.shared_limit > SHARED_LIMIT} == {*TARGETS["327 KiB"]}
