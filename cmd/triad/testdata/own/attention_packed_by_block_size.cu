#include <cuda_runtime.h>
#include <math.h>
// inp is (B, T, 3C) holding the query, key, value vectors; preatt, att are (B, NH, T, T); out is (B, T, C)
__global__ void attention_query_key(float* preatt, const float* inp, int B, int T, int C, int NH) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * NH * T * T) return;
    int t2 = idx % T, t = idx / T % T, h = idx / (T * T) % NH, b = idx / (NH * T * T);
    if (t2 > t) { preatt[idx] = -INFINITY; return; }
    int hs = C / NH;
    const float* q = inp + b * T * C * 3 + t * C * 3 + h * hs;
    const float* k = inp + b * T * C * 3 + t2 * C * 3 + h * hs + C;
    float v = 0.f;
    for (int i = 0; i < hs; i++) v += q[i] * k[i];
    preatt[idx] = v * (1.0f / sqrtf((float)hs));
}
__global__ void attention_softmax(float* att, const float* preatt, int B, int T, int NH) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * T * NH) return;
    int h = idx % NH, t = idx / NH % T, b = idx / (NH * T);
    const float* p = preatt + b * NH * T * T + h * T * T + t * T;
    float* a = att + b * NH * T * T + h * T * T + t * T;
    float m = -INFINITY;
    for (int j = 0; j <= t; j++) m = fmaxf(m, p[j]);
    float s = 0.f;
    for (int j = 0; j <= t; j++) { float e = expf(p[j] - m); s += e; a[j] = e; }
    float inv = s == 0.f ? 0.f : 1.f / s;
    for (int j = 0; j < T; j++) a[j] = j <= t ? a[j] * inv : 0.f;
}
__global__ void attention_value(float* out, const float* att, const float* inp, int B, int T, int C, int NH) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * T * NH) return;
    int h = idx % NH, t = idx / NH % T, b = idx / (NH * T);
    int hs = C / NH;
    float* o = out + b * T * C + t * C + h * hs;
    const float* a = att + b * NH * T * T + h * T * T + t * T;
    for (int i = 0; i < hs; i++) o[i] = 0.f;
    for (int j = 0; j <= t; j++) {
        const float* v = inp + b * T * C * 3 + j * C * 3 + h * hs + C * 2;
        for (int i = 0; i < hs; i++) o[i] += a[j] * v[i];
    }
}
void attention_forward1(float* out, float* preatt, float* att, const float* inp, int B, int T, int C, int NH, const int block_size) {
    int n = B * NH * T * T;
    attention_query_key<<<(n + block_size - 1) / block_size, block_size>>>(preatt, inp, B, T, C, NH);
    int r = B * T * NH;
    attention_softmax<<<(r + block_size - 1) / block_size, block_size>>>(att, preatt, B, T, NH);
    attention_value<<<(r + block_size - 1) / block_size, block_size>>>(out, att, inp, B, T, C, NH);
}
