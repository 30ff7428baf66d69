// selected_mma.cuh: attention over selected blocks and a window on tensor cores by mma.sync (sm_80 and newer). fp16 and bf16, D and Dv multiples of 8 up
// to 128, padded with zeros to 64 or 128; at most 128 heads to a key head.
// Pipeline, forward: a warp has 16 heads of a token; the eight warps of a block have neighbouring tokens, or heads, and go together through the blocks that
// one of them chose, in rising order, so that what several chose is read once -> tiles of 64 keys and values by cp.async into two buffers, one being
// copied while the other is used -> a warp whose token sees some of the tile: scores of 32 keys -> weights in registers -> sums, from which keys that
// the token does not see are left out. The sums are multiplied by gate and total, and the window is walked twice: for its maximum and total, and to add its
// weights to the same sums.
// Backward, the same walk: of each row and softmax lse and delta, the mean of grad_o . v, to the workspace, then dS k. Then a block for 64 keys of a block
// of tokens and a share of the tokens lists those that see one, and streams their rows by, 64 at a time, scores transposed, so that P and dS are in
// registers what the products for grad_v and grad_k take; the shares are added up in order.
// Numerics products of 16-bit elements summed in fp32; P and dS in fp32, those of the window in a unit of gate and total, a power of two, rounded to the
// input's format as operands of the second products.
#ifndef TRIAD_SPARSE_SELECTED_MMA_CUH
#define TRIAD_SPARSE_SELECTED_MMA_CUH
#include "room.cuh"
#include "sparse/mma_walk.cuh"
#include "sparse/selected_tiled.cuh"

