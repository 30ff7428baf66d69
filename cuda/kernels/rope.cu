// rope: out1 = x1*cos - x2*sin, out2 = x2*cos + x1*sin for every pair (x1, x2) of a head, with cos and sin of row offset + t of the tables
// backward: the rotation by the negative angle, dx1 = g1*cos + g2*sin, dx2 = g2*cos - g1*sin: the same kernels with -sin
// Layout   q: [batch, seq, heads_q, head_dim], k: [batch, seq, heads_k, head_dim], cos, sin: [max_pos, head_dim/2] in fp32; q and k in fp32,
//          fp16, bf16, rotated in fp32 by one launch. Pairs are (i, i + head_dim/2), or with `interleaved` (2i, 2i + 1). Outputs contiguous.
// Limits   head_dim even, 0 <= offset, offset + seq <= max_pos; batch or seq = 0 launches nothing; other limits answer UNSUPPORTED.
// Source   Su et al. 2021, arXiv:2104.09864
//   naive   a thread a pair, any strides; the readable one, and the one to trust first. Costs: divisions that
//           find a pair, and both numbers of its angle read for one pair
//   vec     16-byte accesses, the angles of a thread used for four heads. q and k may be parts of a wider
//           tensor, as they are where one product makes both. Costs: contiguous heads that begin at a
//           multiple of 16 bytes, head_dim % vector == 0 if interleaved, head_dim/2 % vector == 0 if not
#include <algorithm>

#include "arguments.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/rope.cuh"

