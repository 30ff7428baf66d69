// Planted bugs in attention: a warp a query, keys in steps of 32 with an online softmax. `right` is right; every other variant is it with one
// line changed.
#include "arguments.cuh"
#include "element.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace {

using triad::from_float;
using triad::to_float;

enum Bug { right, scale_missing, scale_of_padded_head, causal_without_diagonal, causal_top_left, last_keys_dropped, output_not_rescaled, sum_not_rescaled,
           not_normalised, wrong_head_of_the_group, lse_without_log, missing_barrier, last_query_not_launched, one_past_the_end, scribbles };

struct Shape {
	int64_t batch, heads_q, heads_kv, seq_q, seq_kv, dim;
	bool causal;
	float scale;
};

template <class T, Bug B> __global__ void attention(T *q, const T *k, const T *v, T *o, float *lse, Shape s) {
	__shared__ float p[32];
	const int64_t row = blockIdx.x, i = row % s.seq_q, head = row / s.seq_q % s.heads_q, batch = row / s.seq_q / s.heads_q;
	const int64_t kv = B == wrong_head_of_the_group ? head % s.heads_kv : head / (s.heads_q / s.heads_kv);
	const T *keys = k + (batch * s.heads_kv + kv) * s.seq_kv * s.dim, *values = v + (batch * s.heads_kv + kv) * s.seq_kv * s.dim;
	const int64_t shift = (B == causal_top_left ? 0 : s.seq_kv - s.seq_q) + (B == causal_without_diagonal ? 0 : 1);
	const int64_t all = B == last_keys_dropped && s.seq_kv > 32 ? s.seq_kv / 32 * 32 : s.seq_kv;
	const int64_t seen = s.causal ? max(int64_t{0}, min(all, i + shift)) : all;
	const float scale = B == scale_missing ? 1 : B == scale_of_padded_head ? s.scale * sqrtf(s.dim / (64.0f * ((s.dim + 63) / 64))) : s.scale;
	float max = -INFINITY, sum = 0, mine[8] = {};
	for (int64_t j0 = 0; j0 < seen; j0 += 32) {
		const int64_t j = j0 + threadIdx.x;
		float dot = 0;
		for (int64_t d = 0; j < seen && d < s.dim; d++) dot += to_float(q[row * s.dim + d]) * to_float(keys[j * s.dim + d]);
		const float score = j < seen ? dot * scale : -INFINITY, top = fmaxf(max, triad::warp_reduce(score, triad::Max()));
		const float base = top == -INFINITY ? 0 : top, again = expf(max - base);
		const float e = j < seen ? expf(score - base) : 0;
		sum = (B == sum_not_rescaled ? sum : sum * again) + triad::warp_reduce(e, triad::Sum());
		p[threadIdx.x] = e;
		if (B != missing_barrier) __syncwarp();
		for (int t = 0; t < 8; t++) {
			const int64_t d = threadIdx.x + 32 * t;
			if (d >= s.dim) break;
			float part = 0;
			for (int64_t n = 0; n < 32 && j0 + n < seen; n++) part += p[n] * to_float(values[(j0 + n) * s.dim + d]);
			mine[t] = (B == output_not_rescaled ? mine[t] : mine[t] * again) + part;
		}
		max = top;
		__syncwarp();
	}
	for (int t = 0; t < 8; t++) {
		const int64_t d = threadIdx.x + 32 * t;
		if (d < s.dim) o[row * s.dim + d] = from_float<T>(seen == 0 ? 0 : B == not_normalised ? mine[t] : mine[t] / sum);
	}
	if (threadIdx.x != 0) return;
	lse[row] = seen == 0 ? -INFINITY : max + (B == lse_without_log ? 0 : logf(sum));
	if (B == one_past_the_end) lse[row + 1] = 0;
	if (B == scribbles) q[row * s.dim] = from_float<T>(max);
}

Shape shape(const triad_call *call) {
	const triad_tensor &q = call->in[0], &k = call->in[1];
	return {q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], call->attr[0] != 0, static_cast<float>(call->attr[1])};
}

template <Bug B> struct Forward {
	template <class T> static int launch(const triad_call *call) {
		const Shape s = shape(call);
		const int64_t rows = s.batch * s.heads_q * s.seq_q, blocks = rows - (B == last_query_not_launched && rows > 1 ? 1 : 0);
		if (rows == 0) return TRIAD_OK;
		attention<T, B><<<static_cast<unsigned>(blocks), 32, 0, triad::stream_of(call)>>>(
		    static_cast<T *>(call->in[0].data), static_cast<const T *>(call->in[1].data), static_cast<const T *>(call->in[2].data),
		    static_cast<T *>(call->out[0].data), static_cast<float *>(call->out[1].data), s);
		return triad::launched();
	}
};

enum BackwardBug { right_backward, delta_missing, grad_q_unscaled, group_not_summed, last_query_dropped };

// A thread an element of grad_q, or of grad_k and grad_v: everything is computed again.
template <class T, BackwardBug B> struct Gradient {
	const T *q, *k, *v, *o, *g;
	const float *lse;
	Shape s;

	// P and dS of query row (of all heads) and key j of its head.
	__device__ float weight(int64_t row, const T *key) const {
		float dot = 0;
		for (int64_t d = 0; d < s.dim; d++) dot += to_float(q[row * s.dim + d]) * to_float(key[d]);
		return lse[row] == -INFINITY ? 0 : expf(dot * s.scale - lse[row]);
	}
	__device__ float score(int64_t row, const T *key, const T *value) const {
		float dp = 0, delta = 0;
		for (int64_t d = 0; d < s.dim; d++) dp += to_float(g[row * s.dim + d]) * to_float(value[d]);
		for (int64_t d = 0; d < s.dim; d++) delta += to_float(g[row * s.dim + d]) * to_float(o[row * s.dim + d]);
		return weight(row, key) * (B == delta_missing ? dp : dp - delta);
	}
	__device__ bool sees(int64_t i, int64_t j) const { return !s.causal || j <= i + s.seq_kv - s.seq_q; }
};

