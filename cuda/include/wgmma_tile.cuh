// wgmma_tile.cuh: how the tensor-core fp8 product divides a tile of c and the shared memory. Plain arithmetic, also on the host, where a
// test runs the whole division against a model of the hardware.
//   A block has 1 + consumers warpgroups: the first loads, each of the others multiplies Waves x 64 rows by all columns of the tile.
//   Shared memory holds a ring of stages (rows of a, then rows of b, 128 bytes each, swizzled), then two barriers of each stage, then what
//   scales two tiles: a float of each row and column, a word of each warp that brings them, and two barriers.
#ifndef TRIAD_WGMMA_TILE_CUH
#define TRIAD_WGMMA_TILE_CUH
#include "hopper/swizzle.cuh"

namespace triad {

template <int Waves, int Consumers = 2> struct WgmmaTile {
	static constexpr int warpgroup = 128, consumers = Consumers;   // threads; warpgroups that multiply
	static constexpr int threads = warpgroup * (1 + consumers);
	static constexpr int accumulators = 64;                // of a thread in one wave: 64 x 128 elements among 128 threads
	static constexpr int m = consumers * Waves * hopper::mma_rows, n = 128, k = hopper::tile_row_bytes;
	static constexpr int a_bytes = m * k, b_bytes = n * k, stage_bytes = a_bytes + b_bytes;
	static constexpr int stages = (192 << 10) / stage_bytes;
	static constexpr int scale_warps = 2, scale_bytes = (m + n + scale_warps) * 4, scale_buffers = 2;
	static constexpr int shared_bytes =   // the first to align what follows
	    hopper::tile_alignment + stages * (stage_bytes + 2 * 8) + scale_buffers * (2 * 8 + scale_bytes);

	// Offsets from the start of the memory.
	__host__ __device__ static constexpr uint32_t a(int stage) { return stage * stage_bytes; }
	__host__ __device__ static constexpr uint32_t b(int stage) { return stage * stage_bytes + a_bytes; }
	__host__ __device__ static constexpr uint32_t full(int stage) { return stages * stage_bytes + 8 * stage; }
	__host__ __device__ static constexpr uint32_t empty(int stage) { return full(stages) + 8 * stage; }

	__host__ __device__ static constexpr uint32_t scales_full(int buffer) { return empty(stages) + 8 * buffer; }
	__host__ __device__ static constexpr uint32_t scales_empty(int buffer) { return scales_full(scale_buffers) + 8 * buffer; }
	__host__ __device__ static constexpr uint32_t scales(int buffer) { return scales_empty(scale_buffers) + scale_bytes * buffer; }

	// The first row that a warpgroup multiplies in a wave, within the tile.
	__host__ __device__ static constexpr int wave_row(int consumer, int wave) { return (consumer * Waves + wave) * hopper::mma_rows; }
	__host__ __device__ static constexpr uint32_t wave_a(int stage, int consumer, int wave) { return a(stage) + wave_row(consumer, wave) * k; }

	// Where the accumulators of a thread lie within the tile.
	__host__ __device__ static constexpr int row(int consumer, int wave, int thread, int i) {
		return wave_row(consumer, wave) + hopper::accumulator_row(thread, i);
	}
	__host__ __device__ static constexpr int column(int thread, int i) { return hopper::accumulator_column(thread, i); }
};

// RingPlace is a stage and the parity of the ring's current round.
template <int Stages> struct RingPlace {
	int stage = 0;
	uint32_t parity = 0;
	__host__ __device__ void next() {
		if (++stage < Stages) return;
		stage = 0;
		parity ^= 1;
	}
	__host__ __device__ void skip(int count) {
		const int reached = stage + count;
		stage = reached % Stages;
		parity ^= reached / Stages & 1;
	}
};

} // namespace triad
#endif