namespace triad {
namespace sparse {

// Weights with a factor are to be as large as those without, as fp16 has few bits for small ones: the factor is one of 1 to 2 times a power of two.
__device__ inline int unit_of(float factor) { return max(-40, min(40, (__float_as_int(factor) >> 23 & 255) - 127)); }
__device__ inline float two_to(int exponent) { return __int_as_float((exponent + 127) << 23); }

template <class T, int HeadDim> __global__ void __launch_bounds__(mma_threads, 2) mma_forward(Forward<T> a) {
	using Tiles = MmaWalk<HeadDim>;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	const Shape &s = a.s;
	const Crew crew(a, reinterpret_cast<int *>(mma_tiles + Tiles::bytes));
	const SharedAddress q_tile = shared_address(mma_tiles), stages = q_tile + Tiles::q_bytes;
	const int warp = static_cast<int>(threadIdx.x) / warp_size, g = static_cast<int>(threadIdx.x) % warp_size / 4;
	AsyncCopies copies;
	copy_heads<HeadDim>(copies, q_tile, a.q, s, crew, s.dim);
	const auto gate = [&](int half, int branch) {
		return crew.inside(s, g + 8 * half) ? a.gate(crew.row(s, g + 8 * half), branch) : 0.0f;
	};

	mma::Softmax state;
	float o[HeadDim / 8][4] = {};
	const auto add = [&](SharedAddress tile, int first, Run seen, int half, float (&p)[1][mma_half / 8][4]) {
		uint32_t weights[mma_half / 16][4];
		pack_weights<T>(weights, p[0]);
		add_seen_rows<T>(o, weights, TileReader<mma_cols>(tile + Tiles::k_bytes + half * panel_bytes, rows_first()), first + half, seen);
	};
	bool some = false;
	each_tile<HeadDim>(copies, stages, a, crew, 0, [&](SharedAddress tile, int first, Run seen) {
		some = true;
#pragma unroll 1
		for (int half = 0; half < mma_cols; half += mma_half) {
			if (first + half >= seen.end) continue;
			float p[1][mma_half / 8][4] = {};
			score_half<T, HeadDim>(p, q_tile, tile, half);
			if (first + half + mma_half > seen.end) hide_unseen(p[0], first + half, seen);
			const mma::Exponents exponents = mma::exponents_for(state, p[0], s.scale * log2_e);
			mma::rescale(state, o, exponents);
			mma::weigh_scores(state.sum, p[0], exponents);
			add(tile, first, seen, half, p);
		}
	});
	float factor[2], unit[2] = {1, 1}; // of what the sums are then multiples
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const float total = warp_reduce<4>(state.sum[half], Sum());
		factor[half] = some ? gate(half, 0) / total : 0.0f;
	}
#pragma unroll
	for (int n = 0; n < HeadDim / 8; n++)
#pragma unroll
		for (int e = 0; e < 4; e++) o[n][e] *= factor[e / 2];
	if (s.window > 0) {
		mma::Softmax near;
		each_tile<HeadDim>(copies, stages, a, crew, 1, [&](SharedAddress tile, int first, Run seen) {
#pragma unroll 1
			for (int half = 0; half < mma_cols; half += mma_half) {
				if (first + half >= seen.end || first + half + mma_half <= seen.first) continue;
				float p[1][mma_half / 8][4] = {}, none[1][4] = {};
				score_half<T, HeadDim>(p, q_tile, tile, half);
				hide_unseen(p[0], first + half, seen);
				const mma::Exponents exponents = mma::exponents_for(near, p[0], s.scale * log2_e);
				mma::rescale(near, none, exponents);
				mma::weigh_scores(near.sum, p[0], exponents);
			}
		});
		mma::Exponents exponents = {s.scale * log2_e, {}, {}};
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const float total = warp_reduce<4>(near.sum[half], Sum());
			factor[half] = gate(half, 1) / total, exponents.base[half] = finite_max(near.max[half]);
			const int exponent = unit_of(factor[half]);
			unit[half] = two_to(exponent), factor[half] *= two_to(-exponent);
#pragma unroll
			for (int n = 0; n < HeadDim / 8; n++) o[n][2 * half] *= two_to(-exponent), o[n][2 * half + 1] *= two_to(-exponent);
		}
		each_tile<HeadDim>(copies, stages, a, crew, 1, [&](SharedAddress tile, int first, Run seen) {
#pragma unroll 1
			for (int half = 0; half < mma_cols; half += mma_half) {
				if (first + half >= seen.end || first + half + mma_half <= seen.first) continue;
				float p[1][mma_half / 8][4] = {};
				score_half<T, HeadDim>(p, q_tile, tile, half);
				hide_unseen(p[0], first + half, seen);
#pragma unroll
				for (int n = 0; n < mma_half / 8; n++)
#pragma unroll
					for (int e = 0; e < 4; e++)
						p[0][n][e] = factor[e / 2] * hopper::power_of_two((p[0][n][e] - exponents.base[e / 2]) * exponents.factor);
				add(tile, first, seen, half, p);
			}
		});
	}
	copies.template wait<0>();
	__syncthreads(); // the queries of other threads' copies, where no key was seen
	store_rows<T, mma_rows>(mma_tiles + 16 * warp * panel_bytes, o, unit, s.dim_v, [&](int i) {
		return crew.inside(s, i) ? a.o + a.number(crew.row(s, i)) * s.dim_v : nullptr;
	});
}

// Kept is what a row has in a branch for its gradients: lse to the base 2, infinity over no key.
struct __align__(16) Kept {
	float lse, delta, gate, unused;

	// lost: in every branch in which the row sees a key no weight is a number, as where q is not finite.
	__device__ bool lost(const Kept &other) const {
		return (isnan(lse) || isnan(other.lse)) && (isnan(lse) || lse == INFINITY) && (isnan(other.lse) || other.lse == INFINITY);
	}
};

// MmaSums is the workspace of a backward. Rows are in the order batch, key heads, tokens, heads of a group.
struct MmaSums {
	Kept *kept;             // [rows, branches]
	float *grad_k, *grad_v; // sums of shares of the tokens, D or Dv columns
	int tiles, blocks;      // tiles of keys in a block of tokens; such blocks
	Shares shares;

