"""Kernels of pairs of blocks, of every kind: the descriptor has the shape of both, they assemble and equal numpy."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx
from tirx.ptx.ptxas import assemble
from tirx.sim import SimError, SimWarning, run
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor


def pair_kernel(m: int, n: int, k: int, dtype: str, acc: str, accumulator: str = "") -> str:
    a, b, d = f"{m}x{k}x{dtype}", f"{n}x{k}x{dtype}", f"{m}x{n}x{acc}"
    return f"""
tirx.kernel @pair(%a: memref<{a}>, %b: memref<{b}>, %d: memref<{d}>)
    target("sm_100a") grid(1) cluster(2) threads(128) {{
  %c0 = arith.constant 0 : index
  %never = arith.constant false
  %sa = tirx.alloc : !tirx.tile<{a}, shared>
  %sb = tirx.alloc : !tirx.tile<{b}, shared>
  %acc = tirx.alloc : !tirx.tile<{d}, tensor{accumulator}>
  %ga = tirx.view %a[%c0, %c0] : memref<{a}> -> !tirx.tile<{a}, global>
  %gb = tirx.view %b[%c0, %c0] : memref<{b}> -> !tirx.tile<{b}, global>
  tirx.copy %ga, %sa : !tirx.tile<{a}, global>, !tirx.tile<{a}, shared>
  tirx.copy %gb, %sb : !tirx.tile<{b}, global>, !tirx.tile<{b}, shared>
  tirx.mma %sa, %sb, %acc accumulate(%never)
    : !tirx.tile<{a}, shared>, !tirx.tile<{b}, shared>, !tirx.tile<{d}, tensor{accumulator}>
  %gd = tirx.view %d[%c0, %c0] : memref<{d}> -> !tirx.tile<{d}, global>
  tirx.copy %acc, %gd : !tirx.tile<{d}, tensor{accumulator}>, !tirx.tile<{d}, global>
  tirx.return
}}
"""


NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "tf32": np.float32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "si8": np.int8,
    "f32": np.float32,
    "i32": np.int32,
}


def simulate(ptx: str, m: int, n: int, k: int, dtype: str, acc: str, seed: int | None = None) -> None:
    """Small integers: all sums are exact. The simulator has nothing to warn of."""
    rng = np.random.default_rng(m + n)
    a, b = (rng.integers(-2, 3, (rows, k)).astype(NUMPY[dtype]) for rows in (m, n))
    d = np.full((m, n), 7, NUMPY[acc])
    warnings: list[SimWarning] = []
    run(ptx, "pair", 2, 128, [a, b, d], cluster=(2, 1, 1), seed=seed, report=warnings.append)
    assert warnings == []
    assert np.array_equal(d.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64).T)


def check(ptx: str, kind: str, m: int, n: int) -> None:
    words = re.findall(rf"tcgen05\.mma\.cta_group::2\.kind::{kind} \[\S+\], \S+, \S+, (0x\w+),", ptx)
    assert len(words) == 2
    for word in words:
        descriptor = InstructionDescriptor.decode(int(word, 16), kind)
        assert (descriptor.m, descriptor.n) == (m, n)
    result = assemble(ptx, "sm_100a")
    assert result.ok, result.stderr
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("dtype", "acc", "kind", "k"),
    [
        ("f16", "f32", "f16", 16),
        ("f16", "f16", "f16", 16),
        ("tf32", "f32", "tf32", 8),
        ("f8E4M3FN", "f32", "f8f6f4", 32),
        ("si8", "i32", "i8", 32),
    ],
)
@pytest.mark.parametrize(("m", "n"), [(256, 256), (128, 64)])
@pytest.mark.sample(1)
def test_kinds(dtype: str, acc: str, kind: str, k: int, m: int, n: int) -> None:
    ptx = tirx.compile(pair_kernel(m, n, 2 * k, dtype, acc))
    check(ptx, kind, m, n)
    simulate(ptx, m, n, 2 * k, dtype, acc)
    # Static shared memory is that of one block, with an mbarrier and the slot for the address of tensor memory.
    assert re.findall(r"\.b8 shared\[(\d+)\]", ptx) == [str((m + n) // 2 * 64 + 8 + 4)]


@pytest.mark.parametrize(
    ("m", "layout"),
    [
        (256, "S[(2, 128, 64) : (1@cbx, 1@TLane, 1@TCol)]"),
        (128, "S[(2, 64, 2, 32) : (1@cbx, 1@TLane, 64@TLane, 1@TCol)]"),
    ],
)
@pytest.mark.sample(1)
def test_written_accumulator(m: int, layout: str) -> None:
    ptx = tirx.compile(pair_kernel(m, 64, 32, "f16", "f32", f", #tirx.tile_layout<{layout}>"))
    check(ptx, "f16", m, 64)
    simulate(ptx, m, 64, 32, "f16", "f32", seed=1)


EPILOGUE = """
!s = !tirx.tile<128x32xf32, register>
!column = !tirx.tile<128x1xf32, register>
tirx.kernel @epilogue(%a: memref<128x16xf16>, %b: memref<32x16xf16>, %bias: memref<1x32xf32>, %scale: memref<256xf32>,
    %most: memref<128xf32>, %d: memref<32x128xf16>, %n: index) target("sm_100a") grid(1) cluster(2) threads(128) {
  %sa = tirx.alloc copy(%a[0, 0]) : memref<128x16xf16>, !tirx.tile<128x16xf16, shared>
  %sb = tirx.alloc copy(%b[0, 0]) : memref<32x16xf16>, !tirx.tile<32x16xf16, shared>
  %acc = tirx.alloc fill(0.0) : !tirx.tile<128x32xf32, tensor>
  tirx.mma %sa, %sb, %acc
    : !tirx.tile<128x16xf16, shared>, !tirx.tile<32x16xf16, shared>, !tirx.tile<128x32xf32, tensor>
  %x = tirx.load %acc : !tirx.tile<128x32xf32, tensor> -> !s
  %row = tirx.load %bias[0, 0] : memref<1x32xf32> -> !tirx.tile<1x32xf32, register>
  %by = tirx.load %scale[0] dims(0, _) steps [2] clipped to [%n] : memref<256xf32> -> !column
  %y = tirx.map ins(%x, %row, %by : !s, !tirx.tile<1x32xf32, register>, !column) (%e, %f, %g) {
    select(index(0) < index(1) + 80, %e * %g + %f, -100.0)
  } -> !s
  %m = tirx.reduce %y dim(1) max : !s -> !column
  %wide = tirx.broadcast %m : !column -> !s
  %z = tirx.map ins(%y, %wide : !s, !s) (%e, %f) { f16(%e - %f) } -> !tirx.tile<128x32xf16, register>
  tirx.store %z, %d[0, 0] dims(1, 0) : !tirx.tile<128x32xf16, register>, memref<32x128xf16>
  tirx.store %m, %most[0] dims(0, _) : !column, memref<128xf32>
}
"""


def test_epilogue() -> None:
    """Each block computes its half of maps, reductions and broadcasts, and finds it in views of any kind."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, 16)).astype(np.float16) for rows in (128, 32))
    bias, scale = rng.integers(-9, 10, (1, 32)).astype(np.float32), rng.integers(1, 4, 256).astype(np.float32)
    most, d = np.zeros(128, np.float32), np.zeros((32, 128), np.float16)
    tirx.build(EPILOGUE).kernels["epilogue"].simulate(a, b, bias, scale, most, d, 100, check="strict")
    by = np.where(np.arange(128) < 100, scale[::2], 0)[:, None]
    y = np.where(
        np.arange(128)[:, None] < np.arange(32) + 80, a.astype(np.float32) @ b.astype(np.float32).T * by + bias, -100
    )
    assert np.array_equal(most, y.max(1)) and np.array_equal(d.T, y - y.max(1, keepdims=True))


CLUSTER_BARRIER = "barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (CLUSTER_BARRIER, "bar.sync 0;", "reads shared address"),
        (".multicast::cluster.b64 [%r4], %h0", ".b64 [%r4]", "deadlock"),
        ("fence.proxy.async.shared::cta;", "", "reads shared address"),
    ],
)
def test_synchronisation_is_needed(old: str, new: str, message: str) -> None:
    """The last of the two barriers before the product, the arrival at both blocks, and the proxy fence."""
    ptx = tirx.compile(pair_kernel(256, 64, 16, "f16", "f32"))
    before, after = ptx.split("fence.proxy.async.shared::cta;")
    end = after.replace(old, new, 1)
    mutant = before + ("" if old.startswith("fence") else "fence.proxy.async.shared::cta;") + end
    assert mutant != ptx
    with pytest.raises(SimError, match=message):
        simulate(mutant, 256, 64, 16, "f16", "f32")
