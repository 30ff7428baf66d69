#include <torch/extension.h>
__global__ void sq(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = (a[i] - b[i]) * (a[i] - b[i]);
}
torch::Tensor mse(torch::Tensor predictions, torch::Tensor targets) {
  auto c = torch::empty_like(predictions);
  int n = predictions.numel();
  auto three = torch::tensor({1, 2, 3}, torch::TensorOptions().dtype(torch::kInt32).device(torch::kCUDA));
  TORCH_CHECK(three.sum().item<int>() == 6);
  TORCH_CHECK(torch::tensor(2.5).dim() == 0);
  if (n) sq<<<(n + 255) / 256, 256>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(), c.data_ptr<float>(), n);
  return c.mean();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("mse", &mse); }
