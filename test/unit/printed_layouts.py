"""Results of the layout algebra and the planners of copies for many layouts, right and wrong arguments alike."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tirx.copy.access import plan_accesses
from tirx.copy.banks import analyse_access, bank_table
from tirx.copy.cost import CopyEnd, copy_cost, fragment_cost, least_cost, least_fragment_cost
from tirx.copy.cp_async import plan_cp_async
from tirx.copy.distribute import copy_distribution
from tirx.copy.exchange import plan_exchange, plan_reduction, plan_shuffles
from tirx.copy.matrix import plan_matrices
from tirx.copy.tma import plan_boxes
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, LayoutError, TileLayout, parse_layout, to_linear, to_tvm
from tirx.layout.ownership import held_elements
from tirx.layout.picture import svg
from tirx.mma.fragments import VARIANTS, FragmentError
from tirx.mma.pick import choose_variant

_TILES = (
    ("S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid", (8, 16)),
    ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]", (8, 8)),
    ("S[(2, 128, 112) : (112@TCol, 1@TLane, 1@TCol)]", (2, 128, 112)),
    ("S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]", (32, 4)),
    ("S[(2, 2, 2, 2) : (2@pid, 2, 1@pid, 1)]", (4, 4)),
    ("S[(4, 32) : (1@warpid, 1@laneid)]", (128,)),
    ("S[8, 16]", (8, 16)),
    ("S[(8, 16) : (17, 1)]", (8, 16)),
    ("S[(6, 4, 5) : (20, 5, 1)] + 7", (24, 5)),
    ("S[(4, 1, 3, 2) : (3@tx, 0, 1@tx, 0@m)] + R[(2, 3) : (16@tx, 32@tx)]", (4, 6)),
    ("S[(4, 8) : (-8, 1)] + 24", (4, 8)),
    ("S[(2, 3, 4) : (12, 4, 1)] + R[(2, 2) : (24, 48)]", (6, 4)),
)
_SHARED = (
    "S[(16, 64) : (64, 1)]",
    "S[(16, 64) : (1, 16)]",
    "S[(16, 64) : (72, 1)]",
    "S[(16, 8, 8) : (8, 128, 1)]",
    "ComposeLayout(SwizzleLayout(3, 3, 3), S[(16, 64) : (64, 1)])",
    "ComposeLayout(SwizzleLayout(3, 2, 3), S[(16, 2, 32) : (32, 512, 1)])",
)
_REGISTERS = (
    "S[(2, 8, 8, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]",
    "S[(16, 2, 32) : (2@laneid, 1@laneid, 1)]",
    "S[(4, 4, 8, 8) : (1@warpid, 8@laneid, 1@laneid, 1)]",
    "S[(16, 64) : (64, 1)] + R[32 : 1@laneid]",
)
_SHAPE = (16, 64)


def _plain(value: Any) -> Any:
    """Arrays as lists, wherever they are."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    return value.tolist() if hasattr(value, "tolist") else value


def _said(call: Callable[[], Any]) -> str:
    try:
        return str(_plain(call()))
    except (LayoutError, LegalityError, FragmentError) as error:
        return f"{type(error).__name__}: {error}"


