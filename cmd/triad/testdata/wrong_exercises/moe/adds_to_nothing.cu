// read of memory that nobody has written(?s:.*)y\[\(size_t\)t \* dim \+ c\] \+= w \* sum;(?s:.*)Initialize it
#include <cuda_runtime.h>
#include <math.h>

// One block a token. Its logits and one expert's hidden numbers lie in shared memory.
__global__ void moe(const float* x, const float* router, const float* w1, const float* w3, const float* w2, float* y,
                    int* topk_ids, int experts, int dim, int hidden, int top_k, bool normalize) {
    extern __shared__ float shared[];
    float *z = shared, *h = shared + experts;
    int t = blockIdx.x;
    const float* row = x + (size_t)t * dim;
    int* ids = topk_ids + (size_t)t * top_k;
    for (int e = threadIdx.x; e < experts; e += blockDim.x) {
        float sum = 0.0f;
        for (int c = 0; c < dim; c++) sum += row[c] * router[(size_t)e * dim + c];
        z[e] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < top_k; i++) {
            int best = -1;
            for (int e = 0; e < experts; e++) {
                bool taken = false;
                for (int j = 0; j < i; j++) taken = taken || ids[j] == e;
                if (!taken && (best < 0 || z[e] > z[best] || (isnan(z[e]) && !isnan(z[best])))) best = e;
            }
            ids[i] = best;
        }
    }
    __syncthreads();
    float most = z[ids[0]], total = 0.0f;
    if (normalize)
        for (int i = 0; i < top_k; i++) total += expf(z[ids[i]] - most);
    else
        for (int e = 0; e < experts; e++) total += expf(z[e] - most);
    
    for (int i = 0; i < top_k; i++) {
        size_t e = ids[i];
        float w = expf(z[e] - most) / total;
        __syncthreads();
        for (int j = threadIdx.x; j < hidden; j += blockDim.x) {
            float g = 0.0f, u = 0.0f;
            for (int c = 0; c < dim; c++) {
                g += row[c] * w1[(e * dim + c) * hidden + j];
                u += row[c] * w3[(e * dim + c) * hidden + j];
            }
            h[j] = g / (1.0f + expf(-g)) * u;
        }
        __syncthreads();
        for (int c = threadIdx.x; c < dim; c += blockDim.x) {
            float sum = 0.0f;
            for (int j = 0; j < hidden; j++) sum += h[j] * w2[(e * hidden + j) * dim + c];
            y[(size_t)t * dim + c] += w * sum;
        }
    }
}

// all but the sizes are device pointers
extern "C" void solve(const float* x, const float* router, const float* w1, const float* w3, const float* w2, float* y,
                      int* topk_ids, int tokens, int experts, int dim, int hidden, int top_k, bool normalize) {
    if (tokens == 0) return;
    moe<<<tokens, 64, (experts + hidden) * sizeof(float)>>>(x, router, w1, w3, w2, y, topk_ids, experts, dim, hidden, top_k,
                                                            normalize);
    cudaDeviceSynchronize();
}
