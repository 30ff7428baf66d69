#include <math.h>
// Q, K, V and O are [batch, sequence, heads, head_dim], as many libraries have them.
__global__ void attend(const float* Q, const float* K, const float* V, float* O, int T, int H, int D) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y, b = blockIdx.z;
    if (t >= T) return;
    auto at = [=](int pos) { return (((size_t)b * T + pos) * H + h) * D; };
    float m = -INFINITY, l = 0, scale = rsqrtf((float)D);
    for (int i = 0; i < D; i++) O[at(t) + i] = 0;
    for (int j = 0; j < T; j++) {
        float s = 0;
        for (int i = 0; i < D; i++) s += Q[at(t) + i] * K[at(j) + i];
        s *= scale;
        float next = fmaxf(m, s), old = m == next ? 1.0f : expf(m - next), p = expf(s - next);
        l = l * old + p;
        for (int i = 0; i < D; i++) O[at(t) + i] = O[at(t) + i] * old + p * V[at(j) + i];
        m = next;
    }
    for (int i = 0; i < D; i++) O[at(t) + i] /= l;
}
extern "C" void solve(const float* Q, const float* K, const float* V, float* O, int B, int T, int H, int D) {
    attend<<<dim3((T + 31) / 32, H, B), 32>>>(Q, K, V, O, T, H, D);
}
