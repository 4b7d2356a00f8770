"""Deleted synchronisation: what the sweep finds in one example."""

from __future__ import annotations

from sweeps.deleted_synchronization import EXAMPLES, ROOT, deletions, table


def test_everything_that_matters_is_seen_by_somebody():
    """The first barrier follows wgmma.wait_group, which the static check takes for enough; the simulator sees it."""
    names = "bar.sync", "wgmma.wait_group"
    found = list(deletions(ROOT / "examples" / "wgmma_gemm.mlir", names=names))
    assert len(found) == 3
    assert all(each.is_seen for each in found)
    assert [(each.name, each.number) for each in found if each.static is None] == [("bar.sync", 0)]
    assert table(found).splitlines()[2] == "| `bar.sync` | 2 | 1 | 2 | 2 | 0 | 0 | 0 | 0 |"


def test_examples_exist():
    assert [name for name in EXAMPLES if not (ROOT / "examples" / f"{name}.mlir").exists()] == []
