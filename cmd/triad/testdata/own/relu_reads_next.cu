// It reads x[i + 1]: the last element reads past the end of x.
__global__ void relu(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float nxt = x[i + 1]; y[i] = x[i] > 0 ? x[i] : 0 * nxt; }
}
