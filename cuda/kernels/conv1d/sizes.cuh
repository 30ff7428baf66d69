// sizes.cuh: a call of conv1d as its kernels see it.
#ifndef TRIAD_CONV1D_SIZES_CUH
#define TRIAD_CONV1D_SIZES_CUH
#include "element.cuh"

namespace triad {
namespace conv1d {

enum Attribute { with_bias, stride, padding };

// Lanes is a tensor of three dims with any strides.
template <class T> struct Lanes {
	const T *data;
	int64_t stride[3];

	explicit Lanes(const triad_tensor &t) : data(static_cast<const T *>(t.data)), stride{t.stride[0], t.stride[1], t.stride[2]} {}
	__device__ const T &at(int64_t i, int64_t j, int64_t k) const { return data[i * stride[0] + j * stride[1] + k * stride[2]]; }
	__device__ float operator()(int64_t i, int64_t j, int64_t k) const { return to_float(at(i, j, k)); }
};

// Sizes of a call: place l meets x at l * stride + t - padding with tap t. Of a call of either pass, whose first two inputs are x and w.
struct Sizes {
	int64_t batch, in, length, out, taps, places, stride, padding;

	explicit Sizes(const triad_call *call)
	    : batch(call->in[0].shape[0]), in(call->in[0].shape[1]), length(call->in[0].shape[2]), out(call->in[1].shape[0]),
	      taps(call->in[1].shape[2]), stride(static_cast<int64_t>(call->attr[conv1d::stride])),
	      padding(static_cast<int64_t>(call->attr[conv1d::padding])) {
		places = (length + 2 * padding - taps) / stride + 1;
	}
	__device__ int64_t at(int64_t l, int64_t t) const { return l * stride + t - padding; }
	__device__ bool inside(int64_t at) const { return at >= 0 && at < length; }
};

// Bias of each output channel; 0 where there is none.
template <class T> struct Bias {
	const T *data = nullptr;
	int64_t stride = 0;

	Bias() = default;
	explicit Bias(const triad_tensor &t) : data(t.shape[0] > 0 ? static_cast<const T *>(t.data) : nullptr), stride(t.stride[0]) {}
	__device__ float operator()(int64_t o) const { return data == nullptr ? 0.0f : to_float(data[o * stride]); }
};

__host__ __device__ inline int64_t ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace conv1d
} // namespace triad
#endif
