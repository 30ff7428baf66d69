"""Calls a kernel of triad's from C++ of one's own, through the C ABI of cuda/abi.h. It needs a GPU."""

import torch
from torch.utils.cpp_extension import load_inline

import triad
from triad.torch import extension

library, device = triad.binary().parent / "kernels" / "softmax.so", "cuda"

source = r"""
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include "abi.h"

// The forward of one variant in a library; it stays loaded.
static const triad_kernel *forward_of(const std::string &library, const std::string &variant, int32_t dtype) {
    void *opened = dlopen(library.c_str(), RTLD_NOW);
    TORCH_CHECK(opened != nullptr, dlerror());
    const triad_kernel *const *list = nullptr;
    int32_t n = 0;
    auto kernels = reinterpret_cast<decltype(&triad_kernels)>(dlsym(opened, "triad_kernels"));
    TORCH_CHECK(kernels != nullptr && kernels(TRIAD_ABI, &list, &n) == TRIAD_OK, library,
                " speaks another ABI");
    for (int32_t i = 0; i < n; i++) {
        const bool named = variant == list[i]->variant && std::string("forward") == list[i]->pass;
        if (named && (list[i]->dtypes >> dtype & 1)) return list[i];
    }
    TORCH_CHECK(false, "no variant ", variant);
}

static triad_tensor seen(const torch::Tensor &t) {
    return {t.data_ptr(), TRIAD_F32, 2, {t.size(0), t.size(1)}, {t.stride(0), t.stride(1)}};
}

torch::Tensor forward(const torch::Tensor &x, const std::string &library, const std::string &variant) {
    TORCH_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat, "x: want fp32 [rows, cols]");
    static const triad_kernel *kernel = forward_of(library, variant, TRIAD_F32);
    const c10::DeviceGuard on(x.device());
    const c10::impl::VirtualGuardImpl guard(x.device().type());
    torch::Tensor y = torch::empty(x.sizes(), x.options());
    const triad_tensor in = seen(x), out = seen(y);
    triad_call call{};
    call.size = sizeof call;
    call.n_in = call.n_out = 1;
    call.in = &in;
    call.out = &out;
    if (!x.is_cpu()) call.stream = guard.getStreamNativeHandle(guard.getStream(x.device()));
    char why[512] = "";
    TORCH_CHECK(kernel->accepts == nullptr || kernel->accepts(&call, why, sizeof why) == TRIAD_OK, why);
    torch::Tensor workspace;
    if (kernel->workspace != nullptr && (call.workspace_bytes = kernel->workspace(&call)) > 0) {
        workspace = torch::empty({call.workspace_bytes}, x.options().dtype(torch::kByte));
        call.workspace = workspace.data_ptr();
    }
    TORCH_CHECK(kernel->launch(&call) == 0, "the launch did not succeed");
    return y;
}
"""
module = load_inline("triad_softmax", source, functions=["forward"],
                     extra_include_paths=[str(extension.header())])

x = torch.randn(64, 1000, device=device)
torch.testing.assert_close(module.forward(x, str(library), "block"), torch.softmax(x, -1))
