"""The kernels of `examples/python` give what those of `examples/gallery` give, at sizes that tiles do not divide."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from unit.kernels import test_gallery, test_gallery_of_elements, test_gallery_of_folds

import tirx as tx
from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel
from tirx.passes.kernels.tirx_specialize import specialize

_EXAMPLES = Path(__file__).parents[3] / "examples"
_FILES = {"embedding_backward": "embedding"}
_NAMES = sorted([*test_gallery.KERNELS, *test_gallery_of_elements.KERNELS, *test_gallery_of_folds.KERNELS])


def arguments_of(name: str) -> list[Any]:
    """The arguments of a kernel, of the size that is a multiple of nothing."""
    if name in test_gallery.KERNELS:
        return test_gallery.KERNELS[name](77)[1]
    if name in test_gallery_of_elements.KERNELS:
        make, sizes = test_gallery_of_elements.KERNELS[name]
        return make(*sizes[-1])[0]
    make, sizes = test_gallery_of_folds.KERNELS[name]
    return make(*sizes[1])[0]


def kernel_of(name: str) -> tx.Kernel:
    """The kernel of examples/python."""
    return run_path(str(_EXAMPLES / "python" / f"{_FILES.get(name, name)}.py"))[name]


def _copies(arguments: list[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


@pytest.mark.parametrize("name", _NAMES)
def test_python_gives_the_numbers_of_the_text(name: str) -> None:
    text = (_EXAMPLES / "gallery" / f"{_FILES.get(name, name)}.mlir").read_text()
    arguments = arguments_of(name)
    expected, found = _copies(arguments), _copies(arguments)
    named = {each.sym_name.data: each for each in kernels(embed.parse(text))}
    kernel = named.get(name) or next(iter(named.values()))
    if kernel.params is not None:
        specialize(kernel, {})
    run_kernel(kernel, expected)
    module = kernel_of(name).ir(*arguments)
    module.verify()
    run_kernel(next(iter(kernels(module))), found)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3 if np.asarray(a).dtype == np.float16 else 2e-5, atol=1e-4)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", _NAMES)
def test_the_simulator_runs_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_CACHE", "")
    arguments = arguments_of(name)
    expected, found = _copies(arguments), _copies(arguments)
    run_kernel(next(iter(kernels(kernel_of(name).ir(*arguments)))), expected)
    kernel_of(name)(*found)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3 if np.asarray(a).dtype == np.float16 else 2e-5, atol=1e-4)
