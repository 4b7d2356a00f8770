"""Compiled kernels as attributes: what is in them is what a launch needs, through text and back."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr

import tirx
from tirx.compiler import lower
from tirx.dialects.formula import Call
from tirx.dialects.ptx import BinaryOp
from tirx.runtime.extract import TirxExtractKernelsPass, launch_of, program_of
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_SOURCE = """
tirx.kernel @double(%a: memref<?x128xf32>, %n: i32) target("sm_80") grid(size(0, 0)) threads(32) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%i, %c0] : memref<?x128xf32> -> !tirx.tile<1x128xf32, global>
  %r = tirx.alloc : !tirx.tile<1x128xf32, register>
  tirx.copy %g, %r : !tirx.tile<1x128xf32, global>, !tirx.tile<1x128xf32, register>
  %d = tirx.alloc : !tirx.tile<1x128xf32, register>
  tirx.copy %r, %g : !tirx.tile<1x128xf32, register>, !tirx.tile<1x128xf32, global>
  tirx.return
}
"""


def _binary(text: str) -> BinaryOp:
    module = lower(text)
    TirxExtractKernelsPass().apply(new_context(), module)
    module.verify()
    again = parse_located(new_context(), str(module))
    (binary,) = again.ops
    assert isinstance(binary, BinaryOp)
    return binary


def test_a_binary_holds_the_program_and_how_to_launch_it() -> None:
    program = tirx.build(_SOURCE)
    binary = _binary(_SOURCE)
    assert binary.text.data == program.ptx
    launch = launch_of(binary)
    assert launch == program.kernels["double"].launch
    assert launch.grid is not None and launch.grid[0] == Call("size", (0, 0))
    a = np.arange(256, dtype=np.float32).reshape(2, 128)
    expected = a.copy()
    program_of(binary).kernels["double"].simulate(a, 7)
    assert np.array_equal(a, expected)


def test_a_descriptor_with_a_fault() -> None:
    binary = _binary(_SOURCE)
    binary.launch = DictionaryAttr({key: value for key, value in binary.launch.data.items() if key != "block"})
    with pytest.raises(ValueError, match="expected a launch descriptor, found one with a fault: KeyError"):
        launch_of(binary)
