"""Kernels of TileLang 0.1.15: lowered to CUDA C++, which nvcc compiles."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportInvalidTypeForm=false, reportArgumentType=false

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import tilelang
import tilelang.language as T
from common import Case, Kernel, Launch, small
from cuda_kernels import compile_cuda
from tilelang import tvm
from tilelang.engine.lower import lower

CASES: list[Case] = []
_ROOT = Path(tilelang.__file__).parent
_INCLUDES = (f"-I{_ROOT / 'src'}", f"-I{_ROOT / '3rdparty' / 'cutlass' / 'include'}")
_CONFIG = {"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True}


def build(program: Any, target: str, values: dict[str, Any]) -> tuple[Kernel, Launch]:
    """Compiles a program; its one kernel gets the values by the names of its parameters."""
    where = tvm.target.Target({"kind": "cuda", "arch": target})
    with where, tvm.transform.PassContext(config=_CONFIG):
        found = lower(program, target=where)
    [function] = found.device_mod.functions.values()
    extents = {str(name): int(size) for name, size in function.attrs["thread_extent"].items()}
    shared = int(function.attrs.get("dyn_shared_memory_buf", 0))
    ptx = compile_cuda(found.kernel_source, target, *_INCLUDES, "--expt-relaxed-constexpr", "-DENABLE_BF16")
    signature = re.search(r"__launch_bounds__\([^)]*\)\s*(\w+)\(([^)]*)\)", found.kernel_source)
    assert signature is not None
    names = [part.split()[-1].lstrip("*") for part in signature[2].split(",")]
    grid, block = (tuple(extents.get(f"{which}Idx.{axis}", 1) for axis in "xyz") for which in ("block", "thread"))
    return Kernel(ptx, signature[1], block, shared), Launch(grid, [values[name] for name in names], ())


def case(uses: str, *targets: str) -> Any:
    """Registers programs: the function returns (program, values, results)."""

    def register(make: Any) -> Any:
        for target in targets:

            def compiled(target: str = target) -> tuple[Kernel, Launch]:
                program, values, results = make()
                kernel, launch = build(program, target, values)
                return kernel, Launch(launch.grid, launch.arguments, results)

            CASES.append(Case("TileLang", make.__name__, target, uses, compiled))
        return make

    return register


def _rng() -> np.random.Generator:
    return np.random.default_rng(5)


@case("one element for each thread", "sm_80", "sm_90a", "sm_100a")
def add():
    @T.prim_func
    def program(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32"), C: T.Tensor((512,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i in T.Parallel(256):
                C[bx * 256 + i] = A[bx * 256 + i] + B[bx * 256 + i]

    a, b = (small(_rng(), (512,), np.float32) for _ in range(2))
    c = np.zeros_like(a)
    return program, {"A": a, "B": b, "C": c}, [(c, a + b, 0)]


def _gemm(dtype: str, array: Any, stages: int, out: str = "float32"):
    @T.prim_func
    def program(A: T.Tensor((128, 128), dtype), B: T.Tensor((128, 128), dtype), C: T.Tensor((128, 128), out)):
        with T.Kernel(2, 1, threads=128) as (bx, by):
            left = T.alloc_shared((128, 64), dtype)
            right = T.alloc_shared((64, 64), dtype)
            sums = T.alloc_fragment((128, 64), "float32")
            T.clear(sums)
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(A[by * 128, k * 64], left)
                T.copy(B[k * 64, bx * 64], right)
                T.gemm(left, right, sums)
            T.copy(sums, C[by * 128, bx * 64])

    a, b = small(_rng(), (128, 128), array), small(_rng(), (128, 128), array)
    c = np.zeros((128, 128), np.float32 if out == "float32" else np.float16)
    return program, {"A": a, "B": b, "C": c}, [(c, a.astype(np.float64) @ b.astype(np.float64), 0)]


@case("GEMM, f16, pipelined cp.async; wgmma on sm_90a", "sm_80", "sm_90a")
def gemm():
    return _gemm("float16", np.float16, 2)


@case("GEMM, bf16", "sm_80", "sm_90a")
def gemm_bf16():
    return _gemm("bfloat16", ml_dtypes.bfloat16, 2)


@case("GEMM, f16 output, no pipeline", "sm_80", "sm_90a")
def gemm_f16_out():
    return _gemm("float16", np.float16, 0, "float16")


@case("sums of rows", "sm_80", "sm_90a", "sm_100a")
def row_sums():
    @T.prim_func
    def program(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            tile = T.alloc_fragment((32, 128), "float32")
            sums = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], tile)
            T.reduce_sum(tile, sums, dim=1)
            T.copy(sums, B[bx * 32])

    a = small(_rng(), (64, 128), np.float32)
    b = np.zeros(64, np.float32)
    return program, {"A": a, "B": b}, [(b, a.sum(1), 0)]


@case("FlashAttention", "sm_90a")
def attention():
    @T.prim_func
    def program(
        Q: T.Tensor((64, 64), "float16"), K: T.Tensor((128, 64), "float16"), V: T.Tensor((128, 64), "float16"),
        OUT: T.Tensor((64, 64), "float16"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128) as _:
            queries = T.alloc_shared((64, 64), "float16")
            keys = T.alloc_shared((64, 64), "float16")
            rows = T.alloc_shared((64, 64), "float16")
            scores = T.alloc_fragment((64, 64), "float32")
            powers = T.alloc_fragment((64, 64), "float16")
            sums = T.alloc_fragment((64, 64), "float32")
            highest = T.alloc_fragment((64,), "float32")
            before = T.alloc_fragment((64,), "float32")
            shrink = T.alloc_fragment((64,), "float32")
            part = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(Q[0, 0], queries)
            T.fill(sums, 0)
            T.fill(total, 0)
            T.fill(highest, -T.infinity("float32"))
            for k in T.Pipelined(2, num_stages=1):
                T.copy(K[k * 64, 0], keys)
                T.clear(scores)
                T.gemm(queries, keys, scores, transpose_B=True)
                T.copy(highest, before)
                T.reduce_max(scores, highest, dim=1, clear=False)
                for i in T.Parallel(64):
                    shrink[i] = T.exp2((before[i] - highest[i]) * 0.18033688)
                for i, j in T.Parallel(64, 64):
                    scores[i, j] = T.exp2((scores[i, j] - highest[i]) * 0.18033688)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(64):
                    total[i] = total[i] * shrink[i] + part[i]
                T.copy(scores, powers)
                for i, j in T.Parallel(64, 64):
                    sums[i, j] *= shrink[i]
                T.copy(V[k * 64, 0], rows)
                T.gemm(powers, rows, sums)
            for i, j in T.Parallel(64, 64):
                sums[i, j] /= total[i]
            T.copy(sums, OUT[0, 0])

    q, k, v = (_rng().standard_normal(shape).astype(np.float16) for shape in ((64, 64), (128, 64), (128, 64)))
    out = np.zeros((64, 64), np.float16)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    powers = np.exp(scores - scores.max(1, keepdims=True))
    wanted = powers / powers.sum(1, keepdims=True) @ v.astype(np.float64)
    return program, {"Q": q, "K": k, "V": v, "OUT": out}, [(out, wanted, 4e-3)]
