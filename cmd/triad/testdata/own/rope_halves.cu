__global__ void rotate(const float* x, const float* cos_t, const float* sin_t, float* y, int seq_len, int heads, int head_dim) {
    int half = head_dim / 2, i = threadIdx.x;
    int head = blockIdx.x % heads, pos = blockIdx.x / heads % seq_len;
    long base = (long)blockIdx.x * head_dim;
    (void)head;
    for (; i < half; i += blockDim.x) {
        float c = cos_t[pos * half + i], s = sin_t[pos * half + i];
        float a = x[base + i], b = x[base + i + half];
        y[base + i] = a * c - b * s;
        y[base + i + half] = b * c + a * s;
    }
}
extern "C" void solve(const float* q, const float* k, const float* cos, const float* sin, float* q_out, float* k_out, int batch, int seq_len, int n_heads,
                      int n_kv_heads, int head_dim) {
    rotate<<<batch * seq_len * n_heads, 64>>>(q, cos, sin, q_out, seq_len, n_heads, head_dim);
    rotate<<<batch * seq_len * n_kv_heads, 64>>>(k, cos, sin, k_out, seq_len, n_kv_heads, head_dim);
}
