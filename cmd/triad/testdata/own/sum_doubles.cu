__global__ void sum_up(const double* input, double* output, int n) {
    extern __shared__ double part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? input[i] : 0.0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(output, part[0]);
}

void sum(const double* input, double* output, int n) {
    cudaMemset(output, 0, sizeof(double));
    sum_up<<<(n + 255) / 256, 256, 256 * sizeof(double)>>>(input, output, n);
}
