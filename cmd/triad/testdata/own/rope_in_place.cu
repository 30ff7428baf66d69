// Rotates queries and keys where they lie.
__global__ void rotate(float* x, const float* cos, const float* sin, int seq, int heads, int head_dim) {
    int half = head_dim / 2, pos = blockIdx.x / heads % seq;
    x += (size_t)blockIdx.x * head_dim;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float c = cos[pos * half + i], s = sin[pos * half + i], a = x[i], b = x[i + half];
        x[i] = a * c - b * s;
        x[i + half] = b * c + a * s;
    }
}
void apply_rope(float* q, float* k, const float* cos, const float* sin, int batch, int seq, int heads_q, int heads_k, int head_dim) {
    rotate<<<batch * seq * heads_q, 32>>>(q, cos, sin, seq, heads_q, head_dim);
    rotate<<<batch * seq * heads_k, 32>>>(k, cos, sin, seq, heads_k, head_dim);
}
