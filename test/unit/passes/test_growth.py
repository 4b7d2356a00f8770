"""Work of steps of the pipeline for a part of a program, which does not grow with the program."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from unit.test_benchmarks import benchmark_module

GROWTH = 4


@pytest.mark.parametrize(
    ("shape", "step", "size"),
    [
        ("reductions", "tirx-check-layouts", 16),
        ("flags", "tirx-insert-barriers", 16),
        ("products by tcgen05", "tirx-check-synchronization", 16),
    ],
)
def test_calls_grow_as_programs_do(shape: str, step: str, size: int) -> None:
    scaling = benchmark_module("compiler_scaling")

    def calls(parts: int) -> int:
        found: list[int] = []

        def counted(name: str, run: Callable[[], object]) -> None:
            if not found and name == step:
                found.append(scaling.calls_of(run))
            elif not found:
                run()  # what comes behind the step does nothing

        scaling.compile_steps(scaling.SHAPES[shape](parts), counted)
        return found[0]

    calls(2)  # fills what is computed once
    assert calls(GROWTH * size) <= GROWTH**scaling.GOAL * calls(size)
