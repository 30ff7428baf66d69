// The sums of the last 32 threads are left out.
#define BLOCK_SIZE 64

__global__ void reduce(const float* input, float* output, int n) {
    __shared__ float part[BLOCK_SIZE];
    int bid = blockIdx.x, i = bid * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? input[i] : 0.f;
    __syncthreads();
    for (int s = BLOCK_SIZE / 4; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) output[bid] = part[0];
}

int main() {
    int n = 1000;
    float *input, *output;
    cudaMallocManaged(&input, n * sizeof(float));
    cudaMallocManaged(&output, (n + BLOCK_SIZE - 1) / BLOCK_SIZE * sizeof(float));
    reduce<<<(n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(input, output, n);
    cudaDeviceSynchronize();
}
