// selected_tiled.cuh: attention over selected blocks and a window without tensor cores, 16 heads that share keys in a block, in fp32.
// Pipeline, queries: 16 keys of a run to shared memory -> a thread a pair: its score (and grad_o . v) -> the 16 lanes of a head have its maximum and its
// total -> a thread adds up a column for all heads. Keys: the queries that see one of 16 keys of a block are listed, 256 at a time; their heads stream by,
// 16 at a time -> P and dS of a pair a thread -> a column of grad_k and of grad_v for all keys.
#ifndef TRIAD_SPARSE_SELECTED_TILED_CUH
#define TRIAD_SPARSE_SELECTED_TILED_CUH
#include "capability.cuh"
#include "sparse/selected_naive.cuh"

namespace triad {
namespace sparse {

constexpr int tile = 16, tile_threads = tile * tile; // heads, keys; a thread for each pair, and for each column
static_assert(most_dim <= tile_threads, "a thread adds up one column");

// A row in shared memory is four elements longer than it need be, so that eight lanes read a quad of different rows from different banks.
__host__ __device__ inline int stride_of(int columns) { return (columns + 3) / 4 * 4 + 4; }

// dot_of is the product of two rows in shared memory.
__device__ inline float dot_of(const float *x, const float *y, int columns) {
	float sum[4] = {};
	for (int c = 0; c < columns; c += 4) {
		const float4 a = *reinterpret_cast<const float4 *>(x + c), b = *reinterpret_cast<const float4 *>(y + c);
		sum[0] = fmaf(a.x, b.x, sum[0]);
		sum[1] = fmaf(a.y, b.y, sum[1]);
		sum[2] = fmaf(a.z, b.z, sum[2]);
		sum[3] = fmaf(a.w, b.w, sum[3]);
	}
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// load_rows copies 16 rows to shared memory; at(i) is the address of the i-th, null for zeros.
template <class At> __device__ void load_rows(float *to, At at, int64_t column, int columns) {
	const int stride = stride_of(columns);
	for (int i = static_cast<int>(threadIdx.x); i < tile * stride; i += tile_threads) {
		const auto *const row = at(i / stride);
		to[i] = row != nullptr && i % stride < columns ? to_float(row[i % stride * column]) : 0.0f;
	}
}

// Tiles are what lies in dynamic shared memory: rows of heads, then rows of keys.
struct Tiles {
	float *q, *grad_o, *k, *v;

	__device__ Tiles(float *memory, const Sizes &s)
	    : q(memory), grad_o(q + tile * stride_of(s.dim)), k(grad_o + tile * stride_of(s.dim_v)), v(k + tile * stride_of(s.dim)) {}
};

inline int tile_bytes(const Sizes &s) { return 2 * tile * (stride_of(s.dim) + stride_of(s.dim_v)) * static_cast<int>(sizeof(float)); }

// Heads are the 16 heads of a query that a block of threads has; thread threadIdx.x has head `head` and key `key` of a pair.
struct Heads {
	int64_t b;
	int t, h_kv, first, head, key;

	__device__ Heads(const Sizes &s, int parts) : head(static_cast<int>(threadIdx.x) / tile), key(static_cast<int>(threadIdx.x) % tile) {
		const int64_t query = blockIdx.x / parts;
		h_kv = static_cast<int>(query % s.heads_kv), t = static_cast<int>(query / s.heads_kv % s.tokens), b = query / s.heads_kv / s.tokens;
		first = static_cast<int>(blockIdx.x % parts) * tile;
	}
	__device__ Row row(const Sizes &s, int i) const { return {b, t, h_kv * s.group + first + i, h_kv}; }
	__device__ bool inside(const Sizes &s, int i) const { return first + i < s.group; }
};

// load_heads copies a tile's rows of q or grad_o to shared memory, load_keys rows of k or v of its key head.
template <class Heads, class Shape, class T> __device__ void load_heads(float *to, const Heads &x, const Shape &s, const View<T> &from, int columns) {
	const auto row = [&](int i) -> const T * {
		const Row r = x.row(s, i);
		return x.inside(s, i) ? from.row(r.b, r.t, r.h) : nullptr;
	};
	load_rows(to, row, from.column, columns);
}
template <class Heads, class T> __device__ void load_keys(float *to, const Heads &x, const View<T> &from, int columns, int start, int here) {
	load_rows(to, [&](int i) { return i < here ? from.row(x.b, start + i, x.h_kv) : nullptr; }, from.column, columns);
}

// Pairs are in shared memory: of a step the weights of each key and head, and of each head what its sums are multiplied by.
struct Pairs {
	__align__(16) float weight[tile][tile];
	float decay[tile], total[tile];
};

// tiled_mean is softmax(scores) v of 16 heads in one branch, in column threadIdx.x; Q is in the tiles. max and total are those of the thread's head.
template <class Call, class Heads>
__device__ bool tiled_mean(const Call &a, const Heads &x, int branch, const Tiles &tiles, Pairs &pairs, float (&sum)[tile], float &max, float &total) {
	const auto &s = a.s;
	const int c = static_cast<int>(threadIdx.x), stride = stride_of(s.dim);
	bool seen = false;
#pragma unroll
	for (int i = 0; i < tile; i++) sum[i] = 0;
	max = -INFINITY, total = 0;
	for (int i = s.first_run(branch); i < s.last_run(branch); i++) {
		const Run run = a.run(x.row(s, 0), i);
		for (int start = run.first; start < run.end; start += tile) {
			const int here = min(tile, run.end - start);
			seen = true;
			__syncthreads(); // the tile and the weights before have been read
			load_keys(tiles.k, x, a.k, s.dim, start, here);
			__syncthreads();
			const float score = x.key < here ? dot_of(tiles.q + x.head * stride, tiles.k + x.key * stride, s.dim) * s.scale : -INFINITY;
			const float top = fmaxf(max, warp_reduce<tile>(score, Max())), e = expf(score - base(top)), fall = expf(max - base(top));
			total = total * fall + warp_reduce<tile>(e, Sum());
			max = top;
			pairs.weight[x.key][x.head] = e;
			if (x.key == 0) pairs.decay[x.head] = fall;
			__syncthreads();
			if (c >= s.dim_v) continue;
#pragma unroll
			for (int h = 0; h < tile; h++) sum[h] *= pairs.decay[h];
#pragma unroll 2
			for (int j = 0; j < here; j++) {
				const float v = to_float(a.v.row(x.b, start + j, x.h_kv)[c * a.v.column]);
#pragma unroll
				for (int h = 0; h < tile; h++) sum[h] = fmaf(pairs.weight[j][h], v, sum[h]);
			}
		}
	}
	__syncthreads(); // the totals of the other branch have been read
	if (x.key == 0) pairs.total[x.head] = total;
	__syncthreads();
#pragma unroll
	for (int h = 0; h < tile; h++)
		if (seen) sum[h] /= pairs.total[h];
	return seen;
}

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_forward(Forward<T> a, int parts) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ Pairs pairs;
	const Shape &s = a.s;
	const Heads x(s, parts);
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x);
	float out[tile] = {}, sum[tile], max, total;
	load_heads(tiles.q, x, s, a.q, s.dim);
	for (int branch = 0; branch < branches; branch++) {
		if (!tiled_mean(a, x, branch, tiles, pairs, sum, max, total)) continue;
#pragma unroll
		for (int h = 0; h < tile; h++)
			if (x.inside(s, h)) out[h] += a.gate(x.row(s, h), branch) * sum[h];
	}
#pragma unroll
	for (int h = 0; h < tile; h++)
		if (x.inside(s, h) && c < s.dim_v) a.o[a.number(x.row(s, h)) * s.dim_v + c] = from_float<T>(out[h]);
}

// tiled_gradient adds the grad_q of 16 heads in one branch, in column threadIdx.x; Q and grad_o are in the tiles. saved and gate are those of the
// thread's head.
template <class Call, class Heads>
__device__ void tiled_gradient(const Call &a, const Heads &x, int branch, const Tiles &tiles, Pairs &pairs, Saved saved, float gate, float (&out)[tile]) {
	const auto &s = a.s;
	const int c = static_cast<int>(threadIdx.x), stride = stride_of(s.dim), stride_v = stride_of(s.dim_v);
	for (int i = s.first_run(branch); i < s.last_run(branch); i++) {
		const Run run = a.run(x.row(s, 0), i);
		for (int start = run.first; start < run.end; start += tile) {
			const int here = min(tile, run.end - start);
			__syncthreads(); // tiles and gradients before have been read
			load_keys(tiles.k, x, a.k, s.dim, start, here);
			load_keys(tiles.v, x, a.v, s.dim_v, start, here);
			__syncthreads();
			const float p = expf(dot_of(tiles.q + x.head * stride, tiles.k + x.key * stride, s.dim) * s.scale - saved.lse);
			const float dp = dot_of(tiles.grad_o + x.head * stride_v, tiles.v + x.key * stride_v, s.dim_v);
			pairs.weight[x.key][x.head] = x.key < here ? gate * p * (dp - saved.delta) * s.scale : 0.0f;
			__syncthreads();
			for (int j = 0; j < here && c < s.dim; j++)
#pragma unroll
				for (int h = 0; h < tile; h++) out[h] = fmaf(pairs.weight[j][h], tiles.k[j * stride + c], out[h]);
		}
	}
}

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_queries(Backward<T> a, int parts) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ Pairs pairs;
	const Shape &s = a.s;
	const Heads x(s, parts);
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x), stride_v = stride_of(s.dim_v);
	float out[tile] = {}, sum[tile], max, total;
	load_heads(tiles.q, x, s, a.q, s.dim);
	load_heads(tiles.grad_o, x, s, a.grad_o, s.dim_v);
	for (int branch = 0; branch < branches; branch++) {
		tiled_mean(a, x, branch, tiles, pairs, sum, max, total);
		__syncthreads(); // v's tile holds o now
#pragma unroll
		for (int h = 0; h < tile; h++)
			if (c < stride_v) tiles.v[h * stride_v + c] = c < s.dim_v ? sum[h] : 0.0f;
		for (int i = c + tile_threads; i < stride_v; i += tile_threads)
			for (int h = 0; h < tile; h++) tiles.v[h * stride_v + i] = 0;
		__syncthreads();
		const Saved saved = {max + logf(total), dot_of(tiles.v + x.head * stride_v, tiles.grad_o + x.head * stride_v, s.dim_v)};
		const float gate = x.inside(s, x.head) ? a.gate(x.row(s, x.head), branch) : 0.0f;
		if (x.key == 0 && x.inside(s, x.head)) a.keep(x.row(s, x.head), branch, saved);
		tiled_gradient(a, x, branch, tiles, pairs, saved, gate, out);
	}
