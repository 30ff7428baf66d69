// accepts.cuh: what each variant of attention asks of a call.
#ifndef TRIAD_FLASH_ATTENTION_ACCEPTS_CUH
#define TRIAD_FLASH_ATTENTION_ACCEPTS_CUH
#include "arguments.cuh"
#include "capability.cuh"
#include "sm80_mma_backward.cuh"
#include "sm80_mma_forward.cuh"

namespace triad {
namespace attention {

// What both passes ask of q, k, v; `step` is what head_dim must be a multiple of, `least` the least it may be.
inline void check_inputs(triad::Check &check, const triad_call *call, int step, int least) {
	const triad_tensor &q = call->in[0], &k = call->in[1], &v = call->in[2];
	check.floating(q, "q").rank(q, "q", 4).rank(k, "k", 4).like(v, "v", k, "k");
	check.that(k.dtype == q.dtype, "k is %s, q is %s", triad::dtype_name(k.dtype), triad::dtype_name(q.dtype));
	if (!check.holds()) return;
	const long long head_dim = q.shape[3], heads_q = q.shape[1], heads_kv = k.shape[1];
	check.that(k.shape[0] == q.shape[0] && k.shape[3] == q.shape[3], "k and q differ in batch or head_dim");
	check.that(head_dim >= least && head_dim <= 256 && head_dim % step == 0, "head_dim %lld is not a multiple of %d in %d..256", head_dim,
	           step, least);
	check.that(heads_kv > 0 && heads_q % heads_kv == 0, "heads_q %lld is not a multiple of heads_kv %lld", heads_q, heads_kv);
	check.that(q.shape[2] < 0x7fff0000 && k.shape[2] < 0x7fff0000, "a sequence is longer than 2147418111");
}

template <int Step, int Least = Step == 1 ? 1 : 2 * Step> int accepts_forward(const triad_call *call, char *why, int32_t why_bytes) {
	triad::Check check(why, why_bytes);
	if (!check.counts(call, 3, 2, 2)) return check.status();
	check_inputs(check, call, Step, Least);
	check.like(call->out[0], "o", call->in[0], "q").contiguous(call->out[0], "o");
	if (call->out[1].data) check.dtype(call->out[1], "lse", TRIAD_F32).rank(call->out[1], "lse", 3).contiguous(call->out[1], "lse");
	return check.status();
}

// What tensor cores ask besides: rows that can be copied 16 bytes at a time, and a scale with which the largest product is the largest score.
inline void check_mma(triad::Check &check, const triad_call *call, const char *const *names, int shared_bytes) {
	triad::needs_capability(check, "mma of 16 x 8 x 16 elements", 80, true);
	const int most = triad::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
	check.that(most >= shared_bytes, "a block needs %d bytes of shared memory, this GPU gives %d", shared_bytes, most);
	check.that(call->in[0].shape[3] <= 128, "head_dim %lld is more than 128", static_cast<long long>(call->in[0].shape[3]));
	check.that(call->attr[1] > 0 && call->attr[1] <= 1e30, "scale %g is not in 0..1e30", call->attr[1]);
	for (int i = 0; i < call->n_in && check.holds(); i++) {
		const triad_tensor &t = call->in[i];
		if (t.rank != 4) continue;
		check.contiguous_columns(t, names[i]).aligned(t, names[i], 16);
		for (int d = 0; d < 3; d++)
			check.that(t.shape[d] <= 1 || t.stride[d] % 8 == 0, "%s has stride %lld, not a multiple of 8", names[i], static_cast<long long>(t.stride[d]));
	}
	for (int i = 0; i < call->n_out; i++)
		if (call->out[i].rank == 4) check.aligned(call->out[i], "an output", 16);
}

inline int accepts_forward_mma(const triad_call *call, char *why, int32_t why_bytes) {
	static const char *const names[] = {"q", "k", "v"};
	if (const int status = accepts_forward<8, 8>(call, why, why_bytes)) return status;
	triad::Check check(why, why_bytes);
	check_mma(check, call, names, call->in[0].shape[3] <= 64 ? triad::mma::ForwardTiles<64>::bytes : triad::mma::ForwardTiles<128>::bytes);
	return check.status();
}

template <int Step, int Least = Step == 1 ? 1 : 2 * Step> int accepts_backward(const triad_call *call, char *why, int32_t why_bytes) {
	static const char *const names[] = {"grad_q", "grad_k", "grad_v"};
	triad::Check check(why, why_bytes);
	if (!check.counts(call, 6, 3, 2)) return check.status();
	check_inputs(check, call, Step, Least);
	const triad_tensor &q = call->in[0];
	check.like(call->in[3], "o", q, "q").like(call->in[5], "grad_o", q, "q");
	check.dtype(call->in[4], "lse", TRIAD_F32).rank(call->in[4], "lse", 3).contiguous(call->in[4], "lse");
	for (int i = 0; i < 3; i++) check.like(call->out[i], names[i], call->in[i], "its input").contiguous(call->out[i], names[i]);
	return check.status();
}

inline int accepts_backward_mma(const triad_call *call, char *why, int32_t why_bytes) {
	static const char *const names[] = {"q", "k", "v", "o", "lse", "grad_o"};
	if (const int status = accepts_backward<8, 8>(call, why, why_bytes)) return status;
	triad::Check check(why, why_bytes);
	check_mma(check, call, names, call->in[0].shape[3] <= 64 ? triad::mma::BackwardTiles<64>::bytes : triad::mma::BackwardTiles<128>::bytes);
	return check.status();
}

// What Hopper's tensor cores ask besides. The other architectures' code is empty; the emulator, a GPU of 8.0, has models of the instructions.
template <int (*Accepts)(const triad_call *, char *, int32_t)> int accepts_wgmma(const triad_call *call, char *why, int32_t why_bytes) {
	if (const int status = Accepts(call, why, why_bytes)) return status;
	triad::Check check(why, why_bytes);
#ifndef __CUEMU__
	triad::needs_capability(check, "wgmma", 90, false);
#endif
	return check.status();
}

// What the copy engine asks besides: rows that do not lie in one place, and strides below 2^38. Only the emulator has judged this variant.
inline int accepts_forward_tma(const triad_call *call, char *why, int32_t why_bytes) {
	static const char *const names[] = {"q", "k", "v"};
	triad::Check check(why, why_bytes);
#ifndef __CUEMU__
	check.that(false, "sm90_tma has not been judged on a GPU yet and runs in the emulator only; use sm90_wgmma");
	if (!check.holds()) return check.status();
#endif
	if (const int status = accepts_wgmma<accepts_forward_mma>(call, why, why_bytes)) return status;
	for (int i = 0; i < 3 && check.holds(); i++) {
		const triad_tensor &t = call->in[i];
		check.that(t.shape[2] <= 1 || t.stride[2] != 0, "the rows of %s are all in one place", names[i]);
		for (int d = 0; d < 3; d++)
			check.that(t.shape[d] <= 1 || (t.stride[d] >= 0 && t.stride[d] < (int64_t{1} << 38)), "%s has stride %lld, which is negative or beyond 2^38",
			           names[i], static_cast<long long>(t.stride[d]));
	}
	return check.status();
}

} // namespace attention
} // namespace triad
#endif
