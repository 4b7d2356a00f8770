"""The programs of cute_kernels.py: `python cute_programs.py NAME` compiles one; the DSL writes its PTX."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

import sys

import cutlass
import cutlass.utils.blackwell_helpers as blackwell
import cutlass.utils.hopper_helpers as hopper
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, tcgen05, warp, warpgroup
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.utils import SmemAllocator


def tensor(type_, *shape):
    order = tuple(reversed(range(len(shape))))
    return make_fake_compact_tensor(type_, shape, stride_order=order, assumed_align=32)


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * 128 + thread
    c[at] = a[at] + b[at]


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(2, 1, 1), block=(128, 1, 1))


@cute.kernel
def row_sum_kernel(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * 4 + thread // 32
    total = cutlass.Float32(0)
    for part in cutlass.range_constexpr(3):
        total += x[row, part * 32 + lane]
    for step in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << step)
    if lane == 0:
        out[row] = total


@cute.jit
def row_sum(x: cute.Tensor, out: cute.Tensor):
    row_sum_kernel(x, out).launch(grid=(2, 1, 1), block=(128, 1, 1))


@cute.kernel
def transpose_kernel(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    memory = SmemAllocator()
    plain = cute.make_layout((32, 32), stride=(32, 1))
    tile = memory.allocate_tensor(cutlass.Float32, plain, byte_alignment=1024, swizzle=cute.make_swizzle(3, 2, 3))
    source = cute.local_tile(x, (32, 32), (bx, by))
    target = cute.local_tile(out, (32, 32), (by, bx))
    for part in cutlass.range_constexpr(8):
        at = part * 128 + thread
        tile[at // 32, at % 32] = source[at // 32, at % 32]
    cute.arch.sync_threads()
    for part in cutlass.range_constexpr(8):
        at = part * 128 + thread
        target[at // 32, at % 32] = tile[at % 32, at // 32]


@cute.jit
def transpose(x: cute.Tensor, out: cute.Tensor):
    transpose_kernel(x, out).launch(grid=(2, 2, 1), block=(128, 1, 1), smem=4096)


@cute.kernel
def mma_kernel(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    one = mma.get_slice(thread)
    from_a, from_b, to_c = one.partition_A(a), one.partition_B(b), one.partition_C(c)
    left, right = mma.make_fragment_A(from_a), mma.make_fragment_B(from_b)
    sums = mma.make_fragment_C(to_c)
    sums.fill(0.0)
    cute.autovec_copy(from_a, left)
    cute.autovec_copy(from_b, right)
    cute.gemm(mma, sums, left, right, sums)
    cute.autovec_copy(sums, to_c)


@cute.jit
def mma_sync(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    form = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(form, cute.make_layout((2, 2, 1)))
    mma_kernel(mma, a, b, c).launch(grid=(1, 1, 1), block=(128, 1, 1))


TILE = (128, 128, 64)


@cute.struct
class Barriers:
    loaded: cute.struct.MemRange[cutlass.Int64, 1]
    multiplied: cute.struct.MemRange[cutlass.Int64, 1]
    tensor_memory: cutlass.Int32


@cute.kernel
def tcgen05_kernel(mma, load_a, a, load_b, b, d, a_layout, b_layout):
    thread, _, _ = cute.arch.thread_idx()
    warp_ = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    row, column, _ = cute.arch.block_idx()
    tile = (row, column, None)
    memory = SmemAllocator()
    barriers = memory.allocate(Barriers)
    f16 = cutlass.Float16
    shared_a = memory.allocate_tensor(f16, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    shared_b = memory.allocate_tensor(f16, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)
    loaded, multiplied = barriers.loaded.data_ptr(), barriers.multiplied.data_ptr()
    if warp_ == 0:
        cute.arch.alloc_tmem(128, barriers.tensor_memory)
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(loaded, 1)
            cute.arch.mbarrier_init(multiplied, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    one = mma.get_slice(0)
    global_a = one.partition_A(cute.local_tile(a, TILE, tile, proj=(1, None, 1)))
    global_b = one.partition_B(cute.local_tile(b, TILE, tile, proj=(None, 1, 1)))
    global_d = one.partition_C(cute.local_tile(d, TILE, tile, proj=(1, 1, None)))
    operand_a, operand_b = mma.make_fragment_A(shared_a), mma.make_fragment_B(shared_b)
    start = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, barriers.tensor_memory)
    sums = cute.make_tensor(start, mma.make_fragment_C(mma.partition_shape_C(TILE[:2])).layout)
    single = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        load_a, 0, single, cute.group_modes(shared_a, 0, 3), cute.group_modes(global_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        load_b, 0, single, cute.group_modes(shared_b, 0, 3), cute.group_modes(global_b, 0, 3)
    )
    for k in cutlass.range(2):
        if warp_ == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, 32768)
            cute.copy(load_a, from_a[(None, k)], to_a[(None, 0)], tma_bar_ptr=loaded)
            cute.copy(load_b, from_b[(None, k)], to_b[(None, 0)], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, k % 2)
            for step in cutlass.range_constexpr(cute.size(operand_a, mode=[2])):
                at = (None, None, step, 0)
                mma.set(tcgen05.Field.ACCUMULATE, k + step != 0)
                cute.gemm(mma, sums, operand_a[at], operand_b[at], sums)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, k % 2)
    load = tcgen05.make_tmem_copy(
        cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32), sums[(None, None), 0, 0]
    ).get_slice(thread)
    source = load.partition_S(sums[(None, None), 0, 0])
    target = load.partition_D(global_d[(None, None), 0, 0])
    registers = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(load, source, registers)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(registers, target)
    cute.arch.sync_threads()
    if warp_ == 0:
        cute.arch.relinquish_tmem_alloc_permit()
        cute.arch.dealloc_tmem(start, 128)


@cute.jit
def tcgen05_tma(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor):
    mma = blackwell.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, tcgen05.OperandMajorMode.K, tcgen05.OperandMajorMode.K, cutlass.Float32,
        tcgen05.CtaGroup.ONE, TILE[:2],
    )  # fmt: skip
    a_layout = blackwell.make_smem_layout_a(mma, TILE, cutlass.Float16, 1)
    b_layout = blackwell.make_smem_layout_b(mma, TILE, cutlass.Float16, 1)
    bulk = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    load_a, from_a = cute.nvgpu.make_tiled_tma_atom_A(bulk, a, cute.select(a_layout, mode=[0, 1, 2]), TILE, mma)
    load_b, from_b = cute.nvgpu.make_tiled_tma_atom_B(bulk, b, cute.select(b_layout, mode=[0, 1, 2]), TILE, mma)
    tcgen05_kernel(mma, load_a, from_a, load_b, from_b, d, a_layout, b_layout).launch(grid=(1, 2, 1), block=(128, 1, 1))


@cute.kernel
def wgmma_kernel(mma, load_a, a, load_b, b, d, a_layout, b_layout):
    thread, _, _ = cute.arch.thread_idx()
    warp_ = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    row, column, _ = cute.arch.block_idx()
    tile = (row, column, None)
    memory = SmemAllocator()
    barriers = memory.allocate(Barriers)
    f16 = cutlass.Float16
    shared_a = memory.allocate_tensor(f16, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    shared_b = memory.allocate_tensor(f16, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)
    loaded = barriers.loaded.data_ptr()
    if warp_ == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(loaded, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    global_a = cute.local_tile(a, TILE, tile, proj=(1, None, 1))
    global_b = cute.local_tile(b, TILE, tile, proj=(None, 1, 1))
    global_d = cute.local_tile(d, TILE, tile, proj=(1, 1, None))
    one = mma.get_slice(thread)
    operand_a = mma.make_fragment_A(one.partition_A(shared_a))
    operand_b = mma.make_fragment_B(one.partition_B(shared_b))
    target = one.partition_C(global_d)
    sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    single = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        load_a, 0, single, cute.group_modes(shared_a, 0, 2), cute.group_modes(global_a, 0, 2)
    )
    to_b, from_b = cpasync.tma_partition(
        load_b, 0, single, cute.group_modes(shared_b, 0, 2), cute.group_modes(global_b, 0, 2)
    )
    mma.set(warpgroup.Field.ACCUMULATE, False)
    for k in cutlass.range(2):
        if warp_ == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, 32768)
            cute.copy(load_a, from_a[(None, k)], to_a[(None, 0)], tma_bar_ptr=loaded)
            cute.copy(load_b, from_b[(None, k)], to_b[(None, 0)], tma_bar_ptr=loaded)
        cute.arch.mbarrier_wait(loaded, k % 2)
        warpgroup.fence()
        for step in cutlass.range_constexpr(cute.size(operand_a, mode=[2])):
            at = (None, None, step, 0)
            mma.set(warpgroup.Field.ACCUMULATE, k + step != 0)
            cute.gemm(mma, sums, operand_a[at], operand_b[at], sums)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()
    cute.autovec_copy(sums, target)


@cute.jit
def wgmma_tma(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor):
    mma = hopper.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.K, cutlass.Float32,
        (1, 1, 1), tiler_mn=(64, 128),
    )  # fmt: skip
    rows = cutlass.utils.LayoutEnum.ROW_MAJOR
    a_layout = hopper.make_smem_layout_a(rows, TILE, cutlass.Float16, 1)
    b_layout = hopper.make_smem_layout_b(cutlass.utils.LayoutEnum.ROW_MAJOR, TILE, cutlass.Float16, 1)
    bulk = cpasync.CopyBulkTensorTileG2SOp()
    load_a, from_a = cpasync.make_tiled_tma_atom(bulk, a, cute.slice_(a_layout, (None, None, 0)), (128, 64))
    load_b, from_b = cpasync.make_tiled_tma_atom(bulk, b, cute.slice_(b_layout, (None, None, 0)), (128, 64))
    wgmma_kernel(mma, load_a, from_a, load_b, from_b, d, a_layout, b_layout).launch(grid=(1, 2, 1), block=(128, 1, 1))


F16, F32 = cutlass.Float16, cutlass.Float32
_PRODUCT = (lambda: tensor(F16, 128, 128), lambda: tensor(F16, 256, 128), lambda: tensor(F32, 128, 256))
PROGRAMS = {
    "add": (add, *[lambda: tensor(F32, 256)] * 3),
    "row_sum": (row_sum, lambda: tensor(F32, 8, 96), lambda: tensor(F32, 8)),
    "transpose": (transpose, *[lambda: tensor(F32, 64, 64)] * 2),
    "mma_sync": (mma_sync, lambda: tensor(F16, 32, 48), lambda: tensor(F16, 32, 48), lambda: tensor(F32, 32, 32)),
    "tcgen05_tma": (tcgen05_tma, *_PRODUCT),
    "wgmma_tma": (wgmma_tma, *_PRODUCT),
}

if __name__ == "__main__":
    function, *arguments = PROGRAMS[sys.argv[1]]
    cute.compile(function, *[each() for each in arguments])
