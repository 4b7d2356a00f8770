"""The choice of tiles: what it rates before anything is compiled is what the passes make."""

from __future__ import annotations

import re

import pytest
from unit.test_benchmarks import benchmark_module
from xdsl.dialects.builtin import f16, f32, f64

from tirx import embed
from tirx.hw.targets import Target
from tirx.passes.match.tile_choice import Operands, choose_tiles
from tirx.passes.pipeline import lower_to_ptx_passes
from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass
from tirx.tools.predictions import Predictor

_SIZE = 512, 2112, 256


@pytest.mark.parametrize(("target", "place"), [("sm_90a", 0), ("sm_90a", -1), ("sm_100a", 0)])
def test_ratings_are_those_of_the_schedule(target: str, place: int) -> None:
    """Slots, persistent grids and staged stores are what the passes choose: both predictions are the same."""
    choice = choose_tiles(Operands(_SIZE, f16, f16, f32, f16), Target.parse(target))[place]
    module = embed.parse(benchmark_module("products").text_of("f16", _SIZE), "f.mlir")
    tile = (choice.rows, choice.columns, choice.depth)
    embed.run(module, [TirxTileLinalgPass(tile, choice.threads, target)])
    predictor = Predictor("auto", None)
    for each in lower_to_ptx_passes(target).passes:
        embed.run(module, [each])
        predictor.after(each, module)
        if report := predictor.report():
            break
    else:
        raise AssertionError("expected a prediction")
    found = re.search(r": (\d+\.\d) us", report)
    assert found is not None and float(found[1]) == pytest.approx(1e6 * choice.score, abs=0.06)


def test_choices_are_legal() -> None:
    """Sums fit into registers, operands into shared memory."""
    assert len(choose_tiles(Operands((4096, 4096, 4096), f16, f16, f32, f16), Target.parse("sm_90a"))) == 9
    wide = choose_tiles(Operands((4096, 4096, 4096), f64, f64, f64, f64), Target.parse("sm_120a"))
    assert wide and all((each.rows + each.columns) * each.depth * 8 <= 100 * 1024 for each in wide)
    open_sizes = choose_tiles(Operands((None, None, 4096), f16, f16, f32, f32), Target.parse("sm_90a"))
    assert len(open_sizes) == 9