	MmaSums(const Shape &s, Room &room)
	    : tiles((std::min(s.size, std::max(s.tokens, 1)) + mma_cols - 1) / mma_cols), blocks((s.tokens + s.size - 1) / s.size) {
		// Some 1024 blocks of threads; a share has 256 tokens, or there is one.
		const int64_t across = s.batch * s.heads_kv * tiles * blocks, most = std::max(1, s.tokens / 256);
		shares = {s.batch, s.heads_kv, s.tokens, s.tokens, across == 0 ? 1 : static_cast<int>(std::min(most, (1024 + across - 1) / across))};
		kept = room.take<Kept>(s.rows() * branches);
		grad_k = room.take<float>(shares.rows() * shares.count * s.dim), grad_v = room.take<float>(shares.rows() * shares.count * s.dim_v);
	}
};

inline int64_t mma_bytes(const triad_call *call) {
	Room room(call);
	const MmaSums sums(Shape(call), room);
	return room.used;
}

template <int HeadDim> struct MmaQueries {
	static constexpr int bytes = MmaWalk<HeadDim>::bytes + MmaWalk<HeadDim>::q_bytes; // grad_o behind q
};

template <class T, int HeadDim> __global__ void __launch_bounds__(mma_threads, 1) mma_queries(Backward<T> a, MmaSums sums) {
	using Tiles = MmaWalk<HeadDim>;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	const Shape &s = a.s;
	const Crew crew(a, reinterpret_cast<int *>(mma_tiles + MmaQueries<HeadDim>::bytes));
	const SharedAddress q_tile = shared_address(mma_tiles), g_tile = q_tile + Tiles::q_bytes, stages = g_tile + Tiles::q_bytes;
	const int warp = static_cast<int>(threadIdx.x) / warp_size, g = static_cast<int>(threadIdx.x) % warp_size / 4;
	AsyncCopies copies;
	copy_heads<HeadDim>(copies, q_tile, a.q, s, crew, s.dim);
	copy_heads<HeadDim>(copies, g_tile, a.grad_o, s, crew, s.dim_v);
	const auto halves = [&](SharedAddress tile, int first, Run seen, auto use) { // use(p, dp, half) of 32 keys: scores and grad_o . v
#pragma unroll 1
		for (int half = 0; half < mma_cols; half += mma_half) {
			if (first + half >= seen.end || first + half + mma_half <= seen.first) continue;
			float p[1][mma_half / 8][4] = {}, dp[1][mma_half / 8][4] = {};
			score_half<T, HeadDim>(p, q_tile, tile, half);
			score_half<T, HeadDim>(dp, g_tile, tile + Tiles::k_bytes, half);
			use(p[0], dp[0], half);
		}
	};
	Kept kept[branches][2];
#pragma unroll
	for (int branch = 0; branch < branches; branch++) {
		mma::Softmax state;
		float sum[1][4] = {}; // of weight * grad_o . v: elements 0 and 2
		bool some = false;
		each_tile<HeadDim>(copies, stages, a, crew, branch, [&](SharedAddress tile, int first, Run seen) {
			some = true;
			halves(tile, first, seen, [&](auto &p, auto &dp, int half) {
				hide_unseen(p, first + half, seen);
				const mma::Exponents exponents = mma::exponents_for(state, p, s.scale * log2_e);
				mma::rescale(state, sum, exponents);
				mma::weigh_scores(state.sum, p, exponents);
#pragma unroll
				for (int n = 0; n < mma_half / 8; n++)
#pragma unroll
					for (int e = 0; e < 4; e++)
						if (p[n][e] != 0) sum[0][e / 2 * 2] += p[n][e] * dp[n][e];
			});
		});
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int i = g + 8 * half;
			const float total = warp_reduce<4>(state.sum[half], Sum()), all = warp_reduce<4>(sum[0][2 * half], Sum());
			Kept &x = kept[branch][half];
			x = {INFINITY, 0, 0, 0};
			// Where a score is infinite there are no weights: infinity minus infinity.
			if (some) x.lse = fabsf(state.max[half]) == INFINITY ? NAN : state.max[half] * (s.scale * log2_e) + log2f(total), x.delta = all / total;
			if (!crew.inside(s, i)) continue;
			const Row r = crew.row(s, i);
			x.gate = a.gate(r, branch);
			if (threadIdx.x % 4 != 0) continue;
			sums.kept[(((r.b * s.heads_kv + r.h_kv) * s.tokens + r.t) * s.group + r.h % s.group) * branches + branch] = x;
			if (T *const gradient = branch == 0 ? a.grad_slc : a.grad_swa) gradient[a.number(r)] = from_float<T>(x.delta);
		}
	}
	if (a.grad_q == nullptr) return;
	float dq[HeadDim / 8][4] = {};
