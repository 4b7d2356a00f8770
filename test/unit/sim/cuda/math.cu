// nvcc -ptx -arch=sm_80
// Functions of the math library, f32 and f64, and arithmetic with rounding modes.

#define FUNCTIONS(name, T, ...)                                                                  \
    extern "C" __global__ void name(const T* a, const T* b, T* out, int n) {                     \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                           \
        if (i >= n) return;                                                                      \
        T x = a[i], y = b[i], results[] = {__VA_ARGS__};                                         \
        for (int j = 0; j < sizeof(results) / sizeof(T); ++j) out[j * n + i] = results[j];       \
    }

FUNCTIONS(math_f32, float, tanf(x), expf(x), sqrtf(y), cbrtf(x), erff(x), sinhf(x), atanf(x), hypotf(x, y), fmodf(x, y), floorf(x),
          ceilf(x), rintf(x), roundf(x), sinpif(x))
FUNCTIONS(math_f64, double, sin(x), exp(x), log(y), sqrt(y), cbrt(x), erf(x), atan(x), atan2(x, y), hypot(x, y), floor(x), ceil(x),
          trunc(x), rint(x), round(x), x / y, 1 / y)
FUNCTIONS(fast_f32, float, __sinf(x), __cosf(x), __expf(x), __logf(y), __log2f(y), __powf(y, x), __fdividef(x, y), __frsqrt_rn(y),
          rsqrtf(y), __tanf(x), __exp10f(x), __saturatef(x))
FUNCTIONS(rounded_f32, float, __fadd_rn(x, y), __fadd_rz(x, y), __fadd_ru(x, y), __fadd_rd(x, y), __fmul_rn(x, y), __fmul_rz(x, y),
          __fmul_ru(x, y), __fmul_rd(x, y), __fmaf_rn(x, y, x), __fmaf_rz(x, y, x), __fmaf_ru(x, y, x), __fmaf_rd(x, y, x),
          __fdiv_rn(x, y), __fdiv_rz(x, y), __fdiv_ru(x, y), __fdiv_rd(x, y), __frcp_rn(y), __frcp_rz(y), __frcp_ru(y), __frcp_rd(y),
          __fsqrt_rn(fabsf(y)), __fsqrt_rz(fabsf(y)), __fsqrt_ru(fabsf(y)), __fsqrt_rd(fabsf(y)))
FUNCTIONS(rounded_f64, double, __dadd_rn(x, y), __dadd_rz(x, y), __dadd_ru(x, y), __dadd_rd(x, y), __dmul_rn(x, y), __dmul_rz(x, y),
          __dmul_ru(x, y), __dmul_rd(x, y), __fma_rn(x, y, x), __fma_rz(x, y, x), __fma_ru(x, y, x), __fma_rd(x, y, x),
          __ddiv_rn(x, y), __ddiv_rz(x, y), __ddiv_ru(x, y), __ddiv_rd(x, y), __dsqrt_rn(fabs(y)), __dsqrt_rz(fabs(y)),
          __dsqrt_ru(fabs(y)), __dsqrt_rd(fabs(y)), fmin(x, y), fmax(x, y), copysign(x, y), fabs(x))

extern "C" __global__ void to_integers(const double* in, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i];
    float f = x;
    long long results[] = {
        __double2int_rn(x), __double2int_rz(x), __double2int_ru(x), __double2int_rd(x), __double2uint_rn(x), __double2uint_rz(x),
        __double2ll_rn(x), __double2ll_rz(x), __double2ll_ru(x), __double2ll_rd(x), (long long)__double2ull_rn(x),
        (long long)__double2ull_rz(x), __float2int_rn(f), __float2int_rz(f), __float2int_ru(f), __float2int_rd(f), __float2uint_rn(f),
        __float2ll_rz(f), (long long)__float2ull_ru(f), __double2hiint(x), __double2loint(x), __double_as_longlong(x),
        __float_as_int(f), (short)f, (unsigned char)(unsigned)f};
    for (int j = 0; j < sizeof(results) / 8; ++j) out[j * n + i] = results[j];
}

extern "C" __global__ void from_integers(const long long* in, float* f, double* d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = in[i];
    float floats[] = {__int2float_rn((int)x), __int2float_rz((int)x), __int2float_ru((int)x), __int2float_rd((int)x),
                      __uint2float_rn((unsigned)x), __uint2float_rz((unsigned)x), __ll2float_rn(x), __ll2float_rz(x), __ll2float_ru(x),
                      __ll2float_rd(x), __ull2float_rn(x), __ull2float_rz(x), __double2float_rn((double)x), __double2float_rz((double)x)};
    double doubles[] = {(double)(int)x, (double)(unsigned)x, __ll2double_rn(x), __ll2double_rz(x), __ll2double_ru(x), __ll2double_rd(x),
                        __ull2double_rn(x), __ull2double_rd(x)};
    for (int j = 0; j < 14; ++j) f[j * n + i] = floats[j];
    for (int j = 0; j < 8; ++j) d[j * n + i] = doubles[j];
}
