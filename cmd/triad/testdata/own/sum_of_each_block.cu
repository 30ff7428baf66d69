#define BLOCK_SIZE 64

__global__ void reduce(const float* input, float* output, int n) {
    __shared__ float part[BLOCK_SIZE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? input[i] : 0.f;
    __syncthreads();
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) output[blockIdx.x] = part[0];
}
