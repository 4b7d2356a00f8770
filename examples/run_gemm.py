"""
Runs a product of matrices of `examples/` on this machine's GPU: `python examples/run_gemm.py [FILE] [--target sm_90a]`.

Prints the largest error against numpy, and on a GPU TFLOP/s beside cuBLAS, if torch is installed. Without a GPU that
runs the kernel it says so and simulates. For figures that mean something, see `benchmarks/gpu.py`: the products of the
examples are small.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tirx
from tirx.runtime import GpuError, Kernel
from tirx.runtime.launch import PointerArgument

HERE = Path(__file__).parent
REPEATS = 20


def seconds_of(torch: Any, run: Callable[[], object]) -> float:
    """Seconds of one launch on the GPU, the best of a few."""
    best = float("inf")
    for _ in range(REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3)
    return best


def compare_with_cublas(kernel: Kernel, a: Any, b: Any, d: Any) -> str:
    """TFLOP/s of the kernel and of cuBLAS, through torch."""
    import torch

    on_gpu = [torch.from_numpy(array).cuda() for array in (a, b, d)]
    x, y, _ = on_gpu
    flops = 2.0 * a.shape[0] * b.shape[0] * a.shape[1]
    mine, theirs = seconds_of(torch, lambda: kernel(*on_gpu)), seconds_of(torch, lambda: torch.matmul(x, y.T))
    return f"tirx {flops / mine / 1e12:.2f} TFLOP/s, cuBLAS {flops / theirs / 1e12:.2f} TFLOP/s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=HERE / "mma_m8n8k4_f64_gemm.mlir", type=Path)
    parser.add_argument("--target", help="the GPU to compile for, instead of the one in the file")
    args = parser.parse_args()
    kernel, *others = tirx.build(args.file.read_text(), args.target).kernels.values()
    types = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    shapes = [x.shape for x in kernel.launch.passed if isinstance(x, PointerArgument) and x.element in types]
    if others or len(shapes) != 3 or any(shape is None or None in shape for shape in shapes):
        parser.error(f"expected one product D = A B^T of fixed sizes in {', '.join(types)}, found {args.file.name}")
    arrays = [np.zeros(argument.shape, types[argument.element]) for argument in kernel.launch.passed]
    a, b, d = arrays
    rng = np.random.default_rng(0)
    for operand in (a, b):
        operand[...] = rng.standard_normal(operand.shape)
    try:
        kernel(a, b, d)
        where = "on the GPU"
    except GpuError as error:
        print(f"not on a GPU: {error}")
        kernel.simulate(a, b, d)
        where = "in the simulator"
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    error = np.abs(d - expected).max() / np.abs(expected).max()
    print(f"{kernel.launch.entry} {d.shape[0]}x{d.shape[1]}x{a.shape[1]} {where}: largest error {error:.1e}")
    if where == "on the GPU" and importlib.util.find_spec("torch") is not None:
        print(compare_with_cublas(kernel, a, b, d))
    return 0 if error < 1e-2 else 1


if __name__ == "__main__":
    sys.exit(main())
