"""Numbers of bf16 where the target has no instructions for them: the bits of the instructions, NaN included."""

from __future__ import annotations

import ml_dtypes
import numpy as np
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
