// flash_attention: s[i,j] = scale * q[i].k[j], P = softmax(s) over visible j, o[i] = sum_j P[i,j] v[j], lse[i] = log sum_j exp(s[i,j])
//   backward: dP = grad_o v^T, delta[i] = grad_o[i].o[i], dS = P * (dP - delta), P = exp(s - lse);
//             grad_q = scale dS k, grad_k = scale dS^T q, grad_v = P^T grad_o, the last two summed over the query heads of a group
// Layout   q, o and their gradients [B, H, Sq, D]; k, v and theirs [B, Hkv, Skv, D], H a multiple of Hkv; lse [B, H, Sq] fp32.
//          fp32, fp16, bf16. Inputs may have any strides (lse: contiguous); outputs are contiguous.
// Numerics scores, P, dS and sums in fp32; natural logarithm. Causal is aligned bottom-right: query i sees key j iff j <= i + Skv - Sq.
//          A query that sees no key gives o = 0, lse = -inf and zero gradients. Infinite and NaN scores give what fp64 gives.
// Limits   naive: D in 1..256; the others: D a multiple of 8 in 16..256. Sq, Skv or B = 0 are fine.
// Source   Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867
//   naive         one thread per element; P (backward: and dS) in the workspace; the readable one, and the one to trust first
//   tiled         forward: a block keeps 64 (32 beyond D = 128) queries, streams keys and values past them and rescales its sums whenever
//                 the running maximum grows. backward: one kernel keeps keys and values and streams queries past them, another the
//                 other way round for grad_q, so every sum has one owner and a fixed order
//   tiled_atomic  backward only: one kernel; what its tile of keys gives to grad_q is added to an fp32 sum by atomics, in any order
//   sm80_mma      fp16 and bf16 on tensor cores, D a multiple of 8 in 8..128; grad_q by atomics: flash_attention_mma.cuh
//   sm90_wgmma    the same on Hopper's tensor cores: flash_attention_wgmma.cuh
#include <algorithm>

#include "arguments.cuh"
#include "attention.cuh"
#include "attention_tile.cuh"
#include "capability.cuh"
#include "flash_attention_mma.cuh"
#ifndef __CUEMU__ // the emulator has no wgmma
#include "flash_attention_wgmma.cuh"
#endif
#include "reduce.cuh"
#include "register.cuh"
#include "rows.cuh"

namespace {

using triad::AttentionShape;
using triad::BackwardCall;
using triad::ForwardCall;
using triad::HeadRows;
using triad::LongSum;
using triad::Weight;

// ---- kernels

// Place is an element of [B, H, rows, columns], found from its number in row-major order.
struct Place {
	int64_t batch;
	int head, row, col;
};

__device__ Place place_of(int64_t i, int heads, int rows, int cols) {
	Place p;
	p.col = static_cast<int>(i % cols);
	i /= cols;
	p.row = static_cast<int>(i % rows);
	i /= rows;
	p.head = static_cast<int>(i % heads);
	p.batch = i / heads;
	return p;
}

__device__ int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

template <class T> __device__ float dot(const HeadRows<T> &x, int x_row, const HeadRows<T> &y, int y_row, int head_dim) {
	float sum = 0;
	for (int d = 0; d < head_dim; d++) sum += x.at(x_row, d) * y.at(y_row, d);
	return sum;
}

// One thread per score; those of keys that the query does not see are neither written nor read.
template <class T> __global__ void naive_scores(ForwardCall<T> a, float *scores) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.seq_kv) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.seq_kv);
	if (p.col >= s.visible_keys(p.row)) return;
	scores[i] = dot(a.q.of(p.batch, p.head), p.row, a.k.of(p.batch, p.head / s.group()), p.col, s.head_dim) * s.scale;
}

// One thread per query: turns its scores into P and writes lse.
template <class T> __global__ void naive_softmax(ForwardCall<T> a, float *scores) {
	const int64_t i = thread_number();
	if (i >= a.shape.query_rows()) return;
	const int keys = a.shape.visible_keys(static_cast<int>(i % a.shape.seq_q));
	float *row = scores + i * a.shape.seq_kv, max = -INFINITY;
	for (int j = 0; j < keys; j++) max = fmaxf(max, row[j]);
	const float base = triad::finite_max(max);
	LongSum sum;
	for (int j = 0; j < keys; j++) sum.add(row[j] = expf(row[j] - base));
	const float total = sum.total();
	for (int j = 0; j < keys; j++) row[j] /= total;
	if (a.lse) a.lse[i] = triad::log_sum_exp(max, total, keys > 0);
}

