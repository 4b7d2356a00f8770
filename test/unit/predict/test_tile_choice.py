"""The choice of tiles: what it rates before anything is compiled is what the passes make."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.test_benchmarks import benchmark_module
from xdsl.dialects.builtin import IntegerType, f16, f32, f64, i32

import tirx
from tirx import embed
from tirx.dialects.formula import Call, LaunchSizes
from tirx.dialects.formula_code import LeastCost
from tirx.hw.targets import Target
from tirx.passes.match.tile_choice import (
    Operands,
    Schedules,
    VariantChoice,
    choose_tiles,
    rated_tile,
    ring_of,
    rings_of,
)
from tirx.passes.match.variant_choice import MOST_VARIANTS, candidates, choose_variants, times_of
from tirx.passes.match.variant_choice import _drawn as drawn  # pyright: ignore[reportPrivateUsage]
from tirx.passes.pipeline import lower_to_ptx_passes
from tirx.passes.products.tirx_tile_linalg import SCHEDULES, TirxTileLinalgPass
from tirx.predict.model import seconds_of
from tirx.runtime.program import Program
from tirx.tools.predictions import SCHEDULED, Predictor

i8 = IntegerType(8)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("target", "rows", "place"),
    [("sm_90a", 512, 0), ("sm_90a", 512, -1), ("sm_100a", 512, 0), ("sm_90a", 17, 0), ("sm_100a", 40, 0)],
)
def test_ratings_are_those_of_the_schedule(target: str, rows: int, place: int) -> None:
    """Slots, persistent grids and staged stores are what the passes choose: both predictions are the same."""
    size = rows, 2112, 256
    choice = choose_tiles(Operands(size, f16, f16, f32, f16), Target.parse(target))[place]
    module = embed.parse(benchmark_module("products").text_of("f16", size), "f.mlir")
    extents = (choice.columns, choice.rows) if choice.exchanged else (choice.rows, choice.columns)
    embed.run(module, [TirxTileLinalgPass((*extents, choice.depth), choice.threads, target, choice.exchanged)])
    assert choice.exchanged is (rows < 64)
    predictor = Predictor("auto", None)
    passes = lower_to_ptx_passes(target).passes
    front = passes[: [each.name for each in passes].index(SCHEDULED) + 1]
    embed.run(module, front, after_each=predictor.after)
    found = re.search(r": (\d+\.\d) us", predictor.report())
    assert found is not None and float(found[1]) == pytest.approx(1e6 * choice.score, abs=0.06)


def test_drawn_sizes() -> None:
    """Every tenth N and K may be any, half of which are below 128; of M, which is that of a batch, all may."""
    sizes = drawn(Operands((None, None, None), f16, f16, f32, f16), MOST_VARIANTS)
    m, n, k = (sum(size[d] < 128 for size in sizes) for d in range(3))
    assert 0.4 < m / len(sizes) < 0.7
    assert 0.03 < n / len(sizes) < 0.08 and 0.03 < k / len(sizes) < 0.08


def test_parts_of_k_are_those_of_sums_of_32_bits() -> None:
    """Others are no choice: `tirx-split-k` refuses them."""
    for sums in (f16, f32):
        operands = Operands((64, 64, 4096), f16, f16, sums, f16)
        rated = [rated_tile(operands, Target.parse("sm_90a"), (64, 64, 64), 128, parts=parts) for parts in (1, 4)]
        assert [each is not None for each in rated] == [True, sums == f32]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kind", "size"), [("f16", (256, 2112, 256)), ("e4m3", (16, 1024, 5184))])
def test_candidates_that_the_search_measures(kind: str, size: tuple[int, int, int]) -> None:
    """The options of a candidate make the ring, the pairs and the parts that the model counts, one of each schedule."""
    search = benchmark_module("product_search")
    found = {(each.parts, each.shares, each.is_ordered, each.exchanged, each.most): (options, each)
             for options, each in search.candidates((kind, size), 1.5).items()}  # fmt: skip
    assert len(found) > 8
    for options, choice in list(found.values())[::9]:
        launch = Program.from_json(search.compiled((kind, size, options))).kernels["product"].launch
        slots = max((ring.slots for ring in launch.schedule.rings if "fill" in ring.stations), default=1)
        in_cluster = choice.parts * (2 if choice.shares else 1)
        assert (slots, launch.cluster) == (choice.work.slots, (in_cluster, 1, 1)), options


# Types, target, size, family -> the best tiles that may multiply, and the microseconds that they are rated.
_RECORDED = [
    ("f16", "sm_90a", (4096, 4096, 4096), "wgmma",
     "128x256x64:178.8 128x208x64:183.5 192x176x64:185.5 256x128x64:188.4 128x128x64:188.8 192x144x64:189.9"),
    ("f16", "sm_90a", (64, 2112, None), "wgmma",
     "64x16x64:4.906 64x64x64:5.263 64x128x64:5.99 128x64x64:6.404 64x8x64:6.522 64x192x64:7.067"),
    ("f16", "sm_100a", (4096, 2112, 4096), "tcgen05",
     "128x128x64:67.45 128x256x64:70.96 128x64x64:111.3"),
    ("f16", "sm_80", (4096, 2112, 4096), "mma_sync",
     "128x256x64:364.3 64x128x64:365 128x128x64:371 64x64x64:417.5"),
    ("f16", "sm_120a", (2048, 2048, 2048), "mma_sync",
     "64x64x64:120.7 64x128x64:130.2 128x128x64:131.8 128x256x64:159.1"),
    ("f64", "sm_90a", (1024, 1024, 1024), "mma_sync f64",
     "64x128x16:46.13 64x64x16:48.71 128x128x16:76.78"),
    ("f64", "sm_80", (1024, 1000, 1024), "mma_sync f64",
     "64x64x16:177.4 128x128x16:213.1 64x128x16:216.3"),
    ("f32", "sm_80", (512, 512, 512), "mma_sync",
     "64x64x32:7.968 64x128x32:12.25 128x128x32:21.02 128x256x32:38.57"),
    ("f16", "sm_75", (512, 512, 512), "mma_sync",
     "64x64x64:13.65 64x128x64:17 128x128x64:22.98 128x256x64:34.93"),
    ("f16", "sm_90a", (512, 2050, 512), "wgmma",
     "128x64x64:5.728 256x32x64:6.069 64x64x64:6.508 192x48x64:6.523 64x136x64:6.593 128x32x64:6.655"),
    ("i8", "sm_90a", (1024, 1024, 1024), "wgmma",
     "128x64x128:4.874 64x128x128:4.874 256x32x128:5.27 64x64x128:5.678 192x48x128:5.691 64x192x128:5.964"),
]  # fmt: skip
_TYPES: dict[str, tuple[Any, Any, Any, Any]] = {
    "f16": (f16, f16, f32, f16),
    "f64": (f64, f64, f64, f64),
    "f32": (f32, f32, f32, f32),
    "i8": (i8, i8, i32, i32),
}


@together(("types", "target", "size", "family", "expected"), _RECORDED)
def test_recorded_choices(
    types: str, target: str, size: tuple[int | None, int | None, int | None], family: str, expected: str
) -> None:
    found = choose_tiles(Operands(size, *_TYPES[types]), Target.parse(target))
    assert " ".join(f"{c}:{1e6 * c.score:.4g}" for c in found[:6]) == expected
    assert {each.family for each in found} == {family}


def test_rings_of_more_slots_than_there_is_room_for_are_one() -> None:
    schedules, target = Schedules(parts=(1, 2), slots=(2, 3, 4, 6, 12)), Target.parse("sm_90a")
    found = {tile: list(rings_of(target, (*tile, 64), schedules)) for tile in ((128, 256), (64, 64))}
    assert found[128, 256] == [(1, 2), (1, 3), (1, 4), (1, 6), (2, 2), (2, 3), (2, 4), (2, 6)]
    assert found[64, 64] == [*((1, n) for n in schedules.slots), (2, 2), (2, 3), (2, 4), (2, 6)]


def test_tiles_without_room_are_none() -> None:
    """Sums fit into half of the registers, as many slots as are asked for into shared memory beside mbarriers."""
    operands, target = Operands((4096, 4096, 4096), f16, f16, f32, f16), Target.parse("sm_90a")
    for tile, threads, asked, expected in (
        ((128, 256, 64), 256, None, True), ((256, 256, 64), 256, None, False), ((128, 128, 64), 128, None, True),
        ((128, 192, 64), 128, None, False), ((128, 256, 64), 256, 4, True), ((128, 256, 64), 256, 5, False),
        ((128, 128, 64), 128, 8, False), ((128, 128, 64), 128, 7, True),
    ):  # fmt: skip
        assert (rated_tile(operands, target, tile, threads, asked) is not None) is expected, (tile, asked)
    scores = {(asked, shares): rated_tile(operands, target, (128, 128, 64), 128, asked, shares)
              for asked in (2, 3) for shares in (None, "a", "b")}  # fmt: skip
    assert {key: f"{1e6 * found.score:.4g}" for key, found in scores.items() if found is not None} == {
        (2, None): "350.3", (2, "a"): "344.8", (2, "b"): "344.8",
        (3, None): "254.4", (3, "a"): "250.6", (3, "b"): "250.6",
    }  # fmt: skip
    few = Operands((16, 4096, 4096), f16, f16, f32, f16).exchange()  # half of the sums move once more, to D
    assert [rated_tile(few, target, (256, 16, 64), 512, asked, None, 2) is not None for asked in (5, 6)] == [
        True,
        False,
    ]
    turned = Operands((256, 12800, 1280), f16, f16, f32, f32).exchange()  # all sums are transposed beside a ring
    for name, threads in (("sm_100a", 128), ("sm_90a", 256)):
        rated = [rated_tile(turned, Target.parse(name), (128, n, 64), threads) for n in (64, 128, 144, 256)]
        assert [each is not None for each in rated] == [True, True, False, False]
    rated = [rated_tile(operands, target, (128, n, 64), 256, None, shares) for n in (24, 32) for shares in ("a", "b")]
    assert [each is not None for each in rated] == [True, False, True, True]  # a block of a pair loads half of B
    many = choose_tiles(Operands((128, 256, 512), f16, f16, f32, f16, batch=40), target)
    assert " ".join(f"{c}:{1e6 * c.score:.4g}" for c in many[:4]) == (
        "128x88x64:5.287 128x128x64:5.629 64x88x64:5.95 64x256x64:6.023"
    )
    on_blackwell = rated_tile(operands, Target.parse("sm_100a"), (128, 256, 64), 128)
    assert on_blackwell is not None and on_blackwell.family == "tcgen05", "sums are no registers there"


def test_blocks_of_a_multiprocessor_have_rings_and_staged_stores() -> None:
    """Three slots of 8 KiB, and the 8 KiB that wait for bulk stores where the target has them; 1 KiB of the system."""
    for name, room, kib in (("sm_80", 164, 24 + 1), ("sm_90a", 228, 24 + 8 + 1)):
        operands, target = Operands((4096, 4096, 4096), f16, f16, f32, f16), Target.parse(name)
        ring = ring_of(operands, target, (64, 64, 32), 128, 3)
        assert ring is not None and ring.work.at_once == room // kib


def test_words_of_choices() -> None:
    operands, target = Operands((4096, 4096, 4096), f16, f16, f32, f16), Target.parse("sm_90a")
    plain = rated_tile(operands, target, (128, 128, 64), 128)
    streamed = rated_tile(operands, target, (128, 128, 64), 256, streamed=True)
    assert plain is not None and streamed is not None
    ordered = " in groups of rows" * streamed.is_ordered
    assert str(streamed) == f"128x128x64{ordered} as a stream along K"
    changed = replace(
        plain, exchanged=True, parts=2, shares="a", is_ordered=True, work=replace(plain.work, cluster=(2, 4))
    )
    assert str(changed) == (
        "128x128x64 of D^T = B A^T in 2 parts of K in pairs that share A in clusters of 2x4 in groups of rows"
    )


def test_choices_are_legal() -> None:
    """Sums fit into registers, operands into shared memory."""
    found = choose_tiles(Operands((4096, 4096, 4096), f16, f16, f32, f16), Target.parse("sm_90a"))
    assert len(found) > 9 and all(each.rows * each.columns <= 144 * each.threads for each in found)
    for size in ((1536, 3264, 4096), (2048, 6144, 4096)):  # ptxas has 128 registers where 512 threads run
        found = choose_tiles(Operands(size, f16, f16, f32, f16), Target.parse("sm_90a"))
        assert any(each.threads == 384 for each in found)
        assert all(each.columns <= 192 for each in found if each.threads == 384)
    wide = choose_tiles(Operands((4096, 4096, 4096), f64, f64, f64, f64), Target.parse("sm_120a"))
    assert wide and all((each.rows + each.columns) * each.depth * 8 <= 100 * 1024 for each in wide)
    open_sizes = choose_tiles(Operands((None, None, 4096), f16, f16, f32, f32), Target.parse("sm_90a"))
    assert len(open_sizes) == 9


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((256, 6144, 4096), "128x96x64 in groups of rows"),  # L2 has B once for all rows of tiles
        ((1000, 1000, 1000), "64x128x64 in pairs that share B in groups of rows"),  # rows that straddle lines
        ((128, 2112, 7168), "128x96x64 in 4 parts of K"),
        ((96, 3648, 7488), "64x96x64 of D^T = B A^T in 2 parts of K"),  # rows of A outside of a tile take time
        ((256, 28672, 4096), "128x152x64"),  # three rounds, all of them full
        ((4096, 4096, 4096), "128x256x64"),
    ],
)
def test_orders_and_pairs_are_chosen_with_tiles(size: tuple[int, int, int], expected: str) -> None:
    """Tiles that an H200 was measured to do best, where a launch has few of them (`benchmarks/data`)."""
    schedules = Schedules((1, 2, 4), (6, 8, 12), ordered=True)
    assert str(choose_tiles(Operands(size, f16, f16, f32, f16), Target.parse("sm_90a"), schedules)[0]) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("target", "size", "mean", "worst"),
    [
        ("sm_90a", (None, 6144, 4096), 1.01, 1.031),
        ("sm_100a", (None, None, 4096), 1.0, 1.06),
        ("sm_80", (512, 1024, None), 1.01, 1.03),
    ],
)
def test_variants_cost_little_beside_the_best_tile(
    target: str, size: tuple[int | None, int | None, int | None], mean: float, worst: float
) -> None:
    """A launch takes the variant with the least cost; sizes that no variant was chosen for lose little."""
    operands, on = Operands(size, f16, f16, f32, f16), Target.parse(target)
    sizes = tuple(Call("size", (0, d)) if n is None else n for d, n in enumerate(size))
    variants = choose_variants(operands, sizes, on)  # pyright: ignore[reportArgumentType]
    assert choose_variants(operands, sizes, on) is variants  # pyright: ignore[reportArgumentType]
    kinds = [each.tile.kind for each in variants if not each.conditions]
    assert 1 <= len(kinds) <= MOST_VARIANTS and len({*kinds}) == len(kinds)
    assert {each.tile.kind for each in variants} == {*kinds}
    losses: list[float] = []
    random, taken_by = Random(5), _taken(variants)
    for _ in range(16):
        m, n, k = (round(2 ** random.uniform(0, 10)) * (8 if d else 1) if n is None else n for d, n in enumerate(size))
        launch = LaunchSizes([(m, n, k)], [], 132)
        tile = taken_by(launch).tile
        given = replace(operands, size=(m, n, k), is_open=None in size[:2])
        shape = tile.rows, tile.columns, tile.depth
        taken = rated_tile(given.exchange() if tile.exchanged else given, on, shape, tile.threads, most=tile.most)
        assert taken is not None
        losses.append(taken.score / choose_tiles(given, on)[0].score)
    assert max(losses) < worst and sum(losses) / len(losses) < mean, losses


def _taken(variants: Sequence[VariantChoice]) -> Callable[[LaunchSizes], VariantChoice]:
    """Finds the variant of a launch."""
    least = LeastCost([each.cost for each in variants], [each.conditions for each in variants])

    def taken(launch: LaunchSizes) -> VariantChoice:
        place = least.place(launch)
        assert place is not None
        return variants[place]

    return taken


@pytest.mark.parametrize("size", [(None, 2112, 7168), (4096, None, 4096), (128, None, 7168)])
def test_no_size_loses_more_than_three_percent_where_one_is_open(size: tuple[int | None, int, int]) -> None:
    """By the model, beside the best of all candidates, from 1 to 8192: where formulas are wrong conditions say so."""
    operands, on, d = Operands(size, f16, f16, f32, f16), Target.parse("sm_90a"), size.index(None)
    extents = [*range(1, 512, 7), *range(512, 8193, 151)] if d == 0 else [*range(8, 8193, 88)]
    found, formula = candidates(operands, on, SCHEDULES), Call("size", (0, 0))
    variants = choose_variants(operands, tuple(formula if n is None else n for n in size), on, SCHEDULES)  # pyright: ignore
    seconds = times_of(found, operands, tuple(np.array(extents) if n is None else n for n in size))
    rows = {(each.exchanged, *each.rating): i for i, each in enumerate(found)}
    taken_by = _taken(variants)
    for i, extent in enumerate(extents):
        tile = taken_by(LaunchSizes([(extent,)], [], 132)).tile
        shape, where = (tile.rows, tile.columns, tile.depth), (tile.shares, tile.parts, tile.most, tile.is_ordered)
        row = rows[tile.exchanged, shape, tile.threads, None, *where, tile.streamed]
        assert seconds[row, i] < 1.0301 * seconds[:, i].min(), extent


def test_tiles_are_rated_at_once_as_one_by_one() -> None:
    """Tiles of all schedules and sizes, with a K that straddles sectors, and one that threads copy."""
    sizes = [(1, 64, 72), (333, 1000, 7168), (8192, 8, 4100), (4097, 2112, 64)]
    every = tuple(np.array(each) for each in zip(*sizes, strict=True))
    schedules = Schedules((1, 2, 4), (4, 8, 12), ordered=True, streams=True)
    for name in ("sm_90a", "sm_80"):
        for size in ((None, None, None), (64, 1000, None)):
            operands = Operands(size, f16, f16, f32, f16)
            given = tuple(every[d] if n is None else n for d, n in enumerate(size))
            found = candidates(operands, Target.parse(name), schedules)
            each_size = [tuple(n or one[d] for d, n in enumerate(size)) for one in sizes]
            counts = [[each.work(operands, n).counts(each.ring.gpu) for n in each_size] for each in found]  # pyright: ignore
            alone = [[seconds_of(each, found[0].ring.gpu)[0] for each in row] for row in counts]
            gains = np.array([[0.97 if each.is_ordered or each.ring.work.shares else 1] for each in found])
            assert np.allclose(times_of(found, operands, given) * gains, alone, rtol=1e-12)


def test_variants_that_are_rated() -> None:
    """Pairs share the larger operand of a tile that is not turned, with one part of K, on Hopper in any order only."""
    operands = Operands((64, None, 1024), f16, f16, f32, f16)
    of = {
        (target, ordered, streams): candidates(
            operands, Target.parse(target), Schedules(parts=(1, 2), ordered=ordered, streams=streams)
        )
        for target in ("sm_90a", "sm_100a")
        for ordered in (False, True)
        for streams in (False, True)
    }
    for (target, ordered, streams), found in of.items():
        plans = [(each.exchanged, *each.rating) for each in found]
        pairs = [each for each in plans if each[4] is not None]
        assert bool(pairs) is (ordered and target == "sm_90a")
        for is_turned, (rows, columns, _), _, _, shares, parts, _, _, streamed in pairs:
            assert not is_turned and parts == 1 and not streamed
            assert rows >= columns if shares == "a" else rows <= columns
        assert {shares for _, _, _, _, shares, *_ in pairs} == ({"a", "b"} if pairs else set())
        several = {(2, False)} if target == "sm_90a" else set[tuple[int, bool]]()
        assert {(each[5], each[8]) for each in plans} == {(1, False), (1, streams)} | several
        assert {each[0] for each in plans} == {False, True}
    schedules = Schedules(parts=(2,), ordered=True)
    assert all(each.rating[3] is None for each in candidates(operands, Target.parse("sm_90a"), schedules))


def test_sums_in_any_order_may_be_a_stream() -> None:
    """Few tiles of a long K, where the additions of `linalg` have `fastmath<reassoc>`; written options hold."""
    text = benchmark_module("products").text_of("f16", (64, 64, 65536))
    marked = text.replace("arith.addf %z, %r : f32", "arith.addf %z, %r fastmath<reassoc> : f32")
    for program, options, streams in (
        (text, "", False),
        (marked, "", True),
        (marked, "parts=1", False),
        (marked, "split=none", False),
    ):
        launch = tirx.build(program, "sm_90a", options=options).kernels["product"].launch
        assert any(argument.kind == "workspace" for argument in launch.arguments) is streams, (options, streams)
