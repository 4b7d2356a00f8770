// nvcc -ptx -arch=sm_90
// Atomic operations on shared and global memory.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

// Lanes with the same bin are counted by one of them.
extern "C" __global__ void histogram_aggregated(const unsigned char* in, unsigned* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned peers = __match_any_sync(__activemask(), in[i]);
    if (__ffs(peers) - 1 == threadIdx.x % 32) atomicAdd(&bins[in[i]], __popc(peers));
}

// A maximum of floats by compare-and-swap, and a lock.
__device__ int lock = 0;
extern "C" __global__ void exchanges(const float* in, unsigned* most, volatile int* counter) {
    float x = in[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned old = *(volatile unsigned*)most;
    while (__uint_as_float(old) < x) {
        unsigned seen = atomicCAS(most, old, __float_as_uint(x));
        if (seen == old) break;
        old = seen;
    }
    if (threadIdx.x == 0) {
        while (atomicExch(&lock, 1)) __nanosleep(20);
        *counter = *counter + 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h, __nv_bfloat162* b,
                                   long long* s) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int x = t * 7919 % 1000 - 500;
    atomicAdd(i, x); atomicSub(i + 1, x); atomicMin(i + 2, x); atomicMax(i + 3, x);
    atomicMin(u, (unsigned)x); atomicMax(u + 1, (unsigned)x); atomicAnd(u + 2, ~(1u << t % 32)); atomicOr(u + 3, 1u << t % 29);
    atomicXor(u + 4, x); atomicInc(u + 5, 9); atomicDec(u + 6, 11);
    atomicAdd(l, (unsigned long long)x); atomicMax(l + 1, (unsigned long long)t << 40); atomicXor(l + 2, 0x123456789abcdefull * t);
    atomicAdd(f, (float)x); atomicAdd(d, x / 8.0);
    atomicAdd(h, __floats2half2_rn(1, t % 3)); atomicAdd(b, __floats2bfloat162_rn(t % 2, 1));
    atomicMin(s, (long long)x << 33); atomicMax(s + 1, (long long)x << 33);
}

// A result of every thread: the values returned are a permutation of those before it.
extern "C" __global__ void tickets(unsigned* next, unsigned* taken) {
    __shared__ unsigned shared;
    if (threadIdx.x == 0) shared = 100;
    __syncthreads();
    unsigned mine = atomicAdd(next, 1), own = atomicAdd(&shared, 2);
    taken[mine] = own;
}
