"""
Kernels as tirx, Triton and TileLang compile them: `python benchmarks/compiler.py warm`.

Tiles and threads are the same. Each goes from source to its last text: tirx and Triton to PTX, TileLang to CUDA C++,
behind which `nvcc` would follow. What they run in processes of their own (`ptxas`) is not counted. None needs a GPU.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
KERNELS: dict[str, tuple[str, dict[str, int], int]] = {
    "wgmma_gemm": ("product", {"BM": 128, "BN": 256, "BK": 64}, 8),
    "flash_attention": ("flash_attention", {"BM": 128, "D": 128}, 8),
    "softmax": ("softmax", {"BM": 4, "BN": 1024}, 4),
}
"""The kernel of an example -> its name in Triton, constants and warps there."""


def text_of(name: str) -> str:
    """The text of an example with only the kernel that has its name."""
    text = (EXAMPLES / f"{name}.mlir").read_text()
    for other in re.findall(r"^tirx\.kernel @\w+.*?^}\n", text, re.DOTALL | re.MULTILINE):
        if f"@{name}(" not in other:
            text = text.replace(other, "")
    return text


def compile_with_triton(name: str) -> None:
    """Compiles a kernel to PTX, and lets `ptxas` assemble that, for sm_90a."""
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton_examples import SIGNATURES

    triton_name, constants, warps = KERNELS[name]
    function, signature, _ = SIGNATURES[triton_name]
    types = dict(zip(function.arg_names, [*signature.split(), *["constexpr"] * len(constants)], strict=True))
    source = ASTSource(fn=function, signature=types, constexprs=constants)
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})


def compile_with_tilelang(name: str) -> None:
    """Compiles a kernel to CUDA C++ for sm_90a."""
    from kernels_tilelang import compile_kernel

    compile_kernel(name)


def peers(name: str) -> dict[str, Callable[[], None] | None]:
    """Compiler -> what compiles a kernel with it, None if it is not installed."""
    found = {"Triton": ("triton", compile_with_triton), "TileLang": ("tilelang", compile_with_tilelang)}
    return {
        peer: partial(of, name) if importlib.util.find_spec(package) is not None else None
        for peer, (package, of) in found.items()
    }
