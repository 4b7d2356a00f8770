"""Tiles that share bytes give the numbers of tiles that do not, and no races; dynamic shared memory runs."""

from __future__ import annotations

from functools import cache
from io import StringIO

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.passes import PassPipeline

import tirx
from tirx.dialects.tirx import AllocOp, KernelOp
from tirx.passes import lower_to_ptx_pipeline
from tirx.ptx import ptxas
from tirx.ptx.printer import PtxTarget
from tirx.sim import SimError, run
from tirx.text.parsing import parse_located
from tirx.universe import all_passes, new_context

IN_TURN = """
!gx = !tirx.tile<32x64xf32, global>
!gu = !tirx.tile<64x32xf32, global>
!a = !tirx.tile<32x64xf32, shared, #tirx.tile_layout<S[(32, 64) : (1, 32)]>>
!b = !tirx.tile<64x32xf32, shared, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
tirx.kernel @in_turn(%x: memref<32x64xf32>, %y: memref<32x64xf32>, %u: memref<64x32xf32>, %v: memref<64x32xf32>)
    target("sm_80") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : memref<32x64xf32> -> !gx
  %gy = tirx.view %y[%c0, %c0] : memref<32x64xf32> -> !gx
  %gu = tirx.view %u[%c0, %c0] : memref<64x32xf32> -> !gu
  %gv = tirx.view %v[%c0, %c0] : memref<64x32xf32> -> !gu
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  tirx.copy %gx, %a : !gx, !a
  tirx.copy %a, %gy : !a, !gx
  tirx.copy %gu, %b : !gu, !b
  tirx.copy %b, %gv : !b, !gu
  tirx.return
}
"""

PRODUCTS = """
!gx = !tirx.tile<128x64xf16, global>
!gy = !tirx.tile<64x64xf16, global>
!gd = !tirx.tile<128x64xf32, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<128x64xf32, tensor>
tirx.kernel @products(%x: memref<128x64xf16>, %y: memref<64x64xf16>, %d: memref<2x128x64xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %gx = tirx.view %x[%c0, %c0] : memref<128x64xf16> -> !gx
  %gy = tirx.view %y[%c0, %c0] : memref<64x64xf16> -> !gy
  %d0 = tirx.view %d[%c0, %c0, %c0] : memref<2x128x64xf32> -> !gd
  %d1 = tirx.view %d[%c1, %c0, %c0] : memref<2x128x64xf32> -> !gd
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %e = tirx.alloc : !a
  %f = tirx.alloc : !b
  %s = tirx.alloc : !tirx.tile<128x64xf32, shared>
  %acc = tirx.alloc : !d
  %acc2 = tirx.alloc : !d
  tirx.copy %gx, %a : !gx, !a
  tirx.copy %gy, %b : !gy, !b
  tirx.fill %acc, %zero : f32, !d
  tirx.mma %a, %b, %acc : !a, !b, !d
  tirx.copy %acc, %s : !d, !tirx.tile<128x64xf32, shared>
  tirx.copy %s, %d0 : !tirx.tile<128x64xf32, shared>, !gd
  tirx.copy %gx, %e : !gx, !a
  tirx.copy %gy, %f : !gy, !b
  tirx.fill %acc2, %zero : f32, !d
  tirx.mma %e, %f, %acc2 negate_a : !a, !b, !d
  tirx.copy %acc2, %d1 : !d, !gd
  tirx.return
}
"""

IN_ITERATIONS = """
!s = !tirx.tile<80x128xf32, shared>
tirx.kernel @in_iterations(%n: index, %x: memref<3x80x128xf32>, %y: memref<3x128x80xf32>, %z: memref<3x80x128xf32>)
    target("sm_75") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = tirx.alloc copy(%x[%i, 0, 0]) : memref<3x80x128xf32>, !s
    %t = tirx.transpose %a [1, 0] : !s -> !tirx.tile<128x80xf32, shared>
    tirx.copy %t, %y[%i, 0, 0] : !tirx.tile<128x80xf32, shared>, memref<3x128x80xf32>
    %b = tirx.alloc copy(%x[%i, 0, 0]) : memref<3x80x128xf32>, !s
    tirx.copy %b, %z[%i, 0, 0] : !s, memref<3x80x128xf32>
  }
  tirx.return
}
"""

LARGE = """
tirx.kernel @large(%x: memref<128x128xf32>, %y: memref<64x256xf32>) target("sm_80") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : memref<128x128xf32> -> !tirx.tile<128x128xf32, global>
  %gy = tirx.view %y[%c0, %c0] : memref<64x256xf32> -> !tirx.tile<64x256xf32, global>
  %s = tirx.alloc : !tirx.tile<128x128xf32, shared>
  %t = tirx.reshape %s : !tirx.tile<128x128xf32, shared> -> !tirx.tile<64x256xf32, shared>
  tirx.copy %gx, %s : !tirx.tile<128x128xf32, global>, !tirx.tile<128x128xf32, shared>
  tirx.copy %t, %gy : !tirx.tile<64x256xf32, shared>, !tirx.tile<64x256xf32, global>
  tirx.return
}
"""


@cache
def places(text: str) -> dict[str, int | None]:
    """The place of every tile of a kernel, by name."""
    context = new_context()
    module = parse_located(context, text, "test")
    spec = lower_to_ptx_pipeline()
    passes = spec[: spec.index("tirx-allocate-memory") + 1]
    PassPipeline.parse_spec(all_passes(), ",".join(passes)).apply(context, module)
    return {op.result.name_hint or "": op.start for op in module.walk() if isinstance(op, AllocOp)}


