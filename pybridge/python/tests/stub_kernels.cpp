// A kernel library of plain loops that run where they are called, on the CPU: through it the tests prove the paths into the C ABI without a GPU.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "abi.h"

namespace {

float *at(const triad_tensor &t, int64_t r, int64_t c) { return static_cast<float *>(t.data) + r * t.stride[0] + c * t.stride[1]; }

float &of_row(const triad_tensor &t, int64_t r) { return static_cast<float *>(t.data)[r]; }

int softmax_forward(const triad_call *call) {
	const triad_tensor x = call->in[0], y = call->out[0];
	for (int64_t r = 0; r < x.shape[0]; r++) {
		float most = -INFINITY, sum = 0;
		for (int64_t c = 0; c < x.shape[1]; c++) most = std::fmax(most, *at(x, r, c));
		for (int64_t c = 0; c < x.shape[1]; c++) sum += std::exp(*at(x, r, c) - most);
		for (int64_t c = 0; c < x.shape[1]; c++) *at(y, r, c) = std::exp(*at(x, r, c) - most) / sum;
	}
	return TRIAD_OK;
}

int softmax_backward(const triad_call *call) {
	const triad_tensor y = call->in[0], dy = call->in[1], dx = call->out[0];
	for (int64_t r = 0; r < y.shape[0]; r++) {
		float sum = 0;
		for (int64_t c = 0; c < y.shape[1]; c++) sum += *at(y, r, c) * *at(dy, r, c);
		for (int64_t c = 0; c < y.shape[1]; c++) *at(dx, r, c) = *at(y, r, c) * (*at(dy, r, c) - sum);
	}
	return TRIAD_OK;
}

int layernorm_forward(const triad_call *call) {
	const triad_tensor x = call->in[0], weight = call->in[1], bias = call->in[2], y = call->out[0];
	const float n = static_cast<float>(x.shape[1]);
	for (int64_t r = 0; r < x.shape[0]; r++) {
		float mean = 0, square = 0;
		for (int64_t c = 0; c < x.shape[1]; c++) mean += *at(x, r, c) / n;
		for (int64_t c = 0; c < x.shape[1]; c++) square += (*at(x, r, c) - mean) * (*at(x, r, c) - mean) / n;
		const float rstd = 1 / std::sqrt(square + static_cast<float>(call->attr[0]));
		of_row(call->out[1], r) = mean;
		of_row(call->out[2], r) = rstd;
		for (int64_t c = 0; c < x.shape[1]; c++) *at(y, r, c) = (*at(x, r, c) - mean) * rstd * of_row(weight, c) + of_row(bias, c);
	}
	return TRIAD_OK;
}

int layernorm_backward(const triad_call *call) {
	const triad_tensor x = call->in[0], weight = call->in[1], dy = call->in[4], dx = call->out[0], dw = call->out[1], db = call->out[2];
	const int64_t cols = x.shape[1];
	for (int64_t c = 0; c < cols; c++) of_row(dw, c) = of_row(db, c) = 0;
	for (int64_t r = 0; r < x.shape[0]; r++) {
		const float mean = of_row(call->in[2], r), rstd = of_row(call->in[3], r);
		float a = 0, b = 0;
		for (int64_t c = 0; c < cols; c++) {
			const float hat = (*at(x, r, c) - mean) * rstd, g = *at(dy, r, c) * of_row(weight, c);
			a += g / static_cast<float>(cols);
			b += g * hat / static_cast<float>(cols);
			of_row(dw, c) += *at(dy, r, c) * hat;
			of_row(db, c) += *at(dy, r, c);
		}
		for (int64_t c = 0; c < cols; c++) {
			*at(dx, r, c) = rstd * (*at(dy, r, c) * of_row(weight, c) - a - (*at(x, r, c) - mean) * rstd * b);
		}
	}
	return TRIAD_OK;
}

int contiguous_only(const triad_call *call, char *why, int32_t why_bytes) {
	for (int32_t i = 0; i < call->n_in; i++) {
		const triad_tensor &t = call->in[i];
		if (t.stride[1] == 1 && t.stride[0] == t.shape[1]) continue;
		std::snprintf(why, static_cast<size_t>(why_bytes), "input %d is not contiguous", i);
		return TRIAD_UNSUPPORTED;
	}
	return TRIAD_OK;
}

int few_columns_only(const triad_call *call, char *why, int32_t why_bytes) {
	if (call->in[0].shape[1] <= 4) return TRIAD_OK;
	std::snprintf(why, static_cast<size_t>(why_bytes), "cols %lld is above 4", static_cast<long long>(call->in[0].shape[1]));
	return TRIAD_UNSUPPORTED;
}

int64_t row_bytes(const triad_call *call) { return call->in[0].shape[0] * call->in[0].shape[1] * 4; }

// Through the workspace: it must be there, and as large as asked.
int softmax_by_workspace(const triad_call *call) {
	if (call->workspace_bytes != row_bytes(call) || (call->workspace == nullptr && call->workspace_bytes > 0)) return 1;
	triad_call inner = *call;
	triad_tensor y = call->out[0];
	y.data = call->workspace;
	inner.out = &y;
	softmax_forward(&inner);
	if (call->workspace_bytes > 0) std::memcpy(call->out[0].data, call->workspace, static_cast<size_t>(call->workspace_bytes));
	return TRIAD_OK;
}

// numbered writes the number of the dtype of what it is given.
int numbered(const triad_call *call) {
	of_row(call->out[0], 0) = static_cast<float>(call->in[0].dtype);
	return TRIAD_OK;
}

int broken(const triad_call *) { return 700; }

int late(const triad_call *) { return TRIAD_UNSUPPORTED; }

constexpr uint32_t kFp32 = 1u << TRIAD_F32;

triad_kernel kernel(const char *op, const char *variant, const char *pass, uint32_t outputs, int (*launch)(const triad_call *),
                    int (*accepts)(const triad_call *, char *, int32_t) = nullptr, int64_t (*workspace)(const triad_call *) = nullptr,
                    const char *forward = nullptr) {
	return {sizeof(triad_kernel), op, variant, pass, "fp32", forward, nullptr, kFp32, outputs, 0, accepts, workspace, launch, 1};
}

triad_kernel on_two_gpus(triad_kernel k) { return k.devices = 2, k; }

const triad_kernel all[] = {
    kernel("softmax", "stub", "forward", 1, softmax_forward),
    kernel("softmax", "stub", "backward", 1, softmax_backward),
    kernel("softmax", "packed", "forward", 1, softmax_by_workspace, contiguous_only, row_bytes),
    kernel("softmax", "packed", "backward", 1, softmax_backward, contiguous_only),
    kernel("softmax", "narrow", "forward", 1, softmax_forward, few_columns_only),
    kernel("softmax", "numbered", "forward", 1, numbered),
    kernel("softmax", "broken", "forward", 1, broken),
    kernel("softmax", "late", "forward", 1, late),
    kernel("softmax", "forward_only", "forward", 1, softmax_forward),
    kernel("softmax", "narrow_back", "forward", 1, softmax_forward),
    kernel("softmax", "narrow_back", "backward", 1, softmax_backward, few_columns_only),
    on_two_gpus(kernel("softmax", "pair", "forward", 1, softmax_forward)),
    kernel("layernorm", "loops", "forward", 7, layernorm_forward),
    kernel("layernorm", "loops", "backward", 7, layernorm_backward),
};

}  // namespace

extern "C" int triad_kernels(int32_t abi, const triad_kernel *const **list, int32_t *n) {
	static const triad_kernel *pointers[sizeof all / sizeof all[0]];
	if (abi != TRIAD_ABI) return TRIAD_UNSUPPORTED;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) pointers[i] = &all[i];
	*list = pointers;
	*n = sizeof all / sizeof all[0];
	return TRIAD_OK;
}
