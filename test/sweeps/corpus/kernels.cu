// Kernels of CUDA C++ for `test/sweeps/corpus`: wmma, cp.async, ldmatrix and mma.sync, wgmma, TMA, clusters, tcgen05.
// The intrinsics that <mma.h> has are used; the rest is inline assembly.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

namespace cg = cooperative_groups;
using namespace nvcuda;

struct alignas(64) TensorMap {
  unsigned long long words[16];
};

__device__ uint32_t shared_address(const void *pointer) { return static_cast<uint32_t>(__cvta_generic_to_shared(pointer)); }

__device__ void wait(uint32_t barrier, uint32_t phase) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier), "r"(phase)
      : "memory");
}

// d (m x n) = a (m x k) * b (k x n): 16 x 16 of d for each warp.
template <typename Element, typename Sum>
__device__ void wmma_product(const Element *a, const Element *b, Sum *d, int m, int n, int k) {
  int row = blockIdx.x * 16, column = (blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, Element, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, Element, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  wmma::fill_fragment(sum, Sum(0));
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(left, a + row * k + at, k);
    wmma::load_matrix_sync(right, b + at * n + column, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_f16(const half *a, const half *b, float *d, int m, int n, int k) {
  wmma_product<half, float>(a, b, d, m, n, k);
}
extern "C" __global__ void wmma_f16_sums(const half *a, const half *b, half *d, int m, int n, int k) {
  wmma_product<half, half>(a, b, d, m, n, k);
}
extern "C" __global__ void wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d, int m, int n, int k) {
  wmma_product<__nv_bfloat16, float>(a, b, d, m, n, k);
}
extern "C" __global__ void wmma_i8(const signed char *a, const signed char *b, int *d, int m, int n, int k) {
  wmma_product<signed char, int>(a, b, d, m, n, k);
}

// cp.async in two stages, ldmatrix, m16n8k16: a block of 4 warps computes 64 x 64, a (m x k), b (n x k).
extern "C" __global__ void cp_async_gemm(const half *a, const half *b, float *d, int n, int k) {
  __shared__ alignas(128) half left[2][64][40], right[2][64][40];  // rows of 32, padded against bank conflicts
  int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  int row = blockIdx.x * 64, column = blockIdx.y * 64;
  float sum[8][4] = {};
  auto load = [&](int stage, int at) {
    for (int chunk = thread; chunk < 256; chunk += 128) {
      int line = chunk / 4, part = chunk % 4 * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&left[stage][line][part])),
                   "l"(a + (row + line) * k + at + part));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&right[stage][line][part])),
                   "l"(b + (column + line) * k + at + part));
    }
    asm volatile("cp.async.commit_group;");
  };
  load(0, 0);
  for (int at = 0; at < k; at += 32) {
    int stage = at / 32 % 2;
    if (at + 32 < k) {
      load(1 - stage, at + 32);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    for (int step = 0; step < 32; step += 16) {
      uint32_t x[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(shared_address(&left[stage][warp * 16 + lane % 16][step + lane / 16 * 8])));
      for (int part = 0; part < 8; part++) {
        uint32_t y[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared_address(&right[stage][part * 8 + lane % 8][step + lane / 8 % 2 * 8])));
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(sum[part][0]), "+f"(sum[part][1]), "+f"(sum[part][2]), "+f"(sum[part][3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
      }
    }
    __syncthreads();
  }
  for (int part = 0; part < 8; part++)
    for (int i = 0; i < 4; i++)
      d[(row + warp * 16 + lane / 4 + i / 2 * 8) * n + column + part * 8 + lane % 4 * 2 + i % 2] = sum[part][i];
}

// Sums of rows by shuffles; the warps of a block take rows in turn.
extern "C" __global__ void row_sums(const float *x, float *sums, int rows, int columns) {
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  for (int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank(); row < rows;
       row += gridDim.x * warp.meta_group_size()) {
    float total = 0;
    for (int column = warp.thread_rank(); column < columns; column += 32) total += x[row * columns + column];
    for (int step = 16; step; step /= 2) total += warp.shfl_xor(total, step);
    if (warp.thread_rank() == 0) sums[row] = total;
  }
}

#if __CUDA_ARCH__ >= 900
// Each block of a cluster of two sums its half; the first adds what the other has in distributed shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_sum(const float *x, float *out, int n) {
  __shared__ float total;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int i = cluster.block_rank() * blockDim.x + threadIdx.x; i < n; i += 2 * blockDim.x) atomicAdd(&total, x[i]);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) *out = total + *cluster.map_shared_rank(&total, 1);
  cluster.sync();
}

