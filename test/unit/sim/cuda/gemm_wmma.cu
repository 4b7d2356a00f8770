// nvcc -ptx -arch=sm_80
// D = A * B + C by wmma, a warp for each 16x16 tile (8x32 and 32x8 too). A is M x K; B is K x N, row-major or column-major.
// D is column-major, and row-major where A and B are column-major.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

template <int M, int N, int K, class T, class Acc, class ALayout, class BLayout, class Store>
__device__ void gemm(const Store* a, const Store* b, const Acc* c, Acc* d, int m, int n, int k) {
    constexpr bool a_row = std::is_same<ALayout, row_major>::value, b_row = std::is_same<BLayout, row_major>::value;
    fragment<matrix_a, M, N, K, T, ALayout> fa;
    fragment<matrix_b, M, N, K, T, BLayout> fb;
    fragment<accumulator, M, N, K, Acc> acc;
    int i = blockIdx.y * M, j = blockIdx.x * N;
    load_matrix_sync(acc, c + i * n + j, n, mem_row_major);
#pragma unroll 1
    for (int x = 0; x < k; x += K) {
        load_matrix_sync(fa, a_row ? a + i * k + x : a + x * m + i, a_row ? k : m);
        load_matrix_sync(fb, b_row ? b + x * n + j : b + j * k + x, b_row ? n : k);
        mma_sync(acc, fa, fb, acc);
    }
    for (int e = 0; e < acc.num_elements; ++e) acc.x[e] = acc.x[e] + acc.x[e];
    if (!a_row && !b_row) store_matrix_sync(d + i * n + j, acc, n, mem_row_major);
    else store_matrix_sync(d + j * m + i, acc, m, mem_col_major);
}
#define GEMM(name, M, N, K, T, Acc, AL, BL, S)                                                                             \
    extern "C" __global__ void name(const S* a, const S* b, const Acc* c, Acc* d, int m, int n, int k) {                   \
        gemm<M, N, K, T, Acc, AL, BL>(a, b, c, d, m, n, k);                                                                \
    }
GEMM(wmma_f16_row_row, 16, 16, 16, __half, float, row_major, row_major, __half)
GEMM(wmma_f16_row_col, 16, 16, 16, __half, float, row_major, col_major, __half)
GEMM(wmma_f16_col_row, 16, 16, 16, __half, float, col_major, row_major, __half)
GEMM(wmma_f16_col_col, 16, 16, 16, __half, float, col_major, col_major, __half)
GEMM(wmma_f16_f16, 16, 16, 16, __half, __half, row_major, col_major, __half)
GEMM(wmma_f16_wide, 8, 32, 16, __half, float, row_major, col_major, __half)
GEMM(wmma_f16_tall, 32, 8, 16, __half, float, col_major, row_major, __half)
GEMM(wmma_bf16, 16, 16, 16, __nv_bfloat16, float, row_major, col_major, __nv_bfloat16)
GEMM(wmma_tf32, 16, 16, 8, precision::tf32, float, row_major, col_major, float)
GEMM(wmma_f64, 8, 8, 4, double, double, row_major, col_major, double)
GEMM(wmma_s8, 16, 16, 16, signed char, int, row_major, col_major, signed char)
GEMM(wmma_u8_wide, 8, 32, 16, unsigned char, int, row_major, row_major, unsigned char)
