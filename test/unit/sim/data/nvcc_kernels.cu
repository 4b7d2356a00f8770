#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
// Kernels that exercise what nvcc prints: calls, local memory, tables, switches, shuffles, atomics, printf.
__constant__ float table[4] = {1.f, 2.f, 4.f, 8.f};
__device__ __noinline__ int collatz(int n) { int steps = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; } return steps; }
__device__ __noinline__ float choose(int which, float x) {
  switch (which) { case 0: return x + 1; case 1: return x * 2; case 2: return x - 3; case 3: return x / 4; case 4: return -x; case 5: return sqrtf(x); case 6: return x * x; default: return 0; }
}
extern "C" __global__ void calls(const int *n, const float *x, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int stack[8];
  for (int j = 0; j < 8; j++) stack[j] = n[i] * j;
  out[i] = choose(n[i] % 9, x[i]) + collatz(n[i]) + stack[n[i] & 7] + table[i & 3];
}
extern "C" __global__ void reduce(const float *x, float *sum, unsigned *histogram, int count) {
  __shared__ float partial[32]; __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  float total = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) { total += x[i]; atomicAdd(&bins[(unsigned)x[i] & 15], 1u); }
  for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x < 32) {
    total = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) total += __shfl_down_sync(~0u, total, d);
    if (threadIdx.x == 0) atomicAdd(sum, total);
  }
  if (threadIdx.x < 16) atomicAdd(histogram + threadIdx.x, bins[threadIdx.x]);
}
extern "C" __global__ void print(int n) { if (threadIdx.x < n) printf("thread %d of %s: %5.2f\n", threadIdx.x, "block", threadIdx.x * 0.5); }
extern "C" __global__ void wmma16(const half *a, const half *b, float *d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa; fragment<matrix_b, 16, 16, 16, half, col_major> fb; fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 1.0f); load_matrix_sync(fa, a, 16); load_matrix_sync(fb, b, 16); mma_sync(fc, fa, fb, fc); store_matrix_sync(d, fc, 16, mem_row_major);
}
