// nvcc -ptx -arch=sm_80
// D[m][n] = sum A[m][k] B[n][k], f16 to f32: 64x64 tiles, 4 warps, cp.async in two stages, ldmatrix from swizzled shared memory,
// mma.m16n8k16.
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int TILE = 64, DEPTH = 32;

__device__ uint32_t place(uint32_t base, int row, int chunk) { return base + row * 64 + ((chunk ^ (row >> 1 & 3)) << 4); }
__device__ void copy16(uint32_t to, const void* from, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ void load(uint32_t base, const __half* x, int row0, int rows, int k0, int k) {
#pragma unroll 1
    for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += blockDim.x) {
        int row = i / 4, chunk = i % 4;
        bool valid = row0 + row < rows && k0 + chunk * 8 < k;
        copy16(place(base, row, chunk), valid ? x + (row0 + row) * k + k0 + chunk * 8 : x, valid);
    }
}
__device__ void ldmatrix4(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}

extern "C" __global__ __launch_bounds__(128) void gemm_mma(const __half* a, const __half* b, float* d, int m, int n, int k) {
    __shared__ __align__(128) __half tiles[2][2][TILE * DEPTH];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, i0 = blockIdx.y * TILE, j0 = blockIdx.x * TILE;
    int wm = warp / 2 * 32, wn = warp % 2 * 32;
    float acc[2][4][4] = {};
    uint32_t base[2][2];
    for (int s = 0; s < 2; ++s) for (int o = 0; o < 2; ++o) base[s][o] = __cvta_generic_to_shared(&tiles[s][o][0]);
    int steps = (k + DEPTH - 1) / DEPTH;
    load(base[0][0], a, i0, m, 0, k);
    load(base[0][1], b, j0, n, 0, k);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int step = 0; step < steps; ++step) {
        int now = step & 1;
        if (step + 1 < steps) {
            load(base[now ^ 1][0], a, i0, m, (step + 1) * DEPTH, k);
            load(base[now ^ 1][1], b, j0, n, (step + 1) * DEPTH, k);
        }
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
#pragma unroll 1
        for (int kk = 0; kk < DEPTH; kk += 16) {
            uint32_t fa[2][4], fb[2][4];
            for (int x = 0; x < 2; ++x) {
                ldmatrix4(fa[x], place(base[now][0], wm + x * 16 + lane % 16, kk / 8 + lane / 16));
                ldmatrix4(fb[x], place(base[now][1], wn + x * 16 + lane % 8 + lane / 16 * 8, kk / 8 + lane / 8 % 2));
            }
            for (int x = 0; x < 2; ++x)
                for (int y = 0; y < 4; ++y) {
                    float* c = acc[x][y];
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                        : "r"(fa[x][0]), "r"(fa[x][1]), "r"(fa[x][2]), "r"(fa[x][3]), "r"(fb[y / 2][y % 2 * 2]),
                          "r"(fb[y / 2][y % 2 * 2 + 1]));
                }
        }
        __syncthreads();
    }
    for (int x = 0; x < 2; ++x)
        for (int y = 0; y < 4; ++y)
            for (int e = 0; e < 4; ++e) {
                int i = i0 + wm + x * 16 + lane / 4 + e / 2 * 8, j = j0 + wn + y * 8 + lane % 4 * 2 + e % 2;
                if (i < m && j < n) d[i * n + j] = acc[x][y][e];
            }
}
