"""Kernels of `examples/gallery` equal numpy on this GPU: the tests of the simulator, with launches in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from unit.kernels import test_gallery as places
from unit.kernels import test_gallery_of_elements as elements
from unit.kernels import test_gallery_of_folds as folds

from tirx.runtime import GpuError
from tirx.runtime.driver import Device
from tirx.runtime.program import Kernel

_TESTS: dict[str, Callable[[str, int, str], None]] = {
    **dict.fromkeys(places.KERNELS, places.test_gallery),
    **dict.fromkeys(elements.KERNELS, elements.test_kernels_of_numbers),
    **dict.fromkeys(folds.KERNELS, folds.test_kernels_that_combine_elements),
}
"""Kernel -> the test of it, which takes its name, the number of a size, and a target."""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("name", _TESTS)
def test_gallery(name: str, size: int, target: str, gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        gpu.check_target(target)
    except GpuError as error:
        pytest.skip(str(error))
    if (name, target) in elements.MISSING:
        pytest.skip(f"{target} has no such types")

    def launch(kernel: Kernel, *arguments: Any, check: str = "") -> None:
        kernel(*arguments)

    monkeypatch.setattr(Kernel, "simulate", launch)
    _TESTS[name](name, size, target)
