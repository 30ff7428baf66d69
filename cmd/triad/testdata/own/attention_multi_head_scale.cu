// Q, K, V and output are [N, d_model]; each head has d_model / h of the columns
__global__ void heads(const float* Q, const float* K, const float* V, float* output, int N, int d_model, int h) {
    int head = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x, dk = d_model / h;
    if (i >= N) return;
    float scale = 1.0f / sqrtf((float)d_model), top = -INFINITY, sum = 0.0f;
    for (int j = 0; j < N; j++) {
        float s = 0.0f;
        for (int d = 0; d < dk; d++) s += Q[i * d_model + head * dk + d] * K[j * d_model + head * dk + d];
        top = fmaxf(top, s * scale);
    }
    for (int d = 0; d < dk; d++) output[i * d_model + head * dk + d] = 0.0f;
    for (int j = 0; j < N; j++) {
        float s = 0.0f;
        for (int d = 0; d < dk; d++) s += Q[i * d_model + head * dk + d] * K[j * d_model + head * dk + d];
        float p = expf(s * scale - top);
        sum += p;
        for (int d = 0; d < dk; d++) output[i * d_model + head * dk + d] += p * V[j * d_model + head * dk + d];
    }
    for (int d = 0; d < dk; d++) output[i * d_model + head * dk + d] /= sum;
}

extern "C" void solve(const float* Q, const float* K, const float* V, float* output, int N, int d_model, int h) {
    heads<<<dim3((N + 63) / 64, h), 64>>>(Q, K, V, output, N, d_model, h);
}
