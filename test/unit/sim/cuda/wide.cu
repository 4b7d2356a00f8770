// nvcc -ptx -arch=sm_90
// Integers of 128 bits, whose division reads the carry flag of a subtraction by an addition.
extern "C" __global__ void signed_wide(const __int128* a, const __int128* b, __int128* out) {
    int i = threadIdx.x, n = blockDim.x;
    out[i] = a[i] / b[i];
    out[n + i] = a[i] % b[i];
    out[2 * n + i] = a[i] * b[i];
    out[3 * n + i] = a[i] - b[i];
    out[4 * n + i] = a[i] >> (int)(b[i] & 127);
    out[5 * n + i] = (a[i] < b[i]) + (a[i] + b[i]);
}
