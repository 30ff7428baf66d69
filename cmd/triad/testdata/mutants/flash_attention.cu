#include <math.h>
#define SCALE (1.0f / sqrtf((float)d))
__global__ void attend(const float* q, const float* k, const float* v, float* o, int Lq, int Lk, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= Lq) return;
    const float* qi = q + ((size_t)blockIdx.y * Lq + i) * d;
    float* oi = o + ((size_t)blockIdx.y * Lq + i) * d;
    k += (size_t)blockIdx.y * Lk * d;
    v += (size_t)blockIdx.y * Lk * d;
    float m = -INFINITY, l = 0;
    for (int t = 0; t < d; t++) oi[t] = 0;
    int visible = Lk;
    for (int j = 0; j < visible; j++) {
        float s = 0;
        for (int t = 0; t < d; t++) s += qi[t] * k[(size_t)j * d + t];
        s *= SCALE;
        float next = fmaxf(m, s), old = expf(m - next), p = expf(s - next);
        l = l * old + p;
        for (int t = 0; t < d; t++) oi[t] = oi[t] * old + p * v[(size_t)j * d + t];
        m = next;
    }
    for (int t = 0; t < d; t++) oi[t] = oi[t] / l;
}
extern "C" void solve(const float* q, const float* k, const float* v, float* o, int batch, int heads, int Lq, int Lk, int d) {
    attend<<<dim3((Lq + 31) / 32, batch * heads), 32>>>(q, k, v, o, Lq, Lk, d);
}
