"""Launches whose results are known, compared with kernels behind passes and with PTX; what a watch compares."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from unit.examples import EXAMPLES

from tirx import embed
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.tirx import KernelOp, kernels
from tirx.interp import RunError
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass
from tirx.runtime import check_arguments, comparison, tune
from tirx.runtime.comparison import Case
from tirx.runtime.origins import Origin
from tirx.runtime.watch import Watch

_FOLD = """
!t = !tirx.tile<8x64xf32, register>
tirx.kernel @k(%a: memref<8x64xf32>, %d: memref<8x64xf32>) target("sm_80") grid(1) threads(32) {
  %x = tirx.load %a[0, 0] : memref<8x64xf32> -> !t
  %y = tirx.scan ins(%x : !t) dim(1) (%p, %q) { BODY } -> !t
  tirx.store %y, %d[0, 0] : !t, memref<8x64xf32>
}
"""
_ADD = """
tirx.kernel @k(%a: memref<?xTYPE>, %d: memref<?xTYPE>) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %ga = tirx.view %a[%c0] clipped : memref<?xTYPE> -> !tirx.tile<8xTYPE, global>
  %gd = tirx.view %d[%c0] clipped : memref<?xTYPE> -> !tirx.tile<8xTYPE, global>
  LOOP
    %x = tirx.load %ga : !tirx.tile<8xTYPE, global> -> REG
    %y = tirx.load %gd : !tirx.tile<8xTYPE, global> -> REG
    %z = tirx.map ins(%x, %y : REG, REG) (%e, %f) { OP } -> REG
    tirx.store %z, %gd : REG, !tirx.tile<8xTYPE, global>
  END
  tirx.return
}
"""


def _kernel(text: str) -> KernelOp:
    (found,) = kernels(embed.parse(text, "k.mlir"))
    return found


def _adding(type_: str = "f32", operation: str = "%e + %f", rounds: bool = False) -> KernelOp:
    loop, end = ("scf.for %i = %c0 to %c8 step %c1 {", "}") if rounds else ("", "")
    words = {
        "REG": "!tirx.tile<8xTYPE, register>",
        "TYPE": type_,
        "OP }": f"{operation} }}",
        "LOOP": loop,
        "  END": end,
    }
    text = _ADD
    for word, value in words.items():
        text = text.replace(word, value)
    return _kernel(text)


def test_residues_that_depend_on_the_order() -> None:
    arrays = np.arange(512, dtype=np.float32).reshape(8, 64), np.zeros((8, 64), np.float32)
    assert Case.of(_kernel(_FOLD.replace("BODY", "%p + %q")), "", arrays, modular=True).ran.exact
    with pytest.raises(RunError, match="expected reductions that combine in any order, found some whose residues"):
        Case.of(_kernel(_FOLD.replace("BODY", "%p - %q")), "", arrays, modular=True)


def test_kernels_behind_passes_may_have_more_operations() -> None:
    """Ten times as many; a kernel that refuses the arguments by now does nothing wrong."""
    arrays = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    short, long = _adding(), _adding(rounds=True)
    case = Case.of(short, "", arrays, max_operations=12)
    found = case.interpreted(long)
    assert found is not None and found.message.startswith("7 of 8 elements of %d differ")
    few = Case(short, "", arrays, case.ran, case.expected, max_operations=2).interpreted(long)
    assert few is not None and few.message.startswith("expected at most 20 operations")
    assert Case.of(short, "", arrays).interpreted(short) is None
    assert case.interpreted(_adding("f16")) is None
    assert case.interpreted(_adding(operation="%e - %f")) is None
    wrong = case.interpreted(_adding(operation="%f - %e"))
    assert wrong is not None and "first %d[1]: expected 1.0, found -1.0" in wrong.message


@together(
    ("type_", "dtype", "modular"),
    [("f32", np.float32, True), ("i32", np.int32, True), ("i32", np.int32, False), ("i64", np.int64, False)],
)
def test_numbers_that_are_compared(type_: str, dtype: Any, modular: bool) -> None:
    """Floats by their residues where they stand for some; integers always as they are."""
    kernel = _adding(type_)
    arrays = np.full(8, 1 << 20, dtype), np.zeros(8, dtype)
    case = Case.of(kernel, "", arrays, modular=modular)
    moved = np.full(8, (1 << 20) + 509, dtype)
    same = type_ == "f32"
    problem = case._difference(kernel, [arrays[0], moved])  # pyright: ignore[reportPrivateUsage]
    assert (problem is None) is same
    assert case._difference(kernel, [arrays[0], arrays[0] % 509 if same else arrays[0]]) is None  # pyright: ignore[reportPrivateUsage]


def test_elements_of_four_bits_are_unpacked_once() -> None:
    codes = np.array([0x21, 0x43], np.uint8)
    dtype = np.dtype(ml_dtypes.int4)
    for array in (codes, np.array([1, 2, 3, 4], dtype)):
        assert comparison._numbers(array, dtype).tolist() == [1, 2, 3, 4]  # pyright: ignore[reportPrivateUsage]
    wide = np.array([(1 << 62) + 1], np.int64)
    assert comparison._numbers(wide, wide.dtype).tolist() == wide.tolist()  # pyright: ignore[reportPrivateUsage]


def test_what_a_watch_waits_for() -> None:
    """Kernels with parameters have launches once they are bound; those of the last level have none, with a warning."""
    text = """
