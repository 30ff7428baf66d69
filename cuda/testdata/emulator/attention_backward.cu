// Attention's backward whose tiles the copy engine brings and takes, in several plans, against attention by mma.sync, bit for bit: scores are small whole
// numbers, to the base 2, so that weights are powers of two and no sum is rounded, in whatever order it is taken.
#include <cstdio>
#include <cstring>

#include "flash_attention/sm80_mma_backward.cuh"
#include "flash_attention/sm90_tma_backward.cuh"

static int wrong;

template <class T> T *filled(int64_t n, int seed, int levels, bool sparse, int head_dim) {
	T *x;
	cudaMallocManaged(&x, (n + 8) * sizeof(T));
	uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 12345u;
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		const int value = static_cast<int>(state >> 16) % (2 * levels + 1) - levels;
		x[i] = T(static_cast<float>(sparse && (state >> 8) % static_cast<uint32_t>(head_dim) > 3 ? 0 : value));
	}
	return x;
}

template <class T> T *room(int64_t n) {
	T *x;
	cudaMallocManaged(&x, (n + 8) * sizeof(T));
	memset(static_cast<void *>(x), 0x5A, (n + 8) * sizeof(T));
	return x;
}

template <class T> void same(const char *name, const T *got, const T *want, int64_t n, int plan) {
	for (int64_t i = 0; i < n; i++)
		if (memcmp(got + i, want + i, sizeof(T)) != 0) {
			if (wrong++ == 0)
				printf("plan %d, %s[%lld]: got %g, want %g\n", plan, name, static_cast<long long>(i), static_cast<float>(got[i]), static_cast<float>(want[i]));
			return;
		}
}

template <class T> triad::Heads<T> heads(const T *x, int64_t b, int64_t h, int64_t rows, int64_t d) {
	triad_tensor t = {const_cast<T *>(x), 0, 4, {b, h, rows, d}, {h * rows * d, rows * d, d, 1}};
	return triad::Heads<T>(t);
}

// compare: each plan gives the bits of mma.sync, in sections of so many heads.
template <class T, int HeadDim, class... Plans> void compare(triad::AttentionShape s, int section) {
	s.scale = 0.693147182f; // times log2(e) it is 1: scores are exponents
	const int64_t rows = s.query_rows(), kv_rows = s.batch * s.heads_kv * s.seq_kv;
	const int64_t queries = rows * s.head_dim, outputs = rows * s.head_dim_v, keys = kv_rows * s.head_dim, values = kv_rows * s.head_dim_v;
	T *q = filled<T>(queries, 1, 1, true, s.head_dim), *k = filled<T>(keys, 2, 1, true, s.head_dim), *v = filled<T>(values, 3, 2, false, 0);
	T *grad_o = filled<T>(outputs, 4, 1, true, s.head_dim_v), *o = filled<T>(outputs, 1, 1, true, s.head_dim_v);
	T *grad_q = room<T>(queries), *grad_k = room<T>(keys), *grad_v = room<T>(values);
	float *lse = room<float>(s.query_rows()), *workspace = room<float>(triad::mma::backward_floats(s) + 64);
	for (int64_t i = 0; i < s.query_rows(); i++) lse[i] = 0;
	triad::BackwardCall<T> call = {s,   heads(q, s.batch, s.heads_q, s.seq_q, s.head_dim), heads(k, s.batch, s.heads_kv, s.seq_kv, s.head_dim),
	                               heads(v, s.batch, s.heads_kv, s.seq_kv, s.head_dim_v), heads(o, s.batch, s.heads_q, s.seq_q, s.head_dim_v),
	                               heads(grad_o, s.batch, s.heads_q, s.seq_q, s.head_dim_v), lse, grad_q, grad_k, grad_v, workspace};
	wrong += triad::mma::launch_backward<T, HeadDim>(call, workspace, nullptr);
	cudaDeviceSynchronize();
	int plan = 0;
	const auto check = [&](auto run, int64_t floats) {
		call.grad_q = room<T>(queries), call.grad_k = room<T>(keys), call.grad_v = room<T>(values);
		const int status = run(room<float>(floats));
		cudaDeviceSynchronize();
		if (status != 0 && wrong++ == 0) printf("plan %d: status %d\n", plan, status);
		same("grad_q", call.grad_q, grad_q, queries, plan);
		same("grad_k", call.grad_k, grad_k, keys, plan);
		same("grad_v", call.grad_v, grad_v, values, plan);
		plan++;
	};
	(check([&](float *sums) { return triad::tma::launch_backward_plan<T, Plans>(call, sums, section, nullptr); }, Plans::floats(s)), ...);
}