#pragma unroll
	for (int branch = 0; branch < branches; branch++)
		each_tile<HeadDim>(copies, stages, a, crew, branch, [&](SharedAddress tile, int first, Run seen) {
			halves(tile, first, seen, [&](auto &p, auto &ds, int half) {
				weigh(p, ds, s.scale * log2_e, [&](int, int e) { return make_float2(kept[branch][e / 2].lse, kept[branch][e / 2].delta); });
				const int column = first + half;
				hide(p, ds, [&](int, int c) { return column + c < seen.first || column + c >= seen.end; });
#pragma unroll
				for (int n = 0; n < mma_half / 8; n++)
#pragma unroll
					for (int e = 0; e < 4; e++) ds[n][e] *= kept[branch][e / 2].gate;
				uint32_t gradients[mma_half / 16][4];
				pack_weights<T>(gradients, ds);
				add_seen_rows<T>(dq, gradients, TileReader<mma_cols>(tile + half * panel_bytes, rows_first()), column, seen);
			});
		});
	const float scale[2] = {s.scale, s.scale};
	store_rows<T, mma_rows>(mma_tiles + 16 * warp * panel_bytes, dq, scale, s.dim, [&](int i) {
		return crew.inside(s, i) ? a.grad_q + a.number(crew.row(s, i)) * s.dim : nullptr;
	});
}

template <int HeadDim> struct MmaKeys {
	static constexpr int rows = 64, threads = 128; // 16 keys a warp
	static constexpr int tile = triad::tile_bytes(64, HeadDim), kept_bytes = rows * branches * static_cast<int>(sizeof(Kept));
	static constexpr int stage_bytes = 2 * tile + kept_bytes + rows * 4; // q, grad_o, what their rows keep, their tokens
	static constexpr int list = 1024;                                    // tokens looked at before their rows are gone through
	static constexpr int bytes = 2 * tile + 2 * stage_bytes + (list + 4) * 4;
};

// KeyPlace is the part of the work of a block: keys first to end - 1 of a block of tokens, and a share of the tokens. Found anew each time, which costs less
// than keeping it in registers.
struct KeyPlace {
	int share, h_kv, block, first, end;
	int64_t b;

	__device__ KeyPlace(const Shape &s, const MmaSums &sums) {
		const unsigned at = static_cast<unsigned>(hopper::fresh(static_cast<int>(blockIdx.x)));
		const unsigned shares = static_cast<unsigned>(sums.shares.count), heads = static_cast<unsigned>(s.heads_kv), batch = static_cast<unsigned>(s.batch);
		const int part = static_cast<int>(at / shares / heads / batch); // keys that most tokens see come first
		share = static_cast<int>(at % shares), h_kv = static_cast<int>(at / shares % heads), b = at / shares / heads % batch;
		block = part / sums.tiles, first = block * s.size + part % sums.tiles * mma_cols;
		end = min(min(first + mma_cols, (block + 1) * s.size), s.tokens);
	}
};

