// sm90_tma.cuh: the forward of linear_cross_entropy for Hopper (wgmma, sm_90a), without logits in memory.
//     z = hidden weight^T, lse = log sum exp(z), loss = lse - z[target]
//   The product has the pipeline of hopper/pair_product.cuh: tiles of 128 tokens and 128 classes, which two consumers take in turn. Of its tile a
//   consumer keeps in fp32 what a row's maximum and its sum of exponentials are, and the logit of the target where the tile has it; the
//   exponentials run beside the products of the other consumer:
//
//       consumer 0    | multiply tile 0    | maxima, sums of tile 0 |     | multiply tile 2    |
//       consumer 1                         | multiply tile 1    | maxima, sums of tile 1 |
//
//   A second kernel puts together what the tiles have of a row, always in the same order.
#ifndef TRIAD_LINEAR_CROSS_ENTROPY_SM90_TMA_CUH
#define TRIAD_LINEAR_CROSS_ENTROPY_SM90_TMA_CUH
#include "hopper/pair_halves.cuh"
#include "hopper/pair_product.cuh"
#include "log_sum.cuh"
#include "tokens.cuh"

namespace triad {
namespace linear_cross_entropy {

using TmaTile = hopper::PairTile<2, 6>;

// RowParts holds the parts of all tokens: [tile of classes][token], and the logits of the targets.
struct RowParts {
	LogSum *sums;
	float *of_target;

	static int64_t tiles(int64_t classes) { return (classes + TmaTile::n - 1) / TmaTile::n; }
	static int64_t floats(int64_t tokens, int64_t classes) { return tokens * (2 * tiles(classes) + 1); }
	RowParts(float *room, int64_t tokens, int64_t classes)
	    : sums(reinterpret_cast<LogSum *>(room)), of_target(room + 2 * tokens * tiles(classes)) {}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// KeepRows is the epilogue. A thread has two rows of each 64, and of each eight columns two; the four lanes of a quad have a row.
struct KeepRows {
	const Tokens &all;
	const RowParts &parts;
	int targets[TmaTile::parts][2];

	__device__ static int64_t row_of(const hopper::PairPlace &at, int part, int half) {
		return at.row + part * hopper::mma_rows + hopper::accumulator_row(static_cast<int>(threadIdx.x) % TmaTile::warpgroup, 0) + 8 * half;
	}

	// The targets come while the tile is multiplied, as columns of it.
	__device__ void begin(const hopper::PairPlace &at) {
#pragma unroll
		for (int part = 0; part < TmaTile::parts; part++)
#pragma unroll
			for (int half = 0; half < 2; half++) {
				const int64_t row = row_of(at, part, half), column = row < all.count ? all.target(row) - at.col : -1;
				targets[part][half] = column >= 0 && column < TmaTile::n ? static_cast<int>(column) : -1;
			}
	}

