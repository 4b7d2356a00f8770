"""
The m8n8k4 kernels that tirx emits give bit for bit what an H100 gave: the examples, and every variant on fragments.

Stored are digests of its results. Inputs have full mantissas and very different sizes, or are the edges of their type.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from unit.kernels.test_variants import compile_quietly, fragment_kernel
from unit.sim.products import Array
from unit.sim.strict import run

from tirx.mma.fragments import VARIANTS

_EXAMPLES = Path(__file__).parents[3] / "examples"
_TYPES: dict[str, npt.DTypeLike] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Launch:
    """One block of a kernel: inputs, then the tile of the output that it writes, `found`."""

    name: str
    ptx: str
    entry: str
    block: int
    arguments: list[Array]
    found: tuple[int, int] | None = None  # rows and columns of the last argument; None: all

    def result(self) -> Array:
        last = self.arguments[-1]
        return last if self.found is None else np.ascontiguousarray(last[: self.found[0], : self.found[1]])

    def digest(self) -> str:
        return hashlib.sha256(self.result().tobytes()).hexdigest()


def sizes(shape: tuple[int, ...], dtype: npt.DTypeLike, seed: int) -> Array:
    """Full mantissas, both signs, exponents from -6 to 6: a Weyl sequence, the same with every version of numpy."""
    steps = np.arange(1, np.prod(shape) + 1, dtype=np.uint64) + np.uint64(seed << 20)
    bits = steps * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    mantissa = ((bits >> np.uint64(11)) | np.uint64(1 << 52)).astype(np.float64) / 2.0**52
    sign = np.where(bits & np.uint64(1), -1.0, 1.0)
    return (sign * mantissa * 2.0 ** (bits % np.uint64(13)).astype(np.float64) / 2**6).astype(dtype).reshape(shape)


def edges(shape: tuple[int, ...], dtype: npt.DTypeLike, seed: int) -> Array:
    """Zeros of both signs, subnormal, largest and infinite numbers, NaN, and ordinary ones."""
    info = np.finfo(np.dtype(dtype))  # type: ignore[arg-type]
    pool = [0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1.0, -1.0, info.smallest_subnormal, -info.tiny, info.max, np.inf, np.nan]
    bits = (np.arange(1, np.prod(shape) + 1, dtype=np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    return np.array(pool, dtype)[(bits >> np.uint64(33)) % np.uint64(len(pool))].reshape(shape)


def launches() -> Iterator[Launch]:
    a, b = sizes((256, 128), np.float64, 1), sizes((192, 128), np.float64, 2)
    ptx = compile_quietly((_EXAMPLES / "mma_m8n8k4_f64_gemm.mlir").read_text())
    yield Launch("f64_gemm", ptx, "dgemm", 128, [a, b, np.zeros((256, 192))], (64, 64))
    a, b = sizes((128, 64), np.float16, 3), sizes((128, 64), np.float16, 4)
    ptx = compile_quietly((_EXAMPLES / "mma_m8n8k4_f16_gemm.mlir").read_text())
    yield Launch("f16_gemm", ptx, "hgemm", 128, [a, b, np.zeros((128, 128), np.float32)], (64, 64))
    for variant in VARIANTS.values():
        if variant.instruction == "m8n8k4":
            ptx = compile_quietly(fragment_kernel(variant, "sm_80"))
            for make in (sizes, edges):
                fragments = enumerate((variant.a, variant.b, variant.c))
                arguments = [make(each.shape, _TYPES[each.dtype], seed) for seed, each in fragments]
                yield Launch(f"{variant.name}-{make.__name__}", ptx, "fragment", 32, arguments)


_DIGESTS: dict[str, str] = json.loads((Path(__file__).parent / "data" / "gpu_m8n8k4_digests.json").read_text())


@cache
def _launches() -> dict[str, Launch]:
    return {launch.name: launch for launch in launches()}


def test_every_launch_is_recorded():
    assert set(_launches()) == set(_DIGESTS)


@pytest.mark.parametrize("name", _DIGESTS)
@pytest.mark.sample(8)
def test_bit_for_bit(name: str):
    launch = _launches()[name]
    run(launch.ptx, launch.entry, 1, launch.block, launch.arguments)
    assert launch.digest() == _DIGESTS[name]
