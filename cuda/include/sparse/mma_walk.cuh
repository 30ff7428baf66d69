// mma_walk.cuh: how the warps of a block go together through the keys that their tokens see, for attention over selected blocks and a window on tensor
// cores: a warp has 16 heads of a token; tiles of 64 keys and values come by cp.async into two buffers, one being copied while the other is used.
#ifndef TRIAD_SPARSE_MMA_WALK_CUH
#define TRIAD_SPARSE_MMA_WALK_CUH
#include "sparse/mma_rows.cuh"

namespace triad {
namespace sparse {

constexpr int mma_warps = 8, mma_threads = 32 * mma_warps, mma_rows = 16 * mma_warps, mma_heads = 16 * mma_warps; // at most, heads of a group
constexpr int mma_half = 32;                                                                                      // keys whose scores a warp has at once

template <int HeadDim> struct MmaWalk {
	static constexpr int q_bytes = triad::tile_bytes(mma_rows, HeadDim), k_bytes = triad::tile_bytes(mma_cols, HeadDim);
	static constexpr int bytes = q_bytes + 4 * k_bytes;
};

// list_bytes: the blocks of the tokens of a block of threads.
inline int list_bytes(const Shape &s) { return mma_warps * s.blocks * static_cast<int>(sizeof(int)); }

struct Least {
	__device__ int operator()(int a, int b) const { return min(a, b); }
};

// Crew is what a block of threads has: `tokens` tokens from `first` on, of each `parts` warps with 16 heads.
struct Crew {
	int first, tokens, t; // t: the warp's token, which may lie beyond the last
	const int *chosen;    // [tokens, blocks], in shared memory; those that the token does not see are no_block

	static constexpr int no_block = INT32_MAX;

	// What follows is found anew each time, which costs less than keeping it in registers.
	__device__ static unsigned block() { return static_cast<unsigned>(hopper::fresh(static_cast<int>(blockIdx.x))); }
	__device__ int h_kv(const Shape &s) const { return static_cast<int>(block() % static_cast<unsigned>(s.heads_kv)); }
	__device__ int64_t b(const Shape &s) const { return block() / static_cast<unsigned>(s.heads_kv) % static_cast<unsigned>(s.batch); }
	__host__ __device__ static int parts(const Shape &s) { return (s.group + 15) / 16; }
	__device__ static int head(const Shape &s) { return hopper::fresh(static_cast<int>(threadIdx.x)) / warp_size % parts(s) * 16; } // the warp's first
	// row is that of the warp's i-th head, which may lie beyond the last.
	__device__ Row row(const Shape &s, int i) const { return {b(s), t, h_kv(s) * s.group + head(s) + i, h_kv(s)}; }
	__device__ bool inside(const Shape &s, int i) const { return t < s.tokens && head(s) + i < s.group; }

	template <class T> __device__ Crew(const Call<T> &a, int *memory) : chosen(memory) {
		const Shape &s = a.s;
		const int warp = static_cast<int>(threadIdx.x) / warp_size;
		tokens = mma_warps / parts(s);
		const int crews = (s.tokens + tokens - 1) / tokens, h = h_kv(s);
		first = (crews - 1 - static_cast<int>(block() / static_cast<unsigned>(s.heads_kv) / static_cast<unsigned>(s.batch))) * tokens; // long rows come first
		t = warp < parts(s) * tokens ? first + warp / parts(s) : s.tokens;
		for (int i = static_cast<int>(threadIdx.x); i < tokens * s.blocks; i += mma_threads) {
			const int mine = first + i / s.blocks;
			const int block = mine < s.tokens ? a.indices.row(b(s), mine, h)[i % s.blocks * a.indices.column] : -1;
			memory[i] = block >= 0 && static_cast<int64_t>(block) * s.size <= mine ? block : no_block;
		}
		__syncthreads();
	}
	__device__ int last(const Shape &s) const { return min(first + tokens, s.tokens) - 1; }
	// next is the first block after one that a token chose.
	__device__ int next(const Shape &s, int block) const {
		int least = no_block;
		for (int i = static_cast<int>(threadIdx.x) % warp_size; i < tokens * s.blocks; i += warp_size)
			if (chosen[i] > block) least = min(least, chosen[i]);
		return warp_reduce(least, Least());
	}
	// chose tells whether the warp's token did.
	__device__ bool chose(const Shape &s, int block) const {
		bool found = false;
		for (int i = static_cast<int>(threadIdx.x) % warp_size; i < s.blocks; i += warp_size) found = found || chosen[(t - first) * s.blocks + i] == block;
		return __any_sync(all_lanes, found);
	}
};

// Walk goes through the tiles of keys of a branch that one of the tokens sees: keys first to end - 1 of a tile.
struct Walk {
	int block, first, end, run; // run: where the keys of the block, or of the window, end

