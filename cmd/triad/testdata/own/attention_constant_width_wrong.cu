// The same without shrinking the sum where a larger product comes.
#include <math.h>

constexpr int W = 24;

__global__ void attend(const float *Q, const float *K, const float *V, float *O, int n, float scale) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float out[W], largest = -INFINITY, sum = 0.0f;
  for (int i = 0; i < W; ++i) out[i] = 0.0f;
  for (int j = 0; j < n; ++j) {
    float product = 0.0f;
    for (int i = 0; i < W; ++i) product += Q[row * W + i] * K[j * W + i];
    product *= scale;
    float higher = fmaxf(largest, product);
    float shrink = expf(largest - higher), weight = expf(product - higher);
    sum = sum + weight;
    for (int i = 0; i < W; ++i) out[i] = out[i] * shrink + weight * V[j * W + i];
    largest = higher;
  }
  for (int i = 0; i < W; ++i) O[row * W + i] = out[i] / sum;
}

int main() {
  const int n = 100;
  float *q, *k, *v, *o;
  cudaMalloc(&q, n * W * sizeof(float));
  cudaMalloc(&k, n * W * sizeof(float));
  cudaMalloc(&v, n * W * sizeof(float));
  cudaMalloc(&o, n * W * sizeof(float));
  attend<<<(n + 63) / 64, 64>>>(q, k, v, o, n, 1.0f / sqrtf(W));
  cudaDeviceSynchronize();
  return 0;
}
