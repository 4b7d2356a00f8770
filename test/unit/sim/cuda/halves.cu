// nvcc -ptx -arch=sm_100a
// f16, bf16 and their pairs; conversions to and from 8, 6 and 4 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#define ARITHMETIC(name, T, P)                                                                                          \
    extern "C" __global__ void name(const T* a, const T* b, T* out, int n) {                                            \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                  \
        if (i >= n) return;                                                                                             \
        T x = a[i], y = b[i];                                                                                           \
        P p{x, y}, q{y, x};                                                                                             \
        P sum = __hadd2(p, q), fused = __hfma2(p, q, p), relu = __hfma2_relu(p, q, p), top = __hmax2(p, q);             \
        T results[] = {__hadd(x, y), __hsub(x, y), __hmul(x, y), __hdiv(x, y), __hfma(x, y, x), __hneg(x), __habs(x),   \
                       __hmin(x, y), __hmax(x, y), __hmax_nan(x, y), __hfma_relu(x, y, y), sum.x, fused.x, fused.y,     \
                       relu.x, relu.y, top.x, hsqrt(__habs(y)), hrint(x), hfloor(x), htrunc(y), __hlt(x, y) ? x : y,    \
                       __hgeu(x, y) ? x : y, __heq(x, x) ? x : y};                                                      \
        for (int j = 0; j < sizeof(results) / 2; ++j) out[j * n + i] = results[j];                                      \
    }
ARITHMETIC(half_arithmetic, __half, __half2)
ARITHMETIC(bf16_arithmetic, __nv_bfloat16, __nv_bfloat162)

extern "C" __global__ void half_saturated(const __half* a, const __half* b, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half results[] = {__hadd_sat(a[i], b[i]), __hmul_sat(a[i], b[i]), __hfma_sat(a[i], b[i], b[i])};
    for (int j = 0; j < 3; ++j) out[j * n + i] = results[j];
}

extern "C" __global__ void to_halves(const float* in, __half* h, __nv_bfloat16* b, float* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    __half halves[] = {__float2half_rn(x), __float2half_rz(x), __float2half_ru(x), __float2half_rd(x), __double2half((double)x),
                       __floats2half2_rn(x, -x).y, __int2half_rn((int)x), __ull2half_rn((unsigned long long)x)};
    __nv_bfloat16 bfloats[] = {__float2bfloat16_rn(x), __float2bfloat16_rz(x), __float2bfloat16_ru(x), __float2bfloat16_rd(x),
                               __double2bfloat16((double)x), __floats2bfloat162_rn(x, -x).y, __int2bfloat16_rn((int)x)};
    for (int j = 0; j < 8; ++j) h[j * n + i] = halves[j];
    for (int j = 0; j < 7; ++j) b[j * n + i] = bfloats[j];
    back[i] = __half2float(halves[0]) + __bfloat162float(bfloats[0]);
}

// Pairs of 2 floats to codes and back to f16.
extern "C" __global__ void to_narrow(const float2* in, unsigned short* codes, __half2_raw* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 x = in[i];
    unsigned short found[] = {
        __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3), __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E5M2),
        __nv_cvt_float2_to_fp6x2(x, __NV_E2M3, cudaRoundNearest), __nv_cvt_float2_to_fp6x2(x, __NV_E3M2, cudaRoundNearest),
        __nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest), __nv_cvt_float2_to_e8m0x2(x, __NV_SATFINITE, cudaRoundPosInf),
        __nv_cvt_halfraw2_to_fp8x2(__float22half2_rn(x), __NV_SATFINITE, __NV_E4M3)};
    for (int j = 0; j < 7; ++j) codes[j * n + i] = found[j];
    back[i] = __nv_cvt_fp8x2_to_halfraw2(found[0], __NV_E4M3);
    back[n + i] = __nv_cvt_fp8x2_to_halfraw2(found[1], __NV_E5M2);
    back[2 * n + i] = __nv_cvt_fp6x2_to_halfraw2(found[2], __NV_E2M3);
    back[3 * n + i] = __nv_cvt_fp6x2_to_halfraw2(found[3], __NV_E3M2);
    back[4 * n + i] = __nv_cvt_fp4x2_to_halfraw2(found[4], __NV_E2M1);
}

extern "C" __global__ void half_functions(const __half2* in, __half2* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 x = in[i];
    __half2 results[] = {h2exp(x), h2exp2(x), h2log(h2exp(x)), h2rcp(x), h2rsqrt(h2exp(x)), h2sin(x), h2cos(x), h2tanh(x)};
    for (int j = 0; j < 8; ++j) out[j * n + i] = results[j];
}
