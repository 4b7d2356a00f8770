"""Register tiles of every element type go through branches, loops and selections with their bits unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.sim import run

TYPES = {
    "i8": 8,
    "si8": 8,
    "ui8": 8,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "f8E8M0FNU": 8,
    "i16": 16,
    "si16": 16,
    "f16": 16,
    "bf16": 16,
    "i32": 32,
    "ui32": 32,
    "f32": 32,
    "tf32": 32,
    "i64": 64,
    "si64": 64,
    "f64": 64,
}
"""Element types of register tiles, with their bits."""


def kernel(body: str, element: str) -> str:
    """A kernel that moves tiles %ga and %gb of 32 elements to %go; %p is whether %n > 1."""
    return f"""
    !r = !tirx.tile<32x{element}, register>
    !g = !tirx.tile<32x{element}, global>
    !m = memref<32x{element}>
    tirx.kernel @k(%a: !m, %b: !m, %o: !m, %n: index) target("sm_90a") threads(32) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %ga = tirx.view %a[%c0] : !m -> !g
      %gb = tirx.view %b[%c0] : !m -> !g
      %go = tirx.view %o[%c0] : !m -> !g
      %p = arith.cmpi ult, %c1, %n : index
      {body}
      tirx.return
    }}
    """


def moved(body: str, element: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bytes of A, B and what the kernel makes of them."""
    rng = np.random.default_rng(n)
    dtype = np.dtype(f"u{TYPES[element] // 8}")
    a, b = (rng.integers(0, 2 ** (8 * dtype.itemsize) - 1, 32, dtype, endpoint=True) for _ in range(2))
    out = np.zeros_like(a)
    run(assembled(tirx.compile(kernel(body, element))), "k", (1, 1, 1), (32, 1, 1), [a, b, out, n])
    return a, b, out


BOTH_BRANCHES = """
  %r = tirx.alloc : !r
  scf.if %p {
    tirx.copy %ga, %r : !g, !r
  } else {
    tirx.copy %gb, %r : !g, !r
  }
  tirx.copy %r, %go : !r, !g
"""
"""A tile that both branches write first."""


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.sample(2)
def test_both_branches_write(element: str):
    a, _, out = moved(BOTH_BRANCHES, element, 2)
    np.testing.assert_array_equal(out, a)
    _, b, out = moved(BOTH_BRANCHES, element, 1)
    np.testing.assert_array_equal(out, b)


ONE_BRANCH = """
  %r = tirx.alloc : !r
  scf.if %p {
    tirx.copy %ga, %r : !g, !r
  }
  tirx.copy %r, %go : !r, !g
"""


@pytest.mark.parametrize("element", ["si8", "f8E8M0FNU", "bf16", "tf32", "si64"])
@pytest.mark.sample(3)
def test_what_a_branch_leaves_unwritten_is_zero(element: str):
    a, _, out = moved(ONE_BRANCH, element, 2)
    np.testing.assert_array_equal(out, a)
    _, _, out = moved(ONE_BRANCH, element, 1)
    assert not out.any()


SWAPPED = """
  %x = tirx.load %ga : !g -> !r
  %y = tirx.load %gb : !g -> !r
  %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%e = %x, %f = %y) -> (!r, !r) {
    scf.yield %f, %e : !r, !r
  }
  tirx.store %s, %go : !r, !g
"""
"""Two values that a loop swaps in every round."""


@pytest.mark.parametrize("element", ["ui8", "f16", "ui32", "f64"])
@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.sample(5)
def test_loops_carry_values(element: str, n: int):
    a, b, out = moved(SWAPPED, element, n)
    np.testing.assert_array_equal(out, b if n % 2 else a)


SELECTED = """
  %x = tirx.load %ga : !g -> !r
  %y = tirx.load %gb : !g -> !r
  %v = scf.if %p -> (!r) {
    scf.yield %y : !r
  } else {
    scf.yield %x : !r
  }
  %s = arith.select %p, %x, %v : !r
  %t = arith.select %p, %v, %s : !r
  tirx.store %t, %go : !r, !g
"""


@pytest.mark.parametrize("element", ["i8", "si16", "f32", "i64"])
@pytest.mark.sample(2)
def test_select_and_results_of_branches(element: str):
    _, b, out = moved(SELECTED, element, 2)
    np.testing.assert_array_equal(out, b)
    a, _, out = moved(SELECTED, element, 1)
    np.testing.assert_array_equal(out, a)
