// sorted_mma.cuh: the products of sorted_pairs.cuh of 16-bit operands on tensor cores (mma.sync.m16n8k16, sm_80 and newer), with fp32 sums. What they
// write is sorted by group as the pairs are: there the rows of a group are neighbours, and so they are read by the next product.
#ifndef TRIAD_HOPPER_SORTED_MMA_CUH
#define TRIAD_HOPPER_SORTED_MMA_CUH
#include <algorithm>

#include "group_walk.cuh"
#include "hopper/mma_product.cuh"
#include "pack.cuh"
#include "sorted_pairs.cuh"

namespace triad {
namespace hopper {

// PairRows are the rows of pairs, by their places in the order. With top they are rows of what the pairs are made of, one for top pairs.
template <class T> struct PairRows {
	const T *data;
	int64_t stride; // columns are neighbours
	int32_t top;

	__device__ const T *row(const SortedPairs &s, int64_t place) const {
		return data + (top > 0 ? static_cast<int32_t>(s.order[place]) / top : place) * stride;
	}
};

// RowCopier copies the tiles of an operand whose rows lie along k, each where it likes.
template <class T, int Rows> struct RowCopier : MmaTile<Rows, true>::template Copier<T> {
	using Base = typename MmaTile<Rows, true>::template Copier<T>;
	const T *line[Base::chunks];

	__device__ RowCopier(const PairRows<T> &x, const SortedPairs &s, int64_t first, int64_t row0, int64_t all_rows, int64_t depth)
	    : Base(MmaOperand<T>{x.data, 0, 1}, row0, all_rows, depth) {
#pragma unroll
		for (int i = 0; i < Base::chunks; i++) {
			const int row = static_cast<int>(threadIdx.x) / Base::per_line + i * Base::apart;
			line[i] = i * Base::apart < this->rows ? x.row(s, first + row0 + row) + static_cast<int>(threadIdx.x) % Base::per_line * Base::chunk : x.data;
		}
	}

	__device__ void copy(AsyncCopies &copies, SharedAddress tile) {
#pragma unroll
		for (int i = 0; i < Base::chunks; i++) {
			const bool valid = i * Base::apart < this->rows && this->left > 0;
			copies.copy16(tile + this->to + i * Base::apart * Base::pitch, valid ? line[i] : this->data, valid);
			line[i] += Base::depth_of_tile;
		}
		this->left -= Base::depth_of_tile;
	}
};

// PairProduct is y = a b of each pair, or the sum of two such products; b is a matrix of the pair's group. y [pairs, cols] is sorted.
template <class T> struct PairProduct {
	SortedPairs s;
	PairRows<T> a[2];
	Cube<T> b[2];
	T *y[2];
	int64_t cols, depth, groups;
	int products;

	// Of groups whose rows lie one behind the other: what WarpWalk asks for.
	static constexpr bool by_depth = false;
	static constexpr int64_t rows = 0;
	__device__ int64_t begins(int64_t g) const { return s.offsets[g]; }

	// plus adds a second product, with has one beside.
	PairProduct plus(PairRows<T> also, Cube<T> by) const { return {s, {a[0], also}, {b[0], by}, {y[0], y[0]}, cols, depth, groups, 2}; }
	PairProduct with(Cube<T> by, T *to) const { return {s, {a[0], a[0]}, {b[0], by}, {y[0], to}, cols, depth, groups, 1}; }

	// of_group is a group's b, whose rows are what y has as columns.
	__device__ MmaOperand<T> of_group(int i, int64_t g) const { return {b[i].data + g * b[i].group, b[i].col, b[i].row}; }
};

// PairTile is the block's tile of a group's rows: which they are, and where it begins among them.
struct PairTile {
	int64_t group, first, rows, row0, col0;

