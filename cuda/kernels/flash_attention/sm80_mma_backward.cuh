// sm80_mma_backward.cuh: attention on tensor cores by mma.sync (sm_80 and newer), backward. fp16 and bf16, D a multiple of 8 up to 192, padded with zeros
// to 64, 128 or 192, Dv to 64 or 128. A block keeps 64 keys (128 beyond D = 64), 16 a warp, and streams 64 queries (32 beyond D = 128) and gradients
// past them. Scores are computed transposed, key by query:
// so P and dS are, in registers, operands of the products that give grad_v and grad_k. dS goes through shared memory once, for grad_q, which is added to
// fp32 sums by atomics.
// Numerics products of 16-bit elements summed in fp32; P and dS in fp32, rounded to the input's format as operands of the second products.
#ifndef TRIAD_FLASH_ATTENTION_SM80_MMA_BACKWARD_CUH
#define TRIAD_FLASH_ATTENTION_SM80_MMA_BACKWARD_CUH
#include "mma_tile.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace triad {
namespace mma {

using hopper::AsyncCopies;
using hopper::SharedAddress;
using hopper::shared_address;

template <int HeadDim> struct BackwardTiles {
	static constexpr int head_dim_v = padded_values<HeadDim>, keys = head_dim_v, queries = HeadDim <= 128 ? 64 : 32;
	static constexpr int warps = keys / 16, threads = 32 * warps, blocks = HeadDim == 64 ? 2 : 1;
	static constexpr int k_bytes = tile_bytes(keys, HeadDim), v_bytes = tile_bytes(keys, head_dim_v);
	static constexpr int q_bytes = tile_bytes(queries, HeadDim), g_bytes = tile_bytes(queries, head_dim_v), row_bytes = queries * 4;
	static constexpr int stage_bytes = q_bytes + g_bytes + 2 * row_bytes; // queries, their gradients, lse and delta
	static constexpr int ds_bytes = tile_bytes(keys, 64), bytes = k_bytes + v_bytes + ds_bytes + 2 * stage_bytes;
	static constexpr int dq_rows = queries / 2, dq_columns = HeadDim * 2 / warps; // of grad_q, that a warp makes of a tile
};

// BackwardSums is the workspace of a backward, all fp32.
struct BackwardSums {
	float *lse, *delta; // [B, H, Sq]: lse to the base 2, infinity for a query without weights; sum over d of grad_o * o
	float *grad_q;      // [B, H, Sq, D], not yet scaled
};

// 16 lanes a query, 8 columns each.
constexpr int prepare_threads = 256, prepare_lanes = 16;

template <class T> __global__ void __launch_bounds__(prepare_threads) mma_prepare(BackwardCall<T> a, BackwardSums sums) {
	const AttentionShape s = a.shape;
	const int64_t row = static_cast<int64_t>(blockIdx.x) * (prepare_threads / prepare_lanes) + threadIdx.x / prepare_lanes, rows = s.query_rows();
	const int col = static_cast<int>(threadIdx.x) % prepare_lanes * 8;
	float part = 0;
	if (row < rows && col < s.head_dim_v) {
		const int64_t at = row / s.seq_q, query = row % s.seq_q;
		const HeadRows<T> o = a.o.of(at / s.heads_q, static_cast<int>(at % s.heads_q)), g = a.grad_o.of(at / s.heads_q, static_cast<int>(at % s.heads_q));
		float x[8], y[8];
		load(o.data + query * o.row_stride + col, x);
		load(g.data + query * g.row_stride + col, y);
#pragma unroll
		for (int e = 0; e < 8; e++) part += x[e] * y[e];
	}
	part = warp_reduce<prepare_lanes>(part, Sum());
	if (row >= rows || col != 0) return;
	sums.delta[row] = part;
	sums.lse[row] = a.lse[row] == -INFINITY ? INFINITY : a.lse[row] * log2_e;
}

// to[i] = from[i] * factor, rounded; n is a multiple of 8.
template <class T> __global__ void __launch_bounds__(prepare_threads) mma_finish(T *to, const float *from, float factor, int64_t n) {
	const int64_t i = (static_cast<int64_t>(blockIdx.x) * prepare_threads + threadIdx.x) * 8;
	if (i >= n) return;
	float x[8];
	load(from + i, x);
#pragma unroll
	for (int e = 0; e < 8; e++) x[e] *= factor;
	store(to + i, x);
}

// weigh turns scores (not yet scaled, key by query) into P and dP into dS. lse and delta are those of the tile's queries; the key of row g
// is `key`, the first query `query`. Where `edge`, some query does not see some key.
template <int Eights>
__device__ inline void weigh(float (&p)[Eights][4], float (&ds)[Eights][4], const float *lse, const float *delta, int key, int query, bool edge,
                             const AttentionShape &shape) {
	const float factor = shape.scale * log2_e;
	const int column = hopper::fresh(static_cast<int>(threadIdx.x)) % 4 * 2;
#pragma unroll
	for (int n = 0; n < Eights; n++) {
		const float2 base = *reinterpret_cast<const float2 *>(lse + 8 * n + column), mean = *reinterpret_cast<const float2 *>(delta + 8 * n + column);
#pragma unroll
		for (int e = 0; e < 4; e++) {
			p[n][e] = hopper::power_of_two(fmaf(p[n][e], factor, e % 2 == 0 ? -base.x : -base.y));
			ds[n][e] = p[n][e] * (ds[n][e] - (e % 2 == 0 ? mean.x : mean.y));
		}
	}
	if (!edge) return;
	int hidden[2]; // so many queries, from the lane's first one on, do not see the key
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int row = key + 8 * half;
		hidden[half] = row >= shape.seq_kv ? INT32_MAX : shape.causal ? row - (shape.seq_kv - shape.seq_q) - query - column : 0;
	}
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++)
			if (8 * n + e % 2 < hidden[e / 2]) p[n][e] = ds[n][e] = 0;
}

