// scale_ring.cuh: the factors of block scaling, brought through the ring of stages. A factor is the scale of a row of a times that of the tile's
// columns, for one stage. Two warps of the first warpgroup multiply them while the consumers are busy: fetched by the consumers themselves the
// scales cost them more instructions than adding up does.
#ifndef TRIAD_FP8_GEMM_SCALE_RING_CUH
#define TRIAD_FP8_GEMM_SCALE_RING_CUH
#include "accumulators.cuh"
#include "hopper/barrier.cuh"
#include "tile_order.cuh"
#include "wgmma_tile.cuh"

namespace triad {

// ScaleRing is what a thread of those warps knows: its rows of a tile, and their scales of the next stage.
template <class Tile> class ScaleRing {
public:
	static constexpr int threads = Tile::scale_warps * 32, first_thread = Tile::warpgroup - threads, arrivals = Tile::scale_warps;
	static constexpr int rows = Tile::m / threads;

	// begin turns to another tile, whose reduction is not empty.
	__device__ void begin(const Product &p, const TilePlace &place) {
		b_ = p.scale_b.scale + place.n * p.scale_b.row_stride;
		next_b_ = *b_;
#pragma unroll
		for (int i = 0; i < rows; i++) {
			a_[i] = p.scale_a.scale + min(place.m * static_cast<int64_t>(Tile::m) + row(i), p.m - 1) * p.scale_a.row_stride;
			next_a_[i] = *a_[i];
		}
	}

	// turn makes the scales that were fetched those of the stage at hand, and fetches those of stage k_block.
	__device__ void turn(const Product &p, int k_block, bool another) {
		scale_b_ = next_b_;
#pragma unroll
		for (int i = 0; i < rows; i++) scale_a_[i] = next_a_[i];
		if (!another) return;
		next_b_ = b_[k_block * p.scale_b.block_stride];
#pragma unroll
		for (int i = 0; i < rows; i++) next_a_[i] = a_[i][k_block * p.scale_a.block_stride];
	}

	// put writes the factors of the stage at hand, and arrives at its barrier.
	__device__ void put(uint8_t *memory, uint32_t full, int stage) const {
		Factor *const factors = reinterpret_cast<Factor *>(memory + Tile::factors(stage));
		bool simple = true;
#pragma unroll
		for (int i = 0; i < rows; i++) {
			factors[row(i)] = product_of_scales(scale_a_[i], scale_b_);
			simple = simple && plain(scale_a_[i] * scale_b_);
		}
		simple = __all_sync(0xffffffffu, simple);
		if (thread() % 32 != 0) return;
		reinterpret_cast<uint32_t *>(memory + Tile::plain(stage))[thread() / 32] = simple;
		hopper::barrier_arrive(full);
	}

	// take: the factors of a consumer's two rows in a wave, of which `first` is the first within the tile.
	__device__ static RowFactors take(const uint8_t *memory, int stage, int first) {
		const Factor *const factors = reinterpret_cast<const Factor *>(memory + Tile::factors(stage));
		const uint32_t *const plain = reinterpret_cast<const uint32_t *>(memory + Tile::plain(stage));
		return {{factors[first], factors[first + 8]}, plain[0] != 0 && plain[1] != 0};
	}

private:
	__device__ static int thread() { return static_cast<int>(threadIdx.x) - first_thread; }
	__device__ static int row(int i) { return thread() + i * threads; }

	const float *a_[rows], *b_;
	float scale_a_[rows], scale_b_, next_a_[rows], next_b_;
};

} // namespace triad
#endif
