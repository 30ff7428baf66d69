// sum.cuh: what rmsnorm normalises, x or x + residual, as both of its passes read it.
#ifndef TRIAD_RMSNORM_SUM_CUH
#define TRIAD_RMSNORM_SUM_CUH
#include "pack.cuh"
#include "rows.cuh"

namespace triad {
namespace rmsnorm {

// V neighbours of h from a column on: one element, or the elements in 16 bytes.
template <int V, class T> __device__ inline void load_sum(const Rows<const T> &x, const Rows<const T> &residual, bool add, int64_t row,
                                                          int64_t c, float (&v)[V]) {
	load(x.row(row) + c, v);
	if (!add) return;
	float r[V];
	load(residual.row(row) + c, r);
#pragma unroll
	for (int j = 0; j < V; j++) v[j] += r[j];
}

} // namespace rmsnorm
} // namespace triad
#endif