tirx.kernel @k(%d: memref<8xf32>) target("sm_80") params(N in [8, 4]) grid(1) threads(32) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %g = tirx.view %d[%c0] : memref<8xf32> -> !tirx.tile<[N]xf32, global>
  tirx.fill %g, %one : f32, !tirx.tile<[N]xf32, global>
  tirx.return
}"""
    said: list[Diagnostic] = []
    module = embed.parse(text, "k.mlir")
    with diagnostic_handler(said.append):
        watch = Watch.of(module)
        assert not watch.cases
        done = TirxSpecializePass()
        watch.after(done, module)
        assert not watch.cases and not watch.lowered
        done.apply(embed.context(), module)
        watch.after(done, module)
        assert len(watch.cases["k"]) == 2 and not said
        lowered = embed.parse(
            'tirx.kernel @k() target("sm_80") grid(1) threads(32) {\n  %t = ptx.read_special tid.x\n}', "k.mlir"
        )
        assert Watch.of(lowered).cases == {"k": ()}
    assert [each.message for each in said] == [
        "nothing was compared of @k: expected a kernel of the tile or scheduled level, found another one"
    ]


def test_functions_that_kernels_come_from() -> None:
    """Functions whose operations all have a meaning; their results have bounds where no order is exact."""
    text = """
func.func @sum(%a: memref<4x8xf32>, %b: memref<5x8xf32>, %d: memref<4x5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4x8xf32>, memref<5x8xf32>) outs(%d : memref<4x5xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func @other(%a: memref<4x8xf32>, %d: memref<4x8xf32>) {
  linalg.copy ins(%a : memref<4x8xf32>) outs(%d : memref<4x8xf32>)
  %n = "test.op"() : () -> i32
  func.return
}
func.func @plain() {
  func.return
}"""
    module = embed.parse(text, "f.mlir", embed.context(allow_unregistered=True))
    found = Origin.of(module)
    assert list(found) == ["sum"]
    assert [form is not None and form.permutation for form in found["sum"].forms] == [(0, 1)] * 3
    rng = np.random.default_rng(0)
    a, b, d = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 8), (5, 8), (4, 5)))
    expected = d + a @ b.T
    ran = found["sum"].run([a, b, d], bounds=True)
    error = ran.errors[2]
    assert not ran.exact and error is not None and (error > 0).all()
    assert (np.abs(d - expected) <= error).all() and found["sum"].run([a, b, d]).errors[2] is None


def test_random_arguments() -> None:
    def random(dtype: Any, numbers: Any, integers: Any = "any") -> Any:
        rng = np.random.default_rng(0)
        return check_arguments._random(rng, (2000,), np.dtype(dtype), numbers, None, integers)  # pyright: ignore[reportPrivateUsage]

    assert random(np.bool_, "normal").dtype == np.bool_
    assert random(np.int16, "normal").max() == 32767 and random(np.int16, "normal", "few").max() == 2
    assert np.isfinite(random(ml_dtypes.float8_e5m2, "special").astype(np.float32)).all()
    assert not np.isfinite(random(np.float16, "special")).all() and np.isfinite(random(np.float16, "normal")).all()


def test_arrays_as_long_as_may_be() -> None:
    most = check_arguments._MOST_SPAN  # pyright: ignore[reportPrivateUsage]
    assert check_arguments._strided([most - 1], (2,), np.dtype(np.int8)).strides == (most - 1,)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ValueError, match=f"^expected arrays within {most} elements, found one of strides "):
        check_arguments._strided([most], (2,), np.dtype(np.int8))  # pyright: ignore[reportPrivateUsage]


def test_codes_of_sparse_operands_have_a_meaning() -> None:
    module = embed.parse((EXAMPLES / "gallery" / "sparse_gemm.mlir").read_text(), "sparse_gemm.mlir")
    TirxSpecializePass().apply(embed.context(), module)
    (kernel,) = kernels(module)
    found = check_arguments._values(kernel)  # pyright: ignore[reportPrivateUsage]
    assert found == {"f8E8M0FNU": (0.5, 1.0, 2.0, 4.0), "i4": [4, 8, 9, 12, 13, 14]}


def test_values_of_parameters_that_are_no_program() -> None:
    kernel = _kernel("""
tirx.kernel @k(%d: memref<8xf32>) target("sm_80") params(N in [64, 40]) grid(1) threads(N) {
  tirx.return
}""")
    assert tune._is_program(kernel, {"N": "64"}) and not tune._is_program(kernel, {"N": "wide"})  # pyright: ignore[reportPrivateUsage]
    assert tune._is_program(_adding(), {})  # pyright: ignore[reportPrivateUsage]