// One thread per element of o.
template <class T> __global__ void naive_output(ForwardCall<T> a, const float *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.head_dim) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.head_dim);
	const HeadRows<T> v = a.v.of(p.batch, p.head / s.group());
	const float *row = weights + i / s.head_dim * s.seq_kv;
	LongSum sum;
	for (int j = 0; j < s.visible_keys(p.row); j++) sum.add(row[j] * v.at(j, p.col));
	a.o[i] = triad::from_float<T>(sum.total());
}

// A block keeps Tile::rows queries; per query the running maximum, the running sum of exponentials and the output not yet divided by it.
template <class T, class Tile>
__global__ void __launch_bounds__(triad::tile_threads, 3) tiled_forward(ForwardCall<T> a) {
	extern __shared__ __align__(16) float shared_tiles[];
	float *q_tile = shared_tiles, *kv_tile = q_tile + Tile::row_floats, *p_tile = kv_tile + Tile::col_floats;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_q + Tile::rows - 1) / Tile::rows, ty = threadIdx.x / triad::tile_cols, tx = threadIdx.x % triad::tile_cols;
	const int first = (tiles - 1 - static_cast<int>(blockIdx.x % tiles)) * Tile::rows; // under a causal mask the longest work comes first
	const int64_t batch = blockIdx.x / tiles / s.heads_q;
	const int head = static_cast<int>(blockIdx.x / tiles % s.heads_q);
	const HeadRows<T> k = a.k.of(batch, head / s.group()), v = a.v.of(batch, head / s.group());
	triad::load_rows<Tile::rows, Tile::head_dim>(q_tile, a.q.of(batch, head), first, s.seq_q, s.head_dim);

	float max[Tile::r], sum[Tile::r] = {}, decay[Tile::r], o[Tile::r][Tile::own] = {};
	int visible[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		max[r] = -INFINITY;
		visible[r] = s.visible_keys(min(first + ty + triad::tile_rows * r, s.seq_q - 1));
	}
	const int keys = s.visible_keys(min(first + Tile::rows, s.seq_q) - 1);
	for (int j0 = 0; j0 < keys; j0 += Tile::cols) {
		__syncthreads(); // the values of the tile before have been read
		triad::load_rows<Tile::cols, Tile::head_dim>(kv_tile, k, j0, s.seq_kv, s.head_dim);
		__syncthreads();
		float p[Tile::r][Tile::c];
		triad::dot_rows<Tile>(p, q_tile, kv_tile, s.head_dim);
#pragma unroll
		for (int r = 0; r < Tile::r; r++) {
			float top = max[r], part = 0;
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				p[r][c] = j0 + tx + triad::tile_cols * c < visible[r] ? p[r][c] * s.scale : -INFINITY;
				top = fmaxf(top, p[r][c]);
			}
			top = triad::warp_reduce<triad::tile_cols>(top, triad::Max());
			const float base = triad::finite_max(top);
			decay[r] = expf((max[r] == -INFINITY ? max[r] : triad::finite_max(max[r])) - base);
			max[r] = top;
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				p[r][c] = expf(p[r][c] - base);
				part += p[r][c];
				p_tile[(ty + triad::tile_rows * r) * Tile::score_stride + tx + triad::tile_cols * c] = p[r][c];
			}
			sum[r] = sum[r] * decay[r] + part;
		}
		__syncthreads(); // all keys of the tile have been read, all weights are written
		triad::load_rows<Tile::cols, Tile::head_dim>(kv_tile, v, j0, s.seq_kv, s.head_dim);
		__syncthreads();
		triad::add_weighted<Tile>(o, decay, p_tile, kv_tile, s.head_dim);
	}

	const int64_t rows_before = (batch * s.heads_q + head) * s.seq_q;
	float inverse[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		const int row = first + ty + triad::tile_rows * r;
		const float total = triad::warp_reduce<triad::tile_cols>(sum[r], triad::Sum());
		inverse[r] = visible[r] > 0 ? 1.0f / total : 0.0f;
		if (a.lse && tx == 0 && row < s.seq_q) a.lse[rows_before + row] = triad::log_sum_exp(max[r], total, visible[r] > 0);
	}
	triad::store_rows<Tile>(a.o + rows_before * s.head_dim, o, inverse, first, s.seq_q, s.head_dim);
}

// One thread per query: delta = sum over d of grad_o * o.
template <class T> __global__ void backward_delta(BackwardCall<T> a) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows()) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, 1);
	a.delta[i] = dot(a.grad_o.of(p.batch, p.head), p.row, a.o.of(p.batch, p.head), p.row, s.head_dim);
}

