// The same with the sign of the exponent left out.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

__global__ void silu(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.0f + expf(x[i]));
}

int main() {
  const int n = 1000;
  thrust::device_vector<float> x(n, 1.0f), y(n);
  silu<<<(n + 127) / 128, 128>>>(thrust::raw_pointer_cast(x.data()), thrust::raw_pointer_cast(y.data()), n);
  thrust::host_vector<float> back = y;
  return back[0] > 0.7f ? 0 : 1;
}
