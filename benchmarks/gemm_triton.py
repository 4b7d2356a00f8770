"""The product of `examples/tcgen05_gemm.mlir` in Triton."""

# pyright: basic

import os

os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # silences a warning about its default

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

CONSTANTS = {"N": 1024, "K": 256, "ROWS": 128, "COLUMNS": 256, "DEPTH": 64}
POINTERS = {"a": "*fp16", "b": "*fp16", "d": "*fp32"}


@triton.jit
def gemm(
    a,
    b,
    d,
    N: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    m = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    n = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)[None, :]
        total = tl.dot(tl.load(a + m * K + k), tl.trans(tl.load(b + n[:, None] * K + k)), total)
    tl.store(d + m * N + n[None, :], total)


def compile_gemm() -> None:
    """Compiles the kernel for sm_100; needs no GPU."""
    source = ASTSource(fn=gemm, signature=POINTERS | dict.fromkeys(CONSTANTS, "constexpr"), constexprs=CONSTANTS)
    triton.compile(source, target=GPUTarget("cuda", 100, 32), options={"num_warps": 4})
