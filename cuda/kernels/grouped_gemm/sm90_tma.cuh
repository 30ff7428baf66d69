// sm90_tma.cuh: the products of groups of rows on Hopper's tensor cores, of 16-bit operands:
//     y = x w[g] and grad_x = grad_y w[g]^T for the rows of group g          grad_w[g] = x^T grad_y over the rows of group g
//   By the pipeline of hopper/walked_product.cuh: blocks have tiles of 128 x 256, in clusters of two. Where groups have 512 rows or more on average, and
//   in grad_w, those tiles lie below each other and share the columns of b; elsewhere they lie side by side and share the rows of a. A cluster stays
//   and takes every so-manieth tile of all groups; each warp walks along the groups to it, 32 at a time.
//   A tile never crosses groups. Beyond the end of a group the copies bring zeros (hopper/ragged_map.cuh): as rows of a, which are not written, and as the
//   last steps of the sums of grad_w. grad_w of a group without rows is the product of one step of zeros.
#ifndef TRIAD_GROUPED_GEMM_SM90_TMA_CUH
#define TRIAD_GROUPED_GEMM_SM90_TMA_CUH
#include "group_walk.cuh"
#include "hopper/walked_halves.cuh"
#include "hopper/ragged_map.cuh"
#include "product.cuh"

