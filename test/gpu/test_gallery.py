"""Kernels of `examples/gallery` equal numpy on this GPU; `-s` shows microseconds of a call with copies of arrays."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from unit.kernels.test_gallery_of_elements import KERNELS, MISSING, TOLERANCES

import tirx
from tirx.runtime import GpuError
from tirx.runtime.driver import Device

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("name", KERNELS)
def test_gallery(name: str, size: int, target: str, gpu: Device) -> None:
    make, sizes = KERNELS[name]
    try:
        gpu.check_target(target)
    except GpuError as error:
        pytest.skip(str(error))
    if (name, target) in MISSING:
        pytest.skip(f"{target} has no such types")
    (kernel,) = tirx.build((GALLERY / f"{name}.mlir").read_text(), target=target).kernels.values()
    arguments, *expected = make(*sizes[size])
    kernel(*[np.copy(each) for each in arguments])
    start = perf_counter()
    kernel(*arguments)
    print(f" {name} {sizes[size]} {target}: {(perf_counter() - start) * 1e6:.0f} us")
    for found, wanted in zip(arguments[-len(expected) :], expected, strict=True):
        tolerance = TOLERANCES.get(name, 2e-3 if found.dtype == np.float16 else 2e-5)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=4 * tolerance)
