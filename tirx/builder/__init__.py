"""
Kernels in Python: loops are `with` blocks, views are slices, and every operation knows its Python line.

>>> from tirx.builder import f16, f32, kernel
>>> @kernel(f16[256, 256], f16[512, 256], f32[256, 512], grid=(2, 2), threads=256, target="sm_90a")
... def gemm(k, a, b, d):
...     m, n = k.block.y * 128, k.block.x * 256
...     sa, sb = k.shared(f16[128, 64]), k.shared(f16[256, 64])
...     acc = k.accumulator(f32[128, 256], 0.0)
...     with k.loop(0, 256, 64) as i:
...         sa[:] = a[m : m + 128, i : i + 64]
...         sb[:] = b[n : n + 256, i : i + 64]
...         acc += sa @ sb.T
...     d[m : m + 128, n : n + 256] = acc
>>> import tirx
>>> ".entry gemm" in tirx.compile(gemm.module)
True

The result is the IR of the `tirx` dialect, as text would give it: `gemm.module`. The element types are `f16`, `bf16`,
`f32`, `f64`, `e4m3`, `e5m2`, `i8` and `i32`.
"""

from tirx.builder.context import BuildError
from tirx.builder.dtypes import ArrayType, DType, bf16, e4m3, e5m2, f16, f32, f64, i8, i32
from tirx.builder.index import Condition, Index
from tirx.builder.kernels import BuiltKernel, KernelBuilder, kernel, module
from tirx.builder.tiles import Array, Tile, apply, exp, maximum

__all__ = [
    "Array",
    "ArrayType",
    "BuildError",
    "BuiltKernel",
    "Condition",
    "DType",
    "Index",
    "KernelBuilder",
    "Tile",
    "apply",
    "bf16",
    "e4m3",
    "e5m2",
    "exp",
    "f16",
    "f32",
    "f64",
    "i32",
    "i8",
    "kernel",
    "maximum",
    "module",
]