// add_grad_q adds dS k to fp32 sums, dS a tile [key][query], for the queries from i0 on. Two warps share the queries of a column.
template <class T, int HeadDim>
__device__ inline void add_grad_q(float *grad_q, SharedAddress ds_tile, SharedAddress k_tile, int i0, const AttentionShape &s) {
	using Tiles = BackwardTiles<HeadDim>;
	constexpr int keys = Tiles::keys, fragments = Tiles::dq_rows / 16, eights = Tiles::dq_columns / 8;
	const int thread = hopper::fresh(static_cast<int>(threadIdx.x)), lane = thread % 32, warp = thread / 32;
	const int query = warp % 2 * Tiles::dq_rows, col = warp / 2 * Tiles::dq_columns;
	const TileReader<keys> ds(ds_tile, chunks_first()), k(k_tile, rows_first());
	float sum[fragments][eights][4] = {};
#pragma unroll
	for (int j = 0; j < keys; j += 16) {
		uint32_t left[fragments][4];
#pragma unroll
		for (int m = 0; m < fragments; m++) hopper::load_transposed(left[m], ds.block(j, query / 16 + m));
#pragma unroll
		for (int n = 0; n < eights; n += 2) {
			uint32_t right[4];
			hopper::load_transposed(right, k.block(j, col / 16 + n / 2));
#pragma unroll
			for (int m = 0; m < fragments; m++) {
				hopper::Multiply<T>::add(sum[m][n], left[m], right[0], right[1]);
				hopper::Multiply<T>::add(sum[m][n + 1], left[m], right[2], right[3]);
			}
		}
	}
#pragma unroll
	for (int m = 0; m < fragments; m++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int row = i0 + query + 16 * m + 8 * half + lane / 4;
			float *const to = grad_q + static_cast<int64_t>(row) * s.head_dim + col + lane % 4 * 2;
#pragma unroll
			for (int n = 0; n < eights; n++)
				if (row < s.seq_q && col + 8 * n < s.head_dim) hopper::add_pair(to + 8 * n, sum[m][n][2 * half], sum[m][n][2 * half + 1]);
		}
}

// The tiles of queries that may see a key from `first` on, of one head.
struct Range {
	int first, count;
};

template <class Tiles> __device__ inline Range query_tiles(int first, const AttentionShape &s) {
	const int tile = s.first_query(first) / Tiles::queries;
	return {tile, max(0, (s.seq_q + Tiles::queries - 1) / Tiles::queries - tile)};
}

// QueryTile is what a block works on in one step: a tile of one of the heads that share its keys. Found anew each time, as a Place is.
struct QueryTile {
	int first, head;
	int64_t batch;
	__device__ int64_t rows_before(const AttentionShape &s) const { return (batch * s.heads_q + head) * s.seq_q; }
};

