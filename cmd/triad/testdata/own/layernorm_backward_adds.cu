#include <math.h>
// gradients are added to, as in a training loop that zeroes them
__global__ void layernorm_backward_kernel(float* dinp, float* dweight, float* dbias, const float* dout, const float* inp, const float* weight, const float* mean, const float* rstd, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    const float* g = dout + (long)i * C; const float* x = inp + (long)i * C; float* dx = dinp + (long)i * C;
    double a = 0, b = 0;
    for (int j = 0; j < C; j++) { float n = (x[j] - mean[i]) * rstd[i], d = weight[j] * g[j]; a += d; b += (double)d * n; }
    a /= C; b /= C;
    for (int j = 0; j < C; j++) {
        float n = (x[j] - mean[i]) * rstd[i], d = weight[j] * g[j];
        atomicAdd(&dbias[j], g[j]);
        atomicAdd(&dweight[j], n * g[j]);
        dx[j] += (d - a - n * b) * rstd[i];
    }
}
void layernorm_backward(float* dinp, float* dweight, float* dbias, const float* dout, const float* inp, const float* weight, const float* mean, const float* rstd, int N, int C) {
    layernorm_backward_kernel<<<(N + 63) / 64, 64>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, N, C);
}
