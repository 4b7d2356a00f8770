"""Mistakes that people make: each error shows the expression and says the way out."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together

import tirx as tx
from tirx import f16, f32, i32
from tirx.diagnostics import LocatedError

_Kernel = Callable[..., None]


def _wrong_rank(a: Any, b: Any, n: Any) -> None:
    b[:, :] = a[:, :] + a[:, :].load().reshape(64 * 64)  # MISTAKE a[:, :] + a


def _other_extents(a: Any, b: Any, n: Any) -> None:
    b[:, :] = a[:, 0:32] + a[:, :]  # MISTAKE a[:, 0:32] + a[:, :]


def _missing_cast(a: Any, b: Any, n: Any) -> None:
    b[:, :] = a[:, :] * a[:, :].to(f16)  # MISTAKE a[:, :] * a


def _store_of_another_type(a: Any, b: Any, n: Any) -> None:
    b[:, :] = a[:, :].to(f16)  # MISTAKE b[:, :]


def _store_of_another_shape(a: Any, b: Any, n: Any) -> None:
    b[:, :] = a[:, 0:32]  # MISTAKE b[:, :]


def _beyond_the_array(a: Any, b: Any, n: Any) -> None:
    b[:, 32:96] = 0.0  # MISTAKE b[:, 32:96]


def _slice_of_run_time_extent(a: Any, b: Any, n: Any) -> None:
    b[0:n, :] = 0.0  # MISTAKE b[0:n, :]


def _if_on_a_tile(a: Any, b: Any, n: Any) -> None:
    if a[:, :] > 0.0:  # MISTAKE a[:, :] > 0.0
        b[:, :] = 1.0


def _float_of_a_tile(a: Any, b: Any, n: Any) -> None:
    b[:, :] = float(a[:, :].sum(0, 1))  # MISTAKE float(


def _python_range_of_a_scalar(a: Any, b: Any, n: Any) -> None:
    for i in range(n):  # MISTAKE range(n)
        b[i, :] = 0.0


def _break_in_a_loop(a: Any, b: Any, n: Any) -> None:
    for i in tx.range(n):  # MISTAKE tx.range(n)
        if i > 3:
            break


def _name_of_a_loop(a: Any, b: Any, n: Any) -> None:
    for i in tx.range(n):
        last = a[i, :]
    b[0, :] = last + 1.0  # MISTAKE last + 1.0  # pyright: ignore[reportPossiblyUnboundVariable]


def _name_of_one_branch(a: Any, b: Any, n: Any) -> None:
    if n > 3:
        x = a[:, :].load()
    b[:, :] = x * 2.0  # MISTAKE x * 2.0  # pyright: ignore[reportPossiblyUnboundVariable]


def _carried_type_changes(a: Any, b: Any, n: Any) -> None:
    x = a[:, :].load()
    for _ in tx.range(n):  # MISTAKE tx.range(n)
        x = x.sum(1)


def _number_without_a_type(a: Any, b: Any, n: Any) -> None:
    x = 0.5
    for _ in tx.range(n):  # MISTAKE tx.range(n)
        x = x * 2.0


def _division_of_integers(a: Any, b: Any, n: Any) -> None:
    b[:, :] = b[:, :] * (n / 2)  # MISTAKE n / 2


def _depths_that_differ(a: Any, b: Any, n: Any) -> None:
    x, y = tx.shared(a[:, 0:32].to(f16)), tx.shared(b[:, :].to(f16))
    b[:, :] = x @ y.T  # MISTAKE x @ y.T


def _numpy_function(a: Any, b: Any, n: Any) -> None:
    b[:, :] = np.exp(a[:, :])  # MISTAKE np.exp


def _a_clause_that_is_not_there(a: Any, b: Any, n: Any) -> None:
    tx.op.tirx.copy(a[:, :], tx.allocate(f32[64, 64].shared), engin="tma")  # MISTAKE tx.op.tirx.copy(


def _too_large(a: Any, b: Any, n: Any) -> None:
    big = tx.shared(f32, 512, 512)  # MISTAKE tx.shared(f32, 512, 512)
    b[:, :] = big[0:64, 0:64]


def _two_grids(a: Any, b: Any, n: Any) -> None:
    tx.grid(4)
    tx.grid(4)  # MISTAKE tx.grid(4)


def _indices_of_an_edge(a: Any, b: Any, n: Any) -> None:
    rows = tx.tile(n, 64)
    b[a[rows, 0].to(i32) // 2, :] += a[:, :]  # MISTAKE b[a[rows, 0].to(i32) // 2, :]


def _a_list_of_a_loop(a: Any, b: Any, n: Any) -> None:
    found: list[Any] = []
    for i in tx.range(n):  # MISTAKE tx.range(n)
        found.append(i + 1)
    b[found[0], :] = a[0, :]


_MISTAKES: list[tuple[_Kernel, str]] = [
    (_wrong_rank, "tiles of one rank for +, found 64x64 and 4096; t[:, None] has a dimension more"),
    (_other_extents, "extents that are equal or 1 for +, found 64x32 and 64x64"),
    (_missing_cast, "one element type for *, found f32 and f16; convert one with .to(f32)"),
    (_store_of_another_type, "expected f32 to store, found f16; .to(f32) converts"),
    (_store_of_another_shape, "expected a tile of 64x64 to store, found 64x32"),
    (_beyond_the_array, "expected a slice within 64 elements, found 32:96"),
    (_slice_of_run_time_extent, "found one that the kernel computes; tx.tile(start, 64, end=stop)"),
    (_if_on_a_tile, "use tx.where(condition, x, y) for each element"),
    (_float_of_a_tile, "a tile has no one value; use tx.where, or a reduction"),
    (_python_range_of_a_scalar, "its value is known when the kernel runs; tx.range counts in the kernel"),
    (_break_in_a_loop, "a loop of the kernel without break, found one with it; carry a condition in a while"),
    (_name_of_a_loop, "expected `last` to be bound in front of the loop, found it bound inside only"),
    (_name_of_one_branch, "expected `x` to be bound in front of the if, found it bound inside only"),
    (_carried_type_changes, "expected `x` to keep its type in a loop, found 64x64xf32 and 64x1xf32"),
    (_number_without_a_type, "expected `x` with a type in a loop, found a number of Python; f32(0.5) gives it one"),
    (_division_of_integers, "expected floats for /, found i32; // divides integers, .to(f32) converts"),
    (_depths_that_differ, "two tiles with one K, their last dimension, found 64x32 and 64x64"),
    (_numpy_function, "tx.exp"),
    (_a_clause_that_is_not_there, "expected clauses of tirx.copy (engine, reduce), found engin"),
    (_too_large, "bytes of shared memory"),
    (_two_grids, "expected one tx.grid in a kernel, found another one"),
    (_indices_of_an_edge, "found those of a clipped view, which are 0 outside; .load(pad=-1) or tx.where"),
    (_a_list_of_a_loop, "expected `found` to stay as it is in a loop or branch of the kernel, which is written once"),
]


@together(("mistake", "way_out"), _MISTAKES)
def test_mistakes(mistake: _Kernel, way_out: str) -> None:
    kernel = tx.jit(f32[64, 64], f32[64, 64], i32, threads=128, target="sm_80")(mistake)
    with pytest.raises((tx.BuildError, LocatedError)) as caught:
        tx.compile(kernel.module)
    text = str(caught.value)
    assert way_out in text
    found = re.match(re.escape(__file__) + r":(\d+):(\d+): error: ", text)
    assert found is not None
    line = linecache.getline(__file__, int(found[1]))
    assert "# MISTAKE" in line
    expression = line.split("# MISTAKE ")[1].split("  #")[0].rstrip("\n")
    assert line[int(found[2]) - 1 :].startswith(expression)
