#include <cuda_runtime.h>
#include <math.h>
// x: [seq_len, n_heads, head_dim], rotated in place
__global__ void rope_inplace_kernel(float* x, const float* cos_cache, const float* sin_cache, int seq_len, int n_heads, int head_dim) {
    int pos = blockIdx.x;
    int head = blockIdx.y;
    int half = head_dim / 2;
    float* p = x + ((size_t)pos * n_heads + head) * head_dim;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float c = cos_cache[pos * half + i];
        float s = sin_cache[pos * half + i];
        float a = p[i], b = p[i + half];
        p[i] = a * c - b * s;
        p[i + half] = a * s - b * c;
    }
}
void apply_rope(float* x, const float* cos_cache, const float* sin_cache, int seq_len, int n_heads, int head_dim) {
    dim3 grid(seq_len, n_heads);
    rope_inplace_kernel<<<grid, 64>>>(x, cos_cache, sin_cache, seq_len, n_heads, head_dim);
}
