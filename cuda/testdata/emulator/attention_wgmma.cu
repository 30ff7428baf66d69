// Attention for Hopper's tensor cores under the model of wgmma, against attention by mma.sync, bit for bit: scores are small integers, to the
// base 2, so that weights are powers of two and no sum is rounded, in whatever order it is taken.
#include <cstdio>
#include <cstring>

#include "flash_attention/sm80_mma_backward.cuh"
#include "flash_attention/sm80_mma_forward.cuh"
#include "flash_attention/sm90_wgmma.cuh"

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

template <class T> void same(const char *name, const T *got, const T *want, int64_t n) {
	for (int64_t i = 0; i < n; i++)
		if (memcmp(got + i, want + i, sizeof(T)) != 0) {
			if (wrong++ == 0) printf("%s[%lld]: got %g, want %g\n", name, static_cast<long long>(i), static_cast<float>(got[i]), static_cast<float>(want[i]));
			return;
		}
}

// zeros where nothing was summed.
template <class T> void zeros(const char *name, const T *got, int64_t n) {
	for (int64_t i = 0; i < n; i++)
		if (static_cast<float>(got[i]) != 0) {
			if (wrong++ == 0) printf("%s[%lld]: got %g, want 0\n", name, static_cast<long long>(i), static_cast<float>(got[i]));
			return;
		}
}

template <class T> triad::Heads<T> heads(const T *x, int64_t b, int64_t h, int64_t rows, int64_t d) {
	triad_tensor t = {const_cast<T *>(x), 0, 4, {b, h, rows, d}, {h * rows * d, rows * d, d, 1}};
	return triad::Heads<T>(t);
}

template <class T, int HeadDim> void compare(triad::AttentionShape s) {
	s.scale = 0.693147182f; // times log2(e) it is 1: scores are exponents
	const int64_t rows = s.query_rows(), kv_rows = s.batch * s.heads_kv * s.seq_kv;
	const int64_t queries = rows * s.head_dim, outputs = rows * s.head_dim_v, keys = kv_rows * s.head_dim, values = kv_rows * s.head_dim_v;
	T *q = filled<T>(queries, 1, 1, true, s.head_dim), *k = filled<T>(keys, 2, 1, true, s.head_dim), *v = filled<T>(values, 3, 2, false, 0);
	T *grad_o = filled<T>(outputs, 4, 1, true, s.head_dim_v), *saved = filled<T>(outputs, 1, 1, true, s.head_dim_v);
	T *o[2], *grad_q[2], *grad_k[2], *grad_v[2];
	float *lse[2], *given = room<float>(s.query_rows()), *workspace;
	cudaMallocManaged(&workspace, (triad::mma::backward_floats(s) + 64) * sizeof(float));
	for (int64_t i = 0; i < s.query_rows(); i++) given[i] = 0;
	for (int i = 0; i < 2; i++) {
		o[i] = room<T>(outputs), lse[i] = room<float>(s.query_rows());
		grad_q[i] = room<T>(queries), grad_k[i] = room<T>(keys), grad_v[i] = room<T>(values);
		triad::ForwardCall<T> forward = {s, heads(q, s.batch, s.heads_q, s.seq_q, s.head_dim), heads(k, s.batch, s.heads_kv, s.seq_kv, s.head_dim),
		                                 heads(v, s.batch, s.heads_kv, s.seq_kv, s.head_dim_v), o[i], lse[i]};
		triad::BackwardCall<T> backward = {s, forward.q, forward.k, forward.v, heads(saved, s.batch, s.heads_q, s.seq_q, s.head_dim_v),
		                                   heads(grad_o, s.batch, s.heads_q, s.seq_q, s.head_dim_v), given,
		                                   grad_q[i], grad_k[i], grad_v[i], workspace};
		if (i == 0) wrong += triad::mma::launch_forward<T, HeadDim>(forward, nullptr) || triad::mma::launch_backward<T, HeadDim>(backward, workspace, nullptr);
		else wrong += triad::wgmma::launch_forward<T, HeadDim>(forward, nullptr) || triad::wgmma::launch_backward<T, HeadDim>(backward, workspace, nullptr);
		cudaDeviceSynchronize();
	}
	same("o", o[1], o[0], outputs);
	same("lse", lse[1], lse[0], s.query_rows());
	same("grad_q", grad_q[1], grad_q[0], queries);
	same("grad_k", grad_k[1], grad_k[0], keys);
	same("grad_v", grad_v[1], grad_v[0], values);
	if (s.seq_q > 0 && s.seq_kv > 0) return;
	zeros("o", o[1], outputs);
	zeros("grad_q", grad_q[1], queries);
	zeros("grad_k", grad_k[1], keys);
	zeros("grad_v", grad_v[1], values);
}

