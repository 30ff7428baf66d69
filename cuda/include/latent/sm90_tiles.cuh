// sm90_tiles.cuh: what the kernels for Hopper share: panels of 64 columns in shared memory, how the copy engine brings rows, products of a warpgroup,
// and how P and dS become operands. fp16 and bf16; D a multiple of 8, read as zeros up to whole panels, Dv 64 for each of its panels.
//   Rows lie in panels of 64 columns, swizzled; a block has three warpgroups, of which the first asks for copies and the others multiply. Of results
//   of 576 columns the first of these has 0 to 255 and 512 to 575, the second 256 to 511. Loops over panels are unrolled, and the two have code of
//   their own: where a product may be under way around a loop or beside a branch, ptxas waits for each.
#ifndef TRIAD_LATENT_SM90_TILES_CUH
#define TRIAD_LATENT_SM90_TILES_CUH
#include "hopper/arithmetic.cuh"
#include "hopper/barrier.cuh"
#include "hopper/bulk_copy.cuh"
#include "hopper/head_map.cuh"
#include "hopper/mma.cuh"
#include "hopper/named_barrier.cuh"
#include "hopper/store_sums.cuh"
#include "hopper/wgmma_any.cuh"
#include "latent/softmax.cuh"

namespace triad {
namespace latent {

// Sizes are how many panels a latent row and its value have. A warpgroup has so many columns of results, and the first one the rest.
template <int Panels, int Values> struct Sizes {
	static constexpr int panels = Panels, value_panels = Values, columns = Panels > 4 ? 256 : 64, rest = 64 * Panels - 2 * columns;
	static bool holds(int dim, int dim_v) { return dim <= 64 * Panels && dim_v == 64 * Values; }
};
using Large = Sizes<9, 8>; // DeepSeek's
using Small = Sizes<2, 1>; // what a test can afford

constexpr int warpgroup = 128, wide_threads = 3 * warpgroup, own_rows = hopper::mma_rows, stages = 2;
constexpr int producer_registers = 24, consumer_registers = 240;

__host__ __device__ constexpr int panel_of(int rows) { return rows * hopper::tile_row_bytes; } // bytes

// map_rows describes rows [batch, rows, columns], contiguous, as boxes of box_rows; nothing is copied where there are none.
template <class T> int map_rows(hopper::HeadMap *map, const T *data, int64_t batch, int rows, int columns, int box_rows) {
	if (batch == 0 || rows == 0) return TRIAD_OK;
	return hopper::map_heads(map, data, {batch, 1, rows, columns, static_cast<int64_t>(rows) * columns, 0, columns}, box_rows);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// copy_panels brings a tile of so many rows of a batch entry, 64 columns at a time.
template <int Rows, int Panels> __device__ inline void copy_panels(uint32_t to, const hopper::HeadMap *from, int row, int64_t b, uint32_t full) {
#pragma unroll
	for (int p = 0; p < Panels; p++) hopper::copy_rows(to + p * panel_of(Rows), from, 64 * p, row, 0, static_cast<int>(b), full);
}

// again is an address that is computed where it is used: 36 descriptors that the compiler keeps from tile to tile take registers of sums.
__device__ inline uint32_t again(uint32_t address) { return static_cast<uint32_t>(hopper::fresh(static_cast<int>(address))); }

// multiply_panels starts x = a b^T, plus x if add, over so many panels of 64 columns: 64 rows at a, and 8 Eights rows at b.
template <class T, int Panels, int PanelA, int PanelB, int Eights>
__device__ inline void multiply_panels(float (&x)[Eights][4], uint32_t a, uint32_t b, bool add = false) {
	a = again(a);
	b = again(b);
#pragma unroll
	for (int p = 0; p < Panels; p++) {
		const uint64_t of_a = hopper::tile_descriptor(a + p * PanelA), of_b = hopper::tile_descriptor(b + p * PanelB);
#pragma unroll
		for (int k = 0; k < 4; k++)
			hopper::WarpgroupMultiply<T>::shared(x, hopper::advanced(of_a, k * hopper::mma_k_bytes),
			                                     hopper::advanced(of_b, k * hopper::mma_k_bytes), add || p + k > 0);
	}
}

// begin_product starts x = a b^T likewise, as a group of its own.
template <class T, int Panels, int PanelA, int PanelB, int Eights>
__device__ inline void begin_product(float (&x)[Eights][4], uint32_t a, uint32_t b) {
	multiply_panels<T, Panels, PanelA, PanelB>(x, a, b);
	hopper::commit();
}

// add_product starts sum += w x of Depth rows of x: w in half of a panel or a whole one, from `weights` on; x from a panel of a tile on.
template <class T, int Depth, int Eights> __device__ inline void add_product(float (&sum)[Eights][4], uint32_t weights, uint32_t x) {
	const uint64_t a = hopper::tile_descriptor(again(weights)), b = hopper::across_descriptor(again(x), panel_of(Depth));
#pragma unroll
	for (int k = 0; k < Depth; k += 16)
		hopper::multiply_any<T, 0, 1>(sum, hopper::advanced(a, k * 2), hopper::advanced(b, k * hopper::tile_row_bytes), true);
}

// word_at is where a thread's pair of columns of a product of 64 x 32 lies in a panel: of its row (or the one 8 below) and of an eight of columns.
__device__ inline uint32_t word_at(int warp, int lane, int half, int column) {
	return hopper::swizzled(static_cast<uint32_t>(16 * warp + lane / 4 + 8 * half), static_cast<uint32_t>(column * 2)) + lane % 4 * 4;
}

// put_rounded stores a product of 64 x 32 as an operand, from a column of the panel on.
template <class T> __device__ inline void put_rounded(unsigned char *panel, const float (&x)[4][4], int warp, int lane, int column) {
#pragma unroll
	for (int n = 0; n < 4; n++)
#pragma unroll
		for (int half = 0; half < 2; half++)
			*reinterpret_cast<uint32_t *>(panel + word_at(warp, lane, half, column + 8 * n)) = hopper::pack_pair<T>(x[n][2 * half], x[n][2 * half + 1]);
}

// aligned_memory is the first multiple of a swizzle's period.
__device__ inline unsigned char *aligned_memory(unsigned char *memory) {
	constexpr uint32_t period = hopper::tile_alignment;
	return memory + (period - hopper::shared_address(memory) % period) % period;
}
#endif

} // namespace latent
} // namespace triad
#endif
