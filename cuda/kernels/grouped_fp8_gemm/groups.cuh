// groups.cuh: the groups of a call of grouped_fp8_gemm; see grouped_fp8_gemm.cu. The product of each is one of fp8_gemm with scales of blocks: of the
// rows that it has among all rows of x, and its own matrix.
#ifndef TRIAD_GROUPED_FP8_GEMM_GROUPS_CUH
#define TRIAD_GROUPED_FP8_GEMM_GROUPS_CUH
#include <algorithm>

#include "../fp8_gemm/tiled.cuh"

namespace triad {

struct Fp8Groups {
	Product all;                              // of all rows, with the matrix of the first group
	const int32_t *offsets;
	int64_t offset_stride, w_step, scale_step; // elements from one group's matrix, and its scales, to the next
	// What the walks of group_walk.cuh ask.
	int64_t groups, rows, cols;
	static constexpr bool by_depth = false;

	// begins is where group g begins, or the last one ends.
	__device__ int64_t begins(int64_t g) const { return offsets[g * offset_stride]; }
	__device__ int64_t rows_of(int64_t g) const { return begins(g + 1) - begins(g); }

	// product is that of group g, which ends before row `end`. Its rows are counted as x counts them: those before begins(g) are of other groups.
	__device__ Product product(int64_t g, int64_t end) const {
		Product p = all;
		p.m = end;
		p.b.codes += g * w_step;
		p.scale_b.scale += g * scale_step;
		return p;
	}
};

// groups_of is what a call says.
inline Fp8Groups groups_of(const triad_call *call) {
	const triad_tensor &x = call->in[0], &scale_x = call->in[1], &w = call->in[2], &scale_w = call->in[3], &offsets = call->in[4];
	Fp8Groups g = {};
	g.groups = w.shape[0], g.rows = x.shape[0], g.cols = w.shape[1];
	g.all.a = {static_cast<const uint8_t *>(x.data), x.stride[0], x.stride[1]};
	g.all.b = {static_cast<const uint8_t *>(w.data), w.stride[1], w.stride[2]};
	g.all.scale_a = {static_cast<const float *>(scale_x.data), 1, scale_x.stride[0], scale_x.stride[1]};
	g.all.scale_b = {static_cast<const float *>(scale_w.data), scale_block, scale_w.stride[1], scale_w.stride[2]};
	g.all.m = g.rows, g.all.n = g.cols, g.all.k = x.shape[1];
	g.all.c = call->out[0].data, g.all.out = call->out[0].dtype, g.all.scaling = block_scaling;
	g.offsets = static_cast<const int32_t *>(offsets.data), g.offset_stride = offsets.stride[0];
	g.w_step = w.stride[0], g.scale_step = scale_w.stride[0];
	return g;
}

// most_tiles is how many tiles there are at most, whatever the offsets: each group but one may end in a tile that has a single row.
inline int64_t most_tiles(const Fp8Groups &g, int64_t rows, int64_t cols) {
	return ceil_div(g.cols, cols) * (ceil_div(g.rows, rows) + std::min(g.groups, g.rows));
}

} // namespace triad
#endif
