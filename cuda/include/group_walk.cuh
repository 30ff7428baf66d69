// group_walk.cuh: tiles of a list of groups whose sizes only the GPU knows. The host launches as many blocks as the worst sizes need; each walks along
// the groups to the tile that is its own, and the last ones find none. A tile never crosses groups.
#ifndef TRIAD_GROUP_WALK_CUH
#define TRIAD_GROUP_WALK_CUH
#include <cuda_runtime.h>

namespace triad {

// GroupWalk finds the tiles of a list that rises, counted through all groups. p has how many groups there are, their cols, and rows_of(group).
template <int Rows, int Cols> struct GroupWalk {
	int64_t group, before, up_to; // and the tiles of the groups before it, and up to its end

	// seek goes on to the group that has the tile; false where there is none.
	template <class Groups> __device__ bool seek(const Groups &p, int64_t tile) {
		for (const int64_t across = (p.cols + Cols - 1) / Cols; group < p.groups; group++) {
			up_to = before + (p.rows_of(group) + Rows - 1) / Rows * across;
			if (tile < up_to) return true;
			before = up_to;
		}
		return false;
	}

	// seek_by_warp does so with all lanes of a warp, which look at 32 groups at once; every lane has the answer.
	template <class Groups> __device__ bool seek_by_warp(const Groups &p, int64_t tile) {
		constexpr unsigned all = 0xffffffffu;
		const int lane = static_cast<int>(threadIdx.x) % 32;
		if (tile < up_to) return true; // in the group that it is at
		for (const int64_t across = (p.cols + Cols - 1) / Cols; group < p.groups; group += 32) {
			const int64_t g = group + lane;
			const int64_t own = ((g >= p.groups ? 0 : p.rows_of(g)) + Rows - 1) / Rows * across;
			int64_t end = before + own; // of the groups up to this lane's
			for (int step = 1; step < 32; step *= 2) {
				const int64_t lower = __shfl_up_sync(all, end - before, step);
				if (lane >= step) end += lower;
			}
			if (const unsigned beyond = __ballot_sync(all, tile < end)) {
				const int first = __ffs(static_cast<int>(beyond)) - 1;
				before = __shfl_sync(all, end - own, first), up_to = __shfl_sync(all, end, first), group += first;
				return true;
			}
			before = __shfl_sync(all, end, 31);
		}
		return false;
	}
};

} // namespace triad
#endif
