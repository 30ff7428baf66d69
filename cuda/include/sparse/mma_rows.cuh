// mma_rows.cuh: what attention over sparse keys needs on tensor cores, by mma.sync: the rows of a tile are the heads of a group, token after token.
#ifndef TRIAD_SPARSE_MMA_ROWS_CUH
#define TRIAD_SPARSE_MMA_ROWS_CUH
#include "capability.cuh"
#include "hopper/async_copy.cuh"
#include "limits.cuh"
#include "mma_softmax.cuh"
#include "pack.cuh"
#include "panel_tile.cuh"
#include "sparse/selected.cuh"

namespace triad {
namespace sparse {

using hopper::AsyncCopies;
using hopper::SharedAddress;
using hopper::shared_address;
using latent::log2_e;

constexpr int mma_most = 128, mma_cols = 64; // columns of q, k and v; keys of a tile

// Group divides by the heads of a group, numbers below 2^31 / group.
struct Group {
	uint32_t heads, reciprocal;

	explicit Group(int group) : heads(static_cast<uint32_t>(group)), reciprocal(static_cast<uint32_t>((uint64_t{1} << 32) / heads + 1)) {}
	__device__ int token(int row) const { return heads == 1 ? row : static_cast<int>(__umulhi(static_cast<uint32_t>(row), reciprocal)); }
};

// GroupRows are rows of a tensor [batch, tokens, heads, columns], of one key head: row i is a head of a token.
struct GroupRows {
	int64_t start, token, head; // start: of the first row's token, at the group's first head; strides
	int before, rows;           // heads of that token in front of the first row; rows there are
	Group group;

	template <class T>
	__device__ GroupRows(const View<T> &x, const Group &group, int64_t b, int h_kv, int first, int rows)
	    : token(x.token), head(x.head), rows(rows), group(group) {
		const int heads = static_cast<int>(group.heads), t = first / heads;
		start = x.row(b, t, h_kv * heads) - x.data, before = first - t * heads;
	}
	// of is the address of row i, null where there is none.
	template <class P> __device__ P *of(P *data, int i) const {
		const int x = before + i, t = group.token(x);
		return i < rows ? data + start + t * token + (x - t * static_cast<int>(group.heads)) * head : nullptr;
	}
};

// copy_rows starts the copy of rows to a tile; at(i) is the address of the i-th, null for zeros. any is an address that may be read.
template <int Rows, int Cols, int Threads, class T, class At>
__device__ inline void copy_rows(AsyncCopies &copies, SharedAddress tile, const T *any, int columns, At at) {
	constexpr int chunks = Cols / chunk_elements, step = Threads / chunks;
	static_assert(Threads % chunks == 0 && Rows % step == 0 && step % 8 == 0, "a thread keeps its column, and its place in the order of chunks");
	const int thread = hopper::fresh(static_cast<int>(threadIdx.x)), row = thread / chunks, chunk = thread % chunks;
	const bool inside = chunk * chunk_elements < columns;
	const SharedAddress to = tile + tile_offset<Rows>(row, chunk);
#pragma unroll
	for (int i = 0; i < Rows / step; i++) {
		const T *const from = at(row + i * step);
		const bool valid = inside && from != nullptr;
		copies.copy16(to + i * step * panel_bytes, valid ? from + chunk * chunk_elements : any, valid);
	}
}

// store_rows writes 16 rows of factor * sum, rounded, through 16 rows of a tile, 16 bytes at a time; at(i) is where the i-th goes, null for nowhere. No
// other warp may be using these rows of the tile.
template <class T, int Rows, int Eights, class At>
__device__ inline void store_rows(unsigned char *tile, const float (&sum)[Eights][4], const float (&factor)[2], int columns, At at) {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	__syncwarp(); // the rows have been read
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int half = 0; half < 2; half++)
			*reinterpret_cast<uint32_t *>(tile + tile_offset<Rows>(lane / 4 + 8 * half, n) + lane % 4 * 4) =
			    hopper::pack_pair<T>(sum[n][2 * half] * factor[half], sum[n][2 * half + 1] * factor[half]);
	__syncwarp();
	constexpr int at_once = 32 / Eights; // rows
#pragma unroll
	for (int i = 0; i < 16 / at_once; i++) {
		const int row = i * at_once + lane / Eights, chunk = lane % Eights;
		T *const to = at(row);
		if (to != nullptr && chunk * chunk_elements < columns)
			*reinterpret_cast<uint4 *>(to + chunk * chunk_elements) = *reinterpret_cast<const uint4 *>(tile + tile_offset<Rows>(row, chunk));
	}
}

// hide makes weights 0 in the columns that are hidden(half, column) from a row.
template <int Eights, class Hidden> __device__ inline void hide(float (&p)[Eights][4], float (&ds)[Eights][4], Hidden hidden) {
	const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++)
			if (hidden(e / 2, column + 8 * n + e % 2)) p[n][e] = ds[n][e] = 0;
}

