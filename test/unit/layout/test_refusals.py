"""Refusals of the layout algebra, message by message."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from sweeps.layout_refusals import sweep
from unit.cases import together

from tirx.layout import (
    Axis,
    ComposeLayout,
    Iter,
    LayoutError,
    Mesh,
    SwizzleLayout,
    TileLayout,
    from_linear,
    parse_layout,
    to_linear,
    to_tvm,
)
from tirx.layout.interop.linear import LinearLayout
from tirx.layout.interop.mesh import to_partition_spec
from tirx.layout.interop.redistribution import require_sharding
from tirx.layout.reduction import reduced
from tirx.layout.replica import missing_replica

_read = TileLayout.parse
_SWIZZLED = ComposeLayout(SwizzleLayout(3, 3, 3), _read("S[8, 64]"))
_BAD: Any = "bad"
_CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: _read("S[8 : 1]").unpack(0, "m"), "the factor must be positive, found 0"),
    (lambda: Axis("x", "memory", "m", bound=0), "bound of axis 'x' must be positive, found 0"),
    (lambda: _read('S[4 : 1@""]'), "expected an axis name, found an empty string"),
    (
        lambda: _read("S[2 : 1] + R[(1024, 2048) : (1, 1024)]").owners(0),
        "expected at most 1048576 replica displacements",
    ),
    (
        lambda: _read("S[2 : 1] + R[(1024, 2048) : (1@laneid, 1@warpid)]").owners(0),
        "expected at most 1048576 copies of",
    ),
    (lambda: _threads("((3,2),4):((1,3),6)", (4, 6)), "expected digits that end with a dimension of 4, found [3]"),
    (lambda: _threads("(3,4):(1,3)", (2, 6)), "expected digits that end with a dimension of 2, found one of 3"),
    (lambda: _threads("(4,2):(1,8)", (8,)), "expected a layout that reaches each element once, found stride 8 for 4"),
    (lambda: _threads("(4,2,2):(1,4,8)", (16,)), "expected two modes, threads and values, found 3"),
    (lambda: _threads("(4,2):(1,4)", (16,)), "expected 16 elements of (16,), found 8"),
    (lambda: _SWIZZLED.to_cute((8, 64), form=_BAD), "expected a form of CuTe text isa, layout, pointer, found 'bad'"),
    (lambda: to_tvm(_read("S[8]"), form=_BAD), "expected a form of TVM text sum, iters, found 'bad'"),
    (lambda: SwizzleLayout.for_bits(16, _BAD), "unknown swizzle mode 'bad'; known modes: none, 32B, 64B, 128B"),
    (lambda: parse_layout("SwizzleLayout(rows=3)"), "expected one of the keywords per_element, swizzle_len, atom_len"),
    (
        lambda: ComposeLayout(SwizzleLayout(3, 3, 3), _read("S[8]")).tile_by(_read("S[2]"), (2,), (8,)),
        "only a tile of whole swizzle periods can be repeated: Swizzle(3, 3, 3) has period 512 elements",
    ),
    (
        lambda: LinearLayout((("lane", ((1,),)), ("lane", ((2,),))), {"x": 4}),
        "every input dimension must be given once",
    ),
    (lambda: LinearLayout({"lane": [[1, 0]]}, (("x", 2), ("x", 2))), "every output dimension must be given once"),
    (lambda: to_linear(_read("S[8 : 1@P]"), (8,)), "none of the input dimensions offset, block stands for axis P"),
    (
        lambda: to_linear(_read(f"S[(2, 2) : ({1 << 61}, 1@cbx)]"), (2, 2)),
        "expected places of at most 62 bits, found more in",
    ),
    (
        lambda: from_linear(LinearLayout({"register": [[1]], "offset": [[2]]}, {"x": 4})),
        "expected register or offset, not both, found register, offset",
    ),
    (
        lambda: to_partition_spec(_read("S[(2, 4) : (1@laneid, 1)]"), (2, 4), Mesh((2,), ("a",))),
        "expected a layout on pid and m only, found laneid",
    ),
    (
        lambda: require_sharding(
            _read("S[(2, 4, 8) : (1@pid, 8, 1)]"), _read("S[8, 8] + R[2 : 1@pid]"), (8, 8), Mesh((2,)), "A"
        ),
        "expected A as S[64 : 1] + R[2 : 1@pid] on mesh(d0=2), found S[(2, 32) : (1@pid, 1)]; redistribute it: all_",
    ),
    (
        lambda: reduced(TileLayout([Iter(2, 1), Iter(4, -2)], (), {"m": 6}), (2, 4), (0,)),
        "expected slots that count up, found 4 : -2 in",
    ),
    (lambda: _read("S[6]").group_many([(2, 3), (3, 2)]), "dimensions of the shapes (2, 3), (3, 2) or iters begin at"),
    (
        lambda: _read(f"S[(2, 3) : ({1 << 62}, 1)]").slice((6,), ((1, 5),)),
        "expected coordinates that fit 62 bits",
    ),
    (
        lambda: missing_replica((Iter(2, 70_001), Iter(2, 1)), (Iter(2, 1),)),
        "expected replica displacements below 65536 times their greatest common divisor 1, found 70002",
    ),
]


def _threads(text: str, shape: tuple[int, ...]) -> TileLayout:
    return TileLayout.from_thread_value(text, shape)


@together(("refused", "message"), _CASES)
def test_refusals(refused: Callable[[], object], message: str):
    with pytest.raises(LayoutError) as found:
        refused()
    assert str(found.value).startswith(message)


def test_a_scope_that_no_axis_counts(monkeypatch: pytest.MonkeyPatch):
    quad = Axis("quad", "thread", "four threads of a warp", "quad", "warp", bound=8, weight=4)
    axes = sys.modules[Axis.__module__]
    for names, entry in (("_REGISTRY", quad), ("_CANONICAL", quad.name)):
        monkeypatch.setattr(axes, names, {**getattr(axes, names), quad.name: entry})
    with pytest.raises(LayoutError, match="no axis counts the quads in a cta: one can be registered, with a weight"):
        _read("S[(2, 8) : (1@warpid, 1@quad)]").fuse_threads()


def test_a_set_of_copies_that_is_too_large_to_search():
    iters = [Iter(3, n) for n in (34, 18, 6, 56, 35)] + [Iter(2, n) for n in (25, 57, 51, 12)]
    layout = TileLayout([Iter(2, 1, "laneid")], iters)
    kept = layout.canonicalize()
    assert kept == kept.canonicalize() and kept.owners(1) == layout.owners(1)


def test_no_refusal_is_false() -> None:
    """A share of `test/sweeps/layout_refusals.py`; each operation answers and refuses."""
    counts, wrong = sweep(400, seed=1)
    assert not wrong
    assert len(counts) == 2 * len({line.split(":")[0] for line in counts})


def test_what_beginners_write() -> None:
    layout = TileLayout("S[(8, 4) : (4@laneid, 1@laneid)]")
    with pytest.raises(TypeError, match="expected a shape, found 1; the coordinates of an element are one tuple"):
        layout.apply(3, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LayoutError, match=r"found '\('; TileLayout.from_cute reads layouts of CuTe"):
        TileLayout("(8,4):(4,1)")
