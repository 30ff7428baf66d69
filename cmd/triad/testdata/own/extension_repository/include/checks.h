#pragma once
#include <torch/extension.h>
#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda() && x.is_contiguous(), #x " must be contiguous and on the GPU")
torch::Tensor attention_forward(torch::Tensor Q, torch::Tensor K, torch::Tensor V, float scale);