def _layout_calls(layout: TileLayout, shape: tuple[int, ...]) -> Iterator[Callable[[], Any]]:
    other = TileLayout.row_major(shape)
    ends = tuple((extent // 2, extent) for extent in shape)
    for flag in (False, True):
        yield lambda flag=flag: layout.canonicalize(flag)
    for name in (
        "replicas",
        "flat_table",
        "owner_table",
        "footprint",
        "is_injective",
        "is_trivial",
        "scope",
        "storage",
    ):
        yield getattr(layout, name)
    yield lambda: (layout.size(), [layout.size(name) for name in layout.axes], layout.span(), layout.extents)
    for each in (shape, (layout.size(),), (2, layout.size() // 2), (3, 5)):
        for call in (layout.table, layout.group, layout.to_cute, lambda shape: to_linear(layout, shape)):
            yield lambda call=call, each=each: call(each)
    yield lambda: layout.owners(tuple(extent - 1 for extent in shape), shape)
    yield lambda: layout.owners(shape, shape)
    yield lambda: layout.inverse(layout.apply(tuple(extent // 2 for extent in shape), shape))
    yield lambda: layout.inverse({"m": 3})
    yield lambda: layout.is_surjective(layout.footprint())
    yield lambda: [layout.overlaps(other), other.overlaps(layout), layout.equivalent(other), layout.equivalent(layout)]
    for region in (ends, tuple((0, 1) for _ in shape), tuple((1, extent) for extent in shape), ((0, 0),)):
        yield lambda region=region: layout.slice(shape, region)
    yield lambda: layout.slice_dynamic(shape, tuple(max(1, extent // 2) for extent in shape), (None,) * len(shape))
    yield lambda: layout.slice_dynamic(shape, tuple(max(1, extent // 2) for extent in shape), (2,) * len(shape))
    two = TileLayout.row_major((2, 2))
    tiled_shape = tuple(2 * extent for extent in shape)
    yield lambda: layout.tile(two, (2, 2), shape)
    yield lambda: layout.is_tile_inner(layout.tile(two, (2, 2), shape), tiled_shape, shape)
    yield lambda: two.is_tile_outer(layout.tile(two, (2, 2), shape), tiled_shape, (2, 2))
    yield lambda: layout.direct_sum(two, (2, 2), shape)
    yield lambda: layout.permute(tuple(reversed(range(len(shape)))), shape)
    for factor in (2, 3):
        yield lambda factor=factor: layout.unpack(factor)
        yield lambda factor=factor: layout.pack(factor)
    yield lambda: layout.broadcast(3, 1, shape=shape)
    yield lambda: layout.replicate_over("warpid", 2)
    yield lambda: layout.replicate_over("laneid")
    yield lambda: layout.fuse_threads()
    yield lambda: layout.compose(TileLayout.row_major(shape))
    yield lambda: layout.with_offset(m=4, laneid=1)
    yield lambda: layout.check_bounds(16)
    yield lambda: [to_tvm(layout, form) for form in ("sum", "iters")]
    yield lambda: held_elements(layout, shape, 64)


def layouts() -> str:
    """All operations of the layout algebra."""
    lines: list[str] = []
    for text, shape in _TILES:
        layout = TileLayout.parse(text)
        lines += [f"{text} {number}: {_said(call)}" for number, call in enumerate(_layout_calls(layout, shape))]
    for text, shape in _TILES[:2]:
        lines.append(svg(TileLayout.parse(text).table(shape), shape, text))
    return "\n".join(lines)


def _shared(text: str) -> TileLayout | ComposeLayout:
    found = parse_layout(text)
    assert isinstance(found, TileLayout | ComposeLayout)
    return found


def _copy_calls(shared: TileLayout | ComposeLayout, bits: int) -> Iterator[Callable[[], Any]]:
    source = TileLayout.row_major(_SHAPE)
    ends = CopyEnd(source, "global"), CopyEnd(shared, "shared")
    for threads in (32, 96):
        yield lambda threads=threads: copy_distribution(_SHAPE, source, shared, bits, threads)
        yield lambda threads=threads: copy_cost(_SHAPE, ends, bits, threads)
    yield lambda: plan_cp_async(source, shared, _SHAPE, bits, 128)
    yield lambda: plan_cp_async(source, shared, _SHAPE, bits, 64, 4)
    yield lambda: least_cost(_SHAPE, ends, bits)
    yield lambda: bank_table(shared, _SHAPE, bits)
    for inner in (0, 1):
        yield lambda inner=inner: plan_boxes(shared, _SHAPE, {8: "e4m3", 16: "f16", 32: "f32"}[bits], inner)
    for text in _REGISTERS[:3]:
        registers = TileLayout.parse(text)
        for vector in (1, 4, 8):
            yield lambda registers=registers, vector=vector: analyse_access(shared, _SHAPE, registers, bits, vector)
        yield lambda registers=registers: plan_accesses(registers, shared, _SHAPE, bits, 32)
        yield lambda registers=registers: plan_accesses(registers, shared, _SHAPE, bits, 128, 8, 4, once=True)
        yield lambda registers=registers: plan_matrices(registers, shared, _SHAPE, bits, 32)
        yield lambda registers=registers: fragment_cost(registers, ends[1], _SHAPE, bits, 32, True)


def copies() -> str:
    """Plans and costs of copies between global memory, shared memory and registers: every second call."""
    lines: list[str] = []
    for text, bits in zip(_SHARED, (16, 8, 32, 16, 8, 16), strict=True):
        calls = list(enumerate(_copy_calls(_shared(text), bits)))[len(lines) % 2 :: 2]
        lines += [f"{text} {bits} {number}: {_said(call)}" for number, call in calls]
    for number, first in enumerate(map(TileLayout.parse, _REGISTERS)):
        for dims in ((0,), (1,), (0, 1)):
            lines.append(_said(lambda first=first, dims=dims: plan_reduction(first, _SHAPE, dims, 128)))
        lines.append(_said(lambda first=first: least_fragment_cost(first, 16, 32)))
        for second in map(TileLayout.parse, _REGISTERS[number % 2 :: 2]):
            lines.append(_said(lambda a=first, b=second: plan_shuffles(a, b, _SHAPE, 128)))
    for first, second, bits in ((0, 1, 16), (1, 0, 8), (2, 0, 32), (0, 3, 16)):
        layouts = TileLayout.parse(_REGISTERS[first]), TileLayout.parse(_REGISTERS[second])
        lines.append(_said(lambda layouts=layouts, bits=bits: plan_exchange(*layouts, _SHAPE, bits, 128)))
    return "\n".join(lines)


def fragments() -> str:
    """The instruction of mma.sync for products of many sizes and types."""
    lines: list[str] = []
    for types in sorted({(each.operand_type, each.accumulator_type) for each in VARIANTS.values()}):
        same = [each for each in VARIANTS.values() if (each.operand_type, each.accumulator_type) == types]
        for m, n, k in (
            (16, 8, 8),
            (16, 8, 16),
            (16, 8, 32),
            (64, 64, 64),
            (8, 8, 4),
            (8, 8, 128),
            (24, 8, 16),
            (16, 4, 0),
        ):
            for majors in (("K", "K"), ("MN", "K")):
                said = _said(partial(choose_variant, m, n, k, same, *majors))
                lines.append(f"{types} {m} {n} {k} {majors}: {said}")
    return "\n".join(lines)