	__device__ bool there() const { return first < end; }
	__device__ void open(int from, int to) { first = from, run = to, end = min(from + mma_cols, to); }
	__device__ void open_block(const Shape &s, const Crew &crew, int of) {
		block = of;
		if (of == Crew::no_block) open(0, 0);
		else open(of * s.size, min((of + 1) * s.size, crew.last(s) + 1));
	}
	__device__ Walk(const Shape &s, const Crew &crew, int branch) : block(-1) {
		if (branch == 0) open_block(s, crew, crew.next(s, -1));
		else if (s.window > 0) open(max(0, crew.first + 1 - s.window), crew.last(s) + 1);
		else open(0, 0);
	}
	__device__ void advance(const Shape &s, const Crew &crew) {
		if (end < run) open(end, run);
		else if (block >= 0) open_block(s, crew, crew.next(s, block));
		else open(0, 0);
	}
	// seen are the keys of the tile that the warp's token sees.
	__device__ Run seen(const Shape &s, const Crew &crew) const {
		if (crew.t >= s.tokens) return {0, 0};
		if (block < 0) return {max(first, crew.t + 1 - s.window), min(end, crew.t + 1)};
		return crew.chose(s, block) ? Run{first, min(end, crew.t + 1)} : Run{0, 0};
	}
};

// hide_unseen makes scores of keys outside a run -inf; `first` is the key of column 0.
template <int Eights> __device__ inline void hide_unseen(float (&s)[Eights][4], int first, Run run) {
	const int column = first + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++)
			if (column + 8 * n + e % 2 < run.first || column + 8 * n + e % 2 >= run.end) s[n][e] = -INFINITY;
}

// seen_pair has the bits of those of two neighbouring keys that are in a run.
__device__ inline uint32_t seen_pair(int key, Run run) {
	return (key >= run.first && key < run.end ? 0xffffu : 0) | (key + 1 >= run.first && key + 1 < run.end ? 0xffff0000u : 0);
}

// add_seen_rows is add_weighted_rows of a tile whose rows outside a run are taken for 0, whatever they are; `first` is the key of its first row.
template <class T, int Blocks, int Eights, int Rows>
__device__ inline void add_seen_rows(float (&sum)[Eights][4], const uint32_t (&weights)[Blocks][4], const TileReader<Rows> &x, int first, Run run) {
	const int key = first + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
	for (int k = 0; k < Blocks; k++) {
		const uint32_t low = seen_pair(key + 16 * k, run), high = seen_pair(key + 16 * k + 8, run);
#pragma unroll
		for (int n = 0; n < Eights; n += 2) {
			uint32_t right[4];
			hopper::load_transposed(right, x.block(16 * k, n / 2));
			hopper::Multiply<T>::add(sum[n], weights[k], right[0] & low, right[1] & high);
			hopper::Multiply<T>::add(sum[n + 1], weights[k], right[2] & low, right[3] & high);
		}
	}
}

// copy_walked starts the copy of a tile's keys and values, zeros behind its end.
template <int HeadDim, class T>
__device__ inline void copy_walked(AsyncCopies &copies, SharedAddress to, const Call<T> &a, const Crew &crew, const Walk &walk) {
	const auto rows = [&](const View<T> &x) {
		const T *const at = x.row(crew.b(a.s), walk.first, crew.h_kv(a.s));
		return [at, step = x.token, here = walk.end - walk.first](int i) { return i < here ? at + i * step : nullptr; };
	};
	copy_rows<mma_cols, HeadDim, mma_threads>(copies, to, a.k.data, a.s.dim, rows(a.k));
	copy_rows<mma_cols, HeadDim, mma_threads>(copies, to + MmaWalk<HeadDim>::k_bytes, a.v.data, a.s.dim_v, rows(a.v));
}

// each_tile calls use(tile, first, seen) for the tiles of a branch of which the warp's token sees some keys, the tile in one of two buffers. No copy is
// under way afterwards.
template <int HeadDim, class T, class Use>
__device__ inline void each_tile(AsyncCopies &copies, SharedAddress stages, const Call<T> &a, const Crew &crew, int branch, Use use) {
	constexpr int stage_bytes = 2 * MmaWalk<HeadDim>::k_bytes;
	Walk walk(a.s, crew, branch);
	if (walk.there()) copy_walked<HeadDim>(copies, stages, a, crew, walk);
	copies.commit();
	SharedAddress tile = stages;
	while (walk.there()) {
		const int first = walk.first;
		const Run seen = walk.seen(a.s, crew);
		walk.advance(a.s, crew);
		copies.template wait<0>();
		__syncthreads(); // the tile has arrived for all, and the one before has been read
		const SharedAddress other = 2 * stages + stage_bytes - tile;
		if (walk.there()) copy_walked<HeadDim>(copies, other, a, crew, walk);
		copies.commit();
		if (seen.first < seen.end) use(tile, first, seen);
		tile = other;
	}
	copies.template wait<0>();
	__syncthreads(); // the last tile has been read
}

// score_half has the scores, not yet scaled, of the warp's rows and of 32 keys of a tile.
template <class T, int HeadDim>
__device__ inline void score_half(float (&p)[1][mma_half / 8][4], SharedAddress rows, SharedAddress tile, int half) {
	const int warp = static_cast<int>(threadIdx.x) / warp_size;
	score_product<T, 1, mma_half / 8, HeadDim>(p, TileReader<mma_rows>(rows + 16 * warp * panel_bytes, rows_first()),
	                                           TileReader<mma_cols>(tile + half * panel_bytes, chunks_first()));
}

// copy_heads starts the copy of the rows of all warps: row 16 w + i is a head of the token of warp w.
template <int HeadDim, class T>
__device__ inline void copy_heads(AsyncCopies &copies, SharedAddress to, const View<T> &from, const Shape &s, const Crew &crew, int columns) {
	copy_rows<mma_rows, HeadDim, mma_threads>(copies, to, from.data, columns, [&](int i) -> const T * {
		const int warp = i / 16, parts = crew.parts(s), t = crew.first + warp / parts, head = warp % parts * 16 + i % 16;
		return warp < parts * crew.tokens && t < s.tokens && head < s.group ? from.row(crew.b(s), t, crew.h_kv(s) * s.group + head) : nullptr;
	});
}

} // namespace sparse
} // namespace triad
#endif
