// sorted_pairs.cuh: products for pairs of a row and a group, such as a token and its expert, in tiles that never cross groups.
// The pairs are sorted by group: counted, then put into their places, always in the same order. The host does not know how many pairs a group
// has, so it launches as many blocks as the worst case needs: each walks along the groups to the tile that is its own, and the last find none.
// Tiles are 64 x 64, with 4 x 4 elements a thread; sums are fp32.
#ifndef TRIAD_SORTED_PAIRS_CUH
#define TRIAD_SORTED_PAIRS_CUH
#include <algorithm>

#include "element.cuh"
#include "rows.cuh"

namespace triad {

constexpr int pair_threads = 256, sort_threads = 512;
constexpr int pair_tile = 64, depth_step = 16, side = 4; // a block's tile, k of a step, elements of a thread each way

// Cube is a matrix for each group.
template <class T> struct Cube {
	const T *data;
	int64_t group, row, col; // strides

	__device__ float operator()(int64_t e, int64_t r, int64_t c) const { return to_float(data[e * group + r * row + c * col]); }
	Cube turned() const { return {data, group, col, row}; }
};

// Gathered is the row of a pair, one for top pairs, times the pair's weight where there are weights. There are fewer than 2^31 pairs: a quotient
// of 64 bits is a call.
template <class T> struct Gathered {
	Matrix<const T> from;
	int32_t top;
	const float *w;

	__device__ float operator()(int64_t pair, int64_t k) const { return (w ? w[pair] : 1.0f) * to_float(from(static_cast<int32_t>(pair) / top, k)); }
};

// Own is a row of the pair's own.
struct Own {
	const float *data;
	int64_t cols;

