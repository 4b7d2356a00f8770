"""The kernels of `examples/python` give what those of `examples/gallery` give, at sizes that tiles do not divide."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from unit.cases import Sampled
from unit.kernels.test_gallery import FILES, KERNELS, PROMISES, arguments_of, run

import tirx as tx
from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_PYTHON = Path(__file__).parents[3] / "examples" / "python"

CALLED = {"w4a16": 1, "w4a16_row": 1}
"""The sizes of calls, where they are not the last ones: calls ask for rows of x as long as those of w."""


def kernel_of(name: str) -> tx.Kernel:
    """The kernel of examples/python."""
    return run_path(str(_PYTHON / f"{FILES.get(name, name)}.py"))[name]


def _copies(arguments: list[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


def _require_close(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3 if np.asarray(a).dtype == np.float16 else 2e-5, atol=1e-4)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_python_gives_the_numbers_of_the_text(name: str, sampled: Sampled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text means what its name says, Python what the text means, and the PTX of some of them gives the same."""
    arguments = arguments_of(name)
    expected, found = _copies(arguments), _copies(arguments)
    run(name, expected)
    if name in PROMISES:
        promised = PROMISES[name](_copies(arguments))
        several = promised if isinstance(promised, tuple) else (promised,)
        for value, wanted in zip(expected[-len(several) :], several, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=2e-3, atol=1e-2)
    kernel = kernel_of(name)
    module = kernel.ir(*arguments)
    module.verify()
    run_kernel(next(iter(kernels(module))), found)
    _require_close(found, expected)
    if name in sampled(sorted(KERNELS), 1):
        monkeypatch.setenv("TIRX_CACHE", "")
        if name in CALLED:
            arguments = arguments_of(name, CALLED[name])
            run(name, expected := _copies(arguments))
        simulated = _copies(arguments)
        kernel(*simulated)
        _require_close(simulated, expected)


def test_no_operation_outside_of_the_module_uses_its_values() -> None:
    """Bodies of loops are tried: passes that run over the module in place see what is in it only."""
    module = kernel_of("cumulative_sum_look_back").ir(*arguments_of("cumulative_sum_look_back"))
    assert embed.run(module, embed.pipeline("sm_90a"))


def test_softmax_and_gemm() -> None:
    x = np.random.default_rng(0).normal(0, 2, (5, 1024)).astype(np.float16)
    expected, found = np.zeros_like(x), np.zeros_like(x)
    run_kernel(next(iter(kernels(embed.parse((_PYTHON.parent / "softmax.mlir").read_text())))), [x, expected])
    run_kernel(next(iter(kernels(kernel_of("softmax").ir(x, found)))), [x, found])
    np.testing.assert_allclose(found, expected, rtol=2e-3)
    a, b = (np.random.default_rng(n).integers(-4, 5, (n, 72)).astype(np.float16) for n in (70, 41))
    d = np.zeros((70, 41), np.float16)
    run_kernel(next(iter(kernels(kernel_of("gemm").ir(a, b, d)))), [a, b, d])
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)