namespace triad {
namespace grouped_gemm {

// How the tiles of a cluster lie: 256 x 256 or 128 x 512.
using Below = hopper::WalkedTile<2, 4, hopper::WalkedShares::b>;
using Beside = hopper::WalkedTile<2, 4, hopper::WalkedShares::a>;

constexpr int64_t large_group = 512; // rows of a group, on average, from which on tiles lie below each other

// GroupWork is the work of a launch, see walked_product.cuh: ByDepth where the groups cut the sum.
template <class Tile, class T, bool ByDepth> struct GroupWork {
	static constexpr int rows = Tile::m * Tile::down, cols = Tile::n * Tile::across; // of a cluster
	using Walk = WarpWalk<rows, cols>;
	hopper::HeadMap a, b;
	Product<T> p;

	int64_t count() const { return most_tiles<rows, cols>(p); }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	__device__ bool seek(Walk &walk, int64_t tile) const { return walk.seek(p, tile); }

	__device__ hopper::WalkedPlace place(const Walk &walk, int64_t tile, int rank) const {
		const int size = static_cast<int>(ByDepth ? p.rows : walk.size), depth = static_cast<int>(ByDepth ? walk.size : p.depth);
		constexpr int height = 2048 / rows; // rows of tiles of a group that are in flight together
		const TilesInBands<int> order = {(size + rows - 1) / rows, static_cast<int>((p.cols + cols - 1) / cols), height};
		const int steps = max((depth + Tile::k - 1) / Tile::k, 1);
		return hopper::walked_place<Tile>(order.place(static_cast<int>(tile) - walk.before), rank, ByDepth ? walk.group * p.rows : walk.begin, size, steps);
	}

	__device__ hopper::WalkedPart part_a(const Walk &walk) const { return rows_of(walk); }
	__device__ hopper::WalkedPart part_b(const Walk &walk) const {
		if constexpr (ByDepth) return rows_of(walk);
		else return {0, 0, p.b_group == 0 ? 0 : walk.group};
	}

private:
	__device__ hopper::WalkedPart rows_of(const Walk &walk) const { return hopper::ragged_part(walk.begin + walk.size, walk.size); }
#endif
};

// Of the forward a lies along k and b along its rows, of grad_x both along k, of grad_w neither.
template <class Tile, class T, bool AlongKA, bool AlongKB>
__global__ void __launch_bounds__(Tile::threads, 1) grouped_gemm_tma(const __grid_constant__ GroupWork<Tile, T, !AlongKA> work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Sums = typename Tile::Sums;
	extern __shared__ __align__(128) unsigned char group_tiles[];
	hopper::run_walked<Tile, AlongKA, AlongKB>(
		work, group_tiles, [](Sums &d, uint32_t a, uint32_t b, bool add) { hopper::multiply_halves<Tile, T, AlongKA, AlongKB>(d, a, b, add); },
		[&](const Sums &d, const hopper::WalkedPlace &at) {
			hopper::store_wide(d, hopper::sums_place<Tile>(work.p.y, work.p.cols, at), [](float sum) { return sum; });
		});
#endif
}

template <class Tile, class T, bool AlongKA, bool AlongKB> int launch_tma(const Product<T> &p, cudaStream_t stream) {
	GroupWork<Tile, T, !AlongKA> work = {};
	work.p = p;
	// The groups are of rows in memory, that lie along the reduction or are its steps. A single row has no stride.
	const auto map_rows = [&](hopper::HeadMap *map, const Matrix<T> &x, bool along, int64_t rows, int box_rows) {
		const int64_t columns = along ? p.depth : rows, tokens = along ? rows : p.depth, stride = along ? x.row_stride : x.k_stride;
		return hopper::map_ragged(map, x.data, columns, tokens == 1 ? columns : stride, along ? box_rows : hopper::box_columns);
	};
	if (const int status = map_rows(&work.a, p.a, AlongKA, p.rows, Tile::own_a)) return status;
	if constexpr (AlongKA) {
		const hopper::WalkedSource b = {p.b.data, p.b_group, AlongKB ? p.b.row_stride : p.b.k_stride, AlongKB};
		if (const int status = hopper::map_matrices(&work.b, b, p.groups, p.cols, p.depth, Tile::own_b)) return status;
	} else {
		if (const int status = map_rows(&work.b, p.b, AlongKB, p.cols, Tile::own_b)) return status;
	}
	return hopper::launch_walked<Tile>(grouped_gemm_tma<Tile, T, AlongKA, AlongKB>, work, stream);
}

// launch_groups starts a product of these three kinds; of rows, b lies along k or along its rows.
template <class T> int launch_groups(const Product<T> &p, bool along_kb, cudaStream_t stream) {
	if (p.by_depth) return launch_tma<Below, T, false, false>(p, stream);
	const bool large = p.rows >= large_group * p.groups;
	if (along_kb) return large ? launch_tma<Below, T, true, true>(p, stream) : launch_tma<Beside, T, true, true>(p, stream);
	return large ? launch_tma<Below, T, true, false>(p, stream) : launch_tma<Beside, T, true, false>(p, stream);
}

template <class T> int sm90_tma(const triad_call *call) {
	return each_product<T>(call, [call](const Product<T> &p, cudaStream_t stream) { return launch_groups(p, call->n_out != 1, stream); });
}

// check_map is what the copy engine's map of an operand can express.
inline void check_map(Check &check, const triad_tensor &t, const char *name) {
	constexpr int64_t far = int64_t{1} << 33;
	check.that(elements(t) > 0, "%s has no elements", name);
	for (int d = 0; d < t.rank; d++)
		check.that(t.shape[d] <= hopper::ragged_rows, "%s has a size of %lld: want at most 2^30", name, static_cast<long long>(t.shape[d]));
	const int rows = t.rank - 2;
	check.that(t.shape[rows] == 1 || (t.stride[rows] > 0 && t.stride[rows] < far), "the rows of %s have a stride of %lld, want 1 to 2^33 - 1", name,
	           static_cast<long long>(t.stride[rows]));
	check.that(rows == 0 || t.shape[0] == 1 || (t.stride[0] >= 0 && t.stride[0] < 32 * far), "the matrices of %s have a stride of %lld, want 0 to 2^38", name,
	           static_cast<long long>(t.stride[0]));
}

// check_tma adds to the limits of tensor cores what the copy engine's maps can express.
inline void check_tma(Check &check, const triad_call *call) {
	check_map(check, call->in[0], "x"), check_map(check, call->in[1], "w");
	if (call->n_out != 1) check_map(check, call->in[3], "grad_y");
}

} // namespace grouped_gemm
} // namespace triad
#endif
