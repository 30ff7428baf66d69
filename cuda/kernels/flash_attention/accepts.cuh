// accepts.cuh: what each variant of attention asks of a call.
#ifndef TRIAD_FLASH_ATTENTION_ACCEPTS_CUH
#define TRIAD_FLASH_ATTENTION_ACCEPTS_CUH
#include "capability.cuh"
#include "limits.cuh"
#include "sm80_mma_backward.cuh"
#include "sm80_mma_forward.cuh"

namespace triad {
namespace attention {
namespace limits {

// Positions in a sequence are 32-bit.
inline Limits naive() { return {at_most("seq_q", 0x7ffeffff), at_most("seq_kv", 0x7ffeffff)}; }

inline Limits head_dims(int least, int most, int most_v) {
	Limits limits = naive();
	limits.insert(limits.end(), {multiple_of("head_dim", 8), at_least("head_dim", least), at_most("head_dim", most)});
	limits.insert(limits.end(), {multiple_of("head_dim_v", 8), at_least("head_dim_v", least), at_most("head_dim_v", most_v)});
	return limits;
}

inline Limits tiled() { return head_dims(16, 256, 256); }

// What a backward without tensor cores asks beside the limits of its forward.
inline Limits backward(Limits forward) {
	forward.push_back(contiguous("lse"));
	return forward;
}

template <class Tiles64, class Tiles128, class Tiles192> void check_shared(Check &check, const triad_call *call) {
	const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
	const int needed = widest_of(call) <= 64 ? Tiles64::bytes : widest_of(call) <= 128 ? Tiles128::bytes : Tiles192::bytes;
	check.that(most >= needed, "a block needs %d bytes of shared memory, this GPU gives %d", needed, most);
}

// With such a scale the largest product is the largest score.
inline void check_scale(Check &check, const triad_call *call) {
	check.that(call->attr[1] > 0 && call->attr[1] <= 1e30, "scale %g is not in 0..1e30", call->attr[1]);
}

// What tensor cores ask: rows of the inputs are copied 16 bytes at a time.
inline Limits mma(int most, void (*shared)(Check &, const triad_call *), const Limits &rows) {
	Limits limits = head_dims(8, most, 128);
	limits.push_back(capability("mma of 16 x 8 x 16 elements", 80, true));
	limits.push_back(limit("as much shared memory as its tiles take", shared));
	limits.push_back(limit("scale in 0..1e30", check_scale));
	limits.insert(limits.end(), rows.begin(), rows.end());
	return limits;
}

// most: of head_dim, 192 for the variants that have such tiles.
inline Limits mma_forward(int most = 192) {
	using triad::mma::ForwardTiles;
	return mma(most, check_shared<ForwardTiles<64>, ForwardTiles<128>, ForwardTiles<192>>,
	           {contiguous_columns(), aligned(16, "q", "k", "v", "o"), stepped(8)});
}

inline Limits mma_backward(int most = 192, void (*shared)(Check &, const triad_call *) =
                                              check_shared<triad::mma::BackwardTiles<64>, triad::mma::BackwardTiles<128>, triad::mma::BackwardTiles<192>>) {
	return mma(most, shared,
	           {contiguous("lse"), contiguous_columns(), aligned(16, "q", "k", "v", "o", "grad_o", "grad_q", "grad_k", "grad_v"),
	            stepped(8, "q", "k", "v", "o", "grad_o")});
}

// What Hopper's tensor cores ask besides.
inline Limits wgmma(Limits limits) {
	limits.push_back(wgmma_capability());
	return limits;
}

} // namespace limits
} // namespace attention
} // namespace triad
#endif