// One thread per element of P and dS, which go to the workspace; those of keys that the query does not see are neither written nor read.
template <class T> __global__ void naive_weights(BackwardCall<T> a, Weight *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.seq_kv) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.seq_kv);
	if (p.col >= s.visible_keys(p.row)) return;
	const int kv_head = p.head / s.group();
	const int64_t row = i / s.seq_kv;
	const float score = dot(a.q.of(p.batch, p.head), p.row, a.k.of(p.batch, kv_head), p.col, s.head_dim) * s.scale;
	const float dp = dot(a.grad_o.of(p.batch, p.head), p.row, a.v.of(p.batch, kv_head), p.col, s.head_dim);
	weights[i] = triad::weight_of(score, a.lse[row], dp, a.delta[row]);
}

// One thread per element of grad_q.
template <class T> __global__ void naive_grad_q(BackwardCall<T> a, const Weight *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.head_dim) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.head_dim);
	const HeadRows<T> k = a.k.of(p.batch, p.head / s.group());
	const Weight *row = weights + i / s.head_dim * s.seq_kv;
	LongSum sum;
	for (int j = 0; j < s.visible_keys(p.row); j++) sum.add(row[j].ds * k.at(j, p.col));
	a.grad_q[i] = triad::from_float<T>(sum.total() * s.scale);
}

// One thread per element of grad_k and grad_v.
template <class T> __global__ void naive_grad_kv(BackwardCall<T> a, const Weight *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.batch * s.heads_kv * s.seq_kv * s.head_dim) return;
	const Place p = place_of(i, s.heads_kv, s.seq_kv, s.head_dim);
	LongSum dk, dv;
	for (int head = p.head * s.group(); head < (p.head + 1) * s.group(); head++) {
		const HeadRows<T> q = a.q.of(p.batch, head), grad_o = a.grad_o.of(p.batch, head);
		const int64_t rows_before = (p.batch * s.heads_q + head) * s.seq_q;
		for (int row = s.first_query(p.row); row < s.seq_q; row++) {
			const Weight w = weights[(rows_before + row) * s.seq_kv + p.row];
			dk.add(w.ds * q.at(row, p.col));
			dv.add(w.p * grad_o.at(row, p.col));
		}
	}
	if (a.grad_k) a.grad_k[i] = triad::from_float<T>(dk.total() * s.scale);
	if (a.grad_v) a.grad_v[i] = triad::from_float<T>(dv.total());
}

// What a tile of Tile::rows keys gives to grad_q of the Tile::cols queries from `first` on: ds_tile is [key][query].
template <class Tile>
__device__ void add_grad_q(float *grad_q, const float *ds_tile, const float *k_tile, int first, const AttentionShape &s) {
	for (int i = static_cast<int>(threadIdx.x); i < Tile::cols / 4 * s.head_dim; i += triad::tile_threads) {
		const int query = i / s.head_dim * 4, d = i % s.head_dim;
		float sum[4] = {};
		for (int j = 0; j < Tile::rows; j++)
			triad::add_product(sum, k_tile[j * Tile::stride + d], triad::read4(ds_tile + j * Tile::score_stride + query));
#pragma unroll
		for (int e = 0; e < 4; e++)
			if (first + query + e < s.seq_q) atomicAdd(grad_q + static_cast<int64_t>(first + query + e) * s.head_dim + d, sum[e] * s.scale);
	}
}

