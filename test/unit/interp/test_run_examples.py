"""Examples compute what numpy says, as text, behind passes and in Python."""

from __future__ import annotations

from runpy import run_path
from typing import Any

import numpy as np
import pytest
from unit.cases import Sampled
from unit.examples import EXAMPLES, PROGRAMS
from unit.sim.example_launches import LAUNCHES

import tirx as tx
from tirx import embed
from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import kernels
from tirx.interp import can_run
from tirx.passes import lower_to_ptx_passes
from tirx.runtime import build
from tirx.text.verification import run_passes
from tirx.universe import new_context


@pytest.mark.sample(5)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_example(path: Any) -> None:
    """It computes what numpy says behind all passes that keep tiles."""
    context, module = new_context(), embed.parse(path.read_text(), path.name)
    passes = lower_to_ptx_passes(None, "multiprocessors=2 stages=2").passes
    last = [each.name for each in passes].index("tirx-prefetch-fragments")
    with diagnostic_handler(lambda _: None):
        run_passes(context, module, passes[: last + 1])
    found = list(kernels(module))
    assert found
    for kernel in found:
        if can_run(kernel):
            LAUNCHES[kernel.sym_name.data].check(kernel, seed=1)


_PYTHON = [path for path in PROGRAMS if path.stem != "softmax"]  # which has no types of its own


def test_every_example_is_there_in_python() -> None:
    gallery = {path.stem for path in (EXAMPLES / "gallery").glob("*.mlir")}  # test_gallery_in_python
    written = {path.stem for path in (EXAMPLES / "python").glob("*.py")}
    assert written == {*gallery, *(path.stem for path in PROGRAMS), "gemm"}  # the README's


@pytest.mark.parametrize("path", _PYTHON, ids=lambda path: path.stem)
def test_example_in_python(path: Any, sampled: Sampled) -> None:
    """Text and Python have the same arguments and targets, and compute what numpy says; what Python makes compiles."""
    names = run_path(str(path.parent / "python" / f"{path.stem}.py"))
    written = {name: each for name, each in names.items() if isinstance(each, tx.Kernel)}
    texts = list(kernels(embed.parse(path.read_text(), path.name)))
    assert list(written) == [kernel.sym_name.data for kernel in texts]
    for text, kernel in zip(texts, written.values(), strict=True):
        (found,) = kernels(kernel.module)
        found.verify()
        assert found.body.block.arg_types == text.body.block.arg_types
        assert (found.target, found.threads, found.cluster) == (text.target, text.threads, text.cluster)
        example = LAUNCHES[found.sym_name.data]
        example.check(found)
        example.check(text)
        if path in sampled(_PYTHON, 3):
            assert f".entry {found.sym_name.data}" in tx.compile(kernel.module)


def test_a_pass_that_adds_a_part_twice() -> None:
    """Pairs of blocks of one row of tiles, whose second tile would be added as well, are not made."""
    program = build((EXAMPLES / "split_k_gemm.mlir").read_text(), options="cluster=rows")
    values = LAUNCHES["split_k"].make(np.random.default_rng(0), "integers")
    program.kernels["split_k"].simulate(*values.arguments)
    np.testing.assert_array_equal(values.arguments[2], values.outputs[0].expected)
