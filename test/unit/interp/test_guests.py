"""Operations with `evaluate`: what they are given, and what becomes of their results."""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from unit.interp.test_run import error_of
from xdsl.dialects.builtin import f32
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from tirx import embed
from tirx.dialects.tirx import KernelOp, TileType, kernels
from tirx.embed import TileOpInterface
from tirx.interp import run_kernel

_TILE = "!tirx.tile<4xf32, register>"


@irdl_op_definition
class _ScaleOp(IRDLOperation, TileOpInterface):
    """A tile times a number."""

    name = "toy.scale"

    source, factor, result = operand_def(TileType), operand_def(f32), result_def(TileType)
    traits = traits_def(Pure())

    assembly_format = "$source `,` $factor attr-dict `:` type($source) `->` type($result)"

    def evaluate(self, *operands: Any) -> Sequence[Any]:
        source, factor = operands
        assert factor.shape == () and factor.dtype == np.float32
        return [source * factor]


def _kernel(factor: str, **methods: Any) -> KernelOp:
    text = f"""
tirx.kernel @k(%a: memref<4xf32>, %d: memref<4xf32>) grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0] : memref<4xf32> -> !tirx.tile<4xf32, global>
  %gd = tirx.view %d[%c0] : memref<4xf32> -> !tirx.tile<4xf32, global>
  %x = tirx.load %ga : !tirx.tile<4xf32, global> -> {_TILE}
  {factor}
  %y = toy.scale %x, %f : {_TILE} -> {_TILE}
  tirx.store %y, %gd : {_TILE}, !tirx.tile<4xf32, global>
  tirx.return
}}"""
    kind = type("ScaleOp", (_ScaleOp,), methods)
    (found,) = kernels(embed.parse(text, "k.mlir", embed.context(Dialect("toy", [kind]))))
    return found


_KNOWN = "%f = arith.constant 3.0 : f32"
_NEAR = "%t = arith.constant 1.1 : f32\n%f = math.exp2 %t : f32"
_NEVER = "%v = memref.alloca() : memref<f32>\n%f = memref.load %v[] : memref<f32>"


@pytest.mark.parametrize("bounds", [False, True])
def test_numbers_among_the_operands(bounds: bool) -> None:
    """Results are as exact, and as known, as all that the operation is given."""
    a, d = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    assert run_kernel(_kernel(_KNOWN), [a, d], bounds=bounds).exact and d.tolist() == [0, 3, 6, 9]
    ran = run_kernel(_kernel(_NEAR), [a, d], bounds=bounds)
    assert np.allclose(d, a * 2**1.1) and not ran.exact
    if bounds:
        assert ran.errors[1] is not None and np.isinf(ran.errors[1]).all()
    kind, message = error_of(_kernel(_NEVER), a, d)
    assert kind == "never-written" and message.startswith("k.mlir:8:6: ")


def test_residues_have_no_operations_of_others() -> None:
    a, d = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kind, message = error_of(_kernel(_KNOWN), a, d, modular=True)
    assert kind == "unsupported"
    assert message.endswith("expected operations that residues have, found 'toy.scale'")


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], "to return a list of 1 results, found 0"),
        ([1, 2], "to return a list of 1 results, found 2"),
        ([np.zeros(3, np.float32)], "to give float32 of shape (4,) for"),
        ([np.zeros(4, np.int32)], "to give float32 of shape (4,) for"),
        ([np.zeros(4, np.float64)], None),
        ([np.zeros(4, np.float16)], None),
    ],
)
def test_results(results: list[Any], said: str | None) -> None:
    kernel = _kernel(_KNOWN, evaluate=lambda *_: results)
    a, d = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    if said is None:
        run_kernel(kernel, [a, d])
        assert not d.any()
    else:
        with pytest.raises(embed.LocatedError) as caught:
            run_kernel(kernel, [a, d])
        assert said in str(caught.value)
