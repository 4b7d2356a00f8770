"""The axis registry."""

import numpy as np
import pytest

from tirx.layout import Axis, LayoutError, TileLayout, axis, known_axes, register_axis


def test_thread_axes_of_a_thread() -> None:
    coordinates = {"tx": 427, "tid": 427, "warpid": 13, "wgid": 3, "laneid": 11, "tid_in_wg": 43, "wid_in_wg": 1}
    assert {name: axis(name).of_thread(427) for name in coordinates} == coordinates
    assert axis("wid_in_wg").of_thread(np.arange(0, 256, 32)).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    with pytest.raises(LayoutError, match="axis 'TLane' is not a function of the thread index"):
        axis("TLane").of_thread(3)


def test_kinds_and_bounds() -> None:
    assert {row.kind for row in known_axes()} == {"thread", "memory", "device"}
    bounds = {
        "laneid": 32,
        "wid_in_wg": 4,
        "tid_in_wg": 128,
        "TLane": 128,
        "tx": 1024,
        "warpid": 32,
        "wgid": 8,
        "m": None,
    }
    assert {name: axis(name).limit() for name in bounds} == bounds
    assert [axis("TCol").limit(bits) for bits in (8, 16, 32)] == [2048, 1024, 512]


def test_unknown() -> None:
    with pytest.raises(LayoutError, match="unknown axis 'TColumn'; did you mean 'TCol'.*known axes: bx, by,"):
        axis("TColumn")


def test_register() -> None:
    slot = Axis("test_slot", "memory", "a slot for this test", bound=16)
    assert register_axis(slot) is slot
    assert register_axis(slot) == slot
    TileLayout.parse("S[16 : 1@test_slot]").check_bounds()
    with pytest.raises(LayoutError, match="axis 'test_slot' must stay in 0..15, the layout .* reaches 0..16"):
        TileLayout.parse("S[17 : 1@test_slot]").check_bounds()
    with pytest.raises(LayoutError, match="already registered as: lane index in the warp"):
        register_axis(Axis("laneid", "thread", "another"))
    with pytest.raises(LayoutError, match="must be an identifier, found 'a b'"):
        Axis("a b", "memory", "")
    with pytest.raises(LayoutError, match="unknown axis 'nowhere'"):
        register_axis(Axis("test_alias", "memory", "", alias_of="nowhere"))
    with pytest.raises(LayoutError, match="unknown axis 'test_alias'"):
        axis("test_alias")
    with pytest.raises(LayoutError, match="weight of axis 'w'"):
        Axis("w", "memory", "", weight=3)


def test_alias() -> None:
    tid, tx = TileLayout.parse("S[128 : 1@tid]"), TileLayout.parse("S[128 : 1@tx]")
    assert tid != tx
    assert tid.equivalent(tx)
    assert tid.canonicalize() == tx
    both = TileLayout.parse("S[(4, 32) : (32@tx, 1@tid)]")
    assert both.canonicalize() == tx
    assert both.is_injective()
