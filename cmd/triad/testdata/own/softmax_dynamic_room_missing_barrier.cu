// The row's maximum is read from buf[0] while the first thread may write its sum there: a barrier is missing. Nothing
// says how many threads a block has.
#include <cuda_runtime.h>
__global__ void softmax_kernel(const float *x, float *y, int rows, int cols) {
  extern __shared__ float buf[];
  int row = blockIdx.x, t = threadIdx.x;
  float m = -INFINITY;
  for (int c = t; c < cols; c += blockDim.x) m = fmaxf(m, x[row * cols + c]);
  buf[t] = m;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) buf[t] = fmaxf(buf[t], buf[t + s]);
    __syncthreads();
  }
  m = buf[0];
  float sum = 0;
  for (int c = t; c < cols; c += blockDim.x) sum += expf(x[row * cols + c] - m);
  buf[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) buf[t] += buf[t + s];
    __syncthreads();
  }
  sum = buf[0];
  for (int c = t; c < cols; c += blockDim.x) y[row * cols + c] = expf(x[row * cols + c] - m) / sum;
}
