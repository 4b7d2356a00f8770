"""The product of `examples/tcgen05_gemm.mlir` in CuTe DSL: one stage of shared memory, filled by TMA."""

# pyright: basic

import os

os.environ.setdefault("CUTE_DSL_ARCH", "sm_100a")  # without it, the GPU of the machine is asked

import cutlass
import cutlass.utils.blackwell_helpers as blackwell
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.utils import SmemAllocator

M, N, K = 512, 1024, 256
TILE = (128, 256, 64)
THREADS = 128
COLUMNS = 256


@cute.struct
class Barriers:
    """Shared memory besides the operands."""

    loaded: cute.struct.MemRange[cutlass.Int64, 1]
    multiplied: cute.struct.MemRange[cutlass.Int64, 1]
    tensor_memory: cutlass.Int32


@cute.kernel
def gemm(mma, load_a, a, load_b, b, d, a_layout, b_layout):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    row, column, _ = cute.arch.block_idx()
    tile = (row, column, None)

    memory = SmemAllocator()
    barriers = memory.allocate(Barriers)
    f16 = cutlass.Float16
    shared_a = memory.allocate_tensor(f16, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    shared_b = memory.allocate_tensor(f16, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)
    loaded, multiplied = barriers.loaded.data_ptr(), barriers.multiplied.data_ptr()
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, barriers.tensor_memory)
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
    accumulator = cute.make_tensor(start, mma.make_fragment_C(mma.partition_shape_C(TILE[:2])).layout)

    single = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        load_a, 0, single, cute.group_modes(shared_a, 0, 3), cute.group_modes(global_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        load_b, 0, single, cute.group_modes(shared_b, 0, 3), cute.group_modes(global_b, 0, 3)
    )
    total = cute.size_in_bytes(f16, cute.select(a_layout, mode=[0, 1, 2])) + cute.size_in_bytes(
        f16, cute.select(b_layout, mode=[0, 1, 2])
    )
    for k in cutlass.range(K // TILE[2]):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, total)
            cute.copy(load_a, from_a[(None, k)], to_a[(None, 0)], tma_bar_ptr=loaded)
            cute.copy(load_b, from_b[(None, k)], to_b[(None, 0)], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, k % 2)
            for step in cutlass.range_constexpr(cute.size(operand_a, mode=[2])):
                at = (None, None, step, 0)
                mma.set(tcgen05.Field.ACCUMULATE, k + step != 0)
                cute.gemm(mma, accumulator, operand_a[at], operand_b[at], accumulator)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, k % 2)

    load = tcgen05.make_tmem_copy(
        cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x128), cutlass.Float32),
        accumulator[(None, None), 0, 0],
    ).get_slice(thread)
    source = load.partition_S(accumulator[(None, None), 0, 0])
    target = load.partition_D(global_d[(None, None), 0, 0])
    registers = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(load, source, registers)
    cute.autovec_copy(registers, target)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.relinquish_tmem_alloc_permit()
        cute.arch.dealloc_tmem(start, COLUMNS)


@cute.jit
def launch(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor):
    mma = blackwell.make_trivial_tiled_mma(
        cutlass.Float16,
        cutlass.Float16,
        tcgen05.OperandMajorMode.K,
        tcgen05.OperandMajorMode.K,
        cutlass.Float32,
        tcgen05.CtaGroup.ONE,
        TILE[:2],
    )
    a_layout = blackwell.make_smem_layout_a(mma, TILE, cutlass.Float16, 1)
    b_layout = blackwell.make_smem_layout_b(mma, TILE, cutlass.Float16, 1)
    bulk = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    load_a, from_a = cute.nvgpu.make_tiled_tma_atom_A(bulk, a, cute.select(a_layout, mode=[0, 1, 2]), TILE, mma)
    load_b, from_b = cute.nvgpu.make_tiled_tma_atom_B(bulk, b, cute.select(b_layout, mode=[0, 1, 2]), TILE, mma)
    gemm(mma, load_a, from_a, load_b, from_b, d, a_layout, b_layout).launch(
        grid=(M // TILE[0], N // TILE[1], 1), block=(THREADS, 1, 1)
    )


def compile_gemm() -> None:
    """Compiles the kernel for sm_100a; needs no GPU."""
    shapes = ((M, K), cutlass.Float16), ((N, K), cutlass.Float16), ((M, N), cutlass.Float32)
    tensors = [make_fake_compact_tensor(type_, shape, stride_order=(1, 0), assumed_align=32) for shape, type_ in shapes]
    cute.compile(launch, *tensors)
