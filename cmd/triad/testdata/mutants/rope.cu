// One block a position and head; the angles of all pairs.
__global__ void rotate(const float* x, const float* cos, const float* sin, float* y, int seq, int heads, int head_dim) {
    int half = head_dim / 2, pos = blockIdx.x / heads % seq;
    x += (size_t)blockIdx.x * head_dim;
    y += (size_t)blockIdx.x * head_dim;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float c = cos[pos * half + i], s = sin[pos * half + i];
        float a = x[i], b = x[i + half];
        y[i] = a * c - b * s;
        y[i + half] = b * c + a * s;
    }
}
extern "C" void solve(const float* q, const float* k, const float* cos, const float* sin, float* q_out, float* k_out,
                      int batch, int seq, int heads_q, int heads_k, int head_dim) {
    rotate<<<batch * seq * heads_q, 32>>>(q, cos, sin, q_out, seq, heads_q, head_dim);
    rotate<<<batch * seq * heads_k, 32>>>(k, cos, sin, k_out, seq, heads_k, head_dim);
}
