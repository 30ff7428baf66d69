#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void forward_kernel(const float *Q, const float *K, const float *V, const int N, const int d,
                               const float softmax_scale, float *l, float *m, float *O) {
    const int bx = blockIdx.x, by = blockIdx.y; // batch and head
    const int qkv = (bx * gridDim.y + by) * N * d, lm = (bx * gridDim.y + by) * N;
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int x = 0; x < d; x++) s += Q[qkv + i * d + x] * K[qkv + j * d + x];
            s *= softmax_scale;
            const float m_new = fmaxf(m[lm + i], s), before = __expf(m[lm + i] - m_new), p = __expf(s - m_new);
            for (int x = 0; x < d; x++) O[qkv + i * d + x] = O[qkv + i * d + x] * before + p * V[qkv + j * d + x];
            l[lm + i] = l[lm + i] * before + p;
            m[lm + i] = m_new;
        }
        for (int x = 0; x < d; x++) O[qkv + i * d + x] /= l[lm + i];
    }
}

torch::Tensor forward(torch::Tensor Q, torch::Tensor K, torch::Tensor V) {
    const int B = Q.size(0); const int nh = Q.size(1);
    const int N = Q.size(2); const int d = Q.size(3);
    TORCH_CHECK(K.size(1) == nh && K.size(2) == N, "K must have the sizes of Q");
    const float softmax_scale = 1.0 / sqrt(d);

    auto O = torch::zeros_like(Q);
    auto l = torch::zeros({B, nh, N});
    auto m = torch::full({B, nh, N}, -INFINITY);
    torch::Device device(torch::kCUDA);
    l = l.to(device); m = m.to(device);
    if (O.numel() == 0) return O;

    dim3 grid_dim(B, nh);
    forward_kernel<<<grid_dim, 64>>>(Q.data_ptr<float>(), K.data_ptr<float>(), V.data_ptr<float>(), N, d, softmax_scale,
                                     l.data_ptr<float>(), m.data_ptr<float>(), O.data_ptr<float>());
    return O;
}