#pragma unroll
	for (int h = 0; h < tile; h++)
		if (x.inside(s, h) && c < s.dim && a.grad_q != nullptr) a.grad_q[a.number(x.row(s, h)) * s.dim + c] = from_float<T>(out[h]);
}

// Seeing are the queries of a step that see one of a tile of keys, rising, and whether they chose its block.
struct Seeing {
	int query[tile_threads], counts[tile_threads / warp_size];
	bool chosen[tile_threads];

	// list lists the queries of `first` and behind it, a thread each, and returns their number.
	__device__ int list(bool sees, bool chose, int t) {
		const int warp = static_cast<int>(threadIdx.x) / warp_size, lane = static_cast<int>(threadIdx.x) % warp_size;
		const unsigned lanes = __ballot_sync(all_lanes, sees);
		if (lane == 0) counts[warp] = __popc(lanes);
		__syncthreads();
		int before = __popc(lanes & ((1u << lane) - 1)), all = 0;
		for (int w = 0; w < tile_threads / warp_size; w++) {
			if (w < warp) before += counts[w];
			all += counts[w];
		}
		if (sees) query[before] = t, chosen[before] = chose;
		__syncthreads();
		return all;
	}
};

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_keys(Backward<T> a, int parts, int blocks) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ __align__(16) float weight[tile][tile], gradient[tile][tile]; // of each row and key
	__shared__ Seeing seeing;
	const Shape &s = a.s;
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x), key = c % tile, row = c / tile, stride = stride_of(s.dim), stride_v = stride_of(s.dim_v);
	const int part = static_cast<int>(blockIdx.x % parts), block = static_cast<int>(blockIdx.x / parts % blocks);
	const int h_kv = static_cast<int>(blockIdx.x / parts / blocks % s.heads_kv);
	const int64_t b = blockIdx.x / parts / blocks / s.heads_kv;
	const int first = block * s.size + part * tile, end = min(min(first + tile, (block + 1) * s.size), s.tokens);
	float sum_k[tile] = {}, sum_v[tile] = {};
	const auto key_of = [&](const View<T> &from) { return [&, b](int i) { return first + i < end ? from.row(b, first + i, h_kv) : nullptr; }; };
	load_rows(tiles.k, key_of(a.k), a.k.column, s.dim);
	load_rows(tiles.v, key_of(a.v), a.v.column, s.dim_v);
	for (int start = first; start < s.tokens && first < end; start += tile_threads) {
		const int t = start + c;
		const bool chose = t < s.tokens && a.chose(b, t, h_kv, block);
		const int rows = seeing.list(chose || (t < s.tokens && t - (end - 1) < s.window), chose, t) * s.group;
		for (int from = 0; from < rows; from += tile) {
			const auto row_of = [&](const View<T> &x) {
				return [&, b](int i) { return from + i < rows ? x.row(b, seeing.query[(from + i) / s.group], h_kv * s.group + (from + i) % s.group) : nullptr; };
			};
			load_rows(tiles.q, row_of(a.q), a.q.column, s.dim);
			load_rows(tiles.grad_o, row_of(a.grad_o), a.grad_o.column, s.dim_v);
			__syncthreads();
			const float score = dot_of(tiles.q + row * stride, tiles.k + key * stride, s.dim) * s.scale;
			const float dp = dot_of(tiles.grad_o + row * stride_v, tiles.v + key * stride_v, s.dim_v);
			float p = 0, ds = 0;
			if (from + row < rows && first + key < end) {
				const int place = (from + row) / s.group;
				const Row r = {b, seeing.query[place], h_kv * s.group + (from + row) % s.group, h_kv};
				for (int branch = 0; branch < branches; branch++) {
					if (first + key > r.t || (branch == 0 ? !seeing.chosen[place] : r.t - (first + key) >= s.window)) continue;
					const Saved saved = a.kept(r, branch);
					const float mine = a.gate(r, branch) * expf(score - saved.lse);
					p += mine;
					ds += mine * (dp - saved.delta) * s.scale;
				}
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
		__syncthreads(); // the list has been read
	}
#pragma unroll
	for (int j = 0; j < tile; j++) {
		const int64_t to = (b * s.tokens + first + j) * s.heads_kv + h_kv;
		if (first + j < end && c < s.dim && a.grad_k != nullptr) a.grad_k[to * s.dim + c] = from_float<T>(sum_k[j]);
		if (first + j < end && c < s.dim_v && a.grad_v != nullptr) a.grad_v[to * s.dim_v + c] = from_float<T>(sum_v[j]);
	}
}

// tiles_fit: the shared memory of a block.
template <class Shape> Limits tiles_fit() {
	return {limit("as much shared memory as its tiles take", [](Check &check, const triad_call *call) {
		const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), needed = tile_bytes(Shape(call));
		check.that(most >= needed, "a block needs %d bytes of shared memory, this GPU gives %d", needed, most);
	})};
}

