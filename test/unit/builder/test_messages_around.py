"""Errors of the builder around kernels: of decorators, types of arguments and launches."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from unit.cases import together

import tirx as tx
from tirx import f32


def _one(a: Any) -> None:
    a[0] = 1.0


def _nothing(a: Any) -> None:
    a[0].load()


def _own_block(a: Any) -> None:
    a[0] = tx.block_id("x").to(f32)


@together(
    ("make", "said"),
    [
        (lambda: tx.zeros(f32, 4), "expected a function that @tx.jit traces around, found none"),
        (lambda: iter(tx.range(3)), "expected a loop of a function below @tx.jit or @tx.fn, without break, continue or "
         "return, found another one; range() counts while the kernel is written"),
        (lambda: tx.jit(cast(Any, "x"), threads=32)(_one).module,
         "expected types of arguments such as f16[256, 64] or f32, found 'x'"),
        (lambda: tx.jit(f32[4], f32, threads=32)(_one).module,
         "expected types of the arguments a, found 2: f32[4], f32"),
        (lambda: tx.jit(threads=32)(_one).ir(f32[4], f32[4]),
         "expected types of the arguments a, found 2: f32[4], f32[4]"),
        (lambda: tx.jit(f32[4], threads=32)(_one).ir(K=3), "expected a constant of none, found K"),
        (lambda: tx.jit(f32[4], threads=cast(Any, "many"))(_one).module, "expected a number of threads, found 'many'"),
        (lambda: tx.jit(f32[4], threads=0)(_one).module, "expected a number of threads, found 0"),
        (lambda: tx.jit(cast(Any, _one)), "expected the threads of a block, @tx.jit(threads=128), found none"),
        *((lambda grid=grid: tx.jit(f32[4], threads=32, grid=cast(Any, grid))(_one).module,
           f"expected blocks along x, y and z, such as grid=[4] or ['size(0, 0)', 2], found {grid}")
          for grid in (1, [], [1.5], [1, 2, 3, 4])),
        (lambda: tx.jit(threads=32, options=cast(Any, 3))(_one), "expected options of type str, found 3"),
        (lambda: tx.jit(threads=32, attributes=cast(Any, 3))(_one), "expected attributes of type dict, found 3"),
        (lambda: tx.jit(threads=32)(cast(Any, 3)), "expected a function of Python below @tx.jit(...), found 3"),
        (lambda: tx.fn(cast(Any, 3)), "expected a function of Python below @tx.fn, found 3"),
        (lambda: f32[4, 4].strided(1), "expected a stride for each extent of f32[4, 4], found (1,)"),
        (lambda: f32[4, 4].tile("shared", "x"),
         "expected a layout: S[...], Swizzle(...) or ComposeLayout(..., ...), found 'x'"),
        (lambda: tx.attribute(cast(Any, 3)), "expected an attribute or a type in MLIR, as text, found 3"),
        (lambda: tx.jit(threads=32)(_nothing)(np.zeros(4, np.float32)),
         "expected a kernel that stores to an array, d[...] = t, found none that does"),
        (lambda: tx.jit(threads=32)(_own_block)(np.zeros(4, np.float32)),
         "expected tx.grid in a kernel whose blocks differ, found none"),
        (lambda: tx.jit(threads=32)(_one).ir("x"), "expected an array or a number as an argument, found str"),
        *((lambda like=like: tx.jit(threads=32)(_one).ir(like), "expected an array or a number as an argument, found "
           "SimpleNamespace") for like in (SimpleNamespace(shape=(4,)), SimpleNamespace(dtype="f32"))),
        (lambda: tx.jit(threads=32)(_one).ir(np.zeros(4, np.complex64)),
         "expected an element type of kernels, found complex64"),
        (lambda: tx.jit(f32[4], threads=32)(eval("lambda a: None")).module,
         "expected the source of <lambda> in a file, found none: its control flow is rewritten"),
        (lambda: tx.jit(threads=32)(lambda: None).module,
         "expected a function that `def` defines, found <lambda>"),
    ],
)  # fmt: skip
def test_errors_around_kernels_say(make: Callable[[], object], said: str) -> None:
    with pytest.raises(tx.BuildError, match=f"(^|error: ){re.escape(said)}($|\n)"):
        make()
