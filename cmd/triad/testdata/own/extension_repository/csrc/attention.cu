#include "checks.h"

// Self-attention: a thread for each query. Q, K and V have one shape.
__global__ void attention_kernel(const float* Q, const float* K, const float* V, float* O, int rows, int seq_len,
                                 int head_dim, float scale) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* q = Q + (size_t)row * head_dim;
    const float* k = K + (size_t)(row / seq_len) * seq_len * head_dim;
    const float* v = V + (size_t)(row / seq_len) * seq_len * head_dim;
    float* o = O + (size_t)row * head_dim;
    float m = -INFINITY, l = 0.f;
    for (int j = 0; j < seq_len; j++) {
        float s = 0.f;
        for (int d = 0; d < head_dim; d++) s += q[d] * k[(size_t)j * head_dim + d];
        m = fmaxf(m, s * scale);
    }
    for (int d = 0; d < head_dim; d++) o[d] = 0.f;
    for (int j = 0; j < seq_len; j++) {
        float s = 0.f;
        for (int d = 0; d < head_dim; d++) s += q[d] * k[(size_t)j * head_dim + d];
        float p = expf(s * scale - m);
        l += p;
        for (int d = 0; d < head_dim; d++) o[d] += p * v[(size_t)j * head_dim + d];
    }
    for (int d = 0; d < head_dim; d++) o[d] /= l;
}

torch::Tensor attention_forward(torch::Tensor Q, torch::Tensor K, torch::Tensor V, float scale) {
    CHECK_INPUT(Q);
    CHECK_INPUT(K);
    CHECK_INPUT(V);
    const int rows = Q.size(0) * Q.size(1) * Q.size(2);
    auto O = torch::empty_like(Q);
    attention_kernel<<<(rows + 63) / 64, 64>>>(Q.data_ptr<float>(), K.data_ptr<float>(), V.data_ptr<float>(),
                                               O.data_ptr<float>(), rows, Q.size(2), Q.size(3), scale);
    return O;
}
