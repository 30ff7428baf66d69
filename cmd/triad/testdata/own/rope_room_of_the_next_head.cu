// The head that is kept in shared memory is replaced by the next one while some threads still read it.
#include <cuda_runtime.h>
__global__ void rope_heads(const float *q, const float *cos, const float *sin, float *out, int seq, int heads, int dim) {
    extern __shared__ float head[];
    int row = blockIdx.x, t = row % seq, half = dim / 2;
    for (int h = 0; h < heads; ++h) {
        const float *p = q + ((size_t)row * heads + h) * dim;
        float *o = out + ((size_t)row * heads + h) * dim;
        for (int j = threadIdx.x; j < dim; j += blockDim.x) head[j] = p[j];
        __syncthreads();
        for (int j = threadIdx.x; j < dim; j += blockDim.x) {
            float other = j < half ? -head[j + half] : head[j - half];
            o[j] = head[j] * cos[t * half + j % half] + other * sin[t * half + j % half];
        }
    }
}
extern "C" void rope(const float *q, const float *k, const float *cos, const float *sin, float *q_out, float *k_out,
                     int batch, int seq, int heads_q, int heads_k, int head_dim) {
    if (batch * seq == 0) return;
    rope_heads<<<batch * seq, 128, head_dim * sizeof(float)>>>(q, cos, sin, q_out, seq, heads_q, head_dim);
    rope_heads<<<batch * seq, 128, head_dim * sizeof(float)>>>(k, cos, sin, k_out, seq, heads_k, head_dim);
}
