// compressed_tiled.cuh: attention over blocks that one key and one value stand for, without tensor cores, in fp32: 16 rows, heads of queries that see
// the same blocks, in a block of threads.
// Pipeline, queries: 16 keys to shared memory -> a thread a pair: its score (and grad_o . v) -> the 16 lanes of a row have its maximum and its total ->
// a thread adds up a column for all rows. Keys: the rows that see the first of 16 keys stream by, 16 at a time -> P and dS of a pair a thread -> a column
// of grad_k and of grad_v for all keys.
#ifndef TRIAD_SPARSE_COMPRESSED_TILED_CUH
#define TRIAD_SPARSE_COMPRESSED_TILED_CUH
#include "sparse/compressed.cuh"
#include "sparse/selected_tiled.cuh"

namespace triad {
namespace sparse {
namespace compressed {

// Rows are the 16 rows of a block of threads, or so many; thread threadIdx.x has row `head` and key `key` of a pair. The queries of a step see as many blocks as its
// number says, so that no key of a tile is hidden from one of them.
struct Rows {
	int64_t b;
	int h_kv, step, begin, rows, first, head, key; // begin: the first query of the step; rows: of the whole step; first: of them, the tile's first

	__device__ Rows(const Shape &s, int parts, int many = tile, int64_t block = blockIdx.x) : head(static_cast<int>(threadIdx.x) / tile), key(static_cast<int>(threadIdx.x) % tile) {
		const int steps = s.whole() + 1;
		const int64_t at = block / parts;
		step = steps - 1 - static_cast<int>(at % steps), h_kv = static_cast<int>(at / steps % s.heads_kv), b = at / steps / s.heads_kv; // long rows come first
		begin = max(0, step * s.size - 1);
		rows = (min(s.tokens, (step + 1) * s.size - 1) - begin) * s.group;
		first = static_cast<int>(block % parts) * many;
	}
	__device__ Row row(const Shape &s, int i) const { return {b, begin + (first + i) / s.group, h_kv * s.group + (first + i) % s.group, h_kv}; }
	__device__ bool inside(const Shape &, int i) const { return first + i < rows; }
};

// parts is the number of tiles of a step.
inline int parts(const Shape &s, int many = tile) { return (std::min(s.size, s.tokens) * s.group + many - 1) / many; }

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_forward(Forward<T> a, int parts) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ Pairs pairs;
	const Shape &s = a.s;
	const Rows x(s, parts);
	if (x.first >= x.rows) return;
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x);
	float sum[tile], max, total;
	load_heads(tiles.q, x, s, a.q, s.dim);
	const bool seen = tiled_mean(a, x, 0, tiles, pairs, sum, max, total);
#pragma unroll
	for (int i = 0; i < tile; i++)
		if (x.inside(s, i) && c < s.dim_v) a.o[a.number(x.row(s, i)) * s.dim_v + c] = from_float<T>(seen ? sum[i] : 0.0f);
	if (x.key == 0 && x.inside(s, x.head) && a.lse != nullptr) a.lse[a.number(x.row(s, x.head))] = seen ? latent::log_of(max, total) : s.empty;
}

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_queries(Backward<T> a, int parts) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ Pairs pairs;
	const Shape &s = a.s;
	const Rows x(s, parts);
	if (x.first >= x.rows) return;
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x), stride_v = stride_of(s.dim_v);
	float out[tile] = {};
	load_heads(tiles.q, x, s, a.q, s.dim);
	load_heads(tiles.grad_o, x, s, a.grad_o, s.dim_v);
	load_heads(tiles.v, x, s, a.o, s.dim_v); // v's tile holds o
	__syncthreads();
	Saved saved = {0, dot_of(tiles.v + x.head * stride_v, tiles.grad_o + x.head * stride_v, s.dim_v)};
	if (x.inside(s, x.head)) {
		const Row r = x.row(s, x.head);
		saved.lse = *a.lse.row(r.b, r.t, r.h);
		if (x.key == 0) a.delta[a.number(r)] = saved.delta;
	}
	tiled_gradient(a, x, 0, tiles, pairs, saved, 1.0f, out);
