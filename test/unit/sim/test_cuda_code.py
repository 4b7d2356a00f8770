"""Calls, structs, local arrays, switches, constants, printf and assert as nvcc compiles them."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

import numpy as np
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

from tirx.sim import SimError


def _rng() -> np.random.Generator:
    return np.random.default_rng(8)


@program("functions")
def test_calls(program: Program) -> None:
    x, c = _rng().uniform(-2, 2, 48).astype(np.float32), np.array([1, -2, 0.5, 3], np.float32)
    out = np.zeros_like(x)
    run(program.ptx, "polynomial", 1, 48, [c, 4, x, out])
    short = np.arange(48) % 3 == 0
    np.testing.assert_allclose(out, np.where(short, -np.polyval(c[:3], x), np.polyval(c, x)), rtol=1e-5, atol=1e-6)


def _ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return _ackermann(m - 1, 1 if n == 0 else _ackermann(m, n - 1))


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [None, 1])
@program("recursion")
def test_recursion_and_tables(program: Program, seed: int | None) -> None:
    out = np.zeros((48, 4), np.int32)
    run(program.ptx, "functions", 1, 48, [out, 2], seed=seed)
    for t, found in enumerate(out.tolist()):
        applied, combined = (3 + t, 7 * t) if t % 2 else (3 * t, t + 7)
        assert found == [applied, math.factorial(t % 10), combined, _ackermann(t % 3, t % 4)]


_POINT = np.dtype([("x", "f4"), ("y", "f4"), ("tag", "i4"), ("weight", "f8")], align=True)


@program("functions")
def test_structs_as_arguments_and_results(program: Program) -> None:
    points = np.zeros(33, _POINT)
    for name in ("x", "y", "weight"):
        points[name] = _rng().integers(-50, 50, 33)
    points["tag"] = np.arange(33)
    out = np.zeros_like(points)
    run(program.ptx, "points", 1, 33, [points, out, 0.5])
    np.testing.assert_array_equal(out["x"], points["x"] + 1.5)
    np.testing.assert_array_equal(out["y"], points["y"] - 1.5)
    np.testing.assert_array_equal(out["tag"], points["tag"])
    np.testing.assert_array_equal(out["weight"], points["weight"] * 0.5)


@program("functions")
def test_a_struct_as_parameter(program: Program) -> None:
    """A struct is passed as its bytes; it may not contain pointers to arrays of numpy."""
    parameters = struct.pack("<QQifhhhxx", 0, 0, 0, 2.5, 1, 2, 3)
    run(program.ptx, "by_value", 1, 32, [parameters])
    with pytest.raises(SimError, match="expected 32 bytes for by_value_param_0, found 31"):
        run(program.ptx, "by_value", 1, 32, [parameters[:-1]])
    with pytest.raises(SimError, match="global load of 4 bytes at 0x0"):
        run(program.ptx, "by_value", 1, 32, [parameters[:16] + b"\1" + parameters[17:]])


@program("functions")
def test_small_values_and_pointers_to_locals(program: Program) -> None:
    x = _rng().integers(-1000, 1000, (32, 2)).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "small_values", 1, 32, [x, out])
    swapped = x[:, ::-1]
    np.testing.assert_array_equal(out, np.where(swapped & 1, swapped & 255, swapped))


@program("functions")
def test_arrays_in_local_memory(program: Program) -> None:
    x = _rng().integers(-99, 99, (40, 16)).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "sort_local", 1, 40, [x, out])
    np.testing.assert_array_equal(out, np.sort(x, axis=1))


@program("functions")
def test_switch_constants_and_global_variables(program: Program) -> None:
    code = np.concatenate([np.arange(13), _rng().integers(0, 14, 51)]).astype(np.int32)
    x = _rng().integers(-1000, 1000, 64).astype(np.int32)
    out = np.full(64, 77, np.int32)
    run(program.ptx, "switches", 1, 64, [code, x, out])
    table, scales = [3, 1, 4, 1, 5, 9, 2, 6], [1.5, -3.0]
    functions: list[Callable[[int], int]] = [
        lambda v: v + 1, lambda v: v * v, lambda v: v << 3, lambda v: -v, lambda v: table[v & 7],
        lambda v: int((v ^ 0x5555) / 7), lambda v: int(v / 7), lambda v: v - 7 * int(v / 7),
        lambda v: (20, 30)[v & 1], lambda v: int(v * scales[v & 1]), lambda v: 77,
    ]  # fmt: skip
    # Case 5 goes on into case 6, which starts anew from x.
    functions[5] = functions[6]
    pairs = zip(code.tolist(), x.tolist(), strict=True)
    wanted: list[int] = [functions[c](v) if c < 11 else 12345 for c, v in pairs]
    assert out.tolist() == wanted


@pytest.mark.sample(1)
@program("functions")
@pytest.mark.parametrize("seed", [None, 1])
def test_loops_of_different_lengths(program: Program, seed: int | None) -> None:
    x = np.arange(1, 97, dtype=np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "collatz", 1, 96, [x, out], seed=seed)

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n & 1 else n // 2), count + 1
        return count

    assert out.tolist() == [steps(int(n)) for n in x]


@program("functions")
def test_printf(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.array([1.5, -2.25, 100.125], np.float32)
    run(program.ptx, "prints", 1, 32, [x, 3])
    wanted = [
        f"thread {t} of block: {x[t]:5.2f} {3000000000 + t} {-5 << 40} {chr(97 + t)} {t * 17:x}%" for t in range(3)
    ]
    assert capsys.readouterr().out.splitlines() == wanted


@program("functions")
def test_assert(program: Program) -> None:
    x = np.arange(32, dtype=np.int32)
    run(program.ptx, "asserts", 1, 32, [x])
    x[9] = -1
    with pytest.raises(SimError, match=re.escape("assertion failed: in[threadIdx.x] >= 0 (")):
        run(program.ptx, "asserts", 1, 32, [x])