template <class T, int HeadDim>
__global__ void __launch_bounds__(MmaKeys<HeadDim>::threads, 2) mma_keys(Backward<T> a, MmaSums sums, Group group) {
	using Tiles = MmaKeys<HeadDim>;
	constexpr int columns = Tiles::rows / 8;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	unsigned char *const stages = mma_tiles + 2 * Tiles::tile;
	int *const query = reinterpret_cast<int *>(stages + 2 * Tiles::stage_bytes), *const counts = query + Tiles::list; // 2 * token + whether it chose the block
	const SharedAddress k_tile = shared_address(mma_tiles), v_tile = k_tile + Tiles::tile;
	const Shape &s = a.s;
	const int thread = static_cast<int>(threadIdx.x), lane = thread % warp_size, warp = thread / warp_size;
	const KeyPlace place(s, sums);
	const int first = place.first, end = place.end;
	const int each = (s.tokens - first + sums.shares.count - 1) / sums.shares.count, stop = min(s.tokens, first + (place.share + 1) * each);
	AsyncCopies copies;
	const auto keys_of = [&](const View<T> &x) {
		const T *const at = x.row(place.b, first, place.h_kv);
		return [at, step = x.token, here = end - first](int i) { return i < here ? at + i * step : nullptr; };
	};
	if (first >= end) return;
	copy_rows<mma_cols, HeadDim, Tiles::threads>(copies, k_tile, a.k.data, s.dim, keys_of(a.k));
	copy_rows<mma_cols, HeadDim, Tiles::threads>(copies, v_tile, a.v.data, s.dim_v, keys_of(a.v));
	copies.commit();
	const auto copy_queries = [&](int from, int rows) {
		const KeyPlace at(s, sums);
		unsigned char *const to = stages + from / Tiles::rows % 2 * Tiles::stage_bytes;
		const SharedAddress q = shared_address(to);
		const auto row_of = [&](const View<T> &x) {
			return [&, from, rows](int i) -> const T * {
				const int listed = group.token(from + i);
				return from + i < rows ? x.row(at.b, query[listed] / 2, at.h_kv * s.group + from + i - listed * s.group) : nullptr;
			};
		};
		copy_rows<Tiles::rows, HeadDim, Tiles::threads>(copies, q, a.q.data, s.dim, row_of(a.q));
		copy_rows<Tiles::rows, HeadDim, Tiles::threads>(copies, q + Tiles::tile, a.grad_o.data, s.dim_v, row_of(a.grad_o));
		const int i = static_cast<int>(threadIdx.x) / branches, listed = group.token(from + i); // rows that are not there get a gate of 0
		const bool there = from + i < rows;
		const int64_t row = there ? ((at.b * s.heads_kv + at.h_kv) * s.tokens + query[listed] / 2) * s.group + from + i - listed * s.group : 0;
		copies.copy16(q + 2 * Tiles::tile + static_cast<int>(threadIdx.x) * 16, sums.kept + row * branches + threadIdx.x % branches, there);
		if (threadIdx.x % branches == 0) reinterpret_cast<int *>(to + 2 * Tiles::tile + Tiles::kept_bytes)[i] = there ? query[listed] : -2;
	};

	float dk[1][HeadDim / 8][4] = {}, dv[1][HeadDim / 8][4] = {};
	for (int start = first + place.share * each; start < stop; start += Tiles::list) {
		int listed = 0;
		for (int from = start; from < min(start + Tiles::list, stop); from += Tiles::threads) {
			const int t = from + thread;
			const bool chose = t < stop && a.chose(place.b, t, place.h_kv, place.block), sees = chose || (t < stop && t - (end - 1) < s.window);
			const unsigned lanes = __ballot_sync(all_lanes, sees);
			if (lane == 0) counts[warp] = __popc(lanes);
			__syncthreads();
			int before = listed + __popc(lanes & ((1u << lane) - 1));
			for (int w = 0; w < Tiles::threads / warp_size; w++) {
				if (w < warp) before += counts[w];
				listed += counts[w];
			}
			if (sees) query[before] = 2 * t + (chose ? 1 : 0);
			__syncthreads();
		}
		const int rows = listed * s.group;
		if (rows > 0) copy_queries(0, rows);
		copies.commit();
		for (int from = 0; from < rows; from += Tiles::rows) {
			unsigned char *const stage = stages + from / Tiles::rows % 2 * Tiles::stage_bytes;
			const SharedAddress q_tile = shared_address(stage), g_tile = q_tile + Tiles::tile;
			const Kept *const kept = reinterpret_cast<const Kept *>(stage + 2 * Tiles::tile);
			const int *const tokens = reinterpret_cast<const int *>(stage + 2 * Tiles::tile + Tiles::kept_bytes);
			copies.template wait<0>();
			__syncthreads(); // the tiles have arrived for all, and those before have been read
			if (from + Tiles::rows < rows) copy_queries(from + Tiles::rows, rows);
			copies.commit();
			// Tokens rise: where the first is so late that no window reaches the keys, all have chosen the block.
			const KeyPlace here(s, sums);
			const int earliest = tokens[0] / 2;
			const bool plain = earliest >= here.end - 1 && earliest - (here.end - 1) >= s.window;
			if (plain && here.first + 16 * warp >= here.end) continue;
			float p[1][columns][4] = {}, ds[1][columns][4] = {};
			score_product<T, 1, columns, HeadDim>(p, TileReader<mma_cols>(k_tile + 16 * warp * panel_bytes, rows_first()),
			                                      TileReader<Tiles::rows>(q_tile, chunks_first()));
			score_product<T, 1, columns, HeadDim>(ds, TileReader<mma_cols>(v_tile + 16 * warp * panel_bytes, rows_first()),
			                                      TileReader<Tiles::rows>(g_tile, chunks_first()));
			const int column = hopper::fresh(thread) % 4 * 2, key = KeyPlace(s, sums).first + 16 * warp + lane / 4;
			const float factor = s.scale * log2_e;
#pragma unroll
			for (int n = 0; n < columns; n++)
#pragma unroll
				for (int e = 0; e < 4; e++) {
					const int i = 8 * n + column + e % 2, j = key + e / 2 * 8, t = tokens[i] / 2;
					float weight = 0, gradient = 0;
#pragma unroll
					for (int branch = 0; branch < branches; branch++) {
						if (branch == 0 ? !plain && (tokens[i] % 2 == 0 || j > t) : plain || j > t || t - j >= s.window) continue;
						const Kept x = kept[i * branches + branch];
						const float mine = x.gate * hopper::power_of_two(fmaf(p[0][n][e], factor, -x.lse));
						weight += mine, gradient += mine * (ds[0][n][e] - x.delta);
					}
					p[0][n][e] = weight, ds[0][n][e] = gradient;
				}
			// Where q is not finite, no P of its row is a number: NaN reaches the keys that it sees, and 0 * NaN must not reach the others.
			const auto lost = [&](int i) { return kept[i * branches].lost(kept[i * branches + 1]); };
			if (!plain && __any_sync(all_lanes, lost(lane) || lost(lane + 32))) {
				__syncthreads(); // q has been read for the scores
				for (int i = thread; i < Tiles::tile / 4; i += Tiles::threads)
					if (lost(i * 4 / panel_bytes % Tiles::rows)) reinterpret_cast<uint32_t *>(stage)[i] = 0;
				__syncthreads();
			}
			uint32_t weights[1][columns / 2][4], gradients[1][columns / 2][4];
			pack_weights<T>(weights[0], p[0]);
			pack_weights<T>(gradients[0], ds[0]);
			add_weighted_rows<T>(dv, weights, TileReader<Tiles::rows>(g_tile, rows_first()));
			add_weighted_rows<T>(dk, gradients, TileReader<Tiles::rows>(q_tile, rows_first()));
		}
		__syncthreads(); // the list and the last tile have been read
	}
	copies.template wait<0>();

	const KeyPlace done(s, sums);
	const int64_t to = sums.shares.row(done.share, done.b, done.h_kv, done.first + 16 * warp);
	store_share(sums.grad_k, to, dk[0], s.dim, done.end - done.first - 16 * warp);
	store_share(sums.grad_v, to, dv[0], s.dim_v, done.end - done.first - 16 * warp);
}

