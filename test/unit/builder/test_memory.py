"""Python's order of reads and writes: whatever is computed late has the numbers of the line that says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tirx as tx
from tirx import f32, i32
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

Numbers = NDArray[np.float32]
_A = np.random.default_rng(0).integers(-4, 5, (32, 32)).astype(np.float32)
_B = np.random.default_rng(1).integers(-4, 5, (32, 32)).astype(np.float32)
_AB = _A @ _B.T
_SKIPPED = np.abs(_A) ** 3 + 8
_SKIPPED[0, 0] = 7


def _truths_of_sums(a: Any, b: Any, o: Any, n: Any) -> None:
    acc = tx.accumulator(f32, (32, 32))
    acc[:] = 0.0
    x, y = tx.shared(a[:, :].to(tx.f16)), tx.shared(b[:, :].to(tx.f16))
    empty, half = acc == 0.0, acc[:, 0:16] + 1.0
    acc += x @ y.T
    o[:, :] = tx.where(empty, acc, 9.0)
    o[:, 0:16] += half


def _a_product_in_front_of_a_write(a: Any, b: Any, o: Any, n: Any) -> None:
    x, y = tx.shared(a[:, :].to(tx.f16)), tx.shared(b[:, :].to(tx.f16))
    product = x @ y.T
    x[:] = 0.0
    o[:, :] = product * 2.0


def _a_product_for_branches(a: Any, b: Any, o: Any, n: Any) -> None:
    product = tx.shared(a[:, :].to(tx.f16)) @ tx.shared(b[:, :].to(tx.f16)).T
    if n > 3:
        o[:, :] = product * 2.0
    o[:, :] += product + 1.0


def _operands_the_other_way(a: Any, b: Any, o: Any, n: Any) -> None:
    x, y = tx.shared(a[:, :].to(tx.f16)), tx.shared(b[:, :].to(tx.f16))
    o[:, :] = x.T @ y


def _bits(a: Any, b: Any, o: Any, n: Any) -> None:
    o[:, :] = (a[:, :].bitcast(i32) ^ -0x80000000).bitcast(f32) + a[:, :].argmax(1).to(f32)


def _what_a_loop_writes(a: Any, b: Any, o: Any, n: Any) -> None:
    x = tx.shared(a[:, :])
    first = x + 0.0
    for _ in tx.range(3):
        x[:] = x + 1.0
    o[:, :] = x - first


def _a_product_for_loops(a: Any, b: Any, o: Any, n: Any) -> None:
    product, i = tx.shared(a[:, :].to(tx.f16)) @ tx.shared(b[:, :].to(tx.f16)).T, 0
    while i < n - 1:
        o[:, :] += product
        i += 1
    o[:, :] += product + 1.0


def _a_view_that_was_added_to(a: Any, b: Any, o: Any, n: Any) -> None:
    part = a[0:16, :]
    part += b[0:16, :]
    o[0:16, :] = part
    o[16:32, :] = a[16:32, :]
    part = a[0:16, :]
    part += b[0:16, :].load()
    a[16:32, :] = part
    o[16:32, :] += a[16:32, :]


def _parts_of_shared_memory_that_were_added_to(a: Any, b: Any, o: Any, n: Any) -> None:
    x = tx.shared(a[:, :])
    part, same = x[0:16, :], x
    part += b[0:16, :]
    part += part
    x[16:32, :] += 1.0
    x += 1.0
    o[:, :] = same


def _a_part_of_a_part(a: Any, b: Any, o: Any, n: Any) -> None:
    x = tx.shared(a[:, :])
    x[0:16, :] = x[16:32, :]
    x[16:32, :] += 1.0
    o[:, :] = x


def _another_shape_turned(a: Any, b: Any, o: Any, n: Any) -> None:
    o[:, :] = a[:, :].reshape(16, 64).T[:, None, :].reshape(64, 16).load().reshape(32, 32)


def _truths_and_numbers(a: Any, b: Any, o: Any, n: Any) -> None:
    at = (a[:, :] > 0.0).to(tx.index)
    o[:, :] = (at.to(i32) + (a[:, :].to(i32) * 2).to(tx.i1).to(i32)).to(f32) + (n > 3).to(tx.index)


def _another_name_of_a_sum(a: Any, b: Any, o: Any, n: Any) -> None:
    x, y = tx.shared(a[:, :].to(tx.f16)), tx.shared(b[:, :].to(tx.f16))
    acc = before = tx.zeros(f32, 32, 32)
    for _ in tx.range(3):
        before = acc
        acc += x @ y.T
    first, _ = acc, before
    acc += x @ y.T
    o[:, :] = acc * 100.0 + first * 10.0 + before


def _terms_that_python_skips(a: Any, b: Any, o: Any, n: Any) -> None:
    i = tx.index(0)
    while i < 32 and a[i, 0] < 100.0:
        i += 1
    j = i + 5
    if j < 32 and a[j, 0] > 0.0 or (n and i - 31):
        o[:, :] += abs(a[:, :]) ** 3 + abs(i - 40).to(f32)
    o[0, 0] = a[j, 0] if j < 32 else 7.0


def _an_extent_behind_a_number(a: Any, b: Any, o: Any, n: Any) -> None:
    o[n : n + 4, :] += a[n - 4 : n, :]


_CASES: list[tuple[Callable[..., None], Numbers]] = [
    (_truths_of_sums, _AB + np.repeat([[1, 0]], 16, 1).astype(np.float32)),
    (_a_product_in_front_of_a_write, 2 * _AB),
    (_a_product_for_branches, 3 * _AB + 1),
    (_operands_the_other_way, _A.T @ _B),
    (_bits, np.argmax(_A, 1)[:, None] - _A),
    (_what_a_loop_writes, np.full_like(_A, 3)),
    (_a_product_for_loops, 4 * _AB + 1),
    (_a_view_that_was_added_to, np.concatenate([(_A + _B)[:16], _A[16:] + (_A + 2 * _B)[:16]])),
    (_parts_of_shared_memory_that_were_added_to, np.concatenate([2 * (_A + _B)[:16] + 1, _A[16:] + 2])),
    (_a_part_of_a_part, np.concatenate([_A[16:], _A[16:] + 1])),
    (_another_shape_turned, _A.reshape(16, 64).T.reshape(32, 32)),
    (_another_name_of_a_sum, 432 * _AB),
    (_terms_that_python_skips, _SKIPPED),
    (_an_extent_behind_a_number, np.pad(_A[:4], ((4, 24), (0, 0)))),
    (_truths_and_numbers, (_A > 0).astype(np.float32) + (_A != 0) + 1),
]


def test_arrays_may_be_one() -> None:
    def kernel(a: Any, o: Any) -> None:
        first = a[0]
        o[0] = 0.0
        o[1] = first

    module = tx.jit(f32[32], f32[32], threads=32, target="sm_80", grid=[1])(kernel).module
    moves = [op.name for op in module.walk() if op.name in ("memref.load", "memref.store")]
    assert moves == ["memref.load", "memref.store", "memref.store"]


@pytest.mark.parametrize(("function", "expected"), _CASES, ids=lambda each: getattr(each, "__name__", "")[1:])
def test_the_order_of_python(function: Callable[..., None], expected: Numbers) -> None:
    module = tx.jit(f32[32, 32], f32[32, 32], f32[32, 32], i32, threads=128, target="sm_80", grid=[1])(function).module
    module.verify()
    found = np.zeros((32, 32), np.float32)
    run_kernel(next(iter(kernels(module))), [_A.copy(), _B.copy(), found, 4])
    assert np.array_equal(found, expected)


def _parts_of_a_product(a: Any, b: Any, o: Any, n: Any) -> None:
    product = tx.shared(a[:, :].to(tx.f16)) @ tx.shared(b[:, :].to(tx.f16)).T
    row, turned, other = product[3:4, :], product.T[0:16, :], product.reshape(16, 64)
    for _ in tx.range(n):
        row, turned = row + 1.0, turned + 2.0
    if n > 2:
        turned, other = product[:, 0:16].T, other + 1.0
    o[:, :] = tx.concat([turned, turned], 0) + row.broadcast(32, 32) + other.reshape(32, 32)


@pytest.mark.parametrize("n", [2, 4])
def test_parts_of_a_product_are_carried_as_values(n: int) -> None:
    """By loops and branches, turned or not, also where the kernel is compiled."""
    kernel = tx.jit(f32[32, 32], f32[32, 32], f32[32, 32], i32, threads=32, target="sm_80", grid=[1])(
        _parts_of_a_product
    )
    turned = _AB.T[:16] + (0 if n > 2 else 2 * n)
    expected = np.concatenate([turned, turned]) + _AB[3:4] + n + _AB + (n > 2)
    run_kernel(next(iter(kernels(kernel.module))), [_A.copy(), _B.copy(), found := np.zeros_like(_AB), n])
    assert np.array_equal(found, expected)
    found[:] = 0
    tx.build(kernel.module, "sm_80").kernels["_parts_of_a_product"].simulate(_A.copy(), _B.copy(), found, n)
    assert np.array_equal(found, expected)
