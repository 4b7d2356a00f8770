"""Kernels in Python: `import tirx as tx` has all names of this package.

A function below `@tx.jit` is traced, and its control flow rewritten before; the result is the IR of the `tirx` dialect:

>>> import tirx as tx
>>> from tirx import f16, f32
>>> @tx.jit(f16[None, 256], f16[None, 256], f32[None, None], threads=256, target="sm_90a")
... def gemm(a: tx.Array, b: tx.Array, d: tx.Array, BM: int = 128, BN: int = 256, BK: int = 64) -> None:
...     m, n = tx.grid((a.shape[0], BM), (b.shape[0], BN))
...     acc = tx.zeros(f32, BM, BN)
...     for k in tx.tiles(256, BK):
...         acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
...     d[m, n] = acc
>>> ".entry gemm" in tx.compile(gemm.module)
True

Element types are `f16 bf16 f32 f64 tf32 e4m3 e5m2 e8m0 e2m3 e3m2 e2m1`, the integers `i1 i4 i8 i16 i32 i64 si8 u8 u16
u32 u64`, and `index`. Functions of elements are `exp exp2 expm1 log log1p log2 log10 sqrt rsqrt cbrt erf abs neg floor
ceil trunc round roundeven popcount sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh`, and of two `maximum
minimum maxnum minnum ceildiv mulhi pow atan2 copysign`. All operations of all dialects are those of `op`.
"""

from types import FunctionType as _FunctionType

from tirx.builder.atomics import atomic, signal, wait_until
from tirx.builder.dtypes import *
from tirx.builder.folds import concat, reduce, scan
from tirx.builder.folds import map_tiles as map
from tirx.builder.functions import *
from tirx.builder.kernels import Kernel, block_id, fn, grid, grid_dim, jit, launch_value, param, sm_count
from tirx.builder.loops import range_ as range
from tirx.builder.loops import tiles
from tirx.builder.memory import Memory, accumulator, allocate, shared, store
from tirx.builder.operations import attribute, module, op, region
from tirx.builder.scalars import Scalar
from tirx.builder.spans import Span, tile
from tirx.builder.tiles import Tile, full, indices, zeros
from tirx.builder.trace import BuildError, insert, located
from tirx.builder.views import Array, View
from tirx.frames import hiding_frames as _hiding_frames

__all__ = [
    "Array", "ArrayType", "BuildError", "DType", "Kernel", "Memory", "Scalar", "Span", "Tile", "View", "abs",
    "accumulator", "acos", "acosh", "allocate", "asin", "asinh", "atan", "atan2", "atanh", "atomic", "attribute",
    "bf16", "block_id", "cbrt", "ceil", "ceildiv", "concat", "copysign", "cos", "cosh", "e2m1", "e2m3", "e3m2", "e4m3",
    "e5m2", "e8m0", "erf", "exp", "exp2", "expm1", "f16", "f32", "f64", "floor", "fma", "fn", "full", "grid",
    "grid_dim", "i1", "i16", "i32", "i4", "i64", "i8", "index", "indices", "insert", "jit", "launch_value", "located",
    "log", "log10", "log1p", "log2", "map", "maximum", "maxnum", "minimum", "minnum", "module", "mulhi", "neg", "op",
    "param", "popcount", "pow", "range", "reduce", "region", "round", "roundeven", "rsqrt", "scan", "shared", "si8",
    "signal", "sin", "sinh", "sm_count", "sqrt", "store", "tan", "tanh", "tf32", "tile", "tiles", "trunc", "u16", "u32",
    "u64", "u8", "wait_until", "where", "zeros",
]  # fmt: skip

globals().update({name: _hiding_frames(each) for name in __all__ if isinstance(each := globals()[name], _FunctionType)})
