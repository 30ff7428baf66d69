// top_blocks_mma.cuh: the choice of blocks on tensor cores by mma.sync (sm_80 and newer). fp16 and bf16, D a multiple of 8 up to 128, padded with zeros
// to 64 or 128, groups of at most 128 heads.
// Pipeline: as many tokens as have 128 heads of a group, a head a row -> twice past the keys, 64 at a time by cp.async into two buffers, one being copied
// while the other is used. First the scores, 32 rows a warp, give the maximum and the total of each row; then they are made again and become weights in
// shared memory, where a thread adds up those of a token's heads -> the sums of all blocks in the workspace -> the best below the last one, again and
// again, a warp a row of the result.
// Numerics products of 16-bit elements summed in fp32; weights and their sums, in the order of heads, in fp32.
#ifndef TRIAD_SPARSE_TOP_BLOCKS_MMA_CUH
#define TRIAD_SPARSE_TOP_BLOCKS_MMA_CUH
#include "order.cuh"
#include "sparse/mma_rows.cuh"
#include "sparse/top_blocks.cuh"

namespace triad {
namespace sparse {
namespace top {

template <int HeadDim> struct MmaTiles {
	static constexpr int rows = 128, threads = 128, fragments = 2; // 16-row fragments a warp
	static constexpr int stride = mma_cols + 8;                    // floats from one row of weights to the next
	static constexpr int q_bytes = triad::tile_bytes(rows, HeadDim), k_bytes = triad::tile_bytes(mma_cols, HeadDim);
	static constexpr int weights = q_bytes + 2 * k_bytes, bytes = weights + rows * stride * 4;
};

// Tokens are those of a block of threads: `many` from t on, of a sequence and a key head. Those that see most keys come first.
struct Tokens {
	int t, many, h_kv;
	int64_t b;