template <class T, int HeadDim> int forward_mma_of(const triad_call *call) {
	const Forward<T> a(call);
	const Shape &s = a.s;
	const int tokens = mma_warps / Crew::parts(s), bytes = MmaWalk<HeadDim>::bytes + list_bytes(s);
	if (s.keys() == 0) return TRIAD_OK;
	return launch_mma(mma_forward<T, HeadDim>, s.batch * s.heads_kv * ((s.tokens + tokens - 1) / tokens), mma_threads, bytes, stream_of(call), a);
}

template <class T> int forward_mma(const triad_call *call) {
	return widest(Shape(call)) <= 64 ? forward_mma_of<T, 64>(call) : forward_mma_of<T, 128>(call);
}

template <class T, int HeadDim> int backward_mma_of(const triad_call *call) {
	const Backward<T> a(call);
	const Shape &s = a.s;
	const int tokens = mma_warps / Crew::parts(s), bytes = MmaQueries<HeadDim>::bytes + list_bytes(s);
	const cudaStream_t stream = stream_of(call);
	if (s.keys() == 0) return TRIAD_OK;
	Room room(call);
	const MmaSums sums(s, room);
	const int64_t crews = s.batch * s.heads_kv * ((s.tokens + tokens - 1) / tokens), blocks = s.batch * s.heads_kv * sums.tiles * sums.blocks * sums.shares.count;
	if (const int status = launch_mma(mma_queries<T, HeadDim>, crews, mma_threads, bytes, stream, a, sums)) return status;
	if (a.grad_k == nullptr && a.grad_v == nullptr) return TRIAD_OK;
	if (const int status = launch_mma(mma_keys<T, HeadDim>, blocks, MmaKeys<HeadDim>::threads, MmaKeys<HeadDim>::bytes, stream, a, sums, Group(s.group)))
		return status;
	if (const int status = join(a.grad_k, sums.grad_k, sums.shares, s.scale, s.dim, stream)) return status;
	return join(a.grad_v, sums.grad_v, sums.shares, 1.0f, s.dim_v, stream);
}