	__device__ void store(const TmaTile::Sums &d, const hopper::PairPlace &at) const {
#pragma unroll
		for (int part = 0; part < TmaTile::parts; part++)
#pragma unroll
			for (int half = 0; half < 2; half++) keep(d[part], half, targets[part][half], row_of(at, part, half), at.col);
	}

private:
	__device__ void keep(const TmaTile::Part &d, int half, int target, int64_t row, int64_t col0) const {
		constexpr int eights = TmaTile::n / 8;
		const int first = static_cast<int>(threadIdx.x) % 4 * 2, columns = static_cast<int>(min(all.classes - col0, static_cast<int64_t>(TmaTile::n)));
		float z[2 * eights];
#pragma unroll
		for (int i = 0; i < 2 * eights; i++) {
			const int column = i / 2 * 8 + first + i % 2;
			const float logit = d[i / 2][2 * half + i % 2];
			if (column == target) parts.of_target[row] = logit;
			z[i] = column < columns ? logit : -INFINITY;
		}
		LogSum own = {-INFINITY, 0.0f};
		own.take(z);
		own = warp_reduce<4>(own, MergeLogSums());
		if (first == 0 && row < all.count) parts.sums[col0 / TmaTile::n * all.count + row] = own;
	}
};
#endif

template <class T>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    linear_cross_entropy_tma_kernel(const __grid_constant__ Tokens all, const __grid_constant__ RowParts parts, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char pair_tiles[];
	hopper::run_pair<TmaTile, true, true>(
		work, pair_tiles,
		[](TmaTile::Part &d, hopper::SharedAddress a, hopper::SharedAddress b, bool add) { hopper::multiply_stage<T, true, true>(d, a, b, add); },
		[&](hopper::SharedAddress, int) { return KeepRows{all, parts, {}}; });
#endif
}

// A block has 16 rows: 16 threads share what the tiles have of each, and neighbours read neighbours.
constexpr int merged_rows = 16;
static __global__ void __launch_bounds__(threads) linear_cross_entropy_merge_kernel(RowParts parts, int64_t tiles, float *losses, float *lse, Tokens all) {
	constexpr int shares = threads / merged_rows;
	__shared__ LogSum of_shares[shares][merged_rows];
	const int x = static_cast<int>(threadIdx.x) % merged_rows, share = static_cast<int>(threadIdx.x) / merged_rows;
	const int64_t row = blockIdx.x * static_cast<int64_t>(merged_rows) + x;
	LogSum own = {-INFINITY, 0.0f};
	for (int64_t tile = share; tile < tiles && row < all.count; tile += shares) own = MergeLogSums()(own, parts.sums[tile * all.count + row]);
	of_shares[share][x] = own;
	__syncthreads();
	if (share != 0 || row >= all.count) return;
	for (int i = 1; i < shares; i++) own = MergeLogSums()(own, of_shares[i][x]);
	if (lse != nullptr) lse[row] = own.max + own.log();
	losses[row] = all.counts(row) ? loss_of(parts.of_target[row], own.max, own.log()) : 0.0f;
}

// launch_rows gives every token its loss and its lse: 0, or CUDA's error code. Operands are rows, strides apart.
template <class T>
int launch_rows(const Tokens &all, const void *hidden, int64_t hidden_stride, const void *weight, int64_t weight_stride, int64_t dim, float *room,
                float *losses, float *lse, cudaStream_t stream) {
	const RowParts parts(room, all.count, all.classes);
	hopper::PairWork work = {};
	constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together
	if (const int status = hopper::map_pair<TmaTile>(&work, {hidden, 0, hidden_stride, true}, {weight, 0, weight_stride, true}, 1, all.count, all.classes,
	                                                  dim, height))
		return status;
	if (const int status = hopper::launch_pair<TmaTile>(linear_cross_entropy_tma_kernel<T>, work, stream, all, parts)) return status;
	const unsigned blocks = static_cast<unsigned>((all.count + merged_rows - 1) / merged_rows);
	linear_cross_entropy_merge_kernel<<<blocks, threads, 0, stream>>>(parts, RowParts::tiles(all.classes), losses, lse, all);
	return launched();
}

// check_maps is a limit: what the copy engine's maps can say.
inline void check_maps(Check &check, const triad_call *call) {
	static const char *const names[] = {"hidden", "weight"};
	for (int i = 0; i < 2; i++) {
		const triad_tensor &t = call->in[i];
		const long long rows = t.shape[0], columns = t.shape[1], stride = t.stride[0];
		check.that(i == 0 ? columns > 0 : elements(t) > 0, "%s has no elements", names[i]);
		check.that(rows < INT32_MAX && columns < INT32_MAX, "%s has %lld x %lld elements: want below 2^31 - 1", names[i], rows, columns);
		check.that(rows <= 1 || (stride > 0 && stride < int64_t{1} << 38), "the rows of %s have a stride of %lld, want 1 to 2^38", names[i], stride);
	}
}

static const Limit maps = limit("sizes and strides that a tensor map can have", check_maps);

// Bytes of the forward's workspace: a loss a token and one more, rounded up to 256 bytes, and the parts.
inline int64_t tma_bytes(const triad_call *call) {
	const int64_t tokens = call->in[0].shape[0];
	return 4 * ((tokens + 64) / 64 * 64 + RowParts::floats(tokens, call->in[1].shape[0]));
}

} // namespace linear_cross_entropy
} // namespace triad
#endif