// A block keeps Tile::rows keys and values of one kv head and streams the queries of its group past them. Where grad_q_sum (fp32, as q)
// is not null, it adds what these keys give to grad_q.
template <class T, class Tile>
__global__ void __launch_bounds__(triad::tile_threads, 3) tiled_grad_kv(BackwardCall<T> a, float *grad_q_sum) {
	extern __shared__ __align__(16) float shared_tiles[];
	float *k_tile = shared_tiles, *v_tile = k_tile + Tile::row_floats, *q_tile = v_tile + Tile::row_floats;
	float *g_tile = q_tile + Tile::col_floats, *p_tile = g_tile + Tile::col_floats, *ds_tile = p_tile + Tile::score_floats;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_kv + Tile::rows - 1) / Tile::rows, ty = threadIdx.x / triad::tile_cols, tx = threadIdx.x % triad::tile_cols;
	const int first = static_cast<int>(blockIdx.x % tiles) * Tile::rows, kv_head = static_cast<int>(blockIdx.x / tiles % s.heads_kv);
	const int64_t batch = blockIdx.x / tiles / s.heads_kv;
	triad::load_rows<Tile::rows, Tile::head_dim>(k_tile, a.k.of(batch, kv_head), first, s.seq_kv, s.head_dim);
	triad::load_rows<Tile::rows, Tile::head_dim>(v_tile, a.v.of(batch, kv_head), first, s.seq_kv, s.head_dim);

	float dk[Tile::r][Tile::own] = {}, dv[Tile::r][Tile::own] = {}, one[Tile::r], scale[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		one[r] = 1;
		scale[r] = s.scale;
	}
	for (int head = kv_head * s.group(); head < (kv_head + 1) * s.group(); head++) {
		const HeadRows<T> q = a.q.of(batch, head), grad_o = a.grad_o.of(batch, head);
		const int64_t rows_before = (batch * s.heads_q + head) * s.seq_q;
		for (int i0 = s.first_query(first) / Tile::cols * Tile::cols; i0 < s.seq_q; i0 += Tile::cols) {
			__syncthreads(); // the tiles before have been read
			triad::load_rows<Tile::cols, Tile::head_dim>(q_tile, q, i0, s.seq_q, s.head_dim);
			triad::load_rows<Tile::cols, Tile::head_dim>(g_tile, grad_o, i0, s.seq_q, s.head_dim);
			__syncthreads();
			float score[Tile::r][Tile::c], dp[Tile::r][Tile::c];
			triad::dot_rows<Tile>(score, k_tile, q_tile, s.head_dim);
			triad::dot_rows<Tile>(dp, v_tile, g_tile, s.head_dim);
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				const int query = i0 + tx + triad::tile_cols * c, visible = query < s.seq_q ? s.visible_keys(query) : 0;
				const float lse = visible > 0 ? a.lse[rows_before + query] : 0, delta = visible > 0 ? a.delta[rows_before + query] : 0;
#pragma unroll
				for (int r = 0; r < Tile::r; r++) {
					const int key = ty + triad::tile_rows * r, at = key * Tile::score_stride + tx + triad::tile_cols * c;
					const Weight w = first + key < visible ? triad::weight_of(score[r][c] * s.scale, lse, dp[r][c], delta) : Weight{0, 0};
					p_tile[at] = w.p;
					ds_tile[at] = w.ds;
				}
			}
			__syncthreads();
			triad::add_weighted<Tile>(dv, one, p_tile, g_tile, s.head_dim);
			triad::add_weighted<Tile>(dk, one, ds_tile, q_tile, s.head_dim);
			if (grad_q_sum) add_grad_q<Tile>(grad_q_sum + rows_before * s.head_dim, ds_tile, k_tile, i0, s);
		}
	}
	const int64_t before = (batch * s.heads_kv + kv_head) * s.seq_kv * s.head_dim;
	if (a.grad_k) triad::store_rows<Tile>(a.grad_k + before, dk, scale, first, s.seq_kv, s.head_dim);
	if (a.grad_v) triad::store_rows<Tile>(a.grad_v + before, dv, one, first, s.seq_kv, s.head_dim);
}

// A block keeps Tile::rows queries and their upstream gradients and streams keys and values past them.
template <class T, class Tile>
__global__ void __launch_bounds__(triad::tile_threads, 3) tiled_grad_q(BackwardCall<T> a) {
	extern __shared__ __align__(16) float shared_tiles[];
	float *q_tile = shared_tiles, *g_tile = q_tile + Tile::row_floats, *k_tile = g_tile + Tile::row_floats;
	float *v_tile = k_tile + Tile::col_floats, *ds_tile = v_tile + Tile::col_floats;
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_q + Tile::rows - 1) / Tile::rows, ty = threadIdx.x / triad::tile_cols, tx = threadIdx.x % triad::tile_cols;
	const int first = (tiles - 1 - static_cast<int>(blockIdx.x % tiles)) * Tile::rows, head = static_cast<int>(blockIdx.x / tiles % s.heads_q);
	const int64_t batch = blockIdx.x / tiles / s.heads_q, rows_before = (batch * s.heads_q + head) * s.seq_q;
	const HeadRows<T> k = a.k.of(batch, head / s.group()), v = a.v.of(batch, head / s.group());
	triad::load_rows<Tile::rows, Tile::head_dim>(q_tile, a.q.of(batch, head), first, s.seq_q, s.head_dim);
	triad::load_rows<Tile::rows, Tile::head_dim>(g_tile, a.grad_o.of(batch, head), first, s.seq_q, s.head_dim);

	float dq[Tile::r][Tile::own] = {}, one[Tile::r], scale[Tile::r], lse[Tile::r], delta[Tile::r];
	int visible[Tile::r];
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		const int row = min(first + ty + triad::tile_rows * r, s.seq_q - 1);
		one[r] = 1;
		scale[r] = s.scale;
		lse[r] = a.lse[rows_before + row];
		delta[r] = a.delta[rows_before + row];
		visible[r] = s.visible_keys(row);
	}
	const int keys = s.visible_keys(min(first + Tile::rows, s.seq_q) - 1);
	for (int j0 = 0; j0 < keys; j0 += Tile::cols) {
		__syncthreads(); // the tiles before have been read
		triad::load_rows<Tile::cols, Tile::head_dim>(k_tile, k, j0, s.seq_kv, s.head_dim);
		triad::load_rows<Tile::cols, Tile::head_dim>(v_tile, v, j0, s.seq_kv, s.head_dim);
		__syncthreads();
		float score[Tile::r][Tile::c], dp[Tile::r][Tile::c];
		triad::dot_rows<Tile>(score, q_tile, k_tile, s.head_dim);
		triad::dot_rows<Tile>(dp, g_tile, v_tile, s.head_dim);
#pragma unroll
		for (int r = 0; r < Tile::r; r++)
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				const int key = tx + triad::tile_cols * c;
				const bool sees = j0 + key < visible[r];
				ds_tile[(ty + triad::tile_rows * r) * Tile::score_stride + key] =
				    sees ? triad::weight_of(score[r][c] * s.scale, lse[r], dp[r][c], delta[r]).ds : 0;
			}
		__syncthreads();
		triad::add_weighted<Tile>(dq, one, ds_tile, k_tile, s.head_dim);
	}
	triad::store_rows<Tile>(a.grad_q + rows_before * s.head_dim, dq, scale, first, s.seq_q, s.head_dim);
}