// A key that no query gives a weight has no gradients, not even one that holds an infinity: the rows of a tile beyond the last query weigh it no more.
template <class T> void weighs_nothing() {
	const int d = 16, keys = 128;
	const triad::AttentionShape s = {1, 1, 1, 1, keys, d, d, false, 1};
	T *q = room<T>(d), *k = room<T>(keys * d), *v = room<T>(keys * d), *grad_o = room<T>(d), *o = room<T>(d);
	T *grad_q = room<T>(d), *grad_k = room<T>(keys * d), *grad_v = room<T>(keys * d), zeros[d];
	float *lse = room<float>(1), *workspace = room<float>(triad::tma::backward_floats(s));
	for (int i = 0; i < d; i++) q[i] = grad_o[i] = o[i] = T(1.0f), zeros[i] = T(0.0f);
	for (int i = 0; i < keys * d; i++) k[i] = T(0.0f), v[i] = T(1.0f);
	lse[0] = 0;
	k[d] = T(-INFINITY);
	const triad::BackwardCall<T> call = {s, heads(q, 1, 1, 1, d), heads(k, 1, 1, keys, d), heads(v, 1, 1, keys, d), heads(o, 1, 1, 1, d),
	                                     heads(grad_o, 1, 1, 1, d), lse, grad_q, grad_k, grad_v, workspace};
	wrong += triad::tma::launch_backward<T, 64>(call, workspace, nullptr);
	cudaDeviceSynchronize();
	same("grad_k of a key without weight", grad_k + d, zeros, d, 0);
	same("grad_v of a key without weight", grad_v + d, zeros, d, 0);
}

int main() {
	using Small = triad::tma::BackwardPlanOf<64>;
	using Large = triad::tma::BackwardPlanOf<128>;
	using Wide = triad::tma::BackwardPlanOf<192>; // with one tile of dS
	weighs_nothing<__half>();
	weighs_nothing<__nv_bfloat16>();
	compare<__nv_bfloat16, 64, Small>({1, 2, 1, 150, 141, 40, 40, true, 1}, 1);
#ifdef WIDE_PLAN
	compare<__half, 192, Wide>({1, 2, 1, 140, 70, 192, 128, true, 1}, 1);
#endif
#ifndef ONE_PLAN
	compare<__half, 192, Wide>({1, 2, 1, 140, 150, 176, 120, true, 1}, 1);
	compare<__nv_bfloat16, 128, Large>({1, 2, 2, 70, 300, 128, 128, false, 1}, 1);
	compare<__half, 64, Small>({1, 2, 1, 140, 150, 64, 32, true, 1}, 1);
	compare<__half, 128, Large>({2, 4, 2, 260, 333, 96, 96, true, 1}, 3);
	compare<__half, 64, Small>({1, 1, 1, 300, 260, 64, 64, false, 1}, 1);
	compare<__nv_bfloat16, 64, Small>({1, 2, 1, 300, 5, 24, 24, true, 1}, 1); // whole tiles of queries see no key
	for (const bool causal : {false, true}) {
		compare<__half, 64, Small>({1, 1, 1, 0, 4, 16, 16, causal, 1}, 1);
		compare<__nv_bfloat16, 128, Large>({1, 2, 1, 0, 130, 128, 128, causal, 1}, 1);
		compare<__half, 128, Large>({1, 2, 1, 3, 0, 96, 96, causal, 1}, 1);
		compare<__nv_bfloat16, 64, Small>({0, 1, 1, 4, 4, 16, 16, causal, 1}, 1);
	}
#endif
	if (!wrong) puts("ok");
	return wrong != 0;
}
