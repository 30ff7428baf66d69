// compressed_mma.cuh: attention over blocks that one key and one value stand for, on tensor cores by mma.sync (sm_80 and newer). fp16 and bf16, D and Dv
// multiples of 8 up to 128, padded with zeros to 64 or 128.
// Pipeline, forward: 128 rows, heads of queries that see the same blocks, so no score of a tile is hidden from one of its rows -> tiles of 64 keys and
// values by cop.async into two buffers, one being copied while the other is used -> scores, 32 rows a warp -> weights in registers -> sums.
// Backward: lse and delta of all rows to the workspace -> a block for 64 rows streams keys and values by: P and dS of 16 rows a warp, dS k -> a block for
// 64 keys and a share of the rows that see one streams these by, scores transposed, so that P and dS are in registers what the products for grad_v and
// grad_k take -> the shares are added up in order.
// Numerics products of 16-bit elements summed in fp32; P and dS in fp32, rounded to the input's format as operands of the second products.
#ifndef TRIAD_SPARSE_COMPRESSED_MMA_CUH
#define TRIAD_SPARSE_COMPRESSED_MMA_CUH
#include "room.cuh"
#include "sparse/compressed_tiled.cuh"
#include "sparse/mma_rows.cuh"

namespace triad {
namespace sparse {
namespace compressed {

template <int HeadDim> struct MmaForward {
	static constexpr int rows = 128, threads = 128, fragments = 2; // 16-row fragments a warp
	static constexpr int q_bytes = triad::tile_bytes(rows, HeadDim), k_bytes = triad::tile_bytes(mma_cols, HeadDim), bytes = q_bytes + 4 * k_bytes;
};

template <int HeadDim> struct MmaBackward {
	static constexpr int rows = 64, threads = 128; // 16 rows, or keys, a warp
	static constexpr int tile = triad::tile_bytes(64, HeadDim), row_bytes = rows * 4;
	static constexpr int bytes = 6 * tile + 4 * row_bytes; // keys and values, two buffers of rows; or the other way round
};

// copy_keys starts the copy of 64 keys and values, zeros from `end` on.
template <int HeadDim, int Threads, class T>
__device__ inline void copy_keys(AsyncCopies &copies, SharedAddress to, const Call<T> &a, int64_t b, int h_kv, int first, int end) {
	constexpr int k_bytes = MmaForward<HeadDim>::k_bytes;
	const auto rows = [&](const View<T> &x) {
		const T *const at = x.row(b, first, h_kv);
		return [at, step = x.token, first, end](int i) { return first + i < end ? at + i * step : nullptr; };
	};
	copy_rows<mma_cols, HeadDim, Threads>(copies, to, a.k.data, a.s.dim, rows(a.k));
	copy_rows<mma_cols, HeadDim, Threads>(copies, to + k_bytes, a.v.data, a.s.dim_v, rows(a.v));
}

// again finds the rows of a block anew, which costs less than keeping them in registers.
__device__ inline Rows again(const Shape &s, int parts, int many) { return {s, parts, many, hopper::fresh(static_cast<int>(blockIdx.x))}; }

// The rows of a tile.
template <class T> __device__ inline GroupRows rows_of(const View<T> &from, const Group &group, const Rows &x) {
	return {from, group, x.b, x.h_kv, x.begin * static_cast<int>(group.heads) + x.first, x.rows - x.first};
}

// copy_group starts the copy of rows of a view to a tile.
template <int Many, int HeadDim, int Threads, class T>
__device__ inline void copy_group(AsyncCopies &copies, SharedAddress to, const View<T> &from, int columns, const GroupRows &rows) {
	copy_rows<Many, HeadDim, Threads>(copies, to, from.data, columns, [&](int i) { return rows.of(from.data, i); });
}

template <class T, int HeadDim>
__global__ void __launch_bounds__(MmaForward<HeadDim>::threads, 2) mma_forward(Forward<T> a, Group group, int parts) {
	using Tiles = MmaForward<HeadDim>;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	const Shape &s = a.s;
	const Rows x(s, parts, Tiles::rows);
	if (x.first >= x.rows) return;
	const int warp = static_cast<int>(threadIdx.x) / warp_size, g = static_cast<int>(threadIdx.x) % warp_size / 4, seen = x.step;
	const SharedAddress q_tile = shared_address(mma_tiles), stages = q_tile + Tiles::q_bytes;
	AsyncCopies copies;
	copy_group<Tiles::rows, HeadDim, Tiles::threads>(copies, q_tile, a.q, s.dim, rows_of(a.q, group, x));
	if (seen > 0) copy_keys<HeadDim, Tiles::threads>(copies, stages, a, x.b, x.h_kv, 0, seen);
	copies.commit();

	mma::Softmax state[Tiles::fragments];
	float o[Tiles::fragments][HeadDim / 8][4] = {};
	for (int first = 0; first < seen; first += mma_cols) {
		const int next = first + mma_cols;
		const SharedAddress k_tile = stages + first / mma_cols % 2 * 2 * Tiles::k_bytes;
		copies.template wait<0>();
		__syncthreads(); // the tile has arrived for all, and the one before has been read
		if (next < seen) copy_keys<HeadDim, Tiles::threads>(copies, stages + next / mma_cols % 2 * 2 * Tiles::k_bytes, a, x.b, x.h_kv, next, seen);
		copies.commit();
		if (x.first + 32 * warp >= x.rows) continue;
		float p[Tiles::fragments][mma_cols / 8][4] = {};
		score_product<T, Tiles::fragments, mma_cols / 8, HeadDim>(p, TileReader<Tiles::rows>(q_tile + 32 * warp * panel_bytes, rows_first()),
		                                                          TileReader<mma_cols>(k_tile, chunks_first()));
		uint32_t weights[Tiles::fragments][mma_cols / 16][4];
#pragma unroll
		for (int m = 0; m < Tiles::fragments; m++) {
			if (next > seen) mma::hide_keys(p[m], first, {seen, seen});
			const mma::Exponents exponents = mma::exponents_for(state[m], p[m], s.scale * log2_e);
			mma::rescale(state[m], o[m], exponents);
			mma::weigh_scores(state[m].sum, p[m], exponents);
			pack_weights<T>(weights[m], p[m]);
		}
		add_weighted_rows<T>(o, weights, TileReader<mma_cols>(k_tile + Tiles::k_bytes, rows_first()));
	}
	copies.template wait<0>();
	__syncthreads(); // the queries of other threads' copies, where no key was seen

	const GroupRows at = rows_of(View<T>(a.o, s, s.dim_v), group, x);
#pragma unroll
	for (int m = 0; m < Tiles::fragments; m++) {
		const int mine = 32 * warp + 16 * m;
		float inverse[2];
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int i = mine + g + 8 * half;
			const float total = warp_reduce<4>(state[m].sum[half], Sum());
			inverse[half] = seen > 0 ? 1.0f / total : 0.0f;
			if (a.lse != nullptr && threadIdx.x % 4 == 0 && x.inside(s, i))
				a.lse[a.number(x.row(s, i))] = seen > 0 ? log_sum_exp(state[m].max[half] * s.scale, total, true) : s.empty;
		}
		store_rows<T, Tiles::rows>(mma_tiles + mine * panel_bytes, o[m], inverse, s.dim_v, [&](int i) { return at.of(a.o, mine + i); });
	}
}

// MmaSums is the workspace of a backward, all fp32. Rows are in the order batch, key heads, tokens, heads of a group.
struct MmaSums {
	float *lse, *delta;     // [rows]: lse to the base 2, infinity for a query that sees no block; sum of grad_o * o
	float *grad_k, *grad_v; // sums of shares of the rows, D or Dv columns
	int tiles;              // of keys
	Shares shares;

