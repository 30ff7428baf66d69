// tile_scales.cuh: the scales of a tile's rows and columns, with a scale a tensor or a row. Two warps of the first warpgroup bring those of the next
// tile while the consumers multiply; fetched by the consumers after the last product, they cost a twentieth to a twelfth of the time.
#ifndef TRIAD_FP8_GEMM_TILE_SCALES_CUH
#define TRIAD_FP8_GEMM_TILE_SCALES_CUH
#include "accumulators.cuh"
#include "hopper/barrier.cuh"
#include "tile_order.cuh"
#include "wgmma_tile.cuh"

namespace triad {

// TileScales is a thread's place among the buffers; start and memory are the shared memory, as a pointer and as an address.
template <class Tile> class TileScales {
public:
	static constexpr int threads = Tile::scale_warps * 32, first_thread = Tile::warpgroup - threads;

	__device__ TileScales(uint8_t *start, uint32_t memory) : start_(start), memory_(memory) {}

	// init: the barriers of all buffers. By one thread, before fence_init.
	__device__ static void init(uint32_t memory) {
		for (int buffer = 0; buffer < Tile::scale_buffers; buffer++) {
			hopper::barrier_init(memory + Tile::scales_full(buffer), Tile::scale_warps);
			hopper::barrier_init(memory + Tile::scales_empty(buffer), Tile::consumers * Tile::warpgroup / 32);
		}
	}

	// bring writes the scales of a tile. By the threads from first_thread on.
	__device__ void bring(const Product &p, const TilePlace &place) {
		const int thread = static_cast<int>(threadIdx.x) - first_thread;
		hopper::barrier_wait(memory_ + Tile::scales_empty(at_.stage), at_.parity ^ 1);
		float *const to = scales();
		bool simple = true;
		const auto copy = [&](float *out, int count, const Fp8Scale &from, int64_t first, int64_t last) {
			for (int i = thread; i < count; i += threads) {
				out[i] = from.scale[min(first + i, last) * from.row_stride];
				simple = simple && moderate(out[i]);
			}
		};
		copy(to, Tile::m, p.scale_a, place.m * Tile::m, p.m - 1);
		copy(to + Tile::m, Tile::n, p.scale_b, place.n * Tile::n, p.n - 1);
		simple = __all_sync(0xffffffffu, simple);
		__syncwarp();   // a vote orders no memory, and one lane arrives for what all have written
		if (thread % 32 == 0) {
			reinterpret_cast<uint32_t *>(to)[Tile::m + Tile::n + thread / 32] = simple;
			hopper::barrier_arrive(memory_ + Tile::scales_full(at_.stage));
		}
		at_.next();
	}

	// scale multiplies the sums of a consumer's thread by the scales of its tile. By whole warps.
	template <int Waves> __device__ void scale(float (&sum)[Waves][accumulators], int consumer) {
		const int thread = static_cast<int>(threadIdx.x) % Tile::warpgroup;
		hopper::barrier_wait(memory_ + Tile::scales_full(at_.stage), at_.parity);
		const float *const rows = scales(), *const columns = rows + Tile::m;
		const uint32_t *const simple = reinterpret_cast<const uint32_t *>(columns + Tile::n);
		float a[Waves][2], b[accumulators / 2];
#pragma unroll
		for (int w = 0; w < Waves; w++)
#pragma unroll
			for (int h = 0; h < 2; h++) a[w][h] = rows[Tile::row(consumer, w, thread, 2 * h)];
#pragma unroll
		for (int j = 0; j < accumulators / 2; j++) b[j] = columns[Tile::column(thread, j / 2 * 4 + j % 2)];
		const bool all_simple = simple[0] != 0 && simple[1] != 0;
		__syncwarp();
		if (thread % 32 == 0) hopper::barrier_arrive(memory_ + Tile::scales_empty(at_.stage));
		at_.next();
		scale_by(sum, a, b, all_simple);
	}

private:
	__device__ float *scales() const { return reinterpret_cast<float *>(start_ + Tile::scales(at_.stage)); }

	uint8_t *start_;
	uint32_t memory_;
	RingPlace<Tile::scale_buffers> at_;
};

} // namespace triad
#endif
