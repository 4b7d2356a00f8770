"""Integers become floats, rounded once, and floats integers, on every target with the same bits."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_FLOATS: dict[str, tuple[Any, int]] = {
    "bf16": (ml_dtypes.bfloat16, 8),
    "f16": (np.float16, 11),
    "f32": (np.float32, 24),
    "f64": (np.float64, 53),
}
"""Type -> dtype and digits."""

_INTEGERS = {"i16": 16, "i32": 32, "i64": 64}
_COUNT = 256


def _numbers(bits: int) -> np.ndarray[Any, Any]:
    """Ties of every format and the numbers beside them, with small and large exponents and both signs, and others."""
    found = {0, (1 << bits - 1) - 1, -(1 << bits - 1), -1, 65519, 65520, (1 << 24) + 1}
    for _, digits in _FLOATS.values():
        for size in {digits + 1, (digits + bits) // 2, bits - 1, bits} if digits < bits else ():
            first, tie = 1 << size - 1, 1 << size - digits - 1
            found |= {sign * (first + odd * tie + near) for odd, near, sign in product((1, 3), (-1, 0, 1), (1, -1))}
    wrapped = {(n + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for n in found}
    assert len(wrapped) < _COUNT
    rng, ends = np.random.default_rng(bits), (-(1 << bits - 1), (1 << bits - 1) - 1)
    others = rng.integers(*ends, _COUNT, f"i{bits // 8}") >> rng.integers(0, bits, _COUNT, f"i{bits // 8}")
    return np.array([*wrapped, *others.tolist()][:_COUNT], f"i{bits // 8}")


def _nearest(n: int, name: str) -> float:
    """The float that is nearest to an integer, the even one of two."""
    size, digits = abs(n), _FLOATS[name][1]
    if (shift := size.bit_length() - digits) > 0:
        below, rest, half = size >> shift, size & (1 << shift) - 1, 1 << shift - 1
        size = below + (rest > half or (rest == half and below & 1 == 1)) << shift
    return (-1 if n < 0 else 1) * (float("inf") if name == "f16" and size > 65504 else float(size))


def _kernel(target: str) -> str:
    """Every integer as every float, and every float as every integer, with a sign and without one."""
    arguments = [f"%p{t}: memref<{_COUNT}x{t}>" for t in (*_INTEGERS, *_FLOATS)]
    lines = [
        f"%t{t} = tirx.load %p{t}[0] : memref<{_COUNT}x{t}> -> !tirx.tile<{_COUNT}x{t}, register>"
        for t in (*_INTEGERS, *_FLOATS)
    ]
    for (a, b), kind in product((*product(_INTEGERS, _FLOATS), *product(_FLOATS, _INTEGERS)), "su"):
        name = f"d{a}{b}{kind}"
        convert = f"{kind}itofp" if a in _INTEGERS else f"fpto{kind}i"
        arguments.append(f"%{name}: memref<{_COUNT}x{b}>")
        lines += [
            f"%r{name} = tirx.map ins(%t{a} : !tirx.tile<{_COUNT}x{a}, register>) {{",
            f"^bb0(%x: {a}):",
            f"  %m = math.absf %x : {a}" if convert == "fptoui" else "",
            f"  %y = arith.{convert} {'%m' if convert == 'fptoui' else '%x'} : {a} to {b}",
            f"  tirx.yield %y : {b}",
            f"}} -> !tirx.tile<{_COUNT}x{b}, register>",
            f"tirx.store %r{name}, %{name}[0] : !tirx.tile<{_COUNT}x{b}, register>, memref<{_COUNT}x{b}>",
        ]
    body = "\n".join(lines)
    return f'tirx.kernel @k({", ".join(arguments)}) target("{target}") grid(1) threads(256) {{\n{body}\n}}'


@pytest.mark.parametrize("target", [None, "sm_75", "sm_90a"])
def test_integers_become_the_nearest_floats_and_floats_lose_their_fractions(target: str | None) -> None:
    """The interpreter (no target) and the simulator have the bits that arithmetic of whole numbers has."""
    integers = {name: _numbers(bits) for name, bits in _INTEGERS.items()}
    fractions = np.random.default_rng(0).uniform(-1, 1, _COUNT) * 2.0 ** np.linspace(0, 15, _COUNT)
    floats = {name: fractions.astype(dtype) for name, (dtype, _) in _FLOATS.items()}
    expected: list[list[float]] = []
    for a, b, kind in product(_INTEGERS, _FLOATS, "su"):
        numbers = integers[a] if kind == "s" else integers[a].view(f"u{_INTEGERS[a] // 8}")
        expected.append([_nearest(n, b) for n in numbers.tolist()])
    for a, _, kind in product(_FLOATS, _INTEGERS, "su"):
        expected.append([int(float(x) if kind == "s" else abs(float(x))) for x in floats[a]])
    results = [np.zeros(_COUNT, _FLOATS[b][0]) for _, b, _ in product(_INTEGERS, _FLOATS, "su")]
    results += [np.zeros(_COUNT, f"i{_INTEGERS[b] // 8}") for _, b, _ in product(_FLOATS, _INTEGERS, "su")]
    arguments = (*integers.values(), *floats.values(), *results)
    if target is None:
        (kernel,) = kernels(embed.parse(_kernel("sm_75")))
        assert run_kernel(kernel, arguments).exact
    else:
        program = tirx.build(_kernel(target))
        assert ("cvt.rn.bf16.s64" in program.ptx) == (target == "sm_90a")
        assembled(program.ptx)
        program.kernels["k"].simulate(*arguments)
    for number, (found, wanted) in enumerate(zip(results, expected, strict=True)):
        assert found.astype(np.float64).tolist() == wanted, number


_PLACES = """
tirx.kernel @k(%a: memref<4xi8>, %b: memref<4xf32>, %u: memref<1xui64>, %v: memref<1xui32>) grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xi8>
  %f = arith.bitcast %x : i8 to f8E4M3FN
  %w = arith.extf %f : f8E4M3FN to f32
  %n = memref.load %u[%c0] : memref<1xui64>
  %i = arith.index_cast %n : ui64 to index
  %y = memref.load %b[%i] : memref<4xf32>
  %s = arith.addf %y, %w : f32
  %m = memref.load %v[%c0] : memref<1xui32>
  %j = arith.index_cast %m : ui32 to index
  memref.store %s, %b[%j] : memref<4xf32>
  tirx.return
}
"""


def test_bytes_are_narrow_floats_and_numbers_without_a_sign_places() -> None:
    program = tirx.build(_PLACES, "sm_90")
    assert program.ptx.count("cvt.u64.u32") == 1
    a, b = np.array([0x3C, 1, 2, 3], np.int8), np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    program.kernels["k"].simulate(a, b, np.array([3], np.uint64), np.array([2], np.uint32))
    assert b.tolist() == [1.0, 2.0, 4.0 + 1.5, 4.0]
