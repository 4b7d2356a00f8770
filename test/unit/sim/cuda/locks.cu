// nvcc -ptx -arch=sm_90
// Threads that wait for each other: locks, flags, barriers of the grid and of tiles of several warps.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;

// Every thread of a warp takes the lock: those behind the loop have to go on while the others spin.
extern "C" __global__ void lock_by_thread(int* lock, int* counter, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> mutex(*lock);
    __shared__ int order[64];
    for (int round = 0; round < 2; ++round) {
        while (mutex.exchange(1, cuda::memory_order_acquire) != 0) {}
        order[threadIdx.x] = *counter;
        *counter = order[threadIdx.x] + 1;
        mutex.store(0, cuda::memory_order_release);
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = order[blockDim.x - 1 - threadIdx.x];
}

// A barrier of all blocks, made of an atomic addition and one of zero.
extern "C" __global__ void barrier_by_hand(const int* in, int* sums, int* arrived, int* out) {
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    int total = 0;
    for (int block = 0; block < gridDim.x; ++block) total += ((volatile int*)sums)[block];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

extern "C" __global__ void barrier_of_grid(const float* in, float* parts, float* out, int n) {
    auto grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) parts[i] = 2 * in[i];
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) out[i] = parts[n - 1 - i];
}

extern "C" __global__ void tiles_of_warps(const int* in, int* out) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    out[block.thread_rank()] = cg::reduce(tile, in[block.thread_rank()], cg::plus<int>());
}

extern "C" __global__ void orders(unsigned long long* most, int* flags, int* out) {
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> shared(*most);
    shared.fetch_max(3 * threadIdx.x, cuda::memory_order_acq_rel);
    cuda::atomic_ref<int, cuda::thread_scope_block> flag(flags[threadIdx.x]);
    int expected = 5;
    out[threadIdx.x] = flag.compare_exchange_strong(expected, 6, cuda::memory_order_seq_cst) ? 100 : expected;
}

// The loop calls a function.
__device__ __noinline__ bool completed(unsigned bar, unsigned parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}
extern "C" __global__ void wait_by_function(const int* in, int* out) {
    __shared__ unsigned long long bar;
    __shared__ int data[128];
    unsigned address = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x));
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        data[threadIdx.x] = in[round * blockDim.x + threadIdx.x];
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address) : "memory");
        while (!completed(address, round & 1)) {}
        sum += data[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
