// nvcc -ptx -arch=sm_80
// Prefix sums: of a warp, of a block, of the whole grid in one pass.

__device__ int warp_scan(int x) {
    int lane = threadIdx.x % 32;
    for (int by = 1; by < 32; by *= 2) {
        int y = __shfl_up_sync(~0u, x, by);
        if (lane >= by) x += y;
    }
    return x;
}

__device__ int block_scan(int x, int* total) {
    __shared__ int sums[32];
    int warp = threadIdx.x / 32, inclusive = warp_scan(x);
    if (threadIdx.x % 32 == 31) sums[warp] = inclusive;
    __syncthreads();
    if (warp == 0) sums[threadIdx.x] = warp_scan(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
    __syncthreads();
    int before = warp ? sums[warp - 1] : 0;
    *total = sums[blockDim.x / 32 - 1];
    return before + inclusive;
}

extern "C" __global__ void scan_block(const int* in, int* out) {
    int total;
    out[threadIdx.x] = block_scan(in[threadIdx.x], &total);
}

// Up and down a tree in shared memory, exclusive.
extern "C" __global__ void scan_tree(const float* in, float* out, int n) {
    extern __shared__ float data[];
    int t = threadIdx.x, offset = 1;
    data[2 * t] = in[2 * t];
    data[2 * t + 1] = in[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) data[offset * (2 * t + 2) - 1] += data[offset * (2 * t + 1) - 1];
    }
    if (t == 0) data[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            float x = data[left];
            data[left] = data[right];
            data[right] += x;
        }
    }
    __syncthreads();
    out[2 * t] = data[2 * t];
    out[2 * t + 1] = data[2 * t + 1];
}

// Decoupled look-back: a block waits for what those before it publish. States: 1 own sum, 2 sum of all so far.
struct alignas(8) State { int status, sum; };
__device__ unsigned next_block = 0;
extern "C" __global__ void scan_grid(const int* in, int* out, unsigned long long* states) {
    __shared__ unsigned place;
    __shared__ int carried;
    if (threadIdx.x == 0) place = atomicAdd(&next_block, 1);
    __syncthreads();
    unsigned block = place;
    int total, own = block_scan(in[block * blockDim.x + threadIdx.x], &total);
    if (threadIdx.x == 0) {
        int before = 0;
        if (block) {
            atomicExch(states + block, 1ull << 32 | (unsigned)total);
            for (int i = block - 1; i >= 0; --i) {
                unsigned long long state;
                do { state = atomicAdd(states + i, 0ull); } while (!(state >> 32));
                before += (int)state;
                if (state >> 32 == 2) break;
            }
        }
        atomicExch(states + block, 2ull << 32 | (unsigned)(before + total));
        carried = before;
    }
    __syncthreads();
    out[block * blockDim.x + threadIdx.x] = own + carried;
}
