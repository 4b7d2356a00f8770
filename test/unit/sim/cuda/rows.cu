// nvcc -ptx -arch=sm_80
// Functions of the rows of a matrix: softmax, layer norm, argmax; a warp or a block for each row.
#include <math_constants.h>

extern "C" __global__ void softmax_warp(const float* in, float* out, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* x = in + row * n;
    float top = -CUDART_INF_F;
    for (int i = lane; i < n; i += 32) top = fmaxf(top, x[i]);
    for (int by = 16; by; by /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, by));
    float sum = 0;
    for (int i = lane; i < n; i += 32) sum += expf(x[i] - top);
    for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    for (int i = lane; i < n; i += 32) out[row * n + i] = expf(x[i] - top) / sum;
}

// One pass: maximum and sum together.
extern "C" __global__ void softmax_online(const float* in, float* out, int n) {
    __shared__ float tops[32], sums[32];
    const float* x = in + blockIdx.x * n;
    float top = -CUDART_INF_F, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float next = fmaxf(top, x[i]);
        sum = sum * __expf(top - next) + __expf(x[i] - next);
        top = next;
    }
    for (int by = 16; by; by /= 2) {
        float other = __shfl_xor_sync(~0u, top, by), more = __shfl_xor_sync(~0u, sum, by), next = fmaxf(top, other);
        sum = (sum == 0 ? 0 : sum * __expf(top - next)) + (more == 0 ? 0 : more * __expf(other - next));
        top = next;
    }
    if (threadIdx.x % 32 == 0) { tops[threadIdx.x / 32] = top; sums[threadIdx.x / 32] = sum; }
    __syncthreads();
    top = tops[0]; sum = sums[0];
    for (int w = 1; w < blockDim.x / 32; ++w) {
        float next = fmaxf(top, tops[w]);
        sum = sum * __expf(top - next) + sums[w] * __expf(tops[w] - next);
        top = next;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = __fdividef(__expf(x[i] - top), sum);
}

// Welford's mean and variance, combined over a warp, then normalised.
extern "C" __global__ void layer_norm(const float* in, const float* gain, const float* bias, float* out, int n, float eps) {
    const float* x = in + blockIdx.x * n;
    float mean = 0, m2 = 0, count = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        count += 1;
        float delta = x[i] - mean;
        mean += delta / count;
        m2 += delta * (x[i] - mean);
    }
    for (int by = 1; by < 32; by *= 2) {
        float mean_b = __shfl_xor_sync(~0u, mean, by), m2_b = __shfl_xor_sync(~0u, m2, by);
        float count_b = __shfl_xor_sync(~0u, count, by), total = count + count_b, delta = mean_b - mean;
        if (total > 0) {
            mean = mean + delta * count_b / total;
            m2 = m2 + m2_b + delta * delta * count * count_b / total;
        }
        count = total;
    }
    float scale = rsqrtf(m2 / n + eps);
    for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

extern "C" __global__ void argmax(const float* in, int* where, int n) {
    float best = -CUDART_INF_F;
    int at = -1;
    for (int i = threadIdx.x; i < n; i += 32) if (in[blockIdx.x * n + i] > best) { best = in[blockIdx.x * n + i]; at = i; }
    for (int by = 16; by; by /= 2) {
        float other = __shfl_down_sync(~0u, best, by);
        int place = __shfl_down_sync(~0u, at, by);
        if (other > best || (other == best && (unsigned)place < (unsigned)at)) { best = other; at = place; }
    }
    if (threadIdx.x == 0) where[blockIdx.x] = at;
}
