"""Structs by value with pointers and tensor maps, and variables that the host sets, compiled by nvcc for sm_90."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.cuda_programs import Program, program
from unit.sim.kernels import HEADER
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap


def _matrix(array: np.ndarray) -> dict[int, Any]:
    return {0: array, 8: np.int32(array.shape[0]), 12: np.array(array.shape[1], np.int32)}


@program("structs")
def test_fields(program: Program) -> None:
    x = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)
    out = np.zeros((7, 5), np.float32)
    run(program.ptx, "scale", 2, 32, [_matrix(x), _matrix(out), 2.0])
    np.testing.assert_array_equal(out, 2 * x.T)


@program("structs")
def test_variables_of_the_module(program: Program) -> None:
    x = np.random.default_rng(2).integers(-9, 9, 50).astype(np.float32)
    weights = np.array([1, 2, 3, 4, 5], np.float32)
    out, calls, last = np.zeros_like(x), np.array([10], np.int32), np.zeros(2, np.float32)
    run(program.ptx, "convolve", 2, 32, [x, out, 50], variables={"weights": weights, "calls": calls, "last": last})
    np.testing.assert_array_equal(out, np.convolve(x, weights[::-1], "same"))
    np.testing.assert_array_equal(last, [0, out[-1]])
    assert calls[0] == 12
    again = np.zeros_like(x)
    run(program.ptx, "convolve", 2, 32, [x, again, 50])
    np.testing.assert_array_equal(again, 0)


@program("structs")
def test_tensor_maps(program: Program) -> None:
    x = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
    tiles, out = TensorMap(x, (32, 8)), np.zeros((9, 32), np.float32)
    run(program.ptx, "tile_of_struct", 1, 32, [{0: tiles, 128: out, 136: np.int32(32)}, 32, 5])
    np.testing.assert_array_equal(out[1:], x[5:13, 32:])
    out = np.zeros((8, 32), np.float32)
    run(program.ptx, "tile_of_global", 1, 32, [tiles, out, 16, 8])
    np.testing.assert_array_equal(out, x[8:, 16:48])


_DATA = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({0: _DATA, 4: np.int32(1)}, r"expected scale_param_0\+4 of 4 bytes beside the other fields in 16 bytes"),
        ({0: _DATA, 12: np.int64(1)}, r"expected scale_param_0\+12 of 8 bytes beside the other fields in 16 bytes"),
        ({-4: np.int32(1)}, "beside the other fields"),
        ({0: _DATA.T}, r"expected a C-contiguous array for scale_param_0\+0"),
        ({0: _DATA.astype(">f4")}, r"numbers in the byte order of this machine for scale_param_0\+0, found >f4"),
        ({0: _DATA.astype(str)}, r"numbers in the byte order of this machine for scale_param_0\+0, found <U"),
        (
            {8: 4},
            r"expected an array, a numpy scalar, bytes, a TensorMap or a PointerTable for scale_param_0\+8, found 4",
        ),
        ({0: TensorMap(_DATA, (4, 4))}, "beside the other fields in 16 bytes"),
        (4, "expected the 16 bytes of scale_param_0, or its fields as a mapping of offsets, found 4"),
        (b"1", "expected 16 bytes for scale_param_0, found 1"),
    ],
)
@program("structs")
def test_wrong_structs(program: Program, argument: Any, message: str) -> None:
    with pytest.raises(SimError, match=message):
        run(program.ptx, "scale", 1, 32, [argument, _matrix(_DATA), 2.0])


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"weight": _DATA}, r"expected a variable in .global or .const of the module \(.*weights\), found 'weight'"),
        ({"weights": _DATA}, "expected a writable C-contiguous array of 20 bytes for weights, found one of 64"),
    ],
)
@program("structs")
def test_wrong_variables(program: Program, variables: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(SimError, match=message):
        run(program.ptx, "convolve", 1, 32, [_DATA, _DATA.copy(), 4], variables=variables)


_TWO_ARRAYS = """{header}.visible .entry k(.param .u64 a, .param .u64 b) {{
  .reg .b64 %d; ld.param.u64 %d, [a]; st.global.b32 [%d], 3; st.global.b32 [%d+12], 4; ret;
}}
"""


@together("part", [slice(0, 0), slice(0, 4), slice(0, 2), slice(1, 4)])
def test_arrays_that_share_memory(part: slice) -> None:
    array = np.zeros(4, np.uint32)
    run(_TWO_ARRAYS.format(header=HEADER), "k", 1, 1, [array, array[part]])
    np.testing.assert_array_equal(array, [3, 0, 0, 4])
