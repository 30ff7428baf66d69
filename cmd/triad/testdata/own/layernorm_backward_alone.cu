#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <math.h>
#include <stdint.h>

__device__ float block_sum(float v) {
  __shared__ float red[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  __syncthreads();
  if (lane == 0) red[warp] = v;
  __syncthreads();
  float t = 0.0f;
  for (int w = 0; w < 8; w++) t += red[w];
  return t;
}

__device__ float block_max(float v) {
  __shared__ float redm[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, o));
  __syncthreads();
  if (lane == 0) redm[warp] = v;
  __syncthreads();
  float t = redm[0];
  for (int w = 1; w < 8; w++) t = fmaxf(t, redm[w]);
  return t;
}

__global__ void layernorm_backward_kernel(const float* x, const float* weight, const float* mean, const float* rstd, const float* dy,
                                          float* dx, float* dweight, float* dbias, int rows, int cols) {
  int row = blockIdx.x;
  x += (size_t)row * cols;
  dy += (size_t)row * cols;
  dx += (size_t)row * cols;
  float m = mean[row], r = rstd[row];
  float a = 0.0f, b = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 256) {
    float n = (x[i] - m) * r;
    float w = weight[i] * dy[i];
    a += w;
    b += w * n;
  }
  a = block_sum(a) / cols;
  b = block_sum(b) / cols;
  for (int i = threadIdx.x; i < cols; i += 256) {
    float n = (x[i] - m) * r;
    dx[i] = r * (weight[i] * dy[i] - a - n * b);
  }
}

__global__ void layernorm_grad_params(const float* x, const float* mean, const float* rstd, const float* dy, float* dweight,
                                      float* dbias, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float dw = 0.0f, db = 0.0f;
  for (int r = 0; r < rows; r++) {
    float g = dy[(size_t)r * cols + c];
    dw += g * (x[(size_t)r * cols + c] - mean[r]) * rstd[r];
    db += g;
  }
  dweight[c] = dw;
  dbias[c] = db;
}

extern "C" void layernorm_backward(const float* x, const float* weight, const float* mean, const float* rstd, const float* dy,
                                   float* dx, float* dweight, float* dbias, int rows, int cols) {
  layernorm_backward_kernel<<<rows, 256>>>(x, weight, mean, rstd, dy, dx, dweight, dbias, rows, cols);
  layernorm_grad_params<<<(cols + 127) / 128, 128>>>(x, mean, rstd, dy, dweight, dbias, rows, cols);
}
