__global__ void swiglu_kernel(const float* input, float* output, int halfN) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < halfN) {
        float x1 = input[i], x2 = input[i + halfN];
        output[i] = x1 / (1.0f + expf(-x1)) * x2;
    }
}

extern "C" void solve(const float* input, float* output, int N) {
    int half = N / 2;
    swiglu_kernel<<<(half + 255) / 256, 256>>>(input, output, half);
    cudaDeviceSynchronize();
}
