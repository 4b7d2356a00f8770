"""Numbers of bf16 where the target has no instructions for them: the bits of the instructions, NaN included."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

_RESULTS = (
    "%x + %y", "%x - %y", "%x * %y", "%x / %y", "fma(%x, %y, %z)", "absf(%x)", "minimumf(%x, %y)", "maxnumf(%x, %y)",
    "bf16(%w)", "select(%x < %y, bf16(f32(%x)), %z)", "sqrt(%x)",
)  # fmt: skip
_COUNT = 4096


def _kernel() -> str:
    arguments = ", ".join(f"%{name}: memref<{_COUNT}xbf16>" for name in "abc")
    lines = [f"%{name} = tirx.load %{name[-1]}[0] : memref<{_COUNT}xbf16> -> !t" for name in ("xa", "xb", "xc")]
    lines.append(f"%v = tirx.load %f[0] : memref<{_COUNT}xf32> -> !tirx.tile<{_COUNT}xf32, register>")
    for i, result in enumerate(_RESULTS):
        types = f"!t, !t, !t, !tirx.tile<{_COUNT}xf32, register>"
        lines.append(f"%r{i} = tirx.map ins(%xa, %xb, %xc, %v : {types}) (%x, %y, %z, %w) {{ {result} }} -> !t")
        lines.append(f"tirx.store %r{i}, %d[{i}, 0] : !t, memref<{len(_RESULTS)}x{_COUNT}xbf16>")
    head = f"tirx.kernel @k({arguments}, %f: memref<{_COUNT}xf32>, %d: memref<{len(_RESULTS)}x{_COUNT}xbf16>)"
    return f"!t = !tirx.tile<{_COUNT}xbf16, register>\n{head} grid(1) threads(256) {{\n" + "\n".join(lines) + "\n}\n"


def test_the_bits_are_those_of_the_instructions() -> None:
    """Of any numbers, of products that nearly cancel, of small ones, and of f32 halfway between two bf16."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 1 << 16, (3, _COUNT)).astype(np.uint16)
    words[:, 1024:] = words[:, 1024:] & 0x83FF | 0x3C00
    words[:, 2048:2560] &= 0x83FF
    words[2, 3072:] = words[2, 3072:] & 0x80FF | 0x2000
    halves = rng.integers(0, 1 << 32, _COUNT).astype(np.uint32)
    halves[::2] = halves[::2] & 0xFFFF0000 | 0x8000
    found: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint16]]] = {}
    for target in ("sm_75", "sm_90a"):
        program = tirx.build(_kernel(), target)
        assembled(program.ptx)
        results = np.zeros((len(_RESULTS), _COUNT), np.uint16)
        operands = [*words.view(ml_dtypes.bfloat16), halves.view(np.float32)]
        program.kernels["k"].simulate(*operands, results.view(ml_dtypes.bfloat16))
        found[target] = results
    for name, by_f32, by_instructions in zip(_RESULTS, found["sm_75"], found["sm_90a"], strict=True):
        np.testing.assert_array_equal(by_f32, by_instructions, name)


_SCALARS = """
tirx.kernel @k(%a: memref<4xbf16>, %h: memref<4xf16>) grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xbf16>
  %y = memref.load %h[%c0] : memref<4xf16>
  %0 = math.absf %x : bf16
  %1 = math.exp2 %0 fastmath<afn> : bf16
  %2 = math.tanh %1 fastmath<afn> : bf16
  %3 = math.fma %2, %x, %1 : bf16
  %4 = math.exp2 %y fastmath<afn> : f16
  %5 = math.tanh %4 fastmath<afn> : f16
  %6 = math.fma %5, %y, %y : f16
  %7 = math.absf %6 : f16
  memref.store %3, %a[%c0] : memref<4xbf16>
  memref.store %7, %h[%c0] : memref<4xf16>
  tirx.return
}
"""


@pytest.mark.parametrize(
    ("target", "of_bf16"),
    [
        ("sm_75", "and.b16 ex2.approx.ftz.f32 tanh.approx.f32 fma.rm.f32 fma.rp.f32"),
        ("sm_80", "abs.bf16 ex2.approx.ftz.f32 tanh.approx.f32 fma.rn.bf16"),
        ("sm_90", "abs.bf16 ex2.approx.ftz.bf16 tanh.approx.bf16 fma.rn.bf16"),
    ],
)
def test_instructions_of_scalars(target: str, of_bf16: str) -> None:
    """A sign is taken off as a bit; those of f16 are there on every target."""
    program = tirx.build(_SCALARS, target)
    opcodes = re.findall(r"^  ((?:and\.b16|abs|ex2|tanh|fma)[\w.]*) ", program.ptx, re.MULTILINE)
    of_f16 = "ex2.approx.f16 tanh.approx.f16 fma.rn.f16 abs.f16".split()
    assert sorted(opcodes) == sorted([*of_bf16.split(), *of_f16])
    assert ("and.b16" not in of_bf16) == (", 32767;" not in program.ptx)
    a, h = np.array([-0.5, 0, 0, 0], ml_dtypes.bfloat16), np.array([0.5, 0, 0, 0], np.float16)
    program.kernels["k"].simulate(a, h)
    power = np.exp2(0.5)
    assert abs(float(a[0]) - (power - 0.5 * np.tanh(power))) < 2**-6
    assert abs(float(h[0]) - (0.5 + 0.5 * np.tanh(power))) < 2**-8
