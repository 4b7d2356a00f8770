// nvcc -ptx -arch=sm_80
// Sums of arrays: through shared memory, by shuffles, by votes and by reductions of a warp.

extern "C" __global__ void reduce_shared(const float* in, float* out, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

template <class T> __device__ T warp_sum(T x) {
    for (int by = 16; by > 0; by /= 2) x += __shfl_down_sync(0xffffffffu, x, by);
    return x;
}

template <class T> __device__ void reduce_shuffle(const T* in, T* out, int n) {
    __shared__ T part[32];
    T sum = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[blockIdx.x * n + i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : T(0);
        sum = warp_sum(sum);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}
extern "C" __global__ void reduce_shuffle_f32(const float* in, float* out, int n) { reduce_shuffle(in, out, n); }
extern "C" __global__ void reduce_shuffle_f64(const double* in, double* out, int n) { reduce_shuffle(in, out, n); }
extern "C" __global__ void reduce_shuffle_s64(const long long* in, long long* out, int n) { reduce_shuffle(in, out, n); }

// One warp: add, min, max (signed), and, or, xor of its values.
extern "C" __global__ void reduce_warp(const int* in, int* out) {
    unsigned x = in[threadIdx.x];
    int results[6] = {
        (int)__reduce_add_sync(0xffffffffu, x), __reduce_min_sync(0xffffffffu, (int)x),
        __reduce_max_sync(0xffffffffu, (int)x), (int)__reduce_and_sync(0xffffffffu, x),
        (int)__reduce_or_sync(0xffffffffu, x), (int)__reduce_xor_sync(0xffffffffu, x)};
    for (int i = 0; i < 6; ++i) out[i * 32 + threadIdx.x] = results[i];
}

// How many, all, any of the block; and of each warp the lanes whose value is negative, and those that agree with a lane.
extern "C" __global__ void votes(const int* in, int* out, unsigned* ballots, unsigned* matches) {
    int x = in[threadIdx.x];
    int count = __syncthreads_count(x < 0), all = __syncthreads_and(x < 0), any = __syncthreads_or(x < 0);
    if (threadIdx.x == 0) { out[0] = count; out[1] = all != 0; out[2] = any != 0; }
    ballots[threadIdx.x] = __ballot_sync(0xffffffffu, x < 0);
    matches[threadIdx.x] = __match_any_sync(0xffffffffu, x);
    // Only the odd lanes come here.
    if (threadIdx.x % 2) ballots[threadIdx.x] = __ballot_sync(__activemask(), x < 0) | 1u;
}

// The last block to finish adds the sums of all: fences and a counter in global memory.
__device__ unsigned finished = 0;
extern "C" __global__ void reduce_last_block(const float* in, volatile float* parts, float* out, int n) {
    __shared__ bool last;
    float sum = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += 32) sum += in[blockIdx.x * n + i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0;
#pragma unroll 1
        for (int i = 0; i < gridDim.x; ++i) total += parts[i];
        *out = total;
    }
}