	MmaSums(const Shape &s, Room &room) : tiles((s.blocks + mma_cols - 1) / mma_cols) {
		// Some 512 blocks of threads are two on each multiprocessor of a large GPU, and two more. A share has eight tiles of rows, or there is one.
		const int64_t heads = s.batch * s.heads_kv, most = std::max<int64_t>(1, static_cast<int64_t>(s.tokens) * s.group / (64 * 8));
		const int64_t across = heads * tiles;
		shares = {s.batch, s.heads_kv, s.blocks, tiles * mma_cols, across == 0 ? 1 : static_cast<int>(std::min(most, (512 + across - 1) / across))};
		lse = room.take<float>(s.rows()), delta = room.take<float>(s.rows());
		grad_k = room.take<float>(shares.rows() * shares.count * s.dim), grad_v = room.take<float>(shares.rows() * shares.count * s.dim_v);
	}
};

inline int64_t mma_bytes(const triad_call *call) {
	Room room(call);
	const MmaSums sums(Shape(call), room);
	return room.used;
}

// 16 lanes a row, 8 columns each.
constexpr int prepare_threads = 256, prepare_lanes = 16;

template <class T> __global__ void __launch_bounds__(prepare_threads) mma_prepare(Backward<T> a, MmaSums sums) {
	const Shape &s = a.s;
	const int64_t row = static_cast<int64_t>(blockIdx.x) * (prepare_threads / prepare_lanes) + threadIdx.x / prepare_lanes;
	const int col = static_cast<int>(threadIdx.x) % prepare_lanes * 8;
	const Row r = a.row(row < s.rows() ? row : 0);
	float part = 0;
	if (row < s.rows() && col < s.dim_v) {
		float x[8], y[8];
		load(a.o.row(r.b, r.t, r.h) + col, x);
		load(a.grad_o.row(r.b, r.t, r.h) + col, y);
#pragma unroll
		for (int e = 0; e < 8; e++) part += x[e] * y[e];
	}
	part = warp_reduce<prepare_lanes>(part, Sum());
	if (row >= s.rows() || col != 0) return;
	const int64_t to = ((r.b * s.heads_kv + r.h_kv) * s.tokens + r.t) * s.group + r.h % s.group;
	sums.delta[to] = part;
	sums.lse[to] = s.visible(r.t) > 0 ? *a.lse.row(r.b, r.t, r.h) * log2_e : INFINITY;
}

// copy_sums starts the copy of lse and delta of 64 rows, of which `there` are there; the lse of others becomes infinite, their delta 0.
template <int Threads> __device__ inline void copy_sums(AsyncCopies &copies, unsigned char *to, const MmaSums &sums, int64_t first, int there) {
	const int i = static_cast<int>(threadIdx.x) % 64, which = static_cast<int>(threadIdx.x) / 64;
	static_assert(Threads == 128, "a thread a number");
	const float *const from = (which == 0 ? sums.lse : sums.delta) + first;
	if (i < there || which == 1) copies.copy4(shared_address(to) + which * 256 + i * 4, i < there ? from + i : sums.lse, i < there);
	else reinterpret_cast<float *>(to)[i] = INFINITY;
}

template <class T, int HeadDim>
__global__ void __launch_bounds__(MmaBackward<HeadDim>::threads, 2) mma_queries(Backward<T> a, MmaSums sums, Group group, int parts) {
	using Tiles = MmaBackward<HeadDim>;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	const Shape &s = a.s;
	const Rows x(s, parts, Tiles::rows);
	if (x.first >= x.rows) return;
	const int warp = static_cast<int>(threadIdx.x) / warp_size, g = static_cast<int>(threadIdx.x) % warp_size / 4, seen = x.step;
	const SharedAddress q_tile = shared_address(mma_tiles), g_tile = q_tile + Tiles::tile, stages = g_tile + Tiles::tile;
	AsyncCopies copies;
	copy_group<Tiles::rows, HeadDim, Tiles::threads>(copies, q_tile, a.q, s.dim, rows_of(a.q, group, x));
	copy_group<Tiles::rows, HeadDim, Tiles::threads>(copies, g_tile, a.grad_o, s.dim_v, rows_of(a.grad_o, group, x));
	if (seen > 0) copy_keys<HeadDim, Tiles::threads>(copies, stages, a, x.b, x.h_kv, 0, seen);
	copies.commit();
	float2 kept[2];
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int i = 16 * warp + g + 8 * half;
		const int64_t from = ((x.b * s.heads_kv + x.h_kv) * s.tokens + x.begin) * s.group + x.first + i;
		kept[half] = x.inside(s, i) ? make_float2(sums.lse[from], sums.delta[from]) : make_float2(INFINITY, 0);
	}
	float dq[1][HeadDim / 8][4] = {};
	for (int first = 0; first < seen; first += mma_cols) {
		const int next = first + mma_cols;
		const SharedAddress k_tile = stages + first / mma_cols % 2 * 2 * Tiles::tile;
		copies.template wait<0>();
		__syncthreads(); // the tile has arrived for all, and the one before has been read
		if (next < seen) copy_keys<HeadDim, Tiles::threads>(copies, stages + next / mma_cols % 2 * 2 * Tiles::tile, a, x.b, x.h_kv, next, seen);
		copies.commit();
		if (x.first + 16 * warp >= x.rows) continue;
		float p[1][mma_cols / 8][4] = {}, ds[1][mma_cols / 8][4] = {};
		score_product<T, 1, mma_cols / 8, HeadDim>(p, TileReader<Tiles::rows>(q_tile + 16 * warp * panel_bytes, rows_first()),
		                                           TileReader<mma_cols>(k_tile, chunks_first()));
		score_product<T, 1, mma_cols / 8, HeadDim>(ds, TileReader<Tiles::rows>(g_tile + 16 * warp * panel_bytes, rows_first()),
		                                           TileReader<mma_cols>(k_tile + Tiles::tile, chunks_first()));
		weigh(p[0], ds[0], s.scale * log2_e, [&](int, int e) { return kept[e / 2]; });
		if (next > seen) hide(p[0], ds[0], [&](int, int column) { return first + column >= seen; });
		uint32_t gradients[1][mma_cols / 16][4];
		pack_weights<T>(gradients[0], ds[0]);
		add_weighted_rows<T>(dq, gradients, TileReader<mma_cols>(k_tile, rows_first()));
	}
	copies.template wait<0>();
	__syncthreads();
	const float scale[2] = {s.scale, s.scale};
	const GroupRows at = rows_of(View<T>(a.grad_q, s, s.dim), group, again(s, parts, Tiles::rows));
	store_rows<T, Tiles::rows>(mma_tiles + 16 * warp * panel_bytes, dq[0], scale, s.dim, [&](int i) { return at.of(a.grad_q, 16 * warp + i); });
}

// KeyPlace is the part of the work of a block: keys from `first` on, and a share of the rows that see one. The keys that most queries see come first.
struct KeyPlace {
	int share, h_kv, first;
	int64_t b;

