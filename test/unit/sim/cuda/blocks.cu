// nvcc -ptx -arch=sm_100
// CUB: collectives of a block and of a warp. They carry values that were never written, and do not use them.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void radix_sort(float* keys, int* values) {
    using Sort = cub::BlockRadixSort<float, 64, 2, int>;
    __shared__ typename Sort::TempStorage storage;
    float key[2];
    int value[2];
    for (int i = 0; i < 2; ++i) key[i] = keys[2 * threadIdx.x + i], value[i] = values[2 * threadIdx.x + i];
    Sort(storage).Sort(key, value);
    for (int i = 0; i < 2; ++i) keys[2 * threadIdx.x + i] = key[i], values[2 * threadIdx.x + i] = value[i];
}

// Only n of the threads have an item.
extern "C" __global__ void partial_reduce(const float* in, float* out, int n) {
    using Reduce = cub::BlockReduce<float, 96>;
    __shared__ typename Reduce::TempStorage storage;
    float item;
    if (threadIdx.x < n) item = in[blockIdx.x * n + threadIdx.x];
    float sum = Reduce(storage).Sum(item, n);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void scans(const int* in, int* exclusive, int* totals, int* segments) {
    using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
    using Warp = cub::WarpReduce<int>;
    __shared__ typename Scan::TempStorage storage;
    __shared__ typename Warp::TempStorage storages[4];
    int item = in[threadIdx.x], before, total;
    Scan(storage).ExclusiveSum(item, before, total);
    exclusive[threadIdx.x] = before;
    bool head = threadIdx.x % 5 == 0;
    int sum = Warp(storages[threadIdx.x / 32]).HeadSegmentedSum(item, head);
    segments[threadIdx.x] = head || threadIdx.x % 32 == 0 ? sum : 0;
    if (threadIdx.x == 0) *totals = total;
}
