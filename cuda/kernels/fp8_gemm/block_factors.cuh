// block_factors.cuh: the factors of block scaling, as a consumer of a tensor-core product fetches them. A factor is the scale of a row of a times
// that of the tile's columns, for 128 of the reduction. The four lanes of a quad have the same two rows, so each fetches and multiplies the scales
// of one of four stages, and a shuffle gives its factors to the others: a quarter of the loads and of the products, and nothing in the shared
// memory, which the tensor cores keep busy.
#ifndef TRIAD_FP8_GEMM_BLOCK_FACTORS_CUH
#define TRIAD_FP8_GEMM_BLOCK_FACTORS_CUH
#include "accumulators.cuh"

namespace triad {

class QuadFactors {
public:
	static constexpr int stages = 4;   // whose factors a quad has

	// row: the first of this thread's two rows, in a; col0: a column of the tile. Of the blocks of the reduction from k_begin to k_end.
	__device__ QuadFactors(const Product &p, int64_t row, int64_t col0, int k_begin, int k_end) : left_(k_end - k_begin) {
		const int64_t first = k_begin + static_cast<int64_t>(threadIdx.x % stages);
#pragma unroll
		for (int h = 0; h < 2; h++)
			a_[h] = p.scale_a.scale + min(row + 8 * h, p.m - 1) * p.scale_a.row_stride + first * p.scale_a.block_stride;
		b_ = p.scale_b.scale + col0 / tile_n * p.scale_b.row_stride + first * p.scale_b.block_stride;
		fetch(p);
	}

	// turn makes what was fetched the factors at hand, and fetches the scales of the four stages after them. By whole warps.
	__device__ void turn(const Product &p) {
		simple_ = __all_sync(0xffffffffu, plain(next_a_[0] * next_b_) && plain(next_a_[1] * next_b_));
#pragma unroll
		for (int h = 0; h < 2; h++)
			factor_[h] = simple_ ? Factor{next_a_[h] * next_b_, 1.0f} : product_of_scales(next_a_[h], next_b_);
		fetch(p);
	}

	// take: the factors of a stage, 0 to 3 of those at hand. By whole warps.
	__device__ RowFactors take(int stage) const {
		RowFactors r = {{{0, 1}, {0, 1}}, simple_};
#pragma unroll
		for (int h = 0; h < 2; h++) r.row[h].first = __shfl_sync(0xffffffffu, factor_[h].first, stage, stages);
		if (simple_) return r;
#pragma unroll
		for (int h = 0; h < 2; h++) r.row[h].second = __shfl_sync(0xffffffffu, factor_[h].second, stage, stages);
		return r;
	}

private:
	// fetch reads the scales of this lane's next stage; beyond the reduction there are none.
	__device__ void fetch(const Product &p) {
		const bool valid = static_cast<int>(threadIdx.x % stages) < left_;
#pragma unroll
		for (int h = 0; h < 2; h++) {
			next_a_[h] = valid ? *a_[h] : 1.0f;
			a_[h] += stages * p.scale_a.block_stride;
		}
		next_b_ = valid ? *b_ : 1.0f;
		b_ += stages * p.scale_b.block_stride;
		left_ -= stages;
	}

	const float *a_[2], *b_;
	float next_a_[2], next_b_;
	Factor factor_[2];
	bool simple_;
	int left_;   // stages whose scales were not fetched
};

} // namespace triad
#endif