template <class T> int backward_mma(const triad_call *call) {
	return widest(Shape(call)) <= 64 ? backward_mma_of<T, 64>(call) : backward_mma_of<T, 128>(call);
}

// What the variant asks of a call, by the shared memory of a walk's tiles.
template <template <int> class Tiles> Limits mma_fits() {
	Limits limits = mma_limits(
	    [](Check &check, const triad_call *call) {
		    const Shape s(call);
		    check_shared(check, (widest(s) <= 64 ? Tiles<64>::bytes : Tiles<128>::bytes) + list_bytes(s));
	    },
	    [](Check &check, const triad_call *call) { check_scale(check, call->attr[2]); });
	limits.push_back(limit("at most 128 heads to a key head", [](Check &check, const triad_call *call) {
		const int group = Shape(call).group;
		check.that(group <= mma_heads, "%d heads share a key head, more than %d", group, mma_heads);
	}));
	return limits;
}

inline Limits mma_forward_fits() {
	Limits limits = mma_fits<MmaWalk>();
	limits.insert(limits.end(), {aligned(16, "q", "k", "v", "o"), stepped(8, "q", "k", "v")});
	return limits;
}

inline Limits mma_backward_fits() {
	Limits limits = mma_fits<MmaQueries>();
	limits.insert(limits.end(), {contiguous_columns("grad_o"), aligned(16, "q", "k", "v", "grad_o", "grad_q", "grad_k", "grad_v"),
	                             stepped(8, "q", "k", "v", "grad_o")});
	return limits;
}

} // namespace sparse
} // namespace triad
#endif
