// nvcc -ptx -arch=sm_80
// Calls, structs by value, arrays in local memory, switches, constants, printf, assert, divergence.
#include <assert.h>
#include <stdio.h>

struct Point { float x, y; int tag; double weight; };
struct Params { const float* in; float* out; int n; float scale; short shifts[3]; };

__noinline__ __device__ float horner(const float* c, int n, float x) {
    float y = 0;
    for (int i = 0; i < n; ++i) y = y * x + c[i];
    return y;
}
__noinline__ __device__ Point moved(Point p, float by) {
    p.x += by; p.y -= by; p.tag ^= 5; p.weight *= by;
    return p;
}
__noinline__ __device__ void swapped(int* a, int* b) { int c = *a; *a = *b; *b = c; }
__noinline__ __device__ unsigned char low_byte(int x) { return x; }
__noinline__ __device__ bool is_odd(int x) { return x & 1; }

extern "C" __global__ void polynomial(const float* c, int n, const float* x, float* y) {
    y[threadIdx.x] = threadIdx.x % 3 ? horner(c, n, x[threadIdx.x]) : -horner(c, n - 1, x[threadIdx.x]);
}
extern "C" __global__ void points(const Point* in, Point* out, float by) {
    out[threadIdx.x] = moved(moved(in[threadIdx.x], by), 2 * by);
}
extern "C" __global__ void by_value(Params p) {
    int i = threadIdx.x;
    if (i < p.n) p.out[i] = p.in[i] * p.scale + p.shifts[i % 3];
}
extern "C" __global__ void small_values(const int* in, int* out) {
    int a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    swapped(&a, &b);
    out[2 * threadIdx.x] = is_odd(a) ? low_byte(a) : a;
    out[2 * threadIdx.x + 1] = is_odd(b) ? low_byte(b) : b;
}

// Sorts 16 values of each thread in local memory.
extern "C" __global__ void sort_local(const int* in, int* out) {
    int x[16], t = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < 16; ++i) x[i] = in[16 * t + i];
#pragma unroll 1
    for (int i = 1; i < 16; ++i) {
        int v = x[i], j = i;
#pragma unroll 1
        for (; j > 0 && x[j - 1] > v; --j) x[j] = x[j - 1];
        x[j] = v;
    }
#pragma unroll 1
    for (int i = 0; i < 16; ++i) out[16 * t + i] = x[i];
}

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ float scales[2][2] = {{0.5f, 1.5f}, {2.5f, -3.0f}};
__device__ int offsets[4] = {10, 20, 30, 40};
__device__ int* chosen = offsets + 1;
extern "C" __global__ void switches(const int* code, const int* in, int* out) {
    int x = in[threadIdx.x], y;
    switch (code[threadIdx.x]) {
        case 0: y = x + 1; break;
        case 1: y = x * x; break;
        case 2: y = x << 3; break;
        case 3: y = -x; break;
        case 4: y = table[x & 7]; break;
        case 5: y = x ^ 0x5555; // goes on
        case 6: y = x / 7; break;
        case 7: y = x % 7; break;
        case 8: y = chosen[x & 1]; break;
        case 9: y = (int)(x * scales[x & 1][1]); break;
        case 10: return;
        default: y = 12345;
    }
    out[threadIdx.x] = y;
}

extern "C" __global__ void collatz(const int* in, int* steps) {
    unsigned x = in[threadIdx.x];
    int n = 0;
    while (x != 1) {
        if (x & 1) x = 3 * x + 1; else x /= 2;
        if (++n > 200) break;
    }
    steps[threadIdx.x] = n;
}

extern "C" __global__ void prints(const float* in, int n) {
    int t = threadIdx.x;
    if (t < n) printf("thread %d of %s: %5.2f %u %lld %c %x%%\n", t, "block", in[t], 3000000000u + t, -5ll << 40, 'a' + t, t * 17);
}
extern "C" __global__ void asserts(const int* in) { assert(in[threadIdx.x] >= 0); }
