"""`tirx-expand-exchanges`: the layouts of what warps give each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx
from tirx import embed
from tirx.layout import Iter, TileLayout
from tirx.passes.copies.tirx_expand_exchanges import _gathered  # pyright: ignore[reportPrivateUsage]


def test_parts_of_two_dimensions_lie_in_slots_of_their_own() -> None:
    """The slots of a thread come first, then those of the first dimension of warps, then those of the second."""
    partial = TileLayout("S[(2, 3, 32, 5) : (1@warpid, 2@warpid, 1@laneid, 1)]")
    across = {0: Iter(2, 1, "warpid"), 1: Iter(3, 2, "warpid")}
    gathered = _gathered(partial, (2, 3, 32, 5), across)
    whole = TileLayout("S[(2, 3, 32, 5) : (5, 10, 1@laneid, 1)]")
    assert TileLayout(gathered.shard, (), gathered.offset).equivalent(whole)


_RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("threads", "dtype", "dims", "operation", "part", "shape", "is_in_memory"),
    [
        (128, "f16", (64, 24), "subview %x[1, 6]", np.s_[1:14, 6:22], (13, 16), True),
        (96, "f16", (48, 24), "subview %x[47, 20] steps [-2, -3]", np.s_[47:20:-2, 20:7:-3], (14, 5), True),
        (128, "f16", (96, 12), "reshape %x", np.s_[:], (32, 36), True),
        (96, "f16", (8, 64), "subview %x[3, 5]", np.s_[3:6, 5:6], (3, 1), True),
        (256, "i8", (8, 24), "subview %x[5, 1]", np.s_[5:7, 1:23], (2, 22), True),
        (32, "f32", (8, 64), "subview %x[0, 32]", np.s_[:, 32:], (8, 32), False),
    ],
)
def test_parts_that_threads_do_not_have_go_through_shared_memory(
    threads: int,
    dtype: str,
    dims: tuple[int, int],
    operation: str,
    part: Any,
    shape: tuple[int, int],
    is_in_memory: bool,
) -> None:
    """Also where the threads that have a part cannot be told by lanes and warps."""
    x = _RNG.integers(-99, 99, dims).astype({"f16": np.float16, "f32": np.float32, "i8": np.int8}[dtype])
    source, result = (f"{m}x{n}x{dtype}" for m, n in (dims, shape))
    program = tirx.build(
        embed.parse(
            f"""
tirx.kernel @k(%a: memref<{source}>, %b: memref<{result}>) target("sm_80") grid(1) threads({threads}) {{
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<{source}> -> !tirx.tile<{source}, global>
  %h = tirx.view %b[%c0, %c0] : memref<{result}> -> !tirx.tile<{result}, global>
  %x = tirx.load %g : !tirx.tile<{source}, global> -> !tirx.tile<{source}, register>
  %y = tirx.{operation} : !tirx.tile<{source}, register> -> !tirx.tile<{result}, register>
  tirx.store %y, %h : !tirx.tile<{result}, register>, !tirx.tile<{result}, global>
  tirx.return
}}"""
        )
    )
    found = np.zeros(shape, x.dtype)
    program.kernels["k"].simulate(x, found)
    assert np.array_equal(found, x[part].reshape(shape))
    assert ("st.shared" in program.ptx) is is_in_memory