// to[i] = from[i], rounded to the output's format.
template <class T> __global__ void convert_sum(T *to, const float *from, int64_t n) {
	const int64_t i = thread_number();
	if (i < n) to[i] = triad::from_float<T>(from[i]);
}

// ---- launchers

constexpr int flat_threads = 128;

unsigned flat_blocks(int64_t n) { return static_cast<unsigned>((n + flat_threads - 1) / flat_threads); }

// Inputs begin with q, k, v in both passes; attributes are causal, scale.
AttentionShape shape_of(const triad_call *call) {
	const triad_tensor &q = call->in[0], &k = call->in[1];
	AttentionShape s;
	s.batch = q.shape[0];
	s.heads_q = static_cast<int>(q.shape[1]);
	s.heads_kv = static_cast<int>(k.shape[1]);
	s.seq_q = static_cast<int>(q.shape[2]);
	s.seq_kv = static_cast<int>(k.shape[2]);
	s.head_dim = static_cast<int>(q.shape[3]);
	s.causal = call->attr[0] != 0;
	s.scale = static_cast<float>(call->attr[1]);
	return s;
}

template <class T> ForwardCall<T> forward_call(const triad_call *call) {
	using triad::Heads;
	return {shape_of(call), Heads<T>(call->in[0]), Heads<T>(call->in[1]), Heads<T>(call->in[2]), static_cast<T *>(call->out[0].data),
	        call->n_out > 1 ? static_cast<float *>(call->out[1].data) : nullptr};
}

template <class T> BackwardCall<T> backward_call(const triad_call *call) {
	using triad::Heads;
	return {shape_of(call),
	        Heads<T>(call->in[0]), Heads<T>(call->in[1]), Heads<T>(call->in[2]), Heads<T>(call->in[3]), Heads<T>(call->in[5]),
	        static_cast<const float *>(call->in[4].data),
	        static_cast<T *>(call->out[0].data), static_cast<T *>(call->out[1].data), static_cast<T *>(call->out[2].data),
	        static_cast<float *>(call->workspace)};
}

int64_t floats_bytes(int64_t n) { return n * static_cast<int64_t>(sizeof(float)); }

int64_t query_elements(const AttentionShape &s) { return s.query_rows() * s.head_dim; }

// The workspace of a backward begins with delta, padded so that what follows is aligned to 256 bytes.
int64_t delta_floats(const AttentionShape &s) { return (s.query_rows() + 63) / 64 * 64; }

int64_t workspace_scores(const triad_call *call) {
	const AttentionShape s = shape_of(call);
	return floats_bytes(s.query_rows() * s.seq_kv);
}

int64_t workspace_weights(const triad_call *call) {
	const AttentionShape s = shape_of(call);
	return floats_bytes(delta_floats(s) + 2 * s.query_rows() * s.seq_kv);
}

int64_t workspace_delta(const triad_call *call) { return floats_bytes(delta_floats(shape_of(call))); }

int64_t workspace_grad_q(const triad_call *call) {
	const AttentionShape s = shape_of(call);
	return floats_bytes(delta_floats(s) + query_elements(s));
}