// weigh turns scores, not yet scaled, into P and dP into dS; of(n, e) are lse, to the base 2, and delta of an element.
template <int Eights, class Of> __device__ inline void weigh(float (&p)[Eights][4], float (&ds)[Eights][4], float factor, Of of) {
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++) {
			const float2 x = of(n, e);
			p[n][e] = hopper::power_of_two(fmaf(p[n][e], factor, -x.x));
			ds[n][e] = p[n][e] * (ds[n][e] - x.y);
		}
}

// Shares are sums of parts of the rows that see a key, [shares, batch, heads_kv, keys, columns], keys padded to whole tiles where those are stored.
struct Shares {
	int64_t batch;
	int heads_kv, keys, padded, count;

	__host__ __device__ int64_t rows() const { return batch * heads_kv * padded; } // of one share
	__device__ int64_t row(int share, int64_t b, int h_kv, int key) const { return share * rows() + (b * heads_kv + h_kv) * padded + key; }
};

// store_share writes the sums of 16 keys, whose first is row `to` and of which `here` are there.
template <int Eights> __device__ inline void store_share(float *sums, int64_t to, const float (&sum)[Eights][4], int columns, int here) {
	const int lane = static_cast<int>(threadIdx.x) % warp_size;
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int c = 8 * n + lane % 4 * 2, key = lane / 4 + 8 * half;
			if (c < columns && key < here) *reinterpret_cast<float2 *>(sums + (to + key) * columns + c) = make_float2(sum[n][2 * half], sum[n][2 * half + 1]);
		}
}

constexpr int join_threads = 256;

// to [batch, keys, heads_kv, columns] = factor * the sum of the shares, rounded; a thread for 8 columns.
template <class T> __global__ void __launch_bounds__(join_threads) mma_join(T *to, const float *from, Shares shares, float factor, int columns) {
	const int64_t i = (static_cast<int64_t>(blockIdx.x) * join_threads + threadIdx.x) * 8, row = i / columns;
	if (row >= shares.batch * shares.keys * shares.heads_kv) return;
	const int h_kv = static_cast<int>(row % shares.heads_kv), key = static_cast<int>(row / shares.heads_kv % shares.keys);
	const int64_t b = row / shares.heads_kv / shares.keys;
	float sum[8] = {};
	for (int share = 0; share < shares.count; share++) {
		float x[8];
		load(from + shares.row(share, b, h_kv, key) * columns + i % columns, x);
#pragma unroll
		for (int e = 0; e < 8; e++) sum[e] += x[e];
	}
#pragma unroll
	for (int e = 0; e < 8; e++) sum[e] *= factor;
	store(to + i, sum);
}

template <class T> int join(T *to, const float *from, const Shares &shares, float factor, int columns, cudaStream_t stream) {
	const int64_t n = shares.batch * shares.keys * shares.heads_kv * columns, each = 8 * join_threads;
	if (to != nullptr) mma_join<T><<<static_cast<unsigned>((n + each - 1) / each), join_threads, 0, stream>>>(to, from, shares, factor, columns);
	return launched();
}

template <class Kernel, class... Arguments>
int launch_mma(Kernel kernel, int64_t grid, int threads, int bytes, cudaStream_t stream, const Arguments &...arguments) {
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return status;
	kernel<<<static_cast<unsigned>(grid), static_cast<unsigned>(threads), static_cast<size_t>(bytes), stream>>>(arguments...);
	return launched();
}

// What the products ask: rows that can be copied 16 bytes at a time, and a scale with which the largest product is the largest score.
inline Limits mma_limits(void (*shared)(Check &, const triad_call *), void (*scale)(Check &, const triad_call *)) {
	Limits limits = {capability("mma of 16 x 8 x 16 elements", 80, true), contiguous_columns("q", "k", "v"),
	                 limit("as much shared memory as its tiles take", shared), limit("scale in 0..1e30", scale)};
	for (const char *size : {"head_dim", "head_dim_v"}) limits.insert(limits.end(), {multiple_of(size, 8), at_most(size, mma_most)});
	return limits;
}

inline void check_scale(Check &check, double scale) { check.that(scale > 0 && scale <= 1e30, "scale %g is not in 0..1e30", scale); }

inline void check_shared(Check &check, int needed) {
	const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
	check.that(most >= needed, "a block needs %d bytes of shared memory, this GPU gives %d", needed, most);
}

inline int widest(const Sizes &s) { return s.dim > s.dim_v ? s.dim : s.dim_v; }

} // namespace sparse
} // namespace triad
#endif
