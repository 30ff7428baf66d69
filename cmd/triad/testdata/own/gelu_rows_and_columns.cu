__global__ void gelu(const float* input, float* output, size_t n, size_t m) {
    size_t col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float x = input[row * n + col];
        output[row * n + col] = 0.5f * x * (1.0f + erff(x * 0.70710678118f));
    }
}

extern "C" void solution(const float* input, float* output, size_t n, size_t m) {
    gelu<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(input, output, n, m);
}
