__global__ void partial(const float *in, float *out, int n) {
    __shared__ float values[64];
    float mine = 0.0f;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) mine += in[i];
    values[threadIdx.x] = mine;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

int run_sum(const float *in, float *out, int n) {
    const int blocks = 1024;
    partial<<<blocks, 64>>>(in, out, n);
    return blocks;
}