// A tile of 64 x 64 f32 by a tensor map, doubled, and back by another.
extern "C" __global__ void tma_scale(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out) {
  __shared__ alignas(128) float tile[32][32];
  __shared__ alignas(8) uint64_t barrier;
  int row = blockIdx.x * 32, column = blockIdx.y * 32;
  uint32_t at = shared_address(tile), bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(4096) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at),
        "l"(&in), "r"(column), "r"(row), "r"(bar)
        : "memory");
  }
  __syncthreads();
  wait(bar, 0);
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i / 32][i % 32] *= 2;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&out), "r"(column),
                 "r"(row), "r"(at)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// wgmma m64n64k16, operands of the 128B swizzle by tensor maps; a (m x k), b (n x k), one warpgroup for 64 x 64.
extern "C" __global__ void wgmma_tma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *d,
                                     int n, int k) {
  extern __shared__ uint8_t raw[];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t base = (shared_address(raw) + 1023) & ~1023u, bar = shared_address(&barrier);
  int row = blockIdx.x * 64, column = blockIdx.y * 64, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  float sum[32] = {};
  for (int at = 0; at < k; at += 64) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(16384) : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
              base),
          "l"(&a), "r"(at), "r"(row), "r"(bar)
          : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
              base + 8192),
          "l"(&b), "r"(at), "r"(column), "r"(bar)
          : "memory");
    }
    wait(bar, at / 64 % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < 4; step++) {
      uint64_t upper = 1ull << 62 | 64ull << 32 | 1ull << 16;
      uint64_t left = upper | (base + 32 * step) >> 4, right = upper | (base + 8192 + 32 * step) >> 4;
      asm volatile(
          "{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
          "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, "
          "1, 1, 0, 0; }"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
            "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
            "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]),
            "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]),
            "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
          : "l"(left), "l"(right), "r"(at + step));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  for (int i = 0; i < 32; i++)
    d[(row + warp * 16 + lane / 4 + i / 2 % 2 * 8) * n + column + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
// tcgen05.mma 128 x 64 x 16 by tensor maps; a (128 x k), b (64 x k).
extern "C" __global__ void tcgen05_tma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *d,
                                       int k) {
  extern __shared__ uint8_t raw[];
  __shared__ alignas(8) uint64_t barriers[2];
  __shared__ uint32_t slot;
  uint32_t base = (shared_address(raw) + 1023) & ~1023u, full = shared_address(barriers), done = full + 8;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared_address(&slot)));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nmbarrier.init.shared::cta.b64 [%1], 1;" ::"r"(full), "r"(done));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  uint32_t tensor = slot;
  for (int at = 0; at < k; at += 64) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(24576) : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
              base),
          "l"(&a), "r"(at), "r"(0), "r"(full)
          : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
              base + 16384),
          "l"(&b), "r"(at), "r"(0), "r"(full)
          : "memory");
      wait(full, at / 64 % 2);
      for (int step = 0; step < 4; step++) {
        uint64_t upper = 2ull << 61 | 1ull << 46 | 64ull << 32 | 1ull << 16;
        uint64_t left = upper | (base + 32 * step) >> 4, right = upper | (base + 16384 + 32 * step) >> 4;
        uint32_t form = 1u << 4 | 64u / 8 << 17 | 128u / 16 << 24;
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
            "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(tensor),
            "l"(left), "l"(right), "r"(form), "r"(at + step));
      }
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(done) : "memory");
    }
    __syncwarp();
    wait(done, at / 64 % 2);
    __syncthreads();
  }
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  for (int column = 0; column < 64; column += 4) {
    uint32_t x[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(tensor + (warp * 32 << 16) + column));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 4; i++) d[(warp * 32 + lane) * 64 + column + i] = __uint_as_float(x[i]);
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(tensor));
}
#endif
