#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// triad: sum(x=x, y=y, n=n, grid=4, block=128)
__global__ void total(const float *x, float *y, int n) {
	cg::grid_group grid = cg::this_grid();
	if (grid.thread_rank() == 0 && n > 1) *y = x[n - 1];
	grid.sync();
	float mine = 0.0f;
	for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += x[i];
	atomicAdd(y, mine);
}
