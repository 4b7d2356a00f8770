"""Recorded answers that agree with the definition on the tensor layout page.

They come from another implementation of the algebra. Its choices that are not part of the definition are compared by
meaning: it keeps a unit iter where all iters are units, sorts replicas by a hash, includes the offset in `span`, and
does not fuse thread axes unless a target is given. Its swizzle in the opposite direction (inner = false) is not on
the page.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from unit.cases import together

from tirx.layout import SWIZZLE_MODES, ComposeLayout, Iter, SwizzleLayout, TileLayout, parse_layout

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "layouts.json").read_text())["vectors"]


def of_kind(kind: str) -> Any:
    found = [v for v in VECTORS if v["kind"] == kind]
    assert found
    return together("vector", found)


def tile(data: dict[str, Any]) -> TileLayout:
    return TileLayout([Iter(*it) for it in data["shard"]], [Iter(*it) for it in data["replica"]], data["offset"])


def compose(data: dict[str, Any]) -> ComposeLayout:
    if data["type"] == "tile":  # recorded for the mode without swizzle
        return ComposeLayout(SwizzleLayout(0, 0, 0), tile(data))
    swizzle = SwizzleLayout(data["per_element"], data["swizzle_len"], data["atom_len"], data["inner"])
    return ComposeLayout(swizzle, tile(data["tile"]))


@of_kind("apply")
def test_apply(vector: dict[str, Any]) -> None:
    layout, shape = tile(vector["layout"]), vector["shape"]
    coords = list(np.ndindex(*shape)) if vector["coords"] == "all" else [tuple(c) for c in vector["coords"]]
    table = layout.table(shape)
    for coord, value in zip(coords, vector["values"], strict=True):
        expected = dict(zip(vector["axes"], value, strict=True))
        found = layout.apply(coord, shape)
        assert {axis: found[axis] for axis in expected} == expected
        assert {axis: table[axis][coord] for axis in expected} == expected


@of_kind("owners")
def test_owners(vector: dict[str, Any]) -> None:
    found = tile(vector["layout"]).owners(vector["coord"], vector["shape"])
    assert sorted(sorted(o.items()) for o in found) == sorted(sorted(o.items()) for o in vector["owners"])


@of_kind("canonicalize")
def test_canonicalize(vector: dict[str, Any]) -> None:
    layout, expected = tile(vector["layout"]), tile(vector["expect"])
    found = layout.fuse_threads() if vector["target"] else layout.canonicalize()
    assert found == expected.canonicalize()
    # The expected shard is in normal form already, unless it is the unit iter kept in place of nothing.
    if expected.size() > 1 and any(it.stride for it in expected.shard):
        assert found.shard == expected.shard


@of_kind("group")
def test_group(vector: dict[str, Any]) -> None:
    grouped, seps = tile(vector["layout"]).group(vector["shape"])
    expected = tile(vector["expect"]["layout"])
    assert list(seps) == vector["expect"]["seps"]
    assert [it if it.extent > 1 else None for it in grouped.shard] == [
        it if it.extent > 1 else None for it in expected.shard
    ]
    assert (grouped.replica, grouped.offset) == (expected.replica, expected.offset)


@of_kind("tile")
def test_tile(vector: dict[str, Any]) -> None:
    found = tile(vector["inner"]).tile(tile(vector["outer"]), vector["outer_shape"], vector["inner_shape"])
    assert found == tile(vector["expect"])


@of_kind("direct_sum")
def test_direct_sum(vector: dict[str, Any]) -> None:
    found = tile(vector["right"]).direct_sum(tile(vector["left"]), vector["left_shape"], vector["right_shape"])
    assert found == tile(vector["expect"])


@of_kind("slice")
def test_slice(vector: dict[str, Any]) -> None:
    found = tile(vector["layout"]).slice(vector["shape"], vector["region"])
    assert found == tile(vector["expect"]).canonicalize()


@of_kind("size_span")
def test_size_and_span(vector: dict[str, Any]) -> None:
    layout = tile(vector["layout"])
    for axis, size in vector["expect"]["size"].items():
        assert layout.size(axis or None) == size
    for axis, span in vector["true_span"].items():
        assert layout.span(axis) == span


@of_kind("swizzle")
def test_swizzle(vector: dict[str, Any]) -> None:
    swizzle = SwizzleLayout(vector["M"], vector["B"], vector["S"], vector["inner"])
    assert swizzle.period == vector["period"]
    chunk = 1 << swizzle.per_element
    assert [swizzle.apply(x * chunk) // chunk for x in range(len(vector["chunk_perm"]))] == vector["chunk_perm"]
    number: int | None = vector["mode"]
    if number is not None:
        bits = 8 if vector["bits"] == 6 else vector["bits"]  # 6-bit elements are padded to a byte.
        assert SwizzleLayout.for_bits(bits, SWIZZLE_MODES[number]) == replace(swizzle, swizzle_inner=True)


@of_kind("compose_apply")
def test_compose_apply(vector: dict[str, Any]) -> None:
    layout, shape = compose(vector["layout"]), vector["shape"]
    table = layout.table(shape)["m"]
    coords = list(np.ndindex(*shape)) if vector["coords"] == "all" else [tuple(c) for c in vector["coords"]]
    for coord, value in zip(coords, vector["values"], strict=True):
        assert layout.apply(coord, shape) == {"m": value}
        assert table[coord] == value


@of_kind("unary")
def test_unpack(vector: dict[str, Any]) -> None:
    layout = tile(vector["layout"])
    assert vector["op"] == "unpack"
    wide = layout.unpack(vector["arg"])
    assert wide == tile(vector["expect"])
    assert wide.pack(vector["arg"]).equivalent(layout)


@together("text", sorted({v["text"] for v in VECTORS if v.get("text", "").startswith("S")}))
def test_text_reads_and_round_trips(text: str) -> None:
    layout = parse_layout(text)
    assert parse_layout(str(layout)) == layout
