"""Kernels of Gluon (Triton 3.9), where layouts, barriers and copies are written out."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import triton
from common import Case, Kernel, Launch, small
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia import blackwell, hopper
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton_build import Block, is_aligned, launch, type_of

CASES: list[Case] = []
_TARGETS = {80: "sm_80", 90: "sm_90a", 100: "sm_100a"}


def case(uses: str, *targets: int, **options: Any):
    def register(make: Any) -> Any:
        for target in targets:

            def build(target: int = target) -> tuple[Kernel, Launch]:
                function, grid, values, constants, results = make()
                signature: dict[str, str] = {}
                for name, value in values.items():
                    text = type_of(value)
                    if isinstance(value, Block):
                        bits = value.array.itemsize * 8
                        layout = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=bits, rank=2)
                        text = f"{text[:-1]},{layout!r}>"
                    signature[name] = text
                attributes = {(i,): [["tt.divisibility", 16]] for i, v in enumerate(values.values()) if is_aligned(v)}
                source = GluonASTSource(
                    function, {**signature, **dict.fromkeys(constants, "constexpr")}, constants, attributes
                )
                compiled = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
                return launch(compiled, grid, values, results)

            CASES.append(Case("Gluon", make.__name__, _TARGETS[target], uses, build))
        return make

    return register


def _rng() -> np.random.Generator:
    return np.random.default_rng(3)


@gluon.jit
def copy_kernel(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + offsets, gl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)


@case("blocked layouts", 80, 90, 100)
def scale():
    x = _rng().standard_normal(1000).astype(np.float32)
    out = np.zeros_like(x)
    return copy_kernel, (2,), {"x": x, "out": out, "n": 1000}, {"BLOCK": 512}, [(out, 2 * x, 0)]


@gluon.jit
def staged_kernel(x, out, n, BLOCK: gl.constexpr):
    """cp.async to shared memory, and back transposed."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(vec=4, per_phase=1, max_phase=8, order=[1, 0])
    rows = gl.arange(0, BLOCK, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, BLOCK, layout=gl.SliceLayout(0, layout))
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK, BLOCK], shared)
    async_copy.async_load(tile, x + rows[:, None] * n + columns[None, :])
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.barrier()
    value = tile.permute((1, 0)).load(layout)
    gl.store(out + rows[:, None] * n + columns[None, :], value)


@case("cp.async, swizzled shared layout, transpose", 80, 90, 100)
def staged_transpose():
    x = _rng().standard_normal((32, 32)).astype(np.float32)
    out = np.zeros_like(x)
    return staged_kernel, (1,), {"x": x, "out": out, "n": 32}, {"BLOCK": 32}, [(out, x.T, 0)]


@gluon.jit
def tma_kernel(x, out, ROWS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    row = gl.program_id(0) * ROWS
    mbarrier.expect(bar, x.nbytes_per_cta)
    tma.async_load(x, [row, 0], bar, tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    value = tile.load(layout) + 1.0
    tile.store(value)
    hopper.fence_async_shared()
    tma.async_store(out, [row, 0], tile)
    tma.store_wait(0)


@case("bulk tensor copies, mbarriers", 90, 100)
def tma_add():
    x = small(_rng(), (128, 32), np.float32)
    out = np.zeros_like(x)
    return tma_kernel, (2,), {"x": Block(x, (64, 32)), "out": Block(out, (64, 32))}, {"ROWS": 64}, [(out, x + 1, 0)]


@gluon.jit
def wgmma_kernel(a, b, c, k, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STAGES: gl.constexpr):
    shared_a = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    shared_b = gl.allocate_shared_memory(b.dtype, [STAGES, N, K], b.layout)
    bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(bars.index(i), count=1)
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, N, 16])
    sums = gl.zeros((M, N), dtype=gl.float32, layout=layout)
    for step in range(k // K):
        stage = step % STAGES
        bar = bars.index(stage)
        mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, step * K], bar, shared_a.index(stage))
        tma.async_load(b, [0, step * K], bar, shared_b.index(stage))
        mbarrier.wait(bar, (step // STAGES) & 1)
        sums = hopper.warpgroup_mma(shared_a.index(stage), shared_b.index(stage).permute((1, 0)), sums, is_async=True)
        sums = hopper.warpgroup_mma_wait(0, deps=(sums,))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(bars.index(i))
    tile = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    tile.store(sums.to(c.dtype))
    hopper.fence_async_shared()
    tma.async_store(c, [0, 0], tile)
    tma.store_wait(0)


def _product(m: int, n: int, k: int) -> Any:
    a, b = small(_rng(), (m, k), np.float16), small(_rng(), (n, k), np.float16)
    c = np.zeros((m, n), np.float16)
    values = {"a": Block(a, (m, 64)), "b": Block(b, (n, 64)), "c": Block(c, (m, n)), "k": k}
    return values, [(c, a.astype(np.float64) @ b.astype(np.float64).T, 0)]


@case("wgmma and a ring of two slots", 90)
def gemm_wgmma():
    values, results = _product(64, 64, 192)
    return wgmma_kernel, (1,), values, {"M": 64, "N": 64, "K": 64, "STAGES": 2}, results


@gluon.jit
def tcgen05_kernel(a, b, c, k, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    shared_a = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    shared_b = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    tensor = blackwell.allocate_tensor_memory(gl.float32, [M, N], blackwell.TensorMemoryLayout([M, N], col_stride=1))
    phase = 0
    use = False
    for depth in range(0, k, K):
        mbarrier.expect(loaded, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, depth], loaded, shared_a)
        tma.async_load(b, [0, depth], loaded, shared_b)
        mbarrier.wait(loaded, phase)
        blackwell.tcgen05_mma(shared_a, shared_b.permute((1, 0)), tensor, use_acc=use)
        blackwell.tcgen05_commit(done)
        mbarrier.wait(done, phase)
        phase ^= 1
        use = True
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    tile = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    tile.store(tensor.load().to(c.dtype))
    hopper.fence_async_shared()
    tma.async_store(c, [0, 0], tile)
    tma.store_wait(0)


@case("tcgen05.mma, tensor memory", 100)
def gemm_tcgen05():
    values, results = _product(128, 64, 128)
    return tcgen05_kernel, (1,), values, {"M": 128, "N": 64, "K": 64}, results


@gluon.jit
def mma_v2_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[2, 2], instr_shape=[16, 8])
    left: gl.constexpr = gl.DotOperandLayout(0, layout, 2)
    right: gl.constexpr = gl.DotOperandLayout(1, layout, 2)
    ra = gl.arange(0, M, layout=gl.SliceLayout(1, left))
    ka = gl.arange(0, K, layout=gl.SliceLayout(0, left))
    kb = gl.arange(0, K, layout=gl.SliceLayout(1, right))
    nb = gl.arange(0, N, layout=gl.SliceLayout(0, right))
    x = gl.load(a + ra[:, None] * K + ka[None, :])
    y = gl.load(b + kb[:, None] * N + nb[None, :])
    sums = hopper.mma_v2(x, y, gl.zeros((M, N), dtype=gl.float32, layout=layout))
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    gl.store(c + rows[:, None] * N + columns[None, :], sums)


@case("mma.sync on fragments loaded by threads", 80, 90, 100)
def gemm_mma_v2():
    a, b = small(_rng(), (64, 32), np.float16), small(_rng(), (32, 32), np.float16)
    c = np.zeros((64, 32), np.float32)
    values = {"a": a, "b": b, "c": c}
    return mma_v2_kernel, (1,), values, {"M": 64, "N": 32, "K": 32}, [(c, a.astype(np.float64) @ b, 0)]
