// l and m begin with 0 and -infinity, O with 0
__global__ void forward_kernel(const float* Q, const float* K, const float* V, int N, int d, float* l, float* m, float* O) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    for (int from = 0; from < N; from += 16) {
        float top = m[i], sum = l[i], now = top;
        float s[16];
        for (int j = 0; j < 16 && from + j < N; j++) {
            s[j] = 0.f;
            for (int x = 0; x < d; x++) s[j] += Q[i * d + x] * K[(from + j) * d + x];
            s[j] *= rsqrtf((float)d);
            now = fmaxf(now, s[j]);
        }
        float keep = expf(top - now), total = sum * keep;
        for (int j = 0; j < 16 && from + j < N; j++) total += s[j] = expf(s[j] - now);
        for (int x = 0; x < d; x++) {
            float add = 0.f;
            for (int j = 0; j < 16 && from + j < N; j++) add += s[j] * V[(from + j) * d + x];
            O[i * d + x] = (O[i * d + x] * sum * keep + add) / total;
        }
        l[i] = total;
        m[i] = now;
    }
}

void attention_forward(const float* Q, const float* K, const float* V, float* l, float* m, float* O, int N, int d) {
    forward_kernel<<<(N + 31) / 32, 32>>>(Q, K, V, N, d, l, m, O);
}
