"""The axis registry."""

import numpy as np
import pytest
from unit.cases import together

from tirx.layout import Axis, LayoutError, TileLayout, axis, known_axes, register_axis
from tirx.layout.axis import canonical_name
from tirx.layout.ownership import held_elements


def test_thread_axes_of_a_thread() -> None:
    coordinates = {"tx": 427, "tid": 427, "warpid": 13, "wgid": 3, "laneid": 11, "tid_in_wg": 43, "wid_in_wg": 1}
    assert {name: axis(name).of_thread(427) for name in coordinates} == coordinates
    assert axis("wid_in_wg").of_thread(np.arange(0, 256, 32)).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    with pytest.raises(LayoutError, match="^axis 'TLane' is not a function of the thread index in the CTA$"):
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
    assert [axis("TCol").limit(bits) for bits in (1, 8, 16, 32, 8193, 16384)] == [16384, 2048, 1024, 512, 1, 1]
    with pytest.raises(LayoutError, match="^expected elements of 1 to 16384 bits on axis 'TCol', found 16385$"):
        axis("TCol").limit(16385)


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
    with pytest.raises(
        LayoutError,
        match=("^weight of axis 'w' must be a positive number of threads on a thread axis, found 3 on a memory axis$"),
    ):
        Axis("w", "memory", "", weight=3)
    with pytest.raises(LayoutError, match="weight of axis 'w' .* found 0 on a thread axis"):
        Axis("w", "thread", "", weight=0)
    with pytest.raises(LayoutError, match="bound of axis 'w' must be positive, found 0"):
        Axis("w", "memory", "", bound=0)
    assert (Axis("w", "memory", "", bound=1).bound, Axis("w", "thread", "", weight=1).weight) == (1, 1)
    assert canonical_name(register_axis(Axis("test_other", "memory", "", alias_of="test_slot")).name) == "test_slot"


def test_registered_thread_axes_have_scopes() -> None:
    said = r"^thread axis 'test_quad' must say which scope it counts \(unit\) and inside of which \(parent\)$"
    for scopes in ((None, None), ("warp", None), (None, "warp")):
        with pytest.raises(LayoutError, match=said):
            register_axis(Axis("test_quad", "thread", "quad of lanes", *scopes))
    with pytest.raises(LayoutError, match="^axis 'test_quad' counts threads of 1 threads, found weight 4$"):
        register_axis(Axis("test_quad", "thread", "quad of lanes", "thread", "warp", bound=8, weight=4))
    with pytest.raises(LayoutError, match="^axis 'test_loop' puts kernel inside of warp, which lies inside of kernel$"):
        register_axis(Axis("test_loop", "thread", "", "kernel", "warp"))
    with pytest.raises(LayoutError, match="^axis 'test_loop' stands for 'm', which is no thread axis$"):
        register_axis(Axis("test_loop", "thread", "", "thread", "warp", alias_of="m"))
    quad = register_axis(Axis("test_quad", "thread", "quad of lanes", "test_quad", "warp", bound=8, weight=4))
    in_quad = register_axis(Axis("test_in_quad", "thread", "lane in a quad", "thread", "test_quad", bound=4, weight=1))
    assert not quad.depends_on(in_quad)
    assert quad.depends_on(axis("laneid"))
    warp = register_axis(Axis("test_warp", "thread", "warp, of any number", "warp", "cta", weight=32))
    on_it = [axis(name).depends_on(warp) for name in ("warpid", "wgid", "laneid", "tid_in_wg", "bx", "m")]
    assert on_it == [True, True, False, True, False, False]
    assert [warp.depends_on(axis(name)) for name in ("wgid", "laneid", "m")] == [True, False, False]
    layout = TileLayout.parse("S[(8, 4) : (1@test_quad, 1@test_in_quad)]")
    assert layout.scope() == ("thread", "warp")
    assert layout.fuse_threads() == TileLayout.parse("S[32 : 1@laneid]")


@together(
    ("text", "scope"),
    [
        ("S[8 : 1]", None),
        ("S[(2, 8) : (1@pid, 1)]", None),
        ("S[(32, 8) : (1@laneid, 1)]", ("thread", "warp")),
        ("S[(4, 32) : (1@warpid, 1@laneid)]", ("thread", "cta")),
        ("S[(2, 4, 32) : (1@wgid, 1@wid_in_wg, 1@laneid)]", ("thread", "cta")),
        ("S[(4, 2) : (1@wid_in_wg, 1)]", ("warp", "warpgroup")),
        ("S[(2, 128) : (1@bx, 1@tid)]", ("thread", "kernel")),
        ("S[(2, 2, 128) : (1@cbx, 1@cby, 1@tx)]", ("thread", "cluster")),
        ("S[8 : 1] + R[4 : 1@warpid]", ("warp", "cta")),
        ("S[(1, 8) : (1@laneid, 1)]", None),
    ],
)
def test_scope(text: str, scope: tuple[str, str] | None) -> None:
    assert TileLayout.parse(text).scope() == scope


@together(
    ("text", "message"),
    [
        (
            "S[(2, 32) : (1@wgid, 1@laneid)]",
            "'laneid' .thread in warp. and 'wgid' .warpgroup in cta. leave a level open",
        ),
        (
            "S[(2, 32) : (1@bx, 1@laneid)]",
            (
                r"^thread axes 'laneid' \(thread in warp\) and 'bx' \(cta in kernel\) leave a level open; "
                "expected the second to count warps$"
            ),
        ),
        ("S[(2, 32) : (1@tx, 1@laneid)]", "overlap"),
        ("S[(2, 32) : (1@warpid, 1@tid_in_wg)]", "overlap"),
        ("S[(2, 2) : (1@bx, 1@cbx)]", "overlap"),
    ],
)
def test_scopes_that_do_not_follow_each_other(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        TileLayout.parse(text).scope()


def test_an_axis_that_is_not_mentioned() -> None:
    """It is at 0 in the algebra; copies are made on purpose."""
    lanes = TileLayout.parse("S[32 : 1@laneid]")
    assert lanes.inverse({"laneid": 3, "warpid": 0}) == [3]
    assert lanes.inverse({"laneid": 3, "warpid": 1}) == []
    assert lanes.replicate_over("warpid", 4).inverse({"laneid": 3, "warpid": 1}) == [3]
    # Registers are counted for every thread of a block: the code of the tile runs in each warp.
    assert (held_elements(lanes, (32,), 64) == np.arange(64)[:, None] % 32).all()
    assert (held_elements(lanes.replicate_over("warpid", 2), (32,), 64) == np.arange(64)[:, None] % 32).all()


def test_alias() -> None:
    tid, tx = TileLayout.parse("S[128 : 1@tid]"), TileLayout.parse("S[128 : 1@tx]")
    assert tid != tx
    assert tid.equivalent(tx)
    assert tid.canonicalize() == tx
    both = TileLayout.parse("S[(4, 32) : (32@tx, 1@tid)]")
    assert both.canonicalize() == tx
    assert both.is_injective()