template <class T> int forward_naive(const triad_call *call) {
	const ForwardCall<T> a = forward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t rows = a.shape.query_rows(), scores = rows * a.shape.seq_kv;
	float *weights = static_cast<float *>(call->workspace);
	if (rows == 0) return TRIAD_OK;
	if (scores > 0) naive_scores<T><<<flat_blocks(scores), flat_threads, 0, stream>>>(a, weights);
	naive_softmax<T><<<flat_blocks(rows), flat_threads, 0, stream>>>(a, weights);
	naive_output<T><<<flat_blocks(query_elements(a.shape)), flat_threads, 0, stream>>>(a, weights);
	return triad::launched();
}

template <class T> int backward_naive(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	const AttentionShape &s = a.shape;
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t rows = s.query_rows(), scores = rows * s.seq_kv, kv = s.batch * s.heads_kv * s.seq_kv * s.head_dim;
	Weight *weights = reinterpret_cast<Weight *>(a.delta + delta_floats(s));
	if (rows > 0) backward_delta<T><<<flat_blocks(rows), flat_threads, 0, stream>>>(a);
	if (scores > 0) naive_weights<T><<<flat_blocks(scores), flat_threads, 0, stream>>>(a, weights);
	if (rows > 0 && a.grad_q) naive_grad_q<T><<<flat_blocks(query_elements(s)), flat_threads, 0, stream>>>(a, weights);
	if (kv > 0) naive_grad_kv<T><<<flat_blocks(kv), flat_threads, 0, stream>>>(a, weights);
	return triad::launched();
}

// launch_tiles starts one block per tile of `rows` rows of every head, with `floats` floats of dynamic shared memory.
template <class Kernel, class... Arguments>
int launch_tiles(Kernel kernel, int tile, int rows, int64_t heads, int floats, cudaStream_t stream, Arguments... arguments) {
	const int64_t blocks = (rows + tile - 1) / tile * heads, bytes = floats_bytes(floats);
	if (blocks == 0) return TRIAD_OK;
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))) return status;
	kernel<<<static_cast<unsigned>(blocks), triad::tile_threads, static_cast<size_t>(bytes), stream>>>(arguments...);
	return triad::launched();
}

template <class T, class Tile> int forward_tiles(const triad_call *call) {
	const ForwardCall<T> a = forward_call<T>(call);
	return launch_tiles(tiled_forward<T, Tile>, Tile::rows, a.shape.seq_q, a.shape.batch * a.shape.heads_q,
	                    Tile::row_floats + Tile::col_floats + Tile::score_floats, triad::stream_of(call), a);
}

template <class T, class Tile> int grad_kv_tiles(const BackwardCall<T> &a, float *grad_q_sum, cudaStream_t stream) {
	return launch_tiles(tiled_grad_kv<T, Tile>, Tile::rows, a.shape.seq_kv, a.shape.batch * a.shape.heads_kv,
	                    2 * (Tile::row_floats + Tile::col_floats + Tile::score_floats), stream, a, grad_q_sum);
}

template <class T, class Tile> int backward_tiles(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	if (a.shape.query_rows() > 0) backward_delta<T><<<flat_blocks(a.shape.query_rows()), flat_threads, 0, stream>>>(a);
	if (const int status = triad::launched()) return status;
	if (a.grad_k || a.grad_v)
		if (const int status = grad_kv_tiles<T, Tile>(a, nullptr, stream)) return status;
	if (!a.grad_q) return TRIAD_OK;
	return launch_tiles(tiled_grad_q<T, Tile>, Tile::rows, a.shape.seq_q, a.shape.batch * a.shape.heads_q,
	                    2 * (Tile::row_floats + Tile::col_floats) + Tile::score_floats, stream, a);
}

template <class T, class Tile> int backward_tiles_atomic(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t rows = a.shape.query_rows(), elements = query_elements(a.shape);
	float *grad_q_sum = a.delta + delta_floats(a.shape);
	if (rows > 0) {
		if (const int status = cudaMemsetAsync(grad_q_sum, 0, static_cast<size_t>(floats_bytes(elements)), stream)) return status;
		backward_delta<T><<<flat_blocks(rows), flat_threads, 0, stream>>>(a);
		if (const int status = triad::launched()) return status;
	}
	if (const int status = grad_kv_tiles<T, Tile>(a, grad_q_sum, stream)) return status;
	if (rows > 0 && a.grad_q) convert_sum<T><<<flat_blocks(elements), flat_threads, 0, stream>>>(a.grad_q, grad_q_sum, elements);
	return triad::launched();
}

