// nvcc -ptx -arch=sm_90
// Functions that call themselves, virtual functions, and a table of functions.

struct Sum {
    int k;
    __device__ Sum(int k) : k(k) {}
    __device__ virtual int apply(int x) { return x + k; }
};
struct Product : Sum {
    __device__ Product(int k) : Sum(k) {}
    __device__ virtual int apply(int x) { return x * k; }
};

__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ int (*table[2])(int, int) = {add, multiply};

extern "C" __global__ void functions(int* out, int n) {
    int t = threadIdx.x;
    Sum sum(t);
    Product product(t);
    Sum* chosen = t & 1 ? &sum : &product;
    out[t * 4] = chosen->apply(3);
    out[t * 4 + 1] = factorial(t % 10);
    out[t * 4 + 2] = table[t % n](t, 7);
    out[t * 4 + 3] = ackermann(t % 3, t % 4);
}
