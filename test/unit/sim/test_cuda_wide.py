"""Integers of 128 bits, compiled by nvcc for sm_90."""

from __future__ import annotations

import random

import numpy as np
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

_MASK = (1 << 128) - 1


def _words(values: list[int]) -> np.ndarray:
    raw = b"".join((value & _MASK).to_bytes(16, "little") for value in values)
    return np.frombuffer(raw, np.uint64).reshape(-1, 2).copy()


@program("wide")
def test_wide_integers(program: Program) -> None:
    rng = random.Random(7)
    a = [rng.getrandbits(128) >> rng.randrange(0, 100, 5) for _ in range(62)] + [_MASK, 1 << 127]
    b = [rng.getrandbits(128) >> rng.randrange(0, 120, 5) | 1 for _ in range(62)] + [1 << 64, 3]
    a, b = ([value - (value >> 127 << 128) for value in values] for values in (a, b))
    out = np.zeros((6, 64, 2), np.uint64)
    run(program.ptx, "signed_wide", 1, 64, [_words(a), _words(b), out])
    quotients = [abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1) for x, y in zip(a, b, strict=True)]
    pairs = list(zip(a, b, quotients, strict=True))
    wanted = [
        quotients,
        [x - q * y for x, y, q in pairs],
        [x * y for x, y, _ in pairs],
        [x - y for x, y, _ in pairs],
        [x >> (y & 127) for x, y, _ in pairs],
        [(x < y) + x + y for x, y, _ in pairs],
    ]
    for row, values in enumerate(wanted):
        np.testing.assert_array_equal(out[row], _words(values))
