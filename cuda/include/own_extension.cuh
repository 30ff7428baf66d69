// own_extension.cuh: what the code that calls a torch extension of the user's own (internal/ownfile/shim) makes tensors
// of, and how it takes those that come back. A returned tensor of another shape or dtype is left where it is: the
// output stays unwritten. A flat one is taken for the shape, and so is one that has other sizes of 1: its elements lie
// in the same order, as where a function of elements makes its output by numel().
#ifndef TRIAD_OWN_EXTENSION_CUH
#define TRIAD_OWN_EXTENSION_CUH

#include "own_call.cuh"
#include "torch/extension.h"

namespace triad_own {

inline ::at::Tensor tensor(const triad_tensor &t) {
	static const ::c10::ScalarType types[] = {
		::c10::kDouble, ::c10::kFloat, ::c10::kHalf, ::c10::kBFloat16, ::c10::kByte, ::c10::kByte,
		::c10::kLong, ::c10::kInt, ::c10::kChar, ::c10::kByte, ::c10::kBool,
	};
	return ::at::Tensor(t.data, std::vector<int64_t>(t.shape, t.shape + t.rank), types[t.dtype]);
}
// a tensor without its first size, which is 1
inline ::at::Tensor without_first(const ::at::Tensor &t) {
	const auto all = t.sizes();
	const std::vector<int64_t> sizes(all.begin() + 1, all.end());
	return ::at::Tensor(t.data_ptr(), sizes, t.scalar_type());
}
template <typename Sizes> std::vector<int64_t> without_ones(const Sizes &sizes) {
	std::vector<int64_t> others;
	for (const int64_t n : sizes)
		if (n != 1) others.push_back(n);
	return others;
}
inline void store(const triad_call *c, const std::vector<int> &at, const std::vector<::at::Tensor> &values) {
	for (size_t i = values.size(); i < at.size(); i++)
		if (at[i] >= 0 && tensor(c->out[at[i]]).numel() > 0)
			throw std::runtime_error("it returns fewer tensors than are judged: return all of them");
	for (size_t i = 0; i < at.size() && i < values.size(); i++) {
		if (at[i] < 0) continue;
		const ::at::Tensor want = tensor(c->out[at[i]]);
		const bool flat = values[i].dim() <= 1 && values[i].numel() == want.numel();
		const bool alike = without_ones(values[i].sizes()) == without_ones(want.sizes());
		const bool narrow = want.scalar_type() == ::c10::kHalf || want.scalar_type() == ::c10::kBFloat16;
		if ((alike || flat) && narrow && values[i].scalar_type() == ::c10::kFloat)
			throw std::runtime_error("it returns fp32 for 16 bits");
		if ((!alike && !flat) || values[i].scalar_type() != want.scalar_type()) {
			std::fprintf(stderr, "output %d: it returned another shape or dtype\n", at[i]);
		} else if (want.numel() > 0) {
			cudaMemcpyAsync(want.data_ptr(), values[i].data_ptr(), want.nbytes(), cudaMemcpyDeviceToDevice,
			                triad::stream_of(c));
		}
	}
	cudaStreamSynchronize(triad::stream_of(c)); // what was returned is freed now
}
inline void store(const triad_call *c, const std::vector<int> &at, const ::at::Tensor &value) {
	store(c, at, std::vector<::at::Tensor>{value});
}
template <typename... T>
void store(const triad_call *c, const std::vector<int> &at, const std::tuple<T...> &values) {
	std::apply([&](const auto &...each) { store(c, at, std::vector<::at::Tensor>{each...}); }, values);
}

} // namespace triad_own
#endif
