#include <cuda_fp16.h>
#include <math.h>
// causal self attention, [B, H, T, D]
template <int BLOCK>
__global__ void causal_attention_kernel(const __half* q, const __half* k, const __half* v, __half* o, int T, int D, float scale) {
    int bh = blockIdx.y, t = blockIdx.x;
    extern __shared__ float att[];
    const __half* Q = q + ((size_t)bh * T + t) * D;
    for (int s = threadIdx.x; s <= t; s += BLOCK) {
        float a = 0;
        for (int i = 0; i < D; i++) a += __half2float(Q[i]) * __half2float(k[((size_t)bh * T + s) * D + i]);
        att[s] = a * scale;
    }
    __syncthreads();
    float m = -INFINITY, l = 0;
    for (int s = 0; s <= t; s++) m = fmaxf(m, att[s]);
    for (int s = 0; s <= t; s++) l += expf(att[s] - m);
    for (int i = threadIdx.x; i < D; i += BLOCK) {
        float a = 0;
        for (int s = 0; s <= t; s++) a += expf(att[s] - m) * __half2float(v[((size_t)bh * T + s) * D + i]);
        o[((size_t)bh * T + t) * D + i] = __float2half(a / l);
    }
}
void causal_attention_forward(const __half* q, const __half* k, const __half* v, __half* o, int B, int H, int T, int D) {
    causal_attention_kernel<128><<<dim3(T, B * H), 128, T * sizeof(float)>>>(q, k, v, o, T, D, 1.0f / sqrtf(D));
}