#pragma unroll
	for (int i = 0; i < tile; i++)
		if (x.inside(s, i) && c < s.dim && a.grad_q != nullptr) a.grad_q[a.number(x.row(s, i)) * s.dim + c] = from_float<T>(out[i]);
}

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_keys(Backward<T> a, int tiles_of_keys) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ __align__(16) float weight[tile][tile], gradient[tile][tile]; // of each row and key
	const Shape &s = a.s;
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x), key = c % tile, row = c / tile, stride = stride_of(s.dim), stride_v = stride_of(s.dim_v);
	const int first = static_cast<int>(blockIdx.x % tiles_of_keys) * tile, h_kv = static_cast<int>(blockIdx.x / tiles_of_keys % s.heads_kv);
	const int64_t b = blockIdx.x / tiles_of_keys / s.heads_kv;
	const int begin = s.first_query(first), rows = (s.tokens - begin) * s.group;
	float sum_k[tile] = {}, sum_v[tile] = {};
	const auto key_of = [&](const View<T> &from) { return [&, b](int i) { return first + i < s.whole() ? from.row(b, first + i, h_kv) : nullptr; }; };
	load_rows(tiles.k, key_of(a.k), a.k.column, s.dim);
	load_rows(tiles.v, key_of(a.v), a.v.column, s.dim_v);
	for (int from = 0; from < rows; from += tile) {
		const auto row_of = [&](const View<T> &x) {
			return [&, b](int i) { return from + i < rows ? x.row(b, begin + (from + i) / s.group, h_kv * s.group + (from + i) % s.group) : nullptr; };
		};
		load_rows(tiles.q, row_of(a.q), a.q.column, s.dim);
		load_rows(tiles.grad_o, row_of(a.grad_o), a.grad_o.column, s.dim_v);
		__syncthreads();
		const Row r = {b, begin + (from + row) / s.group, h_kv * s.group + (from + row) % s.group, h_kv};
		float p = 0, ds = 0;
		if (from + row < rows && first + key < s.visible(r.t)) {
			const Saved saved = a.kept(r);
			p = expf(dot_of(tiles.q + row * stride, tiles.k + key * stride, s.dim) * s.scale - saved.lse);
			ds = p * (dot_of(tiles.grad_o + row * stride_v, tiles.v + key * stride_v, s.dim_v) - saved.delta) * s.scale;
		}
		weight[row][key] = p, gradient[row][key] = ds;
		__syncthreads();
#pragma unroll 2
		for (int i = 0; i < tile; i++) {
			// Where q is not finite, no P of its row is a number: NaN reaches the keys that it sees, and 0 * NaN must not reach the others.
			const float q = c < s.dim && isfinite(tiles.q[i * stride + c]) ? tiles.q[i * stride + c] : 0.0f, g = c < s.dim_v ? tiles.grad_o[i * stride_v + c] : 0.0f;
#pragma unroll
			for (int j = 0; j < tile; j++) sum_k[j] = fmaf(gradient[i][j], q, sum_k[j]), sum_v[j] = fmaf(weight[i][j], g, sum_v[j]);
		}
		__syncthreads(); // rows, weights and gradients have been read
	}
#pragma unroll
	for (int j = 0; j < tile; j++) {
		const int64_t to = (b * s.blocks + first + j) * s.heads_kv + h_kv;
		if (first + j < s.blocks && c < s.dim && a.grad_k != nullptr) a.grad_k[to * s.dim + c] = from_float<T>(sum_k[j]);
		if (first + j < s.blocks && c < s.dim_v && a.grad_v != nullptr) a.grad_v[to * s.dim_v + c] = from_float<T>(sum_v[j]);
	}
}

inline int64_t row_tiles(const Shape &s, int many = tile) { return s.batch * s.heads_kv * (s.whole() + 1) * parts(s, many); }

template <class T> int forward_tiled(const triad_call *call) {
	const Forward<T> a(call);
	return a.s.rows() == 0 ? TRIAD_OK : launch_tiles(tiled_forward<T>, row_tiles(a.s), a.s, stream_of(call), a, parts(a.s));
}

template <class T> int backward_tiled(const triad_call *call) {
	const Backward<T> a(call);
	const Shape &s = a.s;
	if (s.rows() == 0) return TRIAD_OK;
	if (const int status = launch_tiles(tiled_queries<T>, row_tiles(s), s, stream_of(call), a, parts(s))) return status;
	const int each = (s.blocks + tile - 1) / tile;
	return launch_tiles(tiled_keys<T>, s.batch * s.heads_kv * each, s, stream_of(call), a, each);
}

} // namespace compressed
} // namespace sparse
} // namespace triad
#endif
