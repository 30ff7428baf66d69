// llama-style interleaved pairs, one kernel, bf16
#include <cuda_bf16.h>
using bf16 = __nv_bfloat16;
__global__ void apply_rotary_emb(const bf16* xq, const bf16* xk, const float* freqs_cos, const float* freqs_sin, bf16* xq_out, bf16* xk_out,
                                 int bsz, int seqlen, int n_heads, int n_kv_heads, int head_dim) {
    int pos = blockIdx.x, b = blockIdx.y;
    int half_dim = head_dim / 2;
    for (int i = threadIdx.x; i < n_heads * half_dim; i += blockDim.x) {
        int h = i / half_dim, j = i % half_dim;
        size_t at = ((size_t)(b * seqlen + pos) * n_heads + h) * head_dim + 2 * j;
        float x0 = __bfloat162float(xq[at]), x1 = __bfloat162float(xq[at + 1]);
        float c = freqs_cos[pos * half_dim + j], s = freqs_sin[pos * half_dim + j];
        xq_out[at] = __float2bfloat16(x0 * c - x1 * s);
        xq_out[at + 1] = __float2bfloat16(x0 * s + x1 * c);
    }
    for (int i = threadIdx.x; i < n_kv_heads * half_dim; i += blockDim.x) {
        int h = i / half_dim, j = i % half_dim;
        size_t at = ((size_t)(b * seqlen + pos) * n_kv_heads + h) * head_dim + 2 * j;
        float x0 = __bfloat162float(xk[at]), x1 = __bfloat162float(xk[at + 1]);
        float c = freqs_cos[pos * half_dim + j], s = freqs_sin[pos * half_dim + j];
        xk_out[at] = __float2bfloat16(x0 * c - x1 * s);
        xk_out[at + 1] = __float2bfloat16(x0 * s + x1 * c);
    }
}
void launch_rope(const bf16* xq, const bf16* xk, const float* freqs_cos, const float* freqs_sin, bf16* xq_out, bf16* xk_out,
                 int bsz, int seqlen, int n_heads, int n_kv_heads, int head_dim, cudaStream_t stream = 0) {
    dim3 grid(seqlen, bsz);
    apply_rotary_emb<<<grid, 128, 0, stream>>>(xq, xk, freqs_cos, freqs_sin, xq_out, xk_out, bsz, seqlen, n_heads, n_kv_heads, head_dim);
}