// launch_tiles starts a kernel with its tiles in shared memory.
template <class Kernel, class... Arguments> int launch_tiles(Kernel kernel, int64_t grid, const Sizes &s, cudaStream_t stream, const Arguments &...arguments) {
	const int bytes = tile_bytes(s);
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return status;
	kernel<<<static_cast<unsigned>(grid), tile_threads, static_cast<size_t>(bytes), stream>>>(arguments...);
	return launched();
}

template <class T> int forward_tiled(const triad_call *call) {
	const Forward<T> a(call);
	const int parts = (a.s.group + tile - 1) / tile;
	return a.s.keys() == 0 ? TRIAD_OK : launch_tiles(tiled_forward<T>, a.s.keys() * parts, a.s, stream_of(call), a, parts);
}

template <class T> int backward_tiled(const triad_call *call) {
	const Backward<T> a(call);
	const Shape &s = a.s;
	if (s.keys() == 0) return TRIAD_OK;
	const int parts = (s.group + tile - 1) / tile, blocks = (s.tokens + s.size - 1) / s.size, each = (std::min(s.size, s.tokens) + tile - 1) / tile;
	if (const int status = launch_tiles(tiled_queries<T>, s.keys() * parts, s, stream_of(call), a, parts)) return status;
	return launch_tiles(tiled_keys<T>, s.batch * s.heads_kv * blocks * each, s, stream_of(call), a, each, blocks);
}

} // namespace sparse
} // namespace triad
#endif