namespace {

using triad::from_float;
using triad::to_float;

// ---- formula ----------------------------------------------------------------------------------------------------------------------------

__device__ inline void rotate(float &x1, float &x2, float cos, float sin) {
	const float first = x1 * cos - x2 * sin;
	x2 = x2 * cos + x1 * sin;
	x1 = first;
}

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

// One of q and k: input and output of the same shape.
template <class T> struct Heads {
	const T *from;
	int64_t stride[4]; // of the input: batch, token, head, element
	T *to;             // contiguous; null: not wanted
	int64_t count;     // heads

	Heads(const triad_tensor &in, const triad_tensor &out)
	    : from(static_cast<const T *>(in.data)), stride{in.stride[0], in.stride[1], in.stride[2], in.stride[3]}, to(static_cast<T *>(out.data)),
	      count(in.shape[2]) {}
};

struct Shape {
	int64_t batch, seq, half; // half: pairs of a head
	int64_t offset;           // position of token 0
	float direction;          // 1, or -1 in the backward pass
};

template <class T>
__device__ inline void rotate_one(const Heads<T> &x, const Shape &s, int64_t batch, int64_t token, int64_t head, int64_t i1, int64_t i2, float cos,
                                  float sin) {
	if (x.to == nullptr) return;
	const T *from = x.from + batch * x.stride[0] + token * x.stride[1] + head * x.stride[2];
	float x1 = to_float(from[i1 * x.stride[3]]), x2 = to_float(from[i2 * x.stride[3]]);
	rotate(x1, x2, cos, sin);
	T *to = x.to + ((batch * s.seq + token) * x.count + head) * 2 * s.half;
	to[i1] = from_float<T>(x1);
	to[i2] = from_float<T>(x2);
}

template <class T>
__global__ void rope_naive_kernel(Heads<T> q, Heads<T> k, triad::Matrix<const float> cos, triad::Matrix<const float> sin, Shape s,
                                  bool interleaved) {
	const int64_t heads = q.count + k.count, pairs = s.batch * s.seq * heads * s.half, step = gridDim.x * static_cast<int64_t>(blockDim.x);
	for (int64_t at = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; at < pairs; at += step) {
		const int64_t pair = at % s.half, head = at / s.half % heads, token = at / s.half / heads % s.seq, batch = at / s.half / heads / s.seq;
		const int64_t i1 = interleaved ? 2 * pair : pair, i2 = interleaved ? i1 + 1 : pair + s.half;
		const float c = cos(s.offset + token, pair), n = s.direction * sin(s.offset + token, pair);
		if (head < q.count) rotate_one(q, s, batch, token, head, i1, i2, c, n);
		else rotate_one(k, s, batch, token, head - q.count, i1, i2, c, n);
	}
}

constexpr int threads = 128;

// What one thread of the vec kernel holds of one head: the firsts of its pairs and the seconds in two packs, or interleaved in one.
template <class T, bool Interleaved> struct Share {
	static constexpr int V = triad::vector<T>;
	static constexpr int Pairs = Interleaved ? V / 2 : V;
	triad::Pack<T, V> low, high; // interleaved: low alone

	__device__ void fetch(const T *head, int64_t half, int64_t pair) {
		if constexpr (Interleaved) {
			low = triad::fetch<V>(head + 2 * pair);
		} else {
			low = triad::fetch<V>(head + pair);
			high = triad::fetch<V>(head + half + pair);
		}
	}

	__device__ void rotate_to(T *head, int64_t half, int64_t pair, const float (&cos)[Pairs], const float (&sin)[Pairs]) const {
		float x[V];
		triad::unpack(low, x);
		if constexpr (Interleaved) {
#pragma unroll
			for (int j = 0; j < Pairs; j++) rotate(x[2 * j], x[2 * j + 1], cos[j], sin[j]);
			triad::store(head + 2 * pair, x);
		} else {
			float y[V];
			triad::unpack(high, y);
#pragma unroll
			for (int j = 0; j < Pairs; j++) rotate(x[j], y[j], cos[j], sin[j]);
			triad::store(head + pair, x);
			triad::store(head + half + pair, y);
		}
	}
};

// The position of a token of all sequences in its own, by 32 bits where they suffice.
__device__ inline int64_t position(int64_t token, int64_t seq) {
	if ((token | seq) >> 32 == 0) return static_cast<uint32_t>(token) % static_cast<uint32_t>(seq);
	return token % seq;
}

// Where heads are read: q and k may be parts of a wider tensor. Contiguous ones are found without this.
template <bool Apart> struct Strides {
	int64_t batch, token, head;

	// start is where head 0 of a token begins in a contiguous tensor.
	__device__ int64_t first(int64_t start, int64_t of, int64_t seq) const {
		if constexpr (!Apart) return start;
		const int64_t at = position(of, seq);
		return (of - at) / seq * batch + at * token;
	}
	__device__ int64_t step(int64_t dim) const { return Apart ? head : dim; }
};

// threadIdx is (run of pairs, first head, token): a thread reads the angles of its run once and rotates it in PerThread heads at a time,
// counted over q and then k, a block's worth of heads apart, so that a warp reads in a row. All its packs are fetched before the first
// is used. No index is divided but the token's: divisions come before the first load and cost more here than the rotation.
template <class T, bool Interleaved, int PerThread, bool Apart>
__global__ void __launch_bounds__(threads, Interleaved ? 6 : 4)
    rope_vec_kernel(const T *__restrict__ q, Strides<Apart> in_q, const T *__restrict__ k, Strides<Apart> in_k, T *__restrict__ q_out,
                    T *__restrict__ k_out, const float *__restrict__ cos, const float *__restrict__ sin, Shape s, int heads_q, int heads_k) {
	using Piece = Share<T, Interleaved>;
	const int64_t dim = 2 * s.half, tokens = s.batch * s.seq;
	const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.z);
	for (int64_t token = blockIdx.x * static_cast<int64_t>(blockDim.z) + threadIdx.z; token < tokens; token += step) {
		const int64_t angles = (s.offset + position(token, s.seq)) * s.half;
		// Where head 0 would begin if all heads were those of q, or of k; elements from there to a head's own.
		const int64_t start_q = token * heads_q * dim, start_k = (token * heads_k - heads_q) * dim;
		const int64_t step_q = in_q.step(dim), step_k = in_k.step(dim);
		const int64_t from_q = in_q.first(start_q, token, s.seq);
		const int64_t from_k = in_k.first(start_k, token, s.seq) - (Apart ? heads_q * step_k : 0);
		for (int64_t pair = threadIdx.x * Piece::Pairs; pair < s.half; pair += blockDim.x * Piece::Pairs) {
			for (int first = threadIdx.y; first < heads_q + heads_k; first += blockDim.y * PerThread) {
				const int last = heads_q + heads_k - 1;
				Piece piece[PerThread]; // beyond the last head that one again: with a branch here each value takes a register
#pragma unroll
				for (int h = 0; h < PerThread; h++) {
					const int head = min(first + static_cast<int>(h * blockDim.y), last);
					const bool of_q = head < heads_q;
					piece[h].fetch((of_q ? q : k) + ((of_q ? from_q : from_k) + head * (of_q ? step_q : step_k)), s.half, pair);
				}
				float c[Piece::Pairs], n[Piece::Pairs];
				triad::load(cos + angles + pair, c);
				triad::load(sin + angles + pair, n);
#pragma unroll
				for (int j = 0; j < Piece::Pairs; j++) n[j] *= s.direction;
#pragma unroll
				for (int h = 0; h < PerThread; h++) {
					const int head = first + static_cast<int>(h * blockDim.y);
					const bool of_q = head < heads_q;
					T *const to = of_q ? q_out : k_out;
					if (head <= last && to != nullptr)
						piece[h].rotate_to(to + ((of_q ? start_q : start_k) + head * dim), s.half, pair, c, n);
				}
			}
		}
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int heads_per_thread = 4; // four loads of 16 bytes before the first use, or eight: two were slower on an H200

// Where the tensors of a pass stand among the inputs: q, k, cos, sin forward, cos, sin, grad_q_out, grad_k_out backward.
struct Places {
	int q, k, cos, sin;
	float direction;
};
constexpr Places forward = {0, 1, 2, 3, 1.0f}, backward = {2, 3, 0, 1, -1.0f};

inline Shape shape_of(const triad_call *call, const Places &in) {
	const triad_tensor &q = call->in[in.q];
	return {q.shape[0], q.shape[1], q.shape[3] / 2, static_cast<int64_t>(call->attr[1]), in.direction};
}

inline bool interleaved(const triad_call *call) { return call->attr[0] != 0.0; }

template <class T> int launch_naive(const triad_call *call, const Places &in) {
	const Heads<T> q(call->in[in.q], call->out[0]), k(call->in[in.k], call->out[1]);
	const Shape s = shape_of(call, in);
	const int64_t pairs = s.batch * s.seq * (q.count + k.count) * s.half;
	if (pairs == 0) return TRIAD_OK;
	rope_naive_kernel<T><<<triad::blocks_for(pairs, threads), threads, 0, triad::stream_of(call)>>>(
	    q, k, triad::Matrix<const float>(call->in[in.cos]), triad::Matrix<const float>(call->in[in.sin]), s, interleaved(call));
	return triad::launched();
}

bool apart(const triad_call *call, const Places &in) { return !triad::is_contiguous(call->in[in.q]) || !triad::is_contiguous(call->in[in.k]); }

template <class T, bool Interleaved, bool Apart> int launch_vec(const triad_call *call, const Places &in) {
	constexpr int64_t per_thread = heads_per_thread;
	const Heads<T> q(call->in[in.q], call->out[0]), k(call->in[in.k], call->out[1]);
	const Shape s = shape_of(call, in);
	const int64_t runs = s.half / Share<T, Interleaved>::Pairs, heads = q.count + k.count, tokens = s.batch * s.seq;
	if (tokens * heads * runs == 0) return TRIAD_OK;
	const int64_t x = std::min<int64_t>(runs, threads), y = std::min<int64_t>((heads + per_thread - 1) / per_thread, threads / x);
	const int64_t z = std::min<int64_t>(std::min<int64_t>(tokens, 64), threads / (x * y));   // 64: CUDA's limit
	const dim3 block(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
	const float *cos = static_cast<const float *>(call->in[in.cos].data), *sin = static_cast<const float *>(call->in[in.sin].data);
	const auto strides = [](const Heads<T> &x) { return Strides<Apart>{x.stride[0], x.stride[1], x.stride[2]}; };
	rope_vec_kernel<T, Interleaved, per_thread, Apart><<<triad::blocks_for(tokens, z), block, 0, triad::stream_of(call)>>>(
	    q.from, strides(q), k.from, strides(k), q.to, k.to, cos, sin, s, static_cast<int>(q.count), static_cast<int>(k.count));
	return triad::launched();
}

template <class T> int launch_vec_of(const triad_call *call, const Places &in) {
	if (apart(call, in)) return interleaved(call) ? launch_vec<T, true, true>(call, in) : launch_vec<T, false, true>(call, in);
	return interleaved(call) ? launch_vec<T, true, false>(call, in) : launch_vec<T, false, false>(call, in);
}

template <class T> int rope_fwd_naive(const triad_call *call) { return launch_naive<T>(call, forward); }
template <class T> int rope_bwd_naive(const triad_call *call) { return launch_naive<T>(call, backward); }
template <class T> int rope_fwd_vec(const triad_call *call) { return launch_vec_of<T>(call, forward); }
template <class T> int rope_bwd_vec(const triad_call *call) { return launch_vec_of<T>(call, backward); }

// ---- registration -----------------------------------------------------------------------------------------------------------------------

// A thread of vec takes 16 bytes of one half of a head, or of its pairs.
template <bool Backward> void check_vec(triad::Check &check, const triad_call *call) {
	const triad_tensor &q = call->in[Backward ? 2 : 0], &k = call->in[Backward ? 3 : 1];
	const long long vector = 16 / triad::element_bytes(q.dtype), dim = q.shape[3], heads = q.shape[2] + k.shape[2];
	if (interleaved(call)) check.that(dim % vector == 0, "head_dim %lld is not a multiple of %lld", dim, vector);
	else check.that(dim / 2 % vector == 0, "head_dim/2 %lld is not a multiple of %lld", dim / 2, vector);
	check.that(heads < INT32_MAX / 2, "%lld heads are too many", heads);
}

// Heads of 16-byte packs, wherever they lie.
template <bool Backward> void check_heads(triad::Check &check, const triad_call *call) {
	for (int i = Backward ? 2 : 0; i < (Backward ? 4 : 2); i++) {
		const triad_tensor &x = call->in[i];
		if (triad::is_contiguous(x)) continue;
		const char *const names[] = {"q", "k", "grad_q_out", "grad_k_out"}, *const name = names[i];
		const long long vector = 16 / triad::element_bytes(x.dtype);
		check.that(x.stride[3] == 1, "the elements of a head of %s are not contiguous", name);
		for (int d = 0; d < 3; d++)
			check.that(x.shape[d] <= 1 || x.stride[d] % vector == 0, "%s has stride %lld, not a multiple of %lld", name,
			           static_cast<long long>(x.stride[d]), vector);
	}
}

template <bool Backward> triad::Limits vec() {
	return {triad::limit("head_dim (interleaved) or head_dim/2 (halves) a multiple of the elements in 16 bytes (4 in fp32, 8 in fp16 and bf16)",
	                     check_vec<Backward>),
	        triad::limit("heads contiguous, each at a multiple of 16 bytes", check_heads<Backward>), triad::contiguous("cos", "sin"),
	        triad::aligned(16)};
}

} // namespace

// The dtype of a call is that of q, or in the backward pass that of grad_q_out, which comes third.
TRIAD_KERNEL(rope, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).launch(TRIAD_BY_DTYPE_OF(0, rope_fwd_naive)))
TRIAD_KERNEL(rope, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(vec<false>()).launch(TRIAD_BY_DTYPE_OF(0, rope_fwd_vec)))
TRIAD_KERNEL(rope, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).launch(TRIAD_BY_DTYPE_OF(2, rope_bwd_naive)))
TRIAD_KERNEL(rope, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(vec<true>()).launch(TRIAD_BY_DTYPE_OF(2, rope_bwd_vec)))