	__device__ Tokens(const Shape &s, int each) {
		const int tiles = (s.tokens + each - 1) / each, i = static_cast<int>(blockIdx.x);
		t = (tiles - 1 - i % tiles) * each, many = min(each, s.tokens - t);
		h_kv = i / tiles % s.heads_kv, b = i / tiles / s.heads_kv;
	}
};

template <class T, int HeadDim> __global__ void __launch_bounds__(MmaTiles<HeadDim>::threads, 2) mma_scores(Call<T> a, Group group) {
	using Tiles = MmaTiles<HeadDim>;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	const Shape &s = a.s;
	const Tokens x(s, Tiles::rows / s.group);
	const int warp = static_cast<int>(threadIdx.x) / warp_size, lane = static_cast<int>(threadIdx.x) % warp_size;
	const int most = (x.t + x.many) / s.size, tiles = (most + mma_cols - 1) / mma_cols; // of the keys that the last token sees
	const SharedAddress q_tile = shared_address(mma_tiles), stages = q_tile + Tiles::q_bytes;
	float *const weights = reinterpret_cast<float *>(mma_tiles + Tiles::weights);
	AsyncCopies copies;
	const auto copy_keys = [&](int i) { // the tile of step i
		const int first = i % tiles * mma_cols;
		const T *const at = a.k.row(x.b, first, x.h_kv);
		copy_rows<mma_cols, HeadDim, Tiles::threads>(copies, stages + i % 2 * Tiles::k_bytes, a.k.data, s.dim,
		                                             [=, step = a.k.token](int c) { return first + c < most ? at + c * step : nullptr; });
	};
	const GroupRows rows(a.q, group, x.b, x.h_kv, x.t * s.group, x.many * s.group);
	copy_rows<Tiles::rows, HeadDim, Tiles::threads>(copies, q_tile, a.q.data, s.dim, [&](int i) { return rows.of(a.q.data, i); });
	if (tiles > 0) copy_keys(0);
	copies.commit();

	int seen[Tiles::fragments][2]; // keys that a row sees
	mma::Softmax state[Tiles::fragments];
#pragma unroll
	for (int m = 0; m < Tiles::fragments; m++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int token = group.token(32 * warp + 16 * m + 8 * half + lane / 4);
			seen[m][half] = token < x.many ? (x.t + token + 1) / s.size : 0;
		}
	for (int i = 0; i < 2 * tiles; i++) {
		const int first = i % tiles * mma_cols;
		copies.template wait<0>();
		__syncthreads(); // the tile has arrived for all, and the one before and the weights have been read
		if (i + 1 < 2 * tiles) copy_keys(i + 1);
		copies.commit();
		float p[Tiles::fragments][mma_cols / 8][4] = {};
		score_product<T, Tiles::fragments, mma_cols / 8, HeadDim>(p, TileReader<Tiles::rows>(q_tile + 32 * warp * panel_bytes, rows_first()),
		                                                          TileReader<mma_cols>(stages + i % 2 * Tiles::k_bytes, chunks_first()));
#pragma unroll
		for (int m = 0; m < Tiles::fragments; m++) {
			mma::hide_keys(p[m], first, seen[m]);
			const mma::Exponents exponents = mma::exponents_for(state[m], p[m], s.scale * log2_e);
			float sum[2] = {state[m].sum[0] * exponents.decay[0], state[m].sum[1] * exponents.decay[1]};
			mma::weigh_scores(sum, p[m], exponents);
			if (i < tiles) {
				state[m].sum[0] = sum[0], state[m].sum[1] = sum[1];
				continue;
			}
#pragma unroll
			for (int half = 0; half < 2; half++) {
				const float total = warp_reduce<4>(state[m].sum[half], Sum()), inverse = seen[m][half] > 0 ? 1.0f / total : 0.0f;
				float *const to = weights + (32 * warp + 16 * m + 8 * half + lane / 4) * Tiles::stride + lane % 4 * 2;
#pragma unroll
				for (int n = 0; n < mma_cols / 8; n++)
					*reinterpret_cast<float2 *>(to + 8 * n) = make_float2(p[m][n][2 * half] * inverse, p[m][n][2 * half + 1] * inverse);
			}
		}
		if (i < tiles) continue;
		__syncthreads(); // all weights are there
		for (int at = static_cast<int>(threadIdx.x); at < x.many * mma_cols; at += Tiles::threads) {
			const int token = at / mma_cols, key = at % mma_cols;
			float sum = 0;
			for (int h = 0; h < s.group; h++) sum += weights[(token * s.group + h) * Tiles::stride + key];
			if (first + key < s.blocks) a.scores[((x.b * s.tokens + x.t + token) * s.heads_kv + x.h_kv) * s.blocks + first + key] = sum;
		}
	}
	copies.template wait<0>();
}

constexpr int choose_threads = 128;

// mma_choose: see choose.
template <class T> __global__ void __launch_bounds__(choose_threads) mma_choose(Call<T> a) {
	const Shape &s = a.s;
	const int64_t row = (static_cast<int64_t>(blockIdx.x) * choose_threads + threadIdx.x) / warp_size;
	if (row >= s.choices()) return;
	const int lane = static_cast<int>(threadIdx.x) % warp_size, own = static_cast<int>(row / s.heads_kv % s.tokens) / s.size;
	const float *const score = a.scores + row * s.blocks;
	int32_t *const to = a.indices + row * s.selected;
	Rank last = no_rank;
	for (int p = 0; p < s.selected; p++) {
		Rank best = 0;
		for (int c = lane; c <= own && p <= own; c += warp_size) {
			const Rank mine = rank_of(s.forced(c, own) ? INFINITY : score[c], c);
			if (mine < last && mine > best) best = mine;
		}
		last = warp_reduce<warp_size>(best, Higher());
		if (lane == 0) to[p] = p <= own ? place_of(last) : -1;
	}
}

template <class T, int HeadDim> int run_mma_of(const triad_call *call) {
	using Tiles = MmaTiles<HeadDim>;
	const Call<T> a(call);
	const Shape &s = a.s;
	if (s.choices() == 0) return TRIAD_OK;
	const int each = Tiles::rows / s.group;
	const int64_t blocks = s.batch * s.heads_kv * ((s.tokens + each - 1) / each);
	if (const int status = launch_mma(mma_scores<T, HeadDim>, blocks, Tiles::threads, Tiles::bytes, stream_of(call), a, Group(s.group))) return status;
	mma_choose<T><<<blocks_for(s.choices() * warp_size, choose_threads), choose_threads, 0, stream_of(call)>>>(a);
	return launched();
}

template <class T> int run_mma(const triad_call *call) { return Shape(call).dim <= 64 ? run_mma_of<T, 64>(call) : run_mma_of<T, 128>(call); }

inline Limits mma_fits() {
	return {capability("mma of 16 x 8 x 16 elements", 80, true),
	        contiguous_columns("q", "k"),
	        multiple_of("head_dim", 8),
	        at_most("head_dim", mma_most),
	        aligned(16, "q", "k"),
	        stepped(8, "q", "k"),
	        limit("as much shared memory as its tiles take",
	              [](Check &check, const triad_call *call) { check_shared(check, Shape(call).dim <= 64 ? MmaTiles<64>::bytes : MmaTiles<128>::bytes); }),
	        limit("scale in 0..1e30", [](Check &check, const triad_call *call) { check_scale(check, call->attr[1]); }),
	        limit("at most 128 heads a key", [](Check &check, const triad_call *call) {
		        const Shape s(call);
		        check.that(s.group <= 128, "%d heads share a key, more than 128", s.group);
	        })};
}

} // namespace top
} // namespace sparse
} // namespace triad
#endif
