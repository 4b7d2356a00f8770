"""The programs of `wgmma_gemm.mlir`, `flash_attention.mlir` and `softmax.mlir` in TileLang, to CUDA C++ for sm_90a."""

# pyright: basic, reportMissingImports=false, reportInvalidTypeForm=false

import tilelang
from tilelang import language as T

TARGET = tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
LOG2E = 1.44269504
SCALE = 0.12751743  # log2(e) / sqrt(128)

rows, heads, heads_of_keys, length = T.dynamic("rows, heads, heads_of_keys, length")


def wgmma_gemm():
    @T.prim_func
    def kernel(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((512, 256), "float16"), D: T.Tensor((256, 512), "float32")
    ):
        with T.Kernel(2, 2, threads=256) as (j, i):
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((256, 64), "float16")
            sums = T.alloc_fragment((128, 256), "float32")
            T.clear(sums)
            for k in T.Pipelined(4, num_stages=3):
                T.copy(A[i * 128, k * 64], a)
                T.copy(B[j * 256, k * 64], b)
                T.gemm(a, b, sums, transpose_B=True)
            T.copy(sums, D[i * 128, j * 256])

    return kernel


def flash_attention():
    @T.prim_func
    def kernel(
        Q: T.Tensor((heads, rows, 128), "float16"),
        K: T.Tensor((heads_of_keys, length, 128), "float16"),
        V: T.Tensor((heads_of_keys, length, 128), "float16"),
        D: T.Tensor((heads, rows, 128), "float16"),
    ):
        with T.Kernel(T.ceildiv(rows, 128), heads, threads=256) as (i, head):
            q, k, v = (T.alloc_shared((128, 128), "float16") for _ in range(3))
            scores, sums = T.alloc_fragment((128, 128), "float32"), T.alloc_fragment((128, 128), "float32")
            weights = T.alloc_fragment((128, 128), "float16")
            top, before, factor, part, total = (T.alloc_fragment((128,), "float32") for _ in range(5))
            T.copy(Q[head, i * 128, 0], q)
            T.clear(sums)
            T.clear(total)
            T.fill(top, -1e30)
            of_keys = head // (heads // heads_of_keys)
            for n in T.Pipelined(T.ceildiv(length, 128), num_stages=2):
                T.copy(K[of_keys, n * 128, 0], k)
                for r, c in T.Parallel(128, 128):
                    scores[r, c] = T.if_then_else(n * 128 + c < length, 0.0, -1e30)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for r in T.Parallel(128):
                    factor[r] = T.exp2((before[r] - top[r]) * SCALE)
                for r, c in T.Parallel(128, 128):
                    scores[r, c] = T.exp2(scores[r, c] * SCALE - top[r] * SCALE)
                T.reduce_sum(scores, part, dim=1)
                for r in T.Parallel(128):
                    total[r] = total[r] * factor[r] + part[r]
                T.copy(scores, weights)
                for r, c in T.Parallel(128, 128):
                    sums[r, c] *= factor[r]
                T.copy(V[of_keys, n * 128, 0], v)
                T.gemm(weights, v, sums, policy=T.GemmWarpPolicy.FullRow)
            for r, c in T.Parallel(128, 128):
                sums[r, c] /= total[r]
            T.copy(sums, D[head, i * 128, 0])

    return kernel


def softmax():
    @T.prim_func
    def kernel(X: T.Tensor((rows, 1024), "float16"), Y: T.Tensor((rows, 1024), "float16")):
        with T.Kernel(T.ceildiv(rows, 4), threads=128) as i:
            x = T.alloc_fragment((4, 1024), "float32")
            top, total = T.alloc_fragment((4,), "float32"), T.alloc_fragment((4,), "float32")
            T.copy(X[i * 4, 0], x)
            T.reduce_max(x, top, dim=1)
            for r, c in T.Parallel(4, 1024):
                x[r, c] = T.exp2((x[r, c] - top[r]) * LOG2E)
            T.reduce_sum(x, total, dim=1)
            for r, c in T.Parallel(4, 1024):
                x[r, c] /= total[r]
            T.copy(x, Y[i * 4, 0])

    return kernel


KERNELS = {"wgmma_gemm": wgmma_gemm, "flash_attention": flash_attention, "softmax": softmax}


def compile_kernel(name: str) -> str:
    """Compiles a kernel from Python to CUDA C++; needs neither a GPU nor nvcc."""
    with TARGET:
        return tilelang.lower(KERNELS[name](), target=TARGET).kernel_source
