// top_blocks.cuh: the choice of blocks by their weight in a softmax over one key for each block.
// Pipeline: of each head of a group the maximum and the total of its scores, then the weights, which are added up in the workspace, a number a block ->
// the best block again and again, by the whole block of threads. naive: a warp a score. tiled: 16 heads and 16 keys in shared memory, a thread a score.
#ifndef TRIAD_SPARSE_TOP_BLOCKS_CUH
#define TRIAD_SPARSE_TOP_BLOCKS_CUH
#include "sparse/selected_tiled.cuh"

namespace triad {
namespace sparse {
namespace top {

// Shape adds the number of keys, the places of a row, and whether the first block and the one before the own are forced.
struct Shape : Sizes {
	int blocks, selected;
	bool near;

	explicit Shape(const triad_call *call)
	    : Sizes(call, call->attr[0], call->attr[1], 0), blocks(static_cast<int>(call->in[1].shape[1])), selected(static_cast<int>(call->out[0].shape[3])),
	      near(call->attr[2] == 0) {}

	__host__ __device__ int64_t choices() const { return batch * tokens * heads_kv; } // rows of the result
	__device__ bool forced(int block, int own) const { return block == own || (near && (block == 0 || block == own - 1)); }
};

template <class T> struct Call {
	Shape s;
	View<T> q, k;
	float *scores; // [choices, blocks]
	int32_t *indices;

	explicit Call(const triad_call *call)
	    : s(call), q(call->in[0]), k(call->in[1]), scores(static_cast<float *>(call->workspace)), indices(static_cast<int32_t *>(call->out[0].data)) {}

	__device__ float *row() const { return scores + static_cast<int64_t>(blockIdx.x) * s.blocks; }
};

inline int64_t score_bytes(const triad_call *call) {
	const Shape s(call);
	return s.choices() * s.blocks * static_cast<int64_t>(sizeof(float));
}

// Softmax is the maximum and the total of scores.
struct Softmax {
	float max = -INFINITY, total = 0;