template <class Tiles> __device__ inline QueryTile query_tile(int step, const AttentionShape &s) {
	const Place at = place((s.seq_kv + Tiles::keys - 1) / Tiles::keys, s.heads_kv);
	const Range range = query_tiles<Tiles>(at.tile * Tiles::keys, s);
	return {(range.first + step % range.count) * Tiles::queries, at.head * s.group() + step / range.count, at.batch};
}

template <class T, int HeadDim>
__global__ void __launch_bounds__(BackwardTiles<HeadDim>::threads, BackwardTiles<HeadDim>::blocks) mma_backward(BackwardCall<T> a, BackwardSums sums) {
	using Tiles = BackwardTiles<HeadDim>;
	constexpr int columns = Tiles::queries / 8;
	extern __shared__ __align__(128) unsigned char mma_tiles[];
	unsigned char *const v_rows = mma_tiles + Tiles::k_bytes, *const ds_rows = v_rows + Tiles::v_bytes, *const stages = ds_rows + Tiles::ds_bytes;
	const SharedAddress k_tile = shared_address(mma_tiles), v_tile = shared_address(v_rows), ds_tile = shared_address(ds_rows);
	const AttentionShape s = a.shape;
	const int tiles = (s.seq_kv + Tiles::keys - 1) / Tiles::keys, warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4;
	const Place at = place(tiles, s.heads_kv);
	const int first = at.tile * Tiles::keys; // under a causal mask the longest work comes first

	AsyncCopies copies;
	const auto copy_queries = [&](int step) {
		const QueryTile at = query_tile<Tiles>(step, s);
		const SharedAddress to = shared_address(stages) + step % 2 * Tiles::stage_bytes;
		copy_panels<Tiles::queries, HeadDim, Tiles::threads, true>(copies, to, a.q.of(at.batch, at.head), at.first, s.seq_q, s.head_dim);
		copy_tile<Tiles::queries, Tiles::head_dim_v, Tiles::threads>(copies, to + Tiles::q_bytes, a.grad_o.of(at.batch, at.head), at.first, s.seq_q, s.head_dim_v);
		const int thread = hopper::fresh(static_cast<int>(threadIdx.x)), row = thread % Tiles::queries, which = thread / Tiles::queries;
		const float *from = (which == 0 ? sums.lse : sums.delta) + at.rows_before(s) + at.first + row;
		const bool valid = at.first + row < s.seq_q;
		const float *const last = sums.lse + at.rows_before(s) + s.seq_q - 1;
		if (which < 2) copies.copy4(to + Tiles::q_bytes + Tiles::g_bytes + which * Tiles::row_bytes + row * 4, valid ? from : last, valid || which == 0);
		copies.commit();
	};
	copy_panels<Tiles::keys, HeadDim, Tiles::threads>(copies, k_tile, a.k.of(at.batch, at.head), first, s.seq_kv, s.head_dim);
	copy_tile<Tiles::keys, Tiles::head_dim_v, Tiles::threads>(copies, v_tile, a.v.of(at.batch, at.head), first, s.seq_kv, s.head_dim_v);
	copies.commit(); // here, for there may be no queries: what is not committed no wait waits for
	const int steps = query_tiles<Tiles>(first, s).count * s.group(), mine = first + 16 * warp; // this warp's keys
	if (steps > 0) copy_queries(0);

	float dk[1][HeadDim / 8][4] = {}, dv[1][Tiles::head_dim_v / 8][4] = {};
	for (int step = 0; step < steps; step++) {
		copies.template wait<0>();
		__syncthreads(); // the tiles have arrived for all, and those before, dS too, have been read
		if (step + 1 < steps) copy_queries(step + 1);
		unsigned char *const stage = stages + step % 2 * Tiles::stage_bytes;
		const SharedAddress q_tile = shared_address(stage), g_tile = q_tile + Tiles::q_bytes;
		const int i0 = query_tile<Tiles>(step, s).first;

		float p[1][columns][4] = {}, ds[1][columns][4] = {};
		score_product<T, 1, columns, HeadDim>(p, TileReader<Tiles::keys>(k_tile + 16 * warp * panel_bytes, rows_first()),
		                                      TileReader<Tiles::queries>(q_tile, chunks_first()));
		score_product<T, 1, columns, Tiles::head_dim_v>(ds, TileReader<Tiles::keys>(v_tile + 16 * warp * panel_bytes, rows_first()),
		                                                TileReader<Tiles::queries>(g_tile, chunks_first()));
		const float *const lse = reinterpret_cast<const float *>(stage + Tiles::q_bytes + Tiles::g_bytes);
		weigh(p[0], ds[0], lse, lse + Tiles::queries, mine + g, i0, mine + 16 > s.visible_keys(i0), s);
		uint32_t weights[1][columns / 2][4], gradients[1][columns / 2][4];
		pack_weights<T>(weights[0], p[0]);
		pack_weights<T>(gradients[0], ds[0]);
#pragma unroll
		for (int i = 0; i < columns / 2 * 4; i++)
			*reinterpret_cast<uint32_t *>(ds_rows + tile_offset<Tiles::keys>(16 * warp + g + i % 2 * 8, i / 2) + threadIdx.x % 4 * 4) = gradients[0][i / 4][i % 4];
		add_weighted_rows<T>(dv, weights, TileReader<Tiles::queries>(g_tile, rows_first()));
		__syncthreads(); // dS is there
		add_weighted_rows<T>(dk, gradients, TileReader<Tiles::queries>(q_tile, rows_first()));
		if (a.grad_q) {
			const QueryTile at = query_tile<Tiles>(step, s);
			add_grad_q<T, HeadDim>(sums.grad_q + at.rows_before(s) * s.head_dim, ds_tile, k_tile, at.first, s);
		}
	}
	copies.template wait<0>();
	__syncthreads(); // keys and values are no longer needed

	const float scale[2] = {s.scale, s.scale}, one[2] = {1, 1};
	const Place end = place(tiles, s.heads_kv);
	const int64_t before = (end.batch * s.heads_kv + end.head) * s.seq_kv;
	if (a.grad_k) store_result<T, Tiles::keys>(a.grad_k + before * s.head_dim, mma_tiles + 16 * warp * panel_bytes, dk[0], scale, mine, s.seq_kv, s.head_dim);
	if (a.grad_v) store_result<T, Tiles::keys>(a.grad_v + before * s.head_dim_v, v_rows + 16 * warp * panel_bytes, dv[0], one, mine, s.seq_kv, s.head_dim_v);
}

