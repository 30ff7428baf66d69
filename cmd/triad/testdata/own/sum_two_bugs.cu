// The tail leaves shared memory unwritten, and the barrier of the loop stands inside its branch.
__global__ void sum_kernel(const float *x, float *out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n) s[t] = x[i];
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (t < k) { s[t] += s[t + k]; __syncthreads(); }
    }
    if (t == 0) atomicAdd(out, s[0]);
}
extern "C" void solve(const float *x, float *out, int n) {
    sum_kernel<<<(n + 255) / 256, 256>>>(x, out, n);
}