def barriers_before_places(text: str) -> str:
    """PTX by the pipeline with `tirx-insert-barriers` in the wrong place: before tiles share bytes."""
    spec = list(lower_to_ptx_pipeline())
    spec.remove("tirx-insert-barriers")
    spec.remove("tirx-check-synchronization")
    spec.insert(spec.index("tirx-allocate-memory"), "tirx-insert-barriers")
    context = new_context()
    module = parse_located(context, text, "test")
    PassPipeline.parse_spec(all_passes(), ",".join(spec)).apply(context, module)
    assert not any(isinstance(op, KernelOp) for op in module.ops)
    output = StringIO()
    PtxTarget().emit(context, module, output)
    return output.getvalue()


def arguments() -> list[NDArray[np.float32]]:
    x = np.arange(32 * 64, dtype=np.float32)
    return [x.reshape(32, 64), np.zeros((32, 64), np.float32), -x.reshape(64, 32), np.zeros((64, 32), np.float32)]


@pytest.mark.parametrize("seed", range(3))
def test_tiles_in_turn_share_bytes_without_a_race(seed: int):
    found = places(IN_TURN)
    assert found["a"] == found["b"] == 0
    x, y, u, v = arguments()
    run(tirx.build(IN_TURN).ptx, "in_turn", (1, 1, 1), (128, 1, 1), [x, y, u, v], check=True, seed=seed)
    assert np.array_equal(y, x)
    assert np.array_equal(v, u)


def test_tiles_of_one_iteration_share_bytes_without_a_race():
    assert places(IN_ITERATIONS) == {"a": 0, "b": 0}
    x = np.random.default_rng(0).random((3, 80, 128), np.float32)
    y, z = np.zeros((3, 128, 80), np.float32), np.zeros_like(x)
    tirx.build(IN_ITERATIONS).kernels["in_iterations"].simulate(3, x, y, z)
    assert np.array_equal(y, x.transpose(0, 2, 1)) and np.array_equal(z, x)


def test_barriers_that_do_not_see_the_places_leave_a_race():
    with pytest.raises(SimError, match="race|barrier"):
        run(barriers_before_places(IN_TURN), "in_turn", (1, 1, 1), (128, 1, 1), arguments(), check=True)


@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.sample(1)
def test_operands_of_a_product_share_bytes_with_what_is_stored_after_it(seed: int, threads: int):
    text = PRODUCTS.replace("threads(128)", f"threads({threads})")
    found = places(text)
    assert found["a"] == found["s"] == found["e"] == 0  # the tensor core has read A before threads write over it
    assert found["acc"] == found["acc2"] == 0
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, (128, 64)).astype(np.float16)
    y = rng.integers(-4, 5, (64, 64)).astype(np.float16)
    d = np.zeros((2, 128, 64), np.float32)
    run(tirx.build(text).ptx, "products", (1, 1, 1), (threads, 1, 1), [x, y, d], check=True, seed=seed)
    expected = x.astype(np.float32) @ y.T.astype(np.float32)
    assert np.array_equal(d[0], expected)
    assert np.array_equal(d[1], -expected)


def test_more_than_an_entry_may_declare_is_dynamic():
    ptx = tirx.compile(LARGE)
    assert "// Launch with 65536 bytes of dynamic shared memory.\n.visible .entry large(" in ptx
    assert ".extern .shared .align 128 .b8 dynamic_shared[];" in ptx
    assert ".shared .align 128 .b8 shared" not in ptx
    assert ptxas.assemble(ptx, "sm_80").ok
    x = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    y = np.zeros((64, 256), np.float32)
    run(ptx, "large", (1, 1, 1), (128, 1, 1), [x, y], dynamic_shared=65536, check=True)
    assert np.array_equal(y, x.reshape(64, 256))
    # The same on a target whose entries may declare all there is: nothing to set aside.
    static = tirx.compile(LARGE, target="sm_90a")
    assert "dynamic" not in static
    y[:] = 0
    run(static, "large", (1, 1, 1), (128, 1, 1), [x, y], check=True)
    assert np.array_equal(y, x.reshape(64, 256))


def test_kernels_of_a_module_have_one_name_for_dynamic_memory():
    ptx = tirx.compile(LARGE + LARGE.replace("@large", "@larger"))
    assert ptx.count(".extern .shared") == 1
    assert ptx.count("// Launch with 65536 bytes") == 2
    assert ptxas.assemble(ptx, "sm_80").ok


def test_arguments_keep_clear_of_the_name_of_dynamic_memory():
    ptx = tirx.compile(LARGE.replace("%x", "%dynamic_shared"))
    assert ".param .u64 .ptr .global .align 16 dynamic_shared_1," in ptx
    assert ptxas.assemble(ptx, "sm_80").ok


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.sample(1)
def test_blocks_of_a_pair_share_bytes_only_when_neither_reads_them(seed: int):
    text = PRODUCTS.replace("128x64", "256x64").replace("grid(1)", "grid(1) cluster(2)")
    found = places(text)
    assert found["a"] == found["s"] == found["e"] == 0
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 5, (256, 64)).astype(np.float16)
    y = rng.integers(-4, 5, (64, 64)).astype(np.float16)
    d = np.zeros((2, 256, 64), np.float32)
    run(tirx.compile(text), "products", 2, 128, [x, y, d], cluster=(2, 1, 1), check=True, seed=seed)
    expected = x.astype(np.float32) @ y.T.astype(np.float32)
    assert np.array_equal(d[0], expected)
    assert np.array_equal(d[1], -expected)
