"""Costs of variants: formulas in whole numbers, the least of which is that of a variant that is fast by the model."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32, f64
from xdsl.ir import Attribute

from tirx.dialects.formula import Call, Formula, LaunchSizes
from tirx.dialects.formula_code import compiled
from tirx.hw.targets import Target
from tirx.passes.match.tile_choice import Operands, Schedules
from tirx.passes.match.variant_choice import candidates, times_of
from tirx.passes.match.variant_cost import cost_of
from tirx.predict import gpu_of

_SCHEDULES = Schedules((1, 2, 4), (6, 8, 12), ordered=True)
_STREAMS = Schedules((1, 2, 4), (6, 8, 12), ordered=True, streams=True)
_COUNT = 100


def _sizes(operands: Operands) -> list[tuple[int, ...]]:
    """Sizes of launches, small and large, some whose rows end within sectors of memory."""
    random = Random(3)

    def drawn(known: int | None, d: int) -> int:
        extent = round(2 ** random.uniform(5 if d else 0, 13))
        return known if known is not None else -(-extent // 8) * 8 if d else extent

    return [tuple(drawn(known, d) for d, known in enumerate(operands.size)) for _ in range(_COUNT)]


@pytest.mark.parametrize(
    ("target", "types", "size", "batch", "schedules"),
    [
        ("sm_90a", (f16, f16, f32, f16), (None, None, None), 1, _SCHEDULES),
        ("sm_90a", (f16, f16, f32, f32), (None, None, 4096), 1, _STREAMS),
        ("sm_100a", (f16, f16, f32, f16), (None, 6144, None), 1, _SCHEDULES),
        ("sm_80", (f64, f64, f64, f64), (None, None, None), 1, _SCHEDULES),
        ("sm_90a", (f16, f16, f32, f16), (None, None, None), 6, _SCHEDULES),
        ("sm_75", (f16, f16, f32, f32), (None, None, None), 1, _SCHEDULES),
    ],
)
def test_costs_are_times(
    target: str,
    types: tuple[Attribute, Attribute, Attribute, Attribute],
    size: tuple[int | None, int | None, int | None],
    batch: int,
    schedules: Schedules,
) -> None:
    """They are within 6 % of the time, half within 0.2 %; the least one is within 2 % of the fastest candidate."""
    operands, parsed = Operands(size, *types, batch=batch), Target.parse(target)
    sizes = _sizes(operands)
    every = tuple(np.array(each) if n is None else n for each, n in zip(zip(*sizes, strict=True), size, strict=True))
    tiles = candidates(operands, parsed, schedules)[::7]
    seconds = times_of(tiles, operands, every)
    choices = [each.at(operands, (1024, 1024, 1024), parsed) for each in tiles]
    opened: list[Formula] = [Call("size", (0, d)) if n is None else n for d, n in enumerate(size)]
    evaluate = compiled(cost_of(each, operands, opened, gpu_of(parsed)) for each in choices)
    costs = np.array([evaluate(LaunchSizes([each], [], 1)) for each in sizes]).T
    assert costs.max() < 1 << 62
    errors = np.abs(costs * 1e-12 / seconds - 1)
    assert np.median(errors) < 0.002 and np.quantile(errors, 0.9) < 0.025 and errors.max() < 0.06
    losses = seconds[costs.argmin(axis=0), np.arange(_COUNT)] / seconds.min(axis=0) - 1
    assert losses.max() < 0.02


def test_empty_launches_have_a_cost() -> None:
    """No extent of 0 divides anything."""
    operands, target = Operands((None, None, None), f16, f16, f32, f16), Target.parse("sm_90a")
    opened = [Call("size", (0, d)) for d in range(3)]
    tiles = (each.at(operands, (64, 64, 64), target) for each in candidates(operands, target, _STREAMS)[::20])
    evaluate = compiled(cost_of(each, operands, opened, gpu_of(target)) for each in tiles)
    for size in ((0, 64, 64), (64, 0, 64), (64, 64, 0), (0, 0, 0)):
        assert min(evaluate(LaunchSizes([size], [], 1))) >= 0
