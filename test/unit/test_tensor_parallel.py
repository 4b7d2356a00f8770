"""`examples/tensor_parallel.py` and `reduce_scatter.py`: several devices, one behind the other in the simulator."""

from __future__ import annotations

import importlib.util
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirx.layout import Mesh, TileLayout
from tirx.layout.interop.mesh import to_placements

_EXAMPLE = Path(__file__).parents[2] / "examples" / "tensor_parallel.py"
_SIZES = (64, 128, 64, 64)


@pytest.fixture(autouse=True)
def _verify_once(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Leaves out the verification behind each pass, which the tests of passes do."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")


def _shards(array: Any, layout: TileLayout, mesh: Mesh) -> list[Any]:
    (d,) = to_placements(layout, array.shape, mesh)
    return [array] * mesh.size if d is None else np.split(array, mesh.size, d)


def test_shards_on_two_devices() -> None:
    """The program without a framework: numpy splits as the layouts say, and adds."""
    example: dict[str, Any] = runpy.run_path(str(_EXAMPLE))
    m, n, k, p = _SIZES
    a, b, w = example["inputs"](*_SIZES)
    mesh, known = Mesh((2,), ("tp",)), example["shardings"](*_SIZES, 2)
    parts = [_shards(array, known[name][1], mesh) for name, array in (("A", a), ("B", b), ("W", w))]
    first, second = example["product"](m, n // 2, k, True, "sm_80"), example["product"](m, p, n // 2, False, "sm_80")
    sums: Any = np.zeros((m, p), np.float32)
    for x, y, z in zip(*parts, strict=True):
        hidden = example["simulated"](first, x, y, np.float16)
        sums += example["simulated"](second, hidden, np.ascontiguousarray(z), np.float32)
    a, b, w = (x.astype(np.float32) for x in (a, b, w))
    assert np.array_equal(sums, (a @ b.T) @ w.T)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
def test_with_jax() -> None:
    """A process of its own, because the number of devices is fixed when JAX starts."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, str(_EXAMPLE)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 devices equal one: True, numpy: True\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("sizes", "devices", "target"), [((64, 72, 64), 2, "sm_90a"), ((192, 64, 192), 3, "sm_80")])
def test_sum_by_rows(sizes: tuple[int, int, int], devices: int, target: str) -> None:
    """Parts go into the memory of the device that keeps the rows, behind flags of system scope."""
    example: dict[str, Any] = runpy.run_path(str(_EXAMPLE.with_name("reduce_scatter.py")))
    a, b = (x.astype(np.float32) for x in example["inputs"](*sizes))
    assert np.array_equal(example["simulated"](*sizes, devices, target), a @ b.T)
