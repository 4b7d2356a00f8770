"""Tiles at places that an index tile has: blocks in conflict, and places outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.interp.test_run import error_of, run_on
from unit.passes.parsed import parsed
from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC

import tirx as tx
from tirx import embed, f32, i32
from tirx.dialects.tirx import KernelOp, kernels
from tirx.interp import run_kernel
from tirx.interp.watch import Watch


def _kernel_of(function: Callable[..., None], blocks: int = 1) -> KernelOp:
    types = f32[8, 8], i32[8], f32[8, 8]
    (found,) = kernels(tx.jit(*types, threads=32, target="sm_80", grid=[blocks])(function).module)
    return found


def _scattered_twice(a: Any, i: Any, o: Any) -> None:
    o[i[:].load(), :] = a[:, :].load()


def _flag_outside(a: Any, i: Any, o: Any) -> None:
    tx.signal(i[i[0]], 1)


def _two_atomics_of_one_place(a: Any, i: Any, o: Any) -> None:
    tx.atomic(o[i[:].load(), :], "add", a[:, :].load())


@pytest.mark.parametrize(
    ("function", "places", "kind", "said"),
    [
        (_scattered_twice, [0, 1, 2, 3, 4, 5, 6, 0], "conflict",
         "expected equal numbers at one place of a scattered tile, found different ones"),
        (_flag_outside, [8, 0, 0, 0, 0, 0, 0, 0], "bounds", "expected a flag inside of (8,), found that at (8,)"),
        (_flag_outside, [-1, 0, 0, 0, 0, 0, 0, 0], "bounds", "expected a flag inside of (8,), found that at (-1,)"),
    ],
)  # fmt: skip
def test_places_without_a_result(function: Callable[..., None], places: list[int], kind: str, said: str) -> None:
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    found = error_of(_kernel_of(function), a, np.array(places, np.int32), np.zeros_like(a))
    assert found[0] == kind and found[1].endswith(said)


def _scattered_and_gathered(a: Any, i: Any, o: Any) -> None:
    o[i[:].load(), :] = o[i[:].load(), :].load() + 1.0


def _own_rows(a: Any, i: Any, o: Any) -> None:
    o[i[:].load(), :] = tx.zeros(f32, 8, 8) + tx.block_id("x").to(f32)


@pytest.mark.parametrize("function", [_scattered_and_gathered, _own_rows])
def test_blocks_that_scatter_to_one_place(function: Callable[..., None]) -> None:
    """Two blocks clash, and each of them does not; their atomics do not, either."""
    a, i = np.ones((8, 8), np.float32), np.arange(8, dtype=np.int32)
    run_on(_kernel_of(function), a, i, np.ones_like(a))
    assert error_of(_kernel_of(function, blocks=2), a, i, np.ones_like(a))[0] == "conflict"
    run_on(_kernel_of(_two_atomics_of_one_place, blocks=2), a, i, added := np.ones_like(a))
    assert (added == 3).all()


def _gathered(a: Any, i: Any, o: Any) -> None:
    o[:, :] = a[i[:].load(), :]


def test_gathered_tiles_are_inside() -> None:
    text = str(_kernel_of(_gathered).parent_op()).replace(" clipped", "")
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    a = np.zeros((8, 8), np.float32)
    kind, message = error_of(kernel, a, np.array([0, 1, 2, 3, 4, 5, 6, 8], np.int32), a.copy())
    assert kind == "bounds" and message.endswith("inside of 8 elements along dimension 0, found element 8")


def test_scattered_tiles_that_agree() -> None:
    """The same numbers may go to one place, and what is outside goes nowhere; atomics add up there."""
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    a[7] = a[0]
    places = np.array([3, 1, 2, 0, 4, -1, 8, 3], np.int32)
    run_on(_kernel_of(_scattered_twice), a, places, stored := np.full_like(a, -1))
    run_on(_kernel_of(_two_atomics_of_one_place), a, places, added := np.ones_like(a))
    expected, sums = np.full_like(a, -1), np.ones_like(a)
    for row, place in zip(a, places.tolist(), strict=True):
        if 0 <= place < 8:
            expected[place] = row
            sums[place] += row
    assert np.array_equal(stored, expected) and np.array_equal(added, sums)


_RANKED = """
!m = memref<8xi32>
!g = !tirx.tile<8xi32, global>
!t = !tirx.tile<8xi32, register>
tirx.kernel @k(%a: !m, %count: !m, %d: !m) target("sm_80") grid(1) threads(32) {
  %x = tirx.load %a[0] : !m -> !t
  %one = arith.constant 1 : i32
  %ones = tirx.splat %one : i32 -> !t
  %places = tirx.view %count[[%x]] : !m, !t -> !g
  %rank = tirx.atomic add %ones, %places : !t, !g -> !t
USE
  tirx.return
}"""


_PUT = """  %p = tirx.view %d[[%rank]] : !m, !t -> !g
  tirx.store %ones, %p : !t, !g"""
_GET = """  %p = tirx.view %a[[%rank]] : !m, !t -> !g
  %y = tirx.load %p : !g -> !t
  tirx.store %y, %d[0] : !t, !m"""


@pytest.mark.parametrize(
    ("use", "open_"), [(_PUT, [True] * 8), (_GET, [True, True, False, True, False, True, True, True])]
)
def test_places_by_old_values_of_atomics(use: str, open_: list[bool]) -> None:
    """Who comes first is not said where elements are counted together: what is read or written there is open."""
    a = np.array([0, 0, 1, 0, 2, 0, 0, 0], np.int32)
    (kernel,) = kernels(embed.parse(_RANKED.replace("USE", use), "k.mlir"))
    ran = run_on(kernel, *[a, np.zeros(8, np.int32), np.zeros(8, np.int32)], bounds=True)
    error = ran.errors[2]
    assert not ran.exact and error is not None
    assert np.isinf(error).tolist() == open_
    assert ran.errors[1] is not None and not ran.errors[1].any()


@pytest.mark.parametrize(("order", "is_open"), [("", True), ("acq_rel", False)])
def test_old_values_of_an_element_that_blocks_share(order: str, is_open: bool) -> None:
    """The first of several blocks is not known; tickets that order blocks may tell which one is the last."""
    text = f"""
    tirx.kernel @k(%a: memref<1xi32>, %d: memref<4xi32>) target("sm_80") grid(%i = 4) threads(32) {{
      %one = arith.constant 1 : i32
      %g = tirx.view %a[0] : memref<1xi32> -> !tirx.tile<1xi32, global>
      %old = tirx.atomic add %one, %g {order} : i32, !tirx.tile<1xi32, global> -> i32
      memref.store %old, %d[%i] : memref<4xi32>
    }}"""
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    ran = run_on(kernel, np.zeros(1, np.int32), np.zeros(4, np.int32), bounds=True)
    assert not ran.exact and ran.errors[0] is not None and not ran.errors[0].any()
    assert ran.errors[1] is not None and np.isinf(ran.errors[1]).all() == is_open


@pytest.mark.parametrize("blocks", [1, 2])
def test_blocks_that_exchange(blocks: int) -> None:
    """Whose element stays is not said where several blocks exchange those that indices name."""
    text = _RANKED.replace("grid(1)", f"grid({blocks})").replace("atomic add", "atomic exch").replace("USE", "")
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    ran = run_on(kernel, np.arange(8, dtype=np.int32), np.zeros(8, np.int32), np.zeros(8, np.int32), bounds=True)
    assert ran.exact is (blocks == 1)
    assert blocks == 1 or (ran.errors[1] is not None and np.isinf(ran.errors[1]).all())


_BRANCH = """
tirx.kernel @k(%a: memref<2xi32>) target("sm_80") grid(2) threads(32) {
  %block = tirx.block_id x
  %c0 = arith.constant 0 : index
  %is_first = arith.cmpi eq, %block, %c0 : index
  scf.if %is_first {
    %only = arith.addi %block, %block : index
  }
  %number = arith.index_cast %block : index to i32
  memref.store %number, %a[%block] : memref<2xi32>
  tirx.return
}
"""


def test_names_of_one_block_are_forgotten_in_the_next() -> None:
    (kernel,) = kernels(parsed(_BRANCH))
    for op in kernel.walk():
        if isinstance(op, arith.IndexCastOp):  # made by no line
            op.location = UNKNOWN_LOC
    seen: list[tuple[int, set[str]]] = []
    run_kernel(
        kernel,
        [np.zeros(2, np.int32)],
        watch=Watch(kernel, "<test>", [10], lambda line, names: seen.append((line, {*names}))),
    )
    common = {"block", "c0", "is_first", "number", "a"}
    assert seen == [(10, {*common, "only"}), (10, common)]
