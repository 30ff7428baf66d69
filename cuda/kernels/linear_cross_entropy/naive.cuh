// naive.cuh: linear_cross_entropy with every logit in memory, in fp32: a thread an element, a row, an element of a gradient.
#ifndef TRIAD_LINEAR_CROSS_ENTROPY_NAIVE_CUH
#define TRIAD_LINEAR_CROSS_ENTROPY_NAIVE_CUH
#include "tokens.cuh"

namespace triad {
namespace linear_cross_entropy {

template <class T> __global__ void linear_cross_entropy_logits_kernel(Matrix<const T> hidden, Matrix<const T> weight, float *z, Tokens all, int64_t dim) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= all.count * all.classes) return;
	const int64_t row = i / all.classes, c = i % all.classes;
	float sum = 0;
	for (int64_t k = 0; k < dim; k++) sum += to_float(hidden(row, k)) * to_float(weight(c, k));
	z[i] = sum;
}

static __global__ void linear_cross_entropy_rows_kernel(const float *z, float *losses, float *lse, Tokens all) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= all.count) return;
	const float *own = z + row * all.classes;
	float max = -INFINITY;
	for (int64_t c = 0; c < all.classes; c++) max = fmaxf(max, own[c]);
	LongSum sum;
	for (int64_t c = 0; c < all.classes; c++) sum.add(expf(own[c] - max));
	const float log = logf(sum.total());
	if (lse != nullptr) lse[row] = max + log;
	losses[row] = all.counts(row) ? loss_of(own[all.target(row)], max, log) : 0.0f;
}

template <class T> __global__ void linear_cross_entropy_grad_hidden_kernel(const float *dz, Matrix<const T> weight, T *dhidden, Tokens all, int64_t dim) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= all.count * dim) return;
	const int64_t row = i / dim, k = i % dim;
	float sum = 0;
	for (int64_t c = 0; c < all.classes && all.counts(row); c++) sum += dz[row * all.classes + c] * to_float(weight(c, k));
	dhidden[i] = from_float<T>(sum);
}

template <class T> __global__ void linear_cross_entropy_grad_weight_kernel(const float *dz, Matrix<const T> hidden, T *dweight, Tokens all, int64_t dim) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= all.classes * dim) return;
	const int64_t c = i / dim, k = i % dim;
	float sum = 0;
	for (int64_t row = 0; row < all.count; row++)
		if (all.counts(row)) sum += dz[row * all.classes + c] * to_float(hidden(row, k));
	dweight[i] = from_float<T>(sum);
}

} // namespace linear_cross_entropy
} // namespace triad
#endif