// A key that no query gives a weight has no gradients, not even one that holds an infinity: the rows of a tile beyond the last query weigh it no more.
template <class T> void weighs_nothing() {
	const triad::AttentionShape s = {1, 1, 1, 1, 2, 16, 16, false, 1};
	const int d = 16;
	T *q = room<T>(d), *k = room<T>(2 * d), *v = room<T>(2 * d), *grad_o = room<T>(d), *o = room<T>(d), *grad_q = room<T>(d);
	float *lse = room<float>(1), *workspace;
	cudaMallocManaged(&workspace, (triad::mma::backward_floats(s) + 64) * sizeof(float));
	for (int i = 0; i < d; i++) {
		q[i] = grad_o[i] = T(1.0f);
		for (int key = 0; key < 2; key++) k[key * d + i] = T(0.0f), v[key * d + i] = T(1.0f);
	}
	k[d] = T(-INFINITY);
	for (const bool wgmma : {false, true}) {
		T *grad_k = room<T>(2 * d), *grad_v = room<T>(2 * d);
		triad::ForwardCall<T> forward = {s, heads(q, 1, 1, 1, d), heads(k, 1, 1, 2, d), heads(v, 1, 1, 2, d), o, lse};
		triad::BackwardCall<T> backward = {s, forward.q, forward.k, forward.v, heads(o, 1, 1, 1, d), heads(grad_o, 1, 1, 1, d), lse, grad_q, grad_k, grad_v, workspace};
		if (wgmma) wrong += triad::wgmma::launch_forward<T, 64>(forward, nullptr) || triad::wgmma::launch_backward<T, 64>(backward, workspace, nullptr);
		else wrong += triad::mma::launch_forward<T, 64>(forward, nullptr) || triad::mma::launch_backward<T, 64>(backward, workspace, nullptr);
		cudaDeviceSynchronize();
		zeros(wgmma ? "grad_k of a key without weight, wgmma" : "grad_k of a key without weight, mma", grad_k + d, d);
		zeros(wgmma ? "grad_v of a key without weight, wgmma" : "grad_v of a key without weight, mma", grad_v + d, d);
	}
}

int main() {
	weighs_nothing<__half>();
	weighs_nothing<__nv_bfloat16>();
	compare<__nv_bfloat16, 64>({1, 2, 1, 150, 141, 40, 40, true, 1});
	compare<__nv_bfloat16, 128>({1, 2, 2, 70, 300, 128, 128, false, 1});
	compare<__half, 128>({1, 2, 1, 140, 133, 96, 96, true, 1});
	compare<__half, 64>({1, 1, 1, 129, 260, 64, 64, false, 1});
	compare<__nv_bfloat16, 64>({1, 2, 1, 130, 141, 64, 32, true, 1});
	compare<__half, 128>({1, 1, 1, 70, 133, 40, 120, false, 1});
	for (const bool causal : {false, true}) {
		compare<__half, 64>({1, 1, 1, 0, 4, 16, 16, causal, 1});
		compare<__nv_bfloat16, 128>({1, 2, 1, 0, 130, 128, 128, causal, 1});
		compare<__half, 128>({1, 2, 1, 3, 0, 96, 96, causal, 1});
		compare<__nv_bfloat16, 64>({0, 1, 1, 4, 4, 16, 16, causal, 1});
		compare<__nv_bfloat16, 64>({1, 2, 1, 300, 5, 24, 24, causal, 1}); // causal: whole tiles of queries see no key
	}
	if (!wrong) puts("ok");
	return wrong != 0;
}
