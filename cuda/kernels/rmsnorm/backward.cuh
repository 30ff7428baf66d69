// backward.cuh: what the kernels of row_norm_backward.cuh read and write in rmsnorm's backward pass; cuda/kernels/rmsnorm.cu has the formula.
#ifndef TRIAD_RMSNORM_BACKWARD_CUH
#define TRIAD_RMSNORM_BACKWARD_CUH
#include "pack.cuh"
#include "row_sums.cuh"
#include "rows.cuh"
#include "sum.cuh"

namespace triad {
namespace rmsnorm {

template <class T> struct Backward {
	Rows<const T> x, residual, dy, dh;
	const T *weight;
	const float *rstd;
	T *dx, *dresidual; // either may be unwanted
	float *sums;       // of dw
	bool shared, add;
	int64_t rows, cols;

	template <int V> __device__ void put_sum(int64_t group, int64_t c, const float (&v)[V]) const {
		RowSums<1>{sums, shared}.put(group, 0, cols, c, v);
	}
	// V neighbours of the gradient of h from normalised values n, weighted upstream w and the mean of their products.
	template <int V> __device__ void put_gradient(int64_t row, int64_t c, const float (&n)[V], const float (&w)[V], float mean) const {
		float v[V], upstream[V] = {};
		if (add) load(dh.row(row) + c, upstream);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = rstd[row] * (w[j] - n[j] * mean) + upstream[j];
		put(row, c, v);
	}
	template <int V> __device__ void put(int64_t row, int64_t c, const float (&v)[V]) const {
		if (dx != nullptr) store(dx + row * cols + c, v);
		if (add && dresidual != nullptr) store(dresidual + row * cols + c, v);
	}
	// V neighbours of n, of dy and of weight * dy.
	template <int V> __device__ void read(int64_t row, int64_t c, float (&n)[V], float (&upstream)[V], float (&w)[V]) const {
		load_sum(x, residual, add, row, c, n);
		load(dy.row(row) + c, upstream);
		load(weight + c, w);
#pragma unroll
		for (int j = 0; j < V; j++) {
			n[j] *= rstd[row];
			w[j] *= upstream[j];
		}
	}
};

} // namespace rmsnorm
} // namespace triad
#endif
