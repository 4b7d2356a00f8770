// nvcc -ptx -arch=sm_80
// out[x][y] = in[y][x] by 32x32 tiles through shared memory. block (32, 8).

template <class T> __device__ void padded(const T* in, T* out, int rows, int columns) {
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll 1
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll 1
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void transpose_u8(const unsigned char* in, unsigned char* out, int r, int c) { padded(in, out, r, c); }
extern "C" __global__ void transpose_s16(const short* in, short* out, int r, int c) { padded(in, out, r, c); }
extern "C" __global__ void transpose_f32(const float* in, float* out, int r, int c) { padded(in, out, r, c); }
extern "C" __global__ void transpose_f64(const double* in, double* out, int r, int c) { padded(in, out, r, c); }
struct complex { float re, im; };
extern "C" __global__ void transpose_c64(const complex* in, complex* out, int r, int c) { padded(in, out, r, c); }

// The same without padding: column c of row r is at c ^ r.
extern "C" __global__ void transpose_swizzled(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[32 * 32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
#pragma unroll 1
    for (int j = 0; j < 32; j += 8) {
        int r = threadIdx.y + j;
        tile[r * 32 + (threadIdx.x ^ r)] = in[(y + j) * columns + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
#pragma unroll 1
    for (int j = 0; j < 32; j += 8) {
        int c = threadIdx.y + j;
        out[(y + j) * rows + x] = tile[threadIdx.x * 32 + (c ^ threadIdx.x)];
    }
}

// Copies of every vector width.
extern "C" __global__ void copy_vectors(const float4* a, float4* b, const uchar4* c, uchar4* d, const short2* e, short2* f,
                                        const double2* g, double2* h) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = __ldg(a + i);
    d[i] = c[i];
    f[i] = e[i];
    h[i] = g[i];
}