// The tilings by head dimension: registers hold the sums of a thread, 64 KiB of shared memory the tiles of a block.
template <int HeadDim> struct ForwardTiling;
template <> struct ForwardTiling<64> : triad::Tiling<64, 4, 4> {};
template <> struct ForwardTiling<128> : triad::Tiling<128, 4, 4> {};
template <> struct ForwardTiling<256> : triad::Tiling<256, 2, 2> {};
template <int HeadDim> struct BackwardTiling;
template <> struct BackwardTiling<64> : triad::Tiling<64, 2, 4> {};
template <> struct BackwardTiling<128> : triad::Tiling<128, 2, 2> {};
template <> struct BackwardTiling<256> : triad::Tiling<256, 1, 1> {};

template <class T> int forward_tiled(const triad_call *call) {
	const int64_t head_dim = call->in[0].shape[3];
	if (head_dim <= 64) return forward_tiles<T, ForwardTiling<64>>(call);
	return head_dim <= 128 ? forward_tiles<T, ForwardTiling<128>>(call) : forward_tiles<T, ForwardTiling<256>>(call);
}

template <class T> int backward_tiled(const triad_call *call) {
	const int64_t head_dim = call->in[0].shape[3];
	if (head_dim <= 64) return backward_tiles<T, BackwardTiling<64>>(call);
	return head_dim <= 128 ? backward_tiles<T, BackwardTiling<128>>(call) : backward_tiles<T, BackwardTiling<256>>(call);
}

template <class T> int backward_tiled_atomic(const triad_call *call) {
	const int64_t head_dim = call->in[0].shape[3];
	if (head_dim <= 64) return backward_tiles_atomic<T, BackwardTiling<64>>(call);
	return head_dim <= 128 ? backward_tiles_atomic<T, BackwardTiling<128>>(call) : backward_tiles_atomic<T, BackwardTiling<256>>(call);
}

template <class T> int forward_mma(const triad_call *call) {
	const ForwardCall<T> a = forward_call<T>(call);
	return a.shape.head_dim <= 64 ? triad::mma::launch_forward<T, 64>(a, triad::stream_of(call))
	                              : triad::mma::launch_forward<T, 128>(a, triad::stream_of(call));
}

template <class T> int backward_mma(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	float *workspace = static_cast<float *>(call->workspace);
	return a.shape.head_dim <= 64 ? triad::mma::launch_backward<T, 64>(a, workspace, triad::stream_of(call))
	                              : triad::mma::launch_backward<T, 128>(a, workspace, triad::stream_of(call));
}

int64_t workspace_mma(const triad_call *call) { return floats_bytes(triad::mma::backward_floats(shape_of(call))); }

#ifndef __CUEMU__
template <class T> int forward_wgmma(const triad_call *call) {
	const ForwardCall<T> a = forward_call<T>(call);
	return a.shape.head_dim <= 64 ? triad::wgmma::launch_forward<T, 64>(a, triad::stream_of(call))
	                              : triad::wgmma::launch_forward<T, 128>(a, triad::stream_of(call));
}

template <class T> int backward_wgmma(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	float *workspace = static_cast<float *>(call->workspace);
	return a.shape.head_dim <= 64 ? triad::wgmma::launch_backward<T, 64>(a, workspace, triad::stream_of(call))
	                              : triad::wgmma::launch_backward<T, 128>(a, workspace, triad::stream_of(call));
}
#endif

// ---- what a call may be

