"""Kernels of CUDA C++, compiled by nvcc: kernels.cu."""

# pyright: basic

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from common import Case, Kernel, Launch, small

from tirx.sim import TensorMap

_SOURCE = Path(__file__).parent / "kernels.cu"


def find_nvcc() -> str:
    """Finds the `nvcc` on the PATH, or that of the package nvidia-cuda-nvcc."""
    found = shutil.which("nvcc")
    if found:
        return found
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or [] if spec else []:
        for path in sorted(Path(root).glob("cu*/bin/nvcc"), reverse=True):
            return str(path)
    raise FileNotFoundError("expected nvcc on PATH, found none")


@lru_cache(maxsize=8)
def compile_cuda(source: str, target: str, *options: str) -> str:
    """The PTX of CUDA C++."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cu")
        path.write_text(source)
        command = [
            find_nvcc(),
            "-ptx",
            f"-arch={target}",
            "-std=c++17",
            *options,
            str(path),
            "-o",
            f"{folder}/kernel.ptx",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        return Path(folder, "kernel.ptx").read_text()


CASES: list[Case] = []


def case(
    entry: str, target: str, uses: str, prepare: Any, block: int, shared: int = 0, cluster: Any = (1, 1, 1)
) -> None:
    def make() -> tuple[Kernel, Launch]:
        ptx = compile_cuda(_SOURCE.read_text(), target)
        return Kernel(ptx, entry, block, shared, cluster), prepare()

    CASES.append(Case("nvcc", entry, target, uses, make))


def _rng() -> np.random.Generator:
    return np.random.default_rng(2)


def _wmma(dtype: Any, out: Any) -> Any:
    def prepare() -> Launch:
        a, b = small(_rng(), (32, 48), dtype), small(_rng(), (48, 64), dtype)
        d = np.zeros((32, 64), out)
        wanted = a.astype(np.float64) @ b.astype(np.float64)
        return Launch((2, 2), [a, b, d, 32, 64, 48], [(d, wanted, 0)])

    return prepare


for _target in ("sm_80", "sm_90", "sm_100"):
    case("wmma_f16", _target, "wmma, f16, f32 sums", _wmma(np.float16, np.float32), 64)
case("wmma_f16_sums", "sm_80", "wmma, f16 sums", _wmma(np.float16, np.float16), 64)
case("wmma_bf16", "sm_80", "wmma, bf16", _wmma(ml_dtypes.bfloat16, np.float32), 64)
case("wmma_i8", "sm_80", "wmma, 8-bit integers", _wmma(np.int8, np.int32), 64)


def _cp_async() -> Launch:
    a, b = small(_rng(), (64, 96), np.float16), small(_rng(), (128, 96), np.float16)
    d = np.zeros((64, 128), np.float32)
    return Launch((1, 2), [a, b, d, 128, 96], [(d, a.astype(np.float64) @ b.astype(np.float64).T, 0)])


for _target in ("sm_80", "sm_90", "sm_100"):
    case("cp_async_gemm", _target, "cp.async in two stages, ldmatrix, mma.sync", _cp_async, 128)


def _row_sums() -> Launch:
    x = small(_rng(), (10, 100), np.float32)
    sums = np.zeros(10, np.float32)
    return Launch((2,), [x, sums, 10, 100], [(sums, x.sum(1), 0)])


for _target in ("sm_80", "sm_100"):
    case("row_sums", _target, "cooperative groups, shuffles", _row_sums, 64)


def _cluster_sum() -> Launch:
    x, out = small(_rng(), (1000,), np.float32), np.zeros(1, np.float32)
    return Launch((2,), [x, out, 1000], [(out, [x.sum()], 0)])


def _tma_scale() -> Launch:
    x = _rng().standard_normal((64, 64)).astype(np.float32)
    out = np.zeros_like(x)
    return Launch((2, 2), [TensorMap(x, (32, 32)), TensorMap(out, (32, 32))], [(out, 2 * x, 0)])


for _target in ("sm_90", "sm_100"):
    case("cluster_sum", _target, "a cluster of two, distributed shared memory", _cluster_sum, 128, cluster=(2, 1, 1))
    case("tma_scale", _target, "bulk tensor copies in and out, mbarriers", _tma_scale, 128)


def _wgmma() -> Launch:
    a, b = small(_rng(), (64, 128), np.float16), small(_rng(), (128, 128), np.float16)
    d = np.zeros((64, 128), np.float32)
    maps = [TensorMap(each, (64, 64), "128B") for each in (a, b)]
    return Launch((1, 2), [*maps, d, 128, 128], [(d, a.astype(np.float64) @ b.astype(np.float64).T, 0)])


case("wgmma_tma", "sm_90a", "wgmma from shared memory, bulk tensor copies", _wgmma, 128, 17408)


def _tcgen05() -> Launch:
    a, b = small(_rng(), (128, 128), np.float16), small(_rng(), (64, 128), np.float16)
    d = np.zeros((128, 64), np.float32)
    maps = [TensorMap(a, (64, 128), "128B"), TensorMap(b, (64, 64), "128B")]
    return Launch((1,), [*maps, d, 128], [(d, a.astype(np.float64) @ b.astype(np.float64).T, 0)])


case("tcgen05_tma", "sm_100a", "tcgen05.mma, bulk tensor copies", _tcgen05, 128, 25600)
