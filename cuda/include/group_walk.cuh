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
};

// WarpWalk does so with all lanes of a warp, which look at 32 groups at once; every lane has the answer. There are at most 2^31 - 1 tiles. p also has
// begins(group), and by_depth: then all groups have p.rows rows.
template <int Rows, int Cols> struct WarpWalk {
	int group, before, up_to;
	int64_t begin, size; // where the group begins, and how long it is

	template <class Groups> __device__ bool seek(const Groups &p, int64_t tile) {
		constexpr unsigned all = 0xffffffffu;
		const int lane = static_cast<int>(threadIdx.x) % 32, groups = static_cast<int>(p.groups);
		if (tile < up_to) return true; // in the group that it is at
		for (const int across = static_cast<int>((p.cols + Cols - 1) / Cols); group < groups; group += 32) {
			const int g = min(group + lane, groups - 1);
			const int64_t first = p.begins(g), length = p.begins(g + 1) - first, rows = p.by_depth ? p.rows : length;
			const int own = group + lane < groups ? static_cast<int>((rows + Rows - 1) / Rows) * across : 0;
			int end = own; // of the groups from the first lane's up to this one's
			for (int step = 1; step < 32; step *= 2) {
				const int lower = __shfl_up_sync(all, end, step);
				if (lane >= step) end += lower;
			}
			end += before;
			if (const unsigned beyond = __ballot_sync(all, tile < end)) {
				const int at = __ffs(static_cast<int>(beyond)) - 1;
				before = __shfl_sync(all, end - own, at), up_to = __shfl_sync(all, end, at), group += at;
				begin = __shfl_sync(all, first, at), size = __shfl_sync(all, length, at);
				return true;
			}
			before = __shfl_sync(all, end, 31);
		}
		return false;
	}
};

} // namespace triad
#endif