// What both passes ask of q, k, v; `step` is what head_dim must be a multiple of, `least` the least it may be.
void check_inputs(triad::Check &check, const triad_call *call, int step, int least) {
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
void check_mma(triad::Check &check, const triad_call *call, const char *const *names, int shared_bytes) {
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

int accepts_forward_mma(const triad_call *call, char *why, int32_t why_bytes) {
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

int accepts_backward_mma(const triad_call *call, char *why, int32_t why_bytes) {
	static const char *const names[] = {"q", "k", "v", "o", "lse", "grad_o"};
	if (const int status = accepts_backward<8, 8>(call, why, why_bytes)) return status;
	triad::Check check(why, why_bytes);
	check_mma(check, call, names, call->in[0].shape[3] <= 64 ? triad::mma::BackwardTiles<64>::bytes : triad::mma::BackwardTiles<128>::bytes);
	return check.status();
}

#ifndef __CUEMU__
// The other architectures' code is empty.
template <int (*Accepts)(const triad_call *, char *, int32_t)> int accepts_wgmma(const triad_call *call, char *why, int32_t why_bytes) {
	if (const int status = Accepts(call, why, why_bytes)) return status;
	triad::Check check(why, why_bytes);
	triad::needs_capability(check, "wgmma", 90, false);
	return check.status();
}
#endif

// ---- registration

// P stays in fp32 throughout, which meets p16, the contract of 16-bit attention, as well.
constexpr uint32_t full = triad::bit(TRIAD_F32), halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16);
constexpr uint32_t o_and_lse = 3, gradients = 7, grad_q_only = 1;
constexpr const char *tiled_limits = "head_dim a multiple of 8 in 16..256", *naive_limits = "head_dim in 1..256";
#ifndef __CUEMU__
constexpr const char *wgmma_limits = "as sm80_mma, on compute capability 9.0";
#endif
constexpr const char *mma_limits = "head_dim a multiple of 8 in 8..128, scale > 0, rows aligned to 16 bytes, compute capability 8.0 or newer";

TRIAD_KERNEL(flash_attention, naive, forward,
             .contract("fp32").dtypes(full).outputs(o_and_lse).accepts(accepts_forward<1>)
             .workspace(workspace_scores).launch(TRIAD_BY_DTYPE(forward_naive)).constraint(naive_limits))
TRIAD_KERNEL(flash_attention, naive, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).accepts(accepts_forward<1>)
             .workspace(workspace_scores).launch(TRIAD_BY_DTYPE(forward_naive)).constraint(naive_limits))
TRIAD_KERNEL(flash_attention, tiled, forward,
             .contract("fp32").dtypes(full).outputs(o_and_lse).accepts(accepts_forward<8>)
             .launch(TRIAD_BY_DTYPE(forward_tiled)).constraint(tiled_limits))
TRIAD_KERNEL(flash_attention, tiled, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).accepts(accepts_forward<8>)
             .launch(TRIAD_BY_DTYPE(forward_tiled)).constraint(tiled_limits))
TRIAD_KERNEL(flash_attention, sm80_mma, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).accepts(accepts_forward_mma)
             .launch(TRIAD_BY_HALF(forward_mma)).constraint(mma_limits))
#ifndef __CUEMU__
TRIAD_KERNEL(flash_attention, sm90_wgmma, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).accepts(accepts_wgmma<accepts_forward_mma>)
             .launch(TRIAD_BY_HALF(forward_wgmma)).constraint(wgmma_limits))
#endif
TRIAD_KERNEL(flash_attention, naive, backward,
             .contract("fp32").dtypes(full).outputs(gradients).accepts(accepts_backward<1>)
             .workspace(workspace_weights).launch(TRIAD_BY_DTYPE(backward_naive)).constraint(naive_limits))
TRIAD_KERNEL(flash_attention, naive, backward,
             .contract("p16").dtypes(halves).outputs(gradients).accepts(accepts_backward<1>)
             .workspace(workspace_weights).launch(TRIAD_BY_DTYPE(backward_naive)).constraint(naive_limits))
TRIAD_KERNEL(flash_attention, tiled, backward,
             .contract("fp32").dtypes(full).outputs(gradients).accepts(accepts_backward<8>)
             .workspace(workspace_delta).launch(TRIAD_BY_DTYPE(backward_tiled)).constraint(tiled_limits))
TRIAD_KERNEL(flash_attention, tiled, backward,
             .contract("p16").dtypes(halves).outputs(gradients).accepts(accepts_backward<8>)
             .workspace(workspace_delta).launch(TRIAD_BY_DTYPE(backward_tiled)).constraint(tiled_limits))
TRIAD_KERNEL(flash_attention, tiled_atomic, backward,
             .contract("fp32").dtypes(full).outputs(gradients).nondeterministic(grad_q_only).forward("tiled").accepts(accepts_backward<8>)
             .workspace(workspace_grad_q).launch(TRIAD_BY_DTYPE(backward_tiled_atomic)).constraint(tiled_limits))
TRIAD_KERNEL(flash_attention, tiled_atomic, backward,
             .contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).forward("tiled").accepts(accepts_backward<8>)
             .workspace(workspace_grad_q).launch(TRIAD_BY_DTYPE(backward_tiled_atomic)).constraint(tiled_limits))
TRIAD_KERNEL(flash_attention, sm80_mma, backward,
             .contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).accepts(accepts_backward_mma)
             .workspace(workspace_mma).launch(TRIAD_BY_HALF(backward_mma)).constraint(mma_limits))
#ifndef __CUEMU__
TRIAD_KERNEL(flash_attention, sm90_wgmma, backward,
             .contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).accepts(accepts_wgmma<accepts_backward_mma>)
             .workspace(workspace_mma).launch(TRIAD_BY_HALF(backward_wgmma)).constraint(wgmma_limits))
#endif

} // namespace
