__global__ void layer_norm(const float* in, float* out, int N, int M) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float mean = 0.f, var = 0.f;
    for (int i = 0; i < M; i++) mean += in[row * M + i];
    mean /= M;
    for (int i = 0; i < M; i++) var += (in[row * M + i] - mean) * (in[row * M + i] - mean);
    float rstd = rsqrtf(var / M + 1e-5f);
    for (int i = 0; i < M; i++) out[row * M + i] = (in[row * M + i] - mean) * rstd;
}

void layer_norm_gpu(const float* in_data, float* out_data, int N, int M) {
    layer_norm<<<(N + 31) / 32, 32>>>(in_data, out_data, N, M);
}