	__device__ float operator()(int64_t pair, int64_t k) const { return data[pair * cols + k]; }
};

// SortedPairs are pairs by group: of group e those are order[offsets[e]] to order[offsets[e + 1] - 1].
struct SortedPairs {
	const int32_t *group; // of each pair
	int64_t *order, *offsets;
	int64_t pairs, groups;
	int64_t *place = nullptr; // of each pair in the order, where that is wanted
};

// sort_pairs_kernel: a block a group. Each warp counts a run of pairs, 32 at once, and puts them behind those of the warps before it.
static __global__ void __launch_bounds__(sort_threads) sort_pairs_kernel(SortedPairs s) {
	constexpr int warps = sort_threads / 32;
	constexpr unsigned all = 0xffffffffu;
	__shared__ int own[warps], before[warps]; // there are fewer than 2^31 pairs
	const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
	const int64_t run = ((s.pairs + warps - 1) / warps + 31) / 32 * 32, first = warp * run, end = first + run < s.pairs ? first + run : s.pairs;
	const int32_t e = static_cast<int32_t>(blockIdx.x);
	const auto group_of = [&](int64_t p) { return p < end ? s.group[p] : INT32_MAX; };
	int same = 0, less = 0;
	for (int64_t p = first; p < end; p += 32) {
		const int32_t g = group_of(p + lane);
		same += __popc(__ballot_sync(all, g == e)), less += __popc(__ballot_sync(all, g < e));
	}
	if (lane == 0) own[warp] = same, before[warp] = less;
	__syncthreads();
	int64_t begins = 0, at = 0, size = 0;
	for (int w = 0; w < warps; w++) begins += before[w], at += w < warp ? own[w] : 0, size += own[w];
	if (threadIdx.x == 0) s.offsets[e] = begins;
	if (threadIdx.x == 0 && e + 1 == s.groups) s.offsets[s.groups] = begins + size;
	at += begins;
	for (int64_t p = first; p < end; p += 32) {
		const bool is = group_of(p + lane) == e;
		const unsigned those = __ballot_sync(all, is);
		const int64_t to = at + __popc(those & ((1u << lane) - 1));
		if (is) s.order[to] = p + lane;
		if (is && s.place != nullptr) s.place[p + lane] = to;
		at += __popc(those);
	}
}

// tile_product adds up a tile of the product of a(row, k) and b(k, col), which are 0 beyond it.
template <class A, class B> __device__ void tile_product(float (&sum)[side][side], int64_t depth, const A &a, const B &b) {
	__shared__ float a_tile[depth_step][pair_tile + 1], b_tile[depth_step][pair_tile + 1];
	const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
	for (int64_t k0 = 0; k0 < depth; k0 += depth_step) {
#pragma unroll
		for (int i = static_cast<int>(threadIdx.x); i < pair_tile * depth_step; i += pair_threads) {
			a_tile[i % depth_step][i / depth_step] = a(i / depth_step, k0 + i % depth_step);
			b_tile[i / pair_tile][i % pair_tile] = b(k0 + i / pair_tile, i % pair_tile);
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < depth_step; k++)
#pragma unroll
			for (int i = 0; i < side; i++)
#pragma unroll
				for (int j = 0; j < side; j++) sum[i][j] += a_tile[k][y + 16 * i] * b_tile[k][x + 16 * j];
		__syncthreads();
	}
}

// each_of calls put(row, col, value) for the elements of a thread.
template <class Put> __device__ void each_of(const float (&sum)[side][side], const Put &put) {
#pragma unroll
	for (int i = 0; i < side; i++)
#pragma unroll
		for (int j = 0; j < side; j++) put(threadIdx.x / 16 + 16 * i, threadIdx.x % 16 + 16 * j, sum[i][j]);
}

template <class A, class B>
__global__ void __launch_bounds__(pair_threads) sorted_by_rows_kernel(SortedPairs s, A a, B b, float *out, int64_t cols, int64_t depth, bool more) {
	int64_t e = 0, own = blockIdx.x; // the group, and which of its tiles of rows
	for (; e < s.groups; e++) {
		const int64_t tiles = (s.offsets[e + 1] - s.offsets[e] + pair_tile - 1) / pair_tile;
		if (own < tiles) break;
		own -= tiles;
	}
	if (e == s.groups) return; // the whole block
	const int64_t first = s.offsets[e] + own * pair_tile, left = s.offsets[e + 1] - first, col0 = blockIdx.y * static_cast<int64_t>(pair_tile);
	float sum[side][side] = {};
	tile_product(
	    sum, depth, [&](int row, int64_t k) { return row < left && k < depth ? a(s.order[first + row], k) : 0.0f; },
	    [&](int64_t k, int col) { return k < depth && col0 + col < cols ? b(e, k, col0 + col) : 0.0f; });
	each_of(sum, [&](int row, int col, float v) {
		if (row >= left || col0 + col >= cols) return;
		float &to = out[s.order[first + row] * cols + col0 + col];
		to = more ? to + v : v;
	});
}

template <class T, class A, class B>
__global__ void __launch_bounds__(pair_threads) sorted_by_depth_kernel(SortedPairs s, A a, B b, T *out, int64_t rows, int64_t cols) {
	const int64_t down = (rows + pair_tile - 1) / pair_tile, e = blockIdx.x / down;
	const int64_t row0 = blockIdx.x % down * pair_tile, col0 = blockIdx.y * static_cast<int64_t>(pair_tile);
	const int64_t first = s.offsets[e], depth = s.offsets[e + 1] - first;
	float sum[side][side] = {};
	tile_product(
	    sum, depth, [&](int row, int64_t k) { return row0 + row < rows && k < depth ? a(s.order[first + k], row0 + row) : 0.0f; },
	    [&](int64_t k, int col) { return k < depth && col0 + col < cols ? b(s.order[first + k], col0 + col) : 0.0f; });
	each_of(sum, [&](int row, int col, float v) {
		if (row0 + row < rows && col0 + col < cols) out[(e * rows + row0 + row) * cols + col0 + col] = from_float<T>(v);
	});
}

inline unsigned pair_tiles(int64_t n) { return static_cast<unsigned>((n + pair_tile - 1) / pair_tile); }

inline void sort_pairs(const SortedPairs &s, cudaStream_t stream) {
	sort_pairs_kernel<<<static_cast<unsigned>(s.groups), sort_threads, 0, stream>>>(s);
}

// sorted_by_rows: of each pair out [pairs, cols] = a(pair, k) b(group, k, col) over depth, added to what is there if `more`. Each group but one
// may end in a tile that has a single pair.
template <class A, class B>
void sorted_by_rows(const SortedPairs &s, A a, B b, float *out, int64_t cols, int64_t depth, bool more, cudaStream_t stream) {
	const dim3 grid(pair_tiles(s.pairs) + static_cast<unsigned>(std::min(s.groups, s.pairs)), pair_tiles(cols));
	sorted_by_rows_kernel<<<grid, pair_threads, 0, stream>>>(s, a, b, out, cols, depth, more);
}

// sorted_by_depth: of each group out [rows, cols] = the sum over its pairs of a(pair, row) b(pair, col).
template <class T, class A, class B>
void sorted_by_depth(const SortedPairs &s, A a, B b, T *out, int64_t rows, int64_t cols, cudaStream_t stream) {
	const dim3 grid(static_cast<unsigned>(s.groups) * pair_tiles(rows), pair_tiles(cols));
	sorted_by_depth_kernel<<<grid, pair_threads, 0, stream>>>(s, a, b, out, rows, cols);
}

} // namespace triad
#endif
