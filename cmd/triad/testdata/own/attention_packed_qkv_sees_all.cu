// inp is [B, T, 3 * C] with query, key and value of a token beside each other, out is [B, T, C]
__global__ void causal_attention(const float* inp, float* out, int B, int T, int C, int NH) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= B * T * NH) return;
    int h = at % NH, t = at / NH % T, b = at / NH / T, hs = C / NH, C3 = 3 * C;
    const float* q = inp + (b * T + t) * C3 + h * hs;
    float* o = out + (b * T + t) * C + h * hs;
    float top = -INFINITY, sum = 0.f, scale = 1.f / sqrtf(hs);
    for (int j = 0; j < T; j++) {
        const float* k = inp + (b * T + j) * C3 + C + h * hs;
        float s = 0.f;
        for (int i = 0; i < hs; i++) s += q[i] * k[i];
        top = fmaxf(top, s * scale);
    }
    for (int i = 0; i < hs; i++) o[i] = 0.f;
    for (int j = 0; j < T; j++) {
        const float *k = inp + (b * T + j) * C3 + C + h * hs, *v = k + C;
        float s = 0.f;
        for (int i = 0; i < hs; i++) s += q[i] * k[i];
        float p = expf(s * scale - top);
        sum += p;
        for (int i = 0; i < hs; i++) o[i] += p * v[i];
    }
    for (int i = 0; i < hs; i++) o[i] /= sum;
}

void causal_attention_forward(float* out, const float* inp, int B, int T, int C, int NH) {
    causal_attention<<<(B * T * NH + 63) / 64, 64>>>(inp, out, B, T, C, NH);
}