	// find says whether the block has one; the tile has Cols columns.
	template <int Cols, class T> __device__ bool find(const PairProduct<T> &p) {
		WarpWalk<Mma::m, Cols> walk = {};
		if (!walk.seek(p, blockIdx.x)) return false;
		const int64_t across = (p.cols + Cols - 1) / Cols, own = blockIdx.x - walk.before;
		group = walk.group, first = walk.begin, rows = walk.size, row0 = own / across * Mma::m, col0 = own % across * Cols;
		return true;
	}
};

template <class T, bool AlongKB> __global__ void __launch_bounds__(Mma::threads, 2) sorted_mma_by_rows_kernel(PairProduct<T> p) {
	using TileB = MmaTile<Mma::n, AlongKB>;
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	PairTile at;
	if (!at.find<Mma::n>(p)) return; // the whole block
	MmaSums<T> sums(at.row0, at.rows, at.col0, p.cols);
#pragma unroll 1
	for (int i = 0; i < p.products; i++) {
		if (i > 0) __syncthreads(); // all are done with the last tiles
		mma_add<T, MmaTile<Mma::m, true>, TileB>(mma_tiles, sums, RowCopier<T, Mma::m>(p.a[i], p.s, at.first, at.row0, at.rows, p.depth),
		                                         typename TileB::template Copier<T>(p.of_group(i, at.group), at.col0, p.cols, p.depth), p.depth);
	}
	sums.store_rows(p.y[0] + at.first * p.cols, 1);
}

// beside_copier copies tiles of two operands side by side, 32 columns of one and 32 of the other in turn: a lane then has both sums of a column.
template <class Copier, class T> __device__ inline Copier beside_copier(const MmaOperand<T> &x, const MmaOperand<T> &y, int64_t col0, int64_t cols, int64_t depth) {
	const int at = static_cast<int>(threadIdx.x) % Copier::per_line * Copier::chunk;
	return Copier(at / 32 % 2 == 0 ? x : y, col0 + at / 64 * 32 + at % 32 - at, cols, depth);
}

// Of each pair the products with both matrices: Finish writes them with store(sums, y) of sums whose columns are the first half of a warp's, those of
// the second matrix 4 eights later.
template <class T, class Finish> __global__ void __launch_bounds__(Mma::threads, 2) sorted_mma_beside_kernel(PairProduct<T> p) {
	using TileB = MmaTile<Mma::n, false>;
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	PairTile at;
	if (!at.find<Mma::n / 2>(p)) return; // the whole block
	MmaSums<T> sums(at.row0, at.rows, at.col0, p.cols);
	sums.col0 -= MmaSums<T>::warp_col() / 2;
	mma_add<T, MmaTile<Mma::m, true>, TileB>(
	    mma_tiles, sums, RowCopier<T, Mma::m>(p.a[0], p.s, at.first, at.row0, at.rows, p.depth),
	    beside_copier<typename TileB::template Copier<T>>(p.of_group(0, at.group), p.of_group(1, at.group), at.col0, p.cols, p.depth), p.depth);
	Finish::store(sums, p.y[0] + at.first * p.cols, p.y[1] + at.first * p.cols);
}

// Apart writes both sums.
template <class T> struct Apart {
	__device__ static void store(const MmaSums<T> &sums, T *first, T *second) {
		sums.template store_values<4>(first, [&](int i, int j, int e) { return sums.sum[i][j][e]; });
		sums.template store_values<4>(second, [&](int i, int j, int e) { return sums.sum[i][j + 4][e]; });
	}
};

// A warp a pair: its row, times its weight where there are weights, into its place of y [pairs, cols].
template <class T> __global__ void __launch_bounds__(pair_threads) sort_rows_kernel(SortedPairs s, PairRows<T> x, const float *w, T *y, int64_t cols) {
	const int64_t place = (blockIdx.x * static_cast<int64_t>(pair_threads) + threadIdx.x) / 32;
	if (place >= s.pairs) return;
	const T *from = x.row(s, place);
	const float by = w != nullptr ? w[s.order[place]] : 1.0f;
	for (int64_t c = threadIdx.x % 32 * vector<T>; c < cols; c += 32 * vector<T>) {
		float v[vector<T>];
		load(from + c, v);
#pragma unroll
		for (int j = 0; j < vector<T>; j++) v[j] *= by;
		store(y + place * cols + c, v);
	}
}

// Of each group y [rows, cols] = the sum over its pairs of a(place, row) b(place, col): a block's tile of it. a and b are sorted and contiguous.
template <class T>
__global__ void __launch_bounds__(Mma::threads, 2) sorted_mma_by_depth_kernel(SortedPairs s, const T *a, const T *b, T *y, int64_t rows, int64_t cols) {
	using Tile = MmaTile<Mma::m, false>;
	static_assert(Mma::m == Mma::n, "both tiles are alike");
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t across = (cols + Mma::n - 1) / Mma::n, down = (rows + Mma::m - 1) / Mma::m, e = blockIdx.x / (across * down);
	const int64_t first = s.offsets[e], row0 = blockIdx.x / across % down * Mma::m, col0 = blockIdx.x % across * Mma::n;
	const MmaProduct<MmaOperand<T>> part = {{a + first * rows, 1, rows}, {b + first * cols, 1, cols}, row0, rows, col0, cols, s.offsets[e + 1] - first};
	mma_product<T, Tile, Tile>(mma_tiles, part).store_rows(y + e * rows * cols, 1);
}

// PairProducts launches such products. The first that cannot be launched is the last.
template <class T> class PairProducts {
	using Largest = MmaTiles<T, MmaTile<Mma::m, true>, MmaTile<Mma::n, true>>;
	int refused = 0;

public:
	const SortedPairs s;
	const cudaStream_t stream;

	PairProducts(const SortedPairs &pairs, cudaStream_t in) : s(pairs), stream(in) {}
	int status() const { return refused != 0 ? refused : launched(); }

	// of is one product.
	PairProduct<T> of(PairRows<T> a, Cube<T> b, T *y, int64_t cols, int64_t depth) const { return {s, {a, a}, {b, b}, {y, y}, cols, depth, s.groups, 1}; }

	// Each group but one may end in a tile that has a single row.
	unsigned tiles(int64_t cols) const {
		const int64_t down = (s.pairs + Mma::m - 1) / Mma::m + std::min(s.groups, s.pairs);
		return static_cast<unsigned>(down * ((cols + Mma::n - 1) / Mma::n));
	}

	void by_rows(const PairProduct<T> &p) {
		start(p.b[0].row == 1 ? sorted_mma_by_rows_kernel<T, true> : sorted_mma_by_rows_kernel<T, false>, tiles(p.cols), p);
	}
	template <class Finish> void beside(const PairProduct<T> &p) { start(sorted_mma_beside_kernel<T, Finish>, tiles(2 * p.cols), p); }

	void by_depth(const T *a, const T *b, T *y, int64_t rows, int64_t cols) {
		const int64_t blocks = s.groups * ((rows + Mma::m - 1) / Mma::m) * ((cols + Mma::n - 1) / Mma::n);
		start(sorted_mma_by_depth_kernel<T>, static_cast<unsigned>(blocks), s, a, b, y, rows, cols);
	}

	void sort_rows(PairRows<T> x, const float *w, T *y, int64_t cols) const {
		if (s.pairs > 0) sort_rows_kernel<T><<<blocks_for(s.pairs * 32, pair_threads), pair_threads, 0, stream>>>(s, x, w, y, cols);
	}

	// fp32 is y [rows, cols] = a b^T, of rows that lie along k.
	void fp32(MmaOperand<T> a, MmaOperand<T> b, float *y, int64_t rows, int64_t cols, int64_t depth) {
		start(mma_fp32_kernel<T>, static_cast<unsigned>((rows + Mma::m - 1) / Mma::m * ((cols + Mma::n - 1) / Mma::n)), a, b, y, rows, cols, depth);
	}

private:
	// start launches a kernel of such tiles.
	template <class... Of, class... Arg> void start(void (*kernel)(Of...), unsigned blocks, Arg... args) {
		if (refused == 0) refused = static_cast<int>(Largest::allow(kernel));
		if (refused == 0) kernel<<<blocks, Mma::threads, Largest::bytes, stream>>>(args...);
	}
};

} // namespace hopper
} // namespace triad
#endif
