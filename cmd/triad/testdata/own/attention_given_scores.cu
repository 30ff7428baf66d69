__global__ void score(const float* Q, const float* K, float* scores, int M, int N, int d) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= N) return;
    float s = 0.f;
    for (int x = 0; x < d; x++) s += Q[i * d + x] * K[j * d + x];
    scores[i * N + j] = s / sqrtf(d);
}

__global__ void weigh(float* scores, const float* V, float* output, int N, int d) {
    float* row = scores + blockIdx.x * N;
    float top = -INFINITY, sum = 0.f;
    for (int j = 0; j < N; j++) top = fmaxf(top, row[j]);
    for (int j = 0; j < N; j++) sum += expf(row[j] - top);
    for (int x = threadIdx.x; x < d; x += blockDim.x) {
        float o = 0.f;
        for (int j = 0; j < N; j++) o += expf(row[j] - top) / sum * V[j * d + x];
        output[blockIdx.x * d + x] = o;
    }
}

void attention(const float* Q, const float* K, const float* V, float* scores, float* output, int M, int N, int d) {
    score<<<dim3((N + 31) / 32, M), 32>>>(Q, K, scores, M, N, d);
    weigh<<<M, 32>>>(scores, V, output, N, d);
}
