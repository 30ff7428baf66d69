#include <torch/extension.h>
#include <vector>
__global__ void ln(const float* x, const float* g, const float* b, float* y, float* mean, float* rstd, int C, float eps) {
  int r = blockIdx.x;
  if (threadIdx.x) return;
  float m = 0, v = 0;
  for (int i = 0; i < C; i++) m += x[r * C + i];
  m /= C;
  for (int i = 0; i < C; i++) v += (x[r * C + i] - m) * (x[r * C + i] - m);
  float s = rsqrtf(v / C + eps);
  for (int i = 0; i < C; i++) y[r * C + i] = (x[r * C + i] - m) * s * g[i] + b[i];
  mean[r] = m;
  rstd[r] = s;
}
std::vector<torch::Tensor> layernorm_forward(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
  auto y = torch::empty_like(x);
  int64_t C = x.size(-1);
  int64_t R = x.numel() / C;
  auto mean = torch::empty({R}, x.options());
  auto rstd = torch::empty({R}, x.options());
  ln<<<R, 32>>>(x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), C, eps);
  return {y, mean, rstd};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &layernorm_forward, "ln", py::arg("x"), py::arg("gamma"), py::arg("beta"), py::arg("eps") = 1e-5); }
