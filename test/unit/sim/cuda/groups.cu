// nvcc -ptx -arch=sm_90
// Cooperative groups, <cuda/barrier> with bulk copies, clusters with distributed shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress 20054  // the barriers are initialised by one thread

extern "C" __global__ void tiles(const int* in, int* sums, int* scans, int* ranks) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int t = block.thread_rank(), x = in[t];
    sums[t] = cg::reduce(tile, x, cg::plus<int>());
    scans[t] = cg::inclusive_scan(tile, x);
    ranks[t] = -1;
    if (x > 0) {
        auto active = cg::coalesced_threads();
        ranks[t] = active.thread_rank() + 100 * active.num_threads();
    }
}

// Arrive early, wait late: every thread writes, does something else, then reads its neighbour's value.
extern "C" __global__ void split_barrier(const int* in, int* out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int data[2][256];
    int t = threadIdx.x, n = blockDim.x;
    if (t == 0) init(&bar, n);
    __syncthreads();
    int x = in[blockIdx.x * n + t];
    for (int r = 0; r < rounds; ++r) {
        data[r & 1][t] = x;
        auto token = bar.arrive();
        int own = 3 * x + r;
        bar.wait(std::move(token));
        x = own + data[r & 1][(t + 1) % n];
    }
    out[blockIdx.x * n + t] = x;
}

// A tile comes by a bulk copy, is changed, and goes back by another.
extern "C" __global__ void bulk_copies(const int* in, int* out, int add) {
    constexpr int N = 512;
    __shared__ alignas(128) int data[N];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, data, in + blockIdx.x * N, sizeof(data),
                                 cuda::device::barrier_native_handle(bar));
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(data));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < N; i += blockDim.x) data[i] = data[i] * 2 + add;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + blockIdx.x * N, data, sizeof(data));
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
}

// memcpy_async of threads (cp.async) with a barrier.
extern "C" __global__ void thread_copies(const float4* in, float4* out) {
    __shared__ float4 data[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, data, in + blockIdx.x * 128, cuda::aligned_size_t<16>(sizeof(data)), bar);
    bar.arrive_and_wait();
    out[blockIdx.x * 128 + threadIdx.x] = data[127 - threadIdx.x];
}

// A histogram whose bins are spread over the CTAs of a cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(const int* in, int* bins, int n, int per_block) {
    extern __shared__ int local[];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < per_block; i += blockDim.x) local[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = in[i];
        atomicAdd(cluster.map_shared_rank(local, bin / per_block) + bin % per_block, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < per_block; i += blockDim.x) atomicAdd(&bins[cluster.block_rank() * per_block + i], local[i]);
}

// Each CTA reads its neighbour's shared memory; ranks and sizes are those of the cluster.
extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster_ring(const int* in, int* out) {
    __shared__ int data[64];
    auto cluster = cg::this_cluster();
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    data[threadIdx.x] = in[block * 64 + threadIdx.x];
    cluster.sync();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    int* other = cluster.map_shared_rank(data, next);
    out[block * 64 + threadIdx.x] = other[threadIdx.x] + 1000 * cluster.block_rank() + 10000 * cluster.query_shared_rank(other);
    cluster.sync();
}