template <class T, BackwardBug B> __global__ void to_query(Gradient<T, B> a, T *out) {
	const Shape s = a.s;
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x, head = row / s.seq_q % s.heads_q, batch = row / s.seq_q / s.heads_q;
	if (row >= s.batch * s.heads_q * s.seq_q) return;
	const int64_t kv = (batch * s.heads_kv + head / (s.heads_q / s.heads_kv)) * s.seq_kv * s.dim;
	float sum[64] = {};
	for (int64_t j = 0; j < s.seq_kv; j++) {
		if (!a.sees(row % s.seq_q, j)) continue;
		const float ds = a.score(row, a.k + kv + j * s.dim, a.v + kv + j * s.dim);
		for (int64_t d = 0; d < s.dim; d++) sum[d] += ds * to_float(a.k[kv + j * s.dim + d]);
	}
	for (int64_t d = 0; d < s.dim; d++) out[row * s.dim + d] = from_float<T>(sum[d] * (B == grad_q_unscaled ? 1 : s.scale));
}

template <class T, BackwardBug B> __global__ void to_key(Gradient<T, B> a, T *grad_k, T *grad_v) {
	const Shape s = a.s;
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x, j = row % s.seq_kv, head = row / s.seq_kv % s.heads_kv;
	if (row >= s.batch * s.heads_kv * s.seq_kv) return;
	const int64_t batch = row / s.seq_kv / s.heads_kv, group = s.heads_q / s.heads_kv;
	float to_k[64] = {}, to_v[64] = {};
	for (int64_t h = B == group_not_summed ? group - 1 : 0; h < group; h++) {
		for (int64_t i = 0; i < (B == last_query_dropped ? s.seq_q - 1 : s.seq_q); i++) {
			if (!a.sees(i, j)) continue;
			const int64_t query = (batch * s.heads_q + head * group + h) * s.seq_q + i;
			const float p = a.weight(query, a.k + row * s.dim), ds = a.score(query, a.k + row * s.dim, a.v + row * s.dim);
			for (int64_t d = 0; d < s.dim; d++) to_k[d] += ds * to_float(a.q[query * s.dim + d]), to_v[d] += p * to_float(a.g[query * s.dim + d]);
		}
	}
	for (int64_t d = 0; d < s.dim; d++) grad_k[row * s.dim + d] = from_float<T>(to_k[d] * s.scale), grad_v[row * s.dim + d] = from_float<T>(to_v[d]);
}

template <BackwardBug B> struct Backward {
	template <class T> static int launch(const triad_call *call) {
		const auto in = [&](int i) { return static_cast<const T *>(call->in[i].data); };
		const auto out = [&](int i) { return static_cast<T *>(call->out[i].data); };
		const Gradient<T, B> a = {in(0), in(1), in(2), in(3), in(5), static_cast<const float *>(call->in[4].data), shape(call)};
		const auto blocks = [](int64_t n) { return static_cast<unsigned>((n + 31) / 32); };
		const int64_t queries = a.s.batch * a.s.heads_q * a.s.seq_q, keys = a.s.batch * a.s.heads_kv * a.s.seq_kv;
		if (queries > 0) to_query<T, B><<<blocks(queries), 32, 0, triad::stream_of(call)>>>(a, out(0));
		if (keys > 0) to_key<T, B><<<blocks(keys), 32, 0, triad::stream_of(call)>>>(a, out(1), out(2));
		return triad::launched();
	}
};

int accepts(const triad_call *call, char *why, int32_t bytes) {
	triad::Check check(why, bytes);
	for (int i = 0; i < call->n_in; i++) check.contiguous(call->in[i], "an input");
	const long long dim = call->in[0].shape[3];
	check.that(call->in[2].shape[3] == dim, "head_dim_v is not head_dim");
	return check.that(dim <= 64, "head_dim %lld is more than 64", dim).status();
}

} // namespace

#define FORWARD(bug) TRIAD_KERNEL(flash_attention, bug, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(3).accepts(accepts).launch(TRIAD_BY_DTYPE(Forward<bug>::launch)))
#define BACKWARD(bug) TRIAD_KERNEL(flash_attention, bug, backward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(7).forward("right").accepts(accepts).launch(TRIAD_BY_DTYPE(Backward<bug>::launch)))
#define FORWARD_BF16(bug) TRIAD_KERNEL(flash_attention, bug, forward, .contract("p16").dtypes(triad::bit(TRIAD_BF16)).outputs(3).accepts(accepts).launch(TRIAD_BY_DTYPE(Forward<bug>::launch)))
FORWARD(right)
FORWARD_BF16(right)
FORWARD(scale_missing)
FORWARD(scale_of_padded_head)
FORWARD(causal_without_diagonal)
FORWARD(causal_top_left)
FORWARD(last_keys_dropped)
FORWARD_BF16(last_keys_dropped)
FORWARD(output_not_rescaled)
FORWARD(sum_not_rescaled)
FORWARD(not_normalised)
FORWARD(wrong_head_of_the_group)
FORWARD(lse_without_log)
FORWARD(missing_barrier)
FORWARD(last_query_not_launched)
FORWARD(one_past_the_end)
FORWARD(scribbles)
BACKWARD(right_backward)
BACKWARD(delta_missing)
BACKWARD(grad_q_unscaled)
BACKWARD(group_not_summed)
BACKWARD(last_query_dropped)
