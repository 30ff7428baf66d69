// Attention forward for Hopper, in several plans and with blocks that take several pieces of work, against attention by mma.sync, bit for bit: scores
// are small integers, to the base 2, so that weights are powers of two and no sum is rounded, in whatever order it is taken.
#include <cstdio>
#include <cstring>

#include "flash_attention/sm80_mma_forward.cuh"
#include "flash_attention/sm90_tma.cuh"

using T = __nv_bfloat16;
static int wrong;

static T *filled(int64_t n, int seed, int levels, int sparse) {
	T *x;
	cudaMallocManaged(&x, (n + 8) * sizeof(T));
	uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 12345u;
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		const int value = static_cast<int>(state >> 16) % (2 * levels + 1) - levels;
		x[i] = T(static_cast<float>(sparse && (state >> 8) % static_cast<uint32_t>(sparse) > 3 ? 0 : value));
	}
	return x;
}

static triad::Heads<T> heads(const T *x, int64_t b, int64_t h, int64_t rows, int64_t d) {
	triad_tensor t = {const_cast<T *>(x), 0, 4, {b, h, rows, d}, {h * rows * d, rows * d, d, 1}};
	return triad::Heads<T>(t);
}

// HeadDim and Plans: each plan gives the bits of mma.sync.
template <int HeadDim, class... Plans> void compare(triad::AttentionShape s, int section) {
	s.scale = 0.693147182f; // times log2(e) it is 1: scores are exponents
	const int64_t keys = s.batch * s.heads_kv * s.seq_kv, outputs = s.query_rows() * s.head_dim_v;
	T *q = filled(s.query_rows() * s.head_dim, 1, 1, s.head_dim), *k = filled(keys * s.head_dim, 2, 1, s.head_dim), *v = filled(keys * s.head_dim_v, 3, 2, 0);
	T *o, *want;
	float *lse, *lse_want;
	cudaMallocManaged(&o, outputs * sizeof(T));
	cudaMallocManaged(&want, outputs * sizeof(T));
	cudaMallocManaged(&lse, s.query_rows() * sizeof(float));
	cudaMallocManaged(&lse_want, s.query_rows() * sizeof(float));
	triad::ForwardCall<T> call = {s, heads(q, s.batch, s.heads_q, s.seq_q, s.head_dim), heads(k, s.batch, s.heads_kv, s.seq_kv, s.head_dim),
	                              heads(v, s.batch, s.heads_kv, s.seq_kv, s.head_dim_v), want, lse_want};
	wrong += triad::mma::launch_forward<T, HeadDim>(call, nullptr);
	call.o = o, call.lse = lse;
	int plan = 0;
	const auto check = [&](int status) {
		cudaDeviceSynchronize();
		if (status == 0 && memcmp(o, want, outputs * sizeof(T)) == 0 && memcmp(lse, lse_want, s.query_rows() * sizeof(float)) == 0) return;
		if (wrong++ == 0) printf("head_dim %d, plan %d: status %d, other bits than by mma.sync\n", s.head_dim, plan, status);
	};
	((memset(static_cast<void *>(o), 0x5A, outputs * sizeof(T)), check(triad::tma::launch_plan<T, Plans>(call, section, nullptr)), plan++), ...);
}

int main() {
	using triad::tma::ForwardPlan;
	compare<64, ForwardPlan<64, 128, 2, 2>, ForwardPlan<64, 64, 3, 3>>({1, 4, 2, 150, 341, 40, 40, true, 1}, 3);
#ifndef ONE_PLAN
	compare<64, ForwardPlan<64, 128, 3, 2>>({2, 2, 2, 140, 269, 64, 64, false, 1}, 1);
	compare<128, ForwardPlan<128, 128, 2, 2>>({1, 3, 1, 300, 405, 128, 128, true, 1}, 2);
	compare<64, ForwardPlan<64, 128, 2, 2>>({1, 2, 1, 140, 150, 64, 32, true, 1}, 1);
	compare<192, ForwardPlan<192, 128, 2, 2>>({1, 2, 1, 150, 341, 192, 128, true, 1}, 2);
	compare<192, ForwardPlan<192, 128, 2, 2>>({1, 1, 1, 70, 141, 136, 72, false, 1}, 1);
	compare<64, ForwardPlan<64, 128, 2, 2>>({1, 2, 1, 400, 70, 64, 64, true, 1}, 2); // whole tiles of queries see no key
#endif
	if (!wrong) puts("ok");
	return wrong != 0;
}
