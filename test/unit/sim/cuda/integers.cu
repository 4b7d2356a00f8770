// nvcc -ptx -arch=sm_80
// Integer arithmetic: 64-bit division, high products, bit fields, byte permutations, dot products.

template <class T> __device__ void divisions(const T* a, const T* b, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[2 * i] = a[i] / b[i]; out[2 * i + 1] = a[i] % b[i]; }
}
#define DIVIDE(name, T) extern "C" __global__ void divide_##name(const T* a, const T* b, T* out, int n) { divisions(a, b, out, n); }
DIVIDE(s8, signed char) DIVIDE(u8, unsigned char) DIVIDE(s16, short) DIVIDE(u16, unsigned short)
DIVIDE(s32, int) DIVIDE(u32, unsigned) DIVIDE(s64, long long) DIVIDE(u64, unsigned long long)

extern "C" __global__ void products(const long long* a, const long long* b, long long* out) {
    int i = threadIdx.x, n = blockDim.x;
    long long x = a[i], y = b[i];
    out[i] = x * y;
    out[n + i] = __mul64hi(x, y);
    out[2 * n + i] = __umul64hi(x, y);
    out[3 * n + i] = __mulhi((int)x, (int)y);
    out[4 * n + i] = __umulhi((unsigned)x, (unsigned)y);
    out[5 * n + i] = (long long)(int)x * (int)y + 3;
    out[6 * n + i] = __mul24((int)x, (int)y);
    out[7 * n + i] = __umul24((unsigned)x, (unsigned)y);
    unsigned __int128 wide = (unsigned __int128)(unsigned long long)x * (unsigned long long)y + (unsigned long long)x;
    out[8 * n + i] = (long long)(wide >> 64);
    out[9 * n + i] = (long long)((wide - (unsigned long long)y) >> 37);
    out[10 * n + i] = (x > y) - (x < y) + 2 * ((unsigned long long)x < (unsigned long long)y);
    out[11 * n + i] = min(x, y) ^ max((unsigned long long)x, (unsigned long long)y) ^ llabs(y);
}

extern "C" __global__ void bits(const unsigned* a, const unsigned* b, unsigned* out) {
    int i = threadIdx.x, n = blockDim.x;
    unsigned x = a[i], y = b[i];
    unsigned long long z = (unsigned long long)x << 32 | y;
    unsigned results[] = {
        (unsigned)__popc(x), (unsigned)__clz(x), (unsigned)__ffs(x), __brev(x), __byte_perm(x, y, 0x5271), __funnelshift_l(x, y, y),
        __funnelshift_r(x, y, y), __funnelshift_lc(x, y, y & 63), __funnelshift_rc(x, y, y & 63), x << (y & 31), x >> (y & 31),
        (unsigned)((int)x >> (y & 31)), (x & y) | (~x & 0x12345678), x ^ y ^ 0xff00ff, (unsigned)__popcll(z), (unsigned)__clzll(z), (unsigned)__ffsll(z),
        (unsigned)(__brevll(z) >> 7), x >> 5 & 0x3ff, (x & ~0xff0u) | (y << 4 & 0xff0u), __sad((int)x, (int)y, 7u), __usad(x, y, 7u),
        (unsigned)__dp4a((int)x, (int)y, 11), __dp4a(x, y, 11u), (unsigned)__dp2a_lo((int)x, (int)y, 5), __dp2a_hi(x, y, 5u),
        __vadd4(x, y), __vmaxs2(x, y), __vabsdiffu4(x, y), __vcmpgtu4(x, y), (unsigned)__rhadd((int)x, (int)y), __uhadd(x, y)};
    for (int j = 0; j < 32; ++j) out[j * n + i] = results[j];
}

extern "C" __global__ void narrow(const int* in, int* out) {
    int i = threadIdx.x, n = blockDim.x, x = in[i];
    out[i] = (signed char)x; out[n + i] = (unsigned char)x; out[2 * n + i] = (short)x; out[3 * n + i] = (unsigned short)x;
    signed char c = x; c += 100; out[4 * n + i] = c;
    unsigned short h = x; h *= h; out[5 * n + i] = h;
    out[6 * n + i] = min(max(x, -128), 127);
    out[7 * n + i] = (bool)x + !x * 2;
}