	__device__ KeyPlace(const Shape &s, const MmaSums &sums) {
		const unsigned block = static_cast<unsigned>(hopper::fresh(static_cast<int>(blockIdx.x)));
		const unsigned shares = static_cast<unsigned>(sums.shares.count), heads = static_cast<unsigned>(s.heads_kv), batch = static_cast<unsigned>(s.batch);
		share = static_cast<int>(block % shares), h_kv = static_cast<int>(block / shares % heads), b = block / shares / heads % batch;
		first = static_cast<int>(block / shares / heads / batch) * mma_cols;
	}
};

template <class T, int HeadDim>
__global__ void __launch_bounds__(MmaBackward<HeadDim>::threads, 2) mma_keys(Backward<T> a, MmaSums sums, Group group) {
	using Tiles = MmaBackward<HeadDim>;
	constexpr int columns = Tiles::rows / 8, stage_bytes = 2 * Tiles::tile + 2 * Tiles::row_bytes;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	unsigned char *const stages = mma_tiles + 2 * Tiles::tile;
	const SharedAddress k_tile = shared_address(mma_tiles), v_tile = k_tile + Tiles::tile;
	const Shape &s = a.s;
	const int lane = static_cast<int>(threadIdx.x) % warp_size, warp = static_cast<int>(threadIdx.x) / warp_size;
	const KeyPlace at(s, sums);
	const int first = at.first;
	// Rows from the first that sees one of the keys on, in as many tiles a share.
	const int all = s.tokens * s.group, from = s.first_query(first) * s.group, tiles = (all - from + Tiles::rows - 1) / Tiles::rows;
	const int each = (tiles + sums.shares.count - 1) / sums.shares.count, begin = from + at.share * each * Tiles::rows;
	const int end = min(all, begin + each * Tiles::rows), mine = first + 16 * warp; // this warp's keys
	AsyncCopies copies;
	const auto copy_queries = [&](int row) {
		const KeyPlace at(s, sums);
		unsigned char *const to = stages + (row - begin) / Tiles::rows % 2 * stage_bytes;
		const SharedAddress q = shared_address(to);
		copy_group<Tiles::rows, HeadDim, Tiles::threads>(copies, q, a.q, s.dim, {a.q, group, at.b, at.h_kv, row, end - row});
		copy_group<Tiles::rows, HeadDim, Tiles::threads>(copies, q + Tiles::tile, a.grad_o, s.dim_v, {a.grad_o, group, at.b, at.h_kv, row, end - row});
		copy_sums<Tiles::threads>(copies, to + 2 * Tiles::tile, sums, (at.b * s.heads_kv + at.h_kv) * s.tokens * s.group + row, end - row);
	};
	copy_keys<HeadDim, Tiles::threads>(copies, k_tile, a, at.b, at.h_kv, first, s.whole());
	if (begin < end) copy_queries(begin);
	copies.commit();

	float dk[1][HeadDim / 8][4] = {}, dv[1][HeadDim / 8][4] = {};
	for (int row = begin; row < end; row += Tiles::rows) {
		unsigned char *const stage = stages + (row - begin) / Tiles::rows % 2 * stage_bytes;
		const SharedAddress q_tile = shared_address(stage), g_tile = q_tile + Tiles::tile;
		const float *const lse = reinterpret_cast<const float *>(stage + 2 * Tiles::tile), *const delta = lse + Tiles::rows;
		copies.template wait<0>();
		__syncthreads(); // the tiles have arrived for all, and those before have been read
		if (row + Tiles::rows < end) copy_queries(row + Tiles::rows);
		copies.commit();
		float p[1][columns][4] = {}, ds[1][columns][4] = {};
		score_product<T, 1, columns, HeadDim>(p, TileReader<mma_cols>(k_tile + 16 * warp * panel_bytes, rows_first()),
		                                      TileReader<Tiles::rows>(q_tile, chunks_first()));
		score_product<T, 1, columns, HeadDim>(ds, TileReader<mma_cols>(v_tile + 16 * warp * panel_bytes, rows_first()),
		                                      TileReader<Tiles::rows>(g_tile, chunks_first()));
		const int column = hopper::fresh(static_cast<int>(threadIdx.x)) % 4 * 2;
		weigh(p[0], ds[0], s.scale * log2_e, [&](int n, int e) {
			const int i = 8 * n + column + e % 2;
			return make_float2(lse[i], delta[i]);
		});
		const int seen = s.visible(row / s.group); // by all
		if (first + mma_cols > seen) {
			const int hidden[2] = {s.first_query(mine + lane / 4) * s.group - row, s.first_query(mine + lane / 4 + 8) * s.group - row};
			if (mine + 16 > seen) hide(p[0], ds[0], [&](int half, int column) { return column < hidden[half]; });
			// Where q is not finite, no P of its row is a number: NaN reaches the keys that it sees, and 0 * NaN must not reach the others.
			if (__any_sync(all_lanes, isnan(lse[lane]) || isnan(lse[lane + 32]))) {
				__syncthreads(); // q has been read for the scores
				for (int i = static_cast<int>(threadIdx.x); i < Tiles::tile / 4; i += Tiles::threads)
					if (isnan(lse[i * 4 / panel_bytes % Tiles::rows])) reinterpret_cast<uint32_t *>(stage)[i] = 0;
				__syncthreads();
			}
		}
		uint32_t weights[1][columns / 2][4], gradients[1][columns / 2][4];
		pack_weights<T>(weights[0], p[0]);
		pack_weights<T>(gradients[0], ds[0]);
		add_weighted_rows<T>(dv, weights, TileReader<Tiles::rows>(g_tile, rows_first()));
		add_weighted_rows<T>(dk, gradients, TileReader<Tiles::rows>(q_tile, rows_first()));
	}
	copies.template wait<0>();

	const KeyPlace done(s, sums);
	const int64_t to = sums.shares.row(done.share, done.b, done.h_kv, done.first + 16 * warp);
	store_share(sums.grad_k, to, dk[0], s.dim, 16);
	store_share(sums.grad_v, to, dv[0], s.dim_v, 16);
}

template <class T, int HeadDim> int forward_mma_of(const triad_call *call) {
	using Tiles = MmaForward<HeadDim>;
	const Forward<T> a(call);
	if (a.s.rows() == 0) return TRIAD_OK;
	return launch_mma(mma_forward<T, HeadDim>, row_tiles(a.s, Tiles::rows), Tiles::threads, Tiles::bytes, stream_of(call), a, Group(a.s.group),
	                  parts(a.s, Tiles::rows));
}

template <class T> int forward_mma(const triad_call *call) {
	return widest(Shape(call)) <= 64 ? forward_mma_of<T, 64>(call) : forward_mma_of<T, 128>(call);
}

template <class T, int HeadDim> int backward_mma_of(const triad_call *call) {
	using Tiles = MmaBackward<HeadDim>;
	const Backward<T> a(call);
	const Shape &s = a.s;
	if (s.rows() == 0) return TRIAD_OK;
	const cudaStream_t stream = stream_of(call);
	Room room(call);
	const MmaSums sums(s, room);
	const Group group(s.group);
	const auto blocks_for = [](int64_t n, int each) { return static_cast<unsigned>((n + each - 1) / each); };
	mma_prepare<T><<<blocks_for(s.rows(), prepare_threads / prepare_lanes), prepare_threads, 0, stream>>>(a, sums);
	if (const int status = launched()) return status;
	if (a.grad_q != nullptr)
		if (const int status = launch_mma(mma_queries<T, HeadDim>, row_tiles(s, Tiles::rows), Tiles::threads, Tiles::bytes, stream, a, sums, group,
		                                  parts(s, Tiles::rows)))
			return status;
	if (a.grad_k == nullptr && a.grad_v == nullptr) return TRIAD_OK;
	const int64_t blocks = s.batch * s.heads_kv * sums.tiles * sums.shares.count;
	if (const int status = launch_mma(mma_keys<T, HeadDim>, blocks, Tiles::threads, Tiles::bytes, stream, a, sums, group)) return status;
	if (const int status = join(a.grad_k, sums.grad_k, sums.shares, s.scale, s.dim, stream)) return status;
	return join(a.grad_v, sums.grad_v, sums.shares, 1.0f, s.dim_v, stream);
}

template <class T> int backward_mma(const triad_call *call) {
	return widest(Shape(call)) <= 64 ? backward_mma_of<T, 64>(call) : backward_mma_of<T, 128>(call);
}

// What the variant asks of a call, by the shared memory of its tiles.
template <template <int> class Tiles> Limits mma_fits() {
	Limits limits =
		mma_limits([](Check &check, const triad_call *call) { check_shared(check, widest(Shape(call)) <= 64 ? Tiles<64>::bytes : Tiles<128>::bytes); },
	               [](Check &check, const triad_call *call) { check_scale(check, call->attr[1]); });
	limits.push_back(limit("4 or more heads of queries that see the same blocks", [](Check &check, const triad_call *call) {
		const Shape s(call);
		const int rows = s.size * s.group; // of a tile, of which the others would be empty
		check.that(rows >= 4, "%d heads of queries see the same blocks, fewer than 4", rows);
	}));
	return limits;
}

inline Limits mma_forward_fits() {
	Limits limits = mma_fits<MmaForward>();
	limits.insert(limits.end(), {aligned(16, "q", "k", "v", "o"), stepped(8, "q", "k", "v")});
	return limits;
}

inline Limits mma_backward_fits() {
	Limits limits = mma_fits<MmaBackward>();
	limits.insert(limits.end(), {contiguous_columns("o", "grad_o"), aligned(16, "q", "k", "v", "o", "grad_o", "grad_q", "grad_k", "grad_v"),
	                             stepped(8, "q", "k", "v", "o", "grad_o")});
	return limits;
}

} // namespace compressed
} // namespace sparse
} // namespace triad
#endif