	__device__ void add(float score, float weight = 1) {
		const float now = fmaxf(max, score);
		total = total * expf(max - base(now)) + weight * expf(score - base(now));
		max = now;
	}
};

// choose writes the blocks 0 to own with the largest scores, falling, of equal ones the first, and -1 behind them.
template <int Threads, class T> __device__ void choose(const Call<T> &a, int own) {
	__shared__ float best[Threads / warp_size];
	__shared__ int place[Threads / warp_size];
	float *const score = a.row();
	int32_t *const to = a.indices + static_cast<int64_t>(blockIdx.x) * a.s.selected;
	const int t = static_cast<int>(threadIdx.x);
	for (int c = t; c <= own; c += Threads)
		if (a.s.forced(c, own)) score[c] = INFINITY;
	for (int p = own + 1 + t; p < a.s.selected; p += Threads) to[p] = -1;
	__syncthreads();
	for (int p = 0; p < min(own + 1, a.s.selected); p++) {
		float most = -1;
		int at = own;
		for (int c = t; c <= own; c += Threads)
			if (!(score[c] <= most)) most = score[c], at = c; // NaN too
		for (int step = warp_size / 2; step > 0; step /= 2) {
			const float other = __shfl_xor_sync(all_lanes, most, step);
			const int where = __shfl_xor_sync(all_lanes, at, step);
			if (!(other <= most) || (other == most && where < at)) most = other, at = where;
		}
		if (t % warp_size == 0) best[t / warp_size] = most, place[t / warp_size] = at;
		__syncthreads();
		if (t == 0) {
			for (int w = 1; w < Threads / warp_size; w++)
				if (!(best[w] <= most) || (best[w] == most && place[w] < at)) most = best[w], at = place[w];
			to[p] = at;
			score[at] = -2; // taken
		}
		__syncthreads();
	}
}

template <class T> __global__ void __launch_bounds__(naive_threads) naive(Call<T> a) {
	__shared__ Softmax parts[naive_warps];
	const Shape &s = a.s;
	const int h_kv = static_cast<int>(blockIdx.x % s.heads_kv), query = static_cast<int>(blockIdx.x / s.heads_kv % s.tokens);
	const int t = static_cast<int>(threadIdx.x), warp = t / warp_size, own = query / s.size, seen = (query + 1) / s.size;
	const int64_t b = blockIdx.x / s.heads_kv / s.tokens;
	float *const scores = a.row();
	for (int c = t; c <= own; c += naive_threads) scores[c] = 0;
	for (int g = 0; g < s.group; g++) {
		const Row r = {b, query, h_kv * s.group + g, h_kv};
		Softmax mine, all;
		for (int c = warp; c < seen; c += naive_warps) mine.add(score(a, r, c));
		__syncthreads(); // the parts of the head before have been read, and scores are 0
		if (t % warp_size == 0) parts[warp] = mine;
		__syncthreads();
		for (int w = 0; w < min(naive_warps, seen); w++) all.add(parts[w].max, parts[w].total);
		for (int c = warp; c < seen; c += naive_warps) {
			const float p = expf(score(a, r, c) - all.max) / all.total;
			if (t % warp_size == 0) scores[c] += p;
		}
	}
	__syncthreads();
	choose<naive_threads>(a, own);
}

template <class T> __global__ void __launch_bounds__(tile_threads) tiled(Call<T> a) {
	extern __shared__ __align__(16) float tile_memory[];
	__shared__ float weight[tile][tile + 1]; // of each key and head
	const Shape &s = a.s;
	Heads x(s, 1);
	const Tiles tiles(tile_memory, s);
	const int c = static_cast<int>(threadIdx.x), stride = stride_of(s.dim), own = x.t / s.size, seen = (x.t + 1) / s.size;
	float *const scores = a.row();
	for (int i = c; i <= own; i += tile_threads) scores[i] = 0;
	const auto score_of = [&](int start, int here) {
		__syncthreads(); // the tiles and the weights before have been read
		load_keys(tiles.k, x, a.k, s.dim, start, here);
		__syncthreads();
		return x.key < here ? dot_of(tiles.q + x.head * stride, tiles.k + x.key * stride, s.dim) * s.scale : -INFINITY;
	};
	for (; x.first < s.group; x.first += tile) {
		__syncthreads(); // the heads before have been read
		load_heads(tiles.q, x, s, a.q, s.dim);
		float max = -INFINITY, total = 0;
		for (int start = 0; start < seen; start += tile) {
			const float score = score_of(start, min(tile, seen - start)), now = fmaxf(max, warp_reduce<tile>(score, Max()));
			total = total * expf(max - base(now)) + warp_reduce<tile>(expf(score - base(now)), Sum());
			max = now;
		}
		for (int start = 0; start < seen; start += tile) {
			const int here = min(tile, seen - start);
			const float score = score_of(start, here);
			weight[x.key][x.head] = x.inside(s, x.head) ? expf(score - max) / total : 0.0f;
			__syncthreads();
			if (c >= here) continue;
			float sum = 0;
#pragma unroll
			for (int h = 0; h < tile; h++) sum += weight[c][h];
			scores[start + c] += sum;
		}
	}
	__syncthreads();
	choose<tile_threads>(a, own);
}

template <class T> int run_naive(const triad_call *call) {
	const Call<T> a(call);
	if (a.s.choices() > 0) naive<T><<<static_cast<unsigned>(a.s.choices()), naive_threads, 0, stream_of(call)>>>(a);
	return launched();
}

template <class T> int run_tiled(const triad_call *call) {
	const Call<T> a(call);
	return a.s.choices() == 0 ? TRIAD_OK : launch_tiles(tiled<T>, a.s.choices(), a.s, stream_of(call), a);
}

} // namespace top
} // namespace sparse
} // namespace triad
#endif