inline int64_t padded_rows(const AttentionShape &s) { return (s.query_rows() + 63) / 64 * 64; }

inline int64_t backward_floats(const AttentionShape &s) { return 2 * padded_rows(s) + s.query_rows() * s.head_dim; }

inline unsigned blocks_for(int64_t n, int each) { return static_cast<unsigned>((n + each - 1) / each); }

// run_backward prepares the sums, runs the kernel over tiles of keys, and rounds grad_q.
template <class T, class Tiles, class Kernel> int run_backward(Kernel kernel, const BackwardCall<T> &a, float *workspace, cudaStream_t stream) {
	const AttentionShape &s = a.shape;
	const int64_t rows = s.query_rows(), elements = rows * s.head_dim;
	const BackwardSums sums = {workspace, workspace + padded_rows(s), workspace + 2 * padded_rows(s)};
	if (rows > 0) {
		if (const int status = cudaMemsetAsync(sums.grad_q, 0, static_cast<size_t>(elements) * sizeof(float), stream)) return status;
		mma_prepare<T><<<blocks_for(rows, prepare_threads / prepare_lanes), prepare_threads, 0, stream>>>(a, sums);
	}
	if (const int status = launched()) return status;
	const int64_t blocks = (s.seq_kv + Tiles::keys - 1) / Tiles::keys * s.batch * s.heads_kv;
	if (blocks > 0) {
		if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tiles::bytes)) return status;
		kernel<<<static_cast<unsigned>(blocks), Tiles::threads, Tiles::bytes, stream>>>(a, sums);
	}
	if (const int status = launched()) return status;
	if (rows > 0 && a.grad_q) mma_finish<T><<<blocks_for(elements, 8 * prepare_threads), prepare_threads, 0, stream>>>(a.grad_q, sums.grad_q, s.scale, elements);
	return launched();
}

template <class T, int HeadDim> int launch_backward(const BackwardCall<T> &a, float *workspace, cudaStream_t stream) {
	return run_backward<T, BackwardTiles<HeadDim>>(mma_backward<T, HeadDim>, a, workspace, stream);
}

} // namespace mma
} // namespace triad
#endif
