// accepts_tma.cuh: what the variants whose tiles the copy engine brings ask of a call.
#ifndef TRIAD_FLASH_ATTENTION_ACCEPTS_TMA_CUH
#define TRIAD_FLASH_ATTENTION_ACCEPTS_TMA_CUH
#include "accepts.cuh"
#include "sm90_tma_backward.cuh"

namespace triad {
namespace attention {
namespace limits {

// Rows that the copy engine reads do not lie in one place, and their strides are below 2^38.
inline void check_copied(Check &check, const triad_tensor &t, const char *name) {
	check.that(t.shape[2] <= 1 || t.stride[2] != 0, "the rows of %s are all in one place", name);
	for (int d = 0; d < 3; d++)
		check.that(t.shape[d] <= 1 || (t.stride[d] >= 0 && t.stride[d] < (int64_t{1} << 38)), "%s has stride %lld, which is negative or beyond 2^38",
		           name, static_cast<long long>(t.stride[d]));
}

inline void check_copies(Check &check, const triad_call *call) {
	static const char *const names[] = {"q", "k", "v"};
	for (int i = 0; i < 3; i++) check_copied(check, call->in[i], names[i]);
}

inline void check_backward_copies(Check &check, const triad_call *call) {
	check_copies(check, call);
	check_copied(check, call->in[5], "grad_o");
}

// What the copy engine asks besides.
inline Limits tma_forward() {
	Limits limits = wgmma(mma_forward());
	limits.push_back(limit("rows not all in one place (a stride of 0)", check_copies));
	return limits;
}

inline Limits tma_backward() {
	using triad::tma::BackwardPlanOf;
	Limits limits = wgmma(mma_backward(192, check_shared<BackwardPlanOf<64>, BackwardPlanOf<128>, BackwardPlanOf<192>>));
	limits.push_back(limit("rows not all in one place (a stride of 0)", check_backward_copies));
	return limits;
}

} // namespace limits
} // namespace attention
} // namespace triad
#endif
