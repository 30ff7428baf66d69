// One launch: tensors as the kernel sees them, room for its outputs and its workspace.
#ifndef TRIAD_EAGER_LAUNCH_H
#define TRIAD_EAGER_LAUNCH_H
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "abi.h"
#include "plan.h"

namespace triad_eager {

using at::Tensor;

constexpr int kMaxRank = 6;

// A kernel does not take a call: triad.UsageError.
struct Declined : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// A launch did not succeed: triad.TriadError.
struct Failed : std::runtime_error {
	using std::runtime_error::runtime_error;
};

inline int32_t number(at::ScalarType t) {
	switch (t) {
	case at::kDouble: return TRIAD_F64;
	case at::kFloat: return TRIAD_F32;
	case at::kHalf: return TRIAD_F16;
	case at::kBFloat16: return TRIAD_BF16;
	case at::kFloat8_e4m3fn: return TRIAD_E4M3;
	case at::kFloat8_e5m2: return TRIAD_E5M2;
	case at::kLong: return TRIAD_I64;
	case at::kInt: return TRIAD_I32;
	case at::kChar: return TRIAD_I8;
	case at::kByte: return TRIAD_U8;
	case at::kBool: return TRIAD_BOOL;
	case at::kUInt32: return TRIAD_U32;
	case at::ScalarType::Float4_e2m1fn_x2: return TRIAD_E2M1X2;
	default: throw Declined("a dtype that no kernel takes");
	}
}

// A tensor as the kernel sees it. False where the leading dims of rows do not lie as one.
inline bool describe(triad_tensor &into, const Tensor &t, bool rows) {
	const auto sizes = t.sizes(), strides = t.strides();
	const int64_t rank = t.dim();
	into.data = t.data_ptr();
	into.dtype = number(t.scalar_type());
	if (!rows || rank == 2) {
		if (rank > kMaxRank) throw Declined("a tensor of more than 6 dims");
		into.rank = static_cast<int32_t>(rank);
		std::copy(sizes.begin(), sizes.end(), into.shape);
		std::copy(strides.begin(), strides.end(), into.stride);
		return true;
	}
	int64_t count = 1, step = 0;
	for (int64_t i = rank - 2; i >= 0; i--) {
		if (sizes[i] != 1 && t.numel() > 0) {
			if (count == 1) step = strides[i];
			if (strides[i] != step * count) return false;
		}
		count *= sizes[i];
	}
	into.rank = 2;
	into.shape[0] = count;
	into.shape[1] = sizes[rank - 1];
	into.stride[0] = count > 1 ? step : sizes[rank - 1];
	into.stride[1] = strides[rank - 1];
	return true;
}

inline std::vector<Tensor> launch(const Pass &pass, std::vector<Tensor> inputs) {
	const c10::Device device = inputs[0].device();
	const c10::DeviceGuard on(device);
	const c10::impl::VirtualGuardImpl guard(device.type());
	std::vector<Tensor> outputs(pass.results.size());
	triad_tensor in[16], out[16];
	for (size_t i = 0; i < inputs.size(); i++) {
		if (!describe(in[i], inputs[i], pass.inputs[i].rows)) {
			inputs[i] = inputs[i].contiguous();
			describe(in[i], inputs[i], pass.inputs[i].rows);
		}
	}
	for (size_t i = 0; i < outputs.size(); i++) {
		const Result &r = pass.results[i];
		std::memset(&out[i], 0, sizeof out[i]);
		if (!r.given) continue;
		outputs[i] = at::empty(r.shape, at::TensorOptions(r.dtype).device(device));
		describe(out[i], outputs[i], r.rows);
	}
	triad_call call{};
	call.size = sizeof call;
	call.n_in = static_cast<int32_t>(inputs.size());
	call.n_out = static_cast<int32_t>(outputs.size());
	call.n_attr = static_cast<int32_t>(pass.attributes.size());
	call.in = in;
	call.out = out;
	call.attr = pass.attributes.data();
	call.stream = device.is_cpu() ? nullptr : guard.getStreamNativeHandle(guard.getStream(device));
	char why[512] = "";
	if (pass.kernel->accepts != nullptr && pass.kernel->accepts(&call, why, sizeof why) != TRIAD_OK) {
		bool packed = false;
		for (size_t i = 0; i < inputs.size(); i++) {
			packed = packed || !inputs[i].is_contiguous();
			inputs[i] = inputs[i].contiguous();
			describe(in[i], inputs[i], pass.inputs[i].rows);
		}
		if (!packed || pass.kernel->accepts(&call, why, sizeof why) != TRIAD_OK) throw Declined(pass.name + ": " + why);
	}
	Tensor workspace;  // given back in the order of the stream, so after the kernel
	if (pass.kernel->workspace != nullptr && (call.workspace_bytes = pass.kernel->workspace(&call)) > 0) {
		workspace = at::empty({call.workspace_bytes}, at::TensorOptions(at::kByte).device(device));
		call.workspace = workspace.data_ptr();
	}
	const int code = pass.kernel->launch(&call);
	if (code == TRIAD_UNSUPPORTED) throw Declined(pass.name + ": the call is not supported");
	if (code != TRIAD_OK) throw Failed(pass.name + ": the launch ended with CUDA error " + std::to_string(code));
	return outputs;
}

}  // namespace triad_eager
#endif
