// product.cuh: the products of a grouped_gemm call, which is one forward and two backward; see grouped_gemm.cu. All are
//     y[i,j] = sum_k a[i,k] b[j,k]
// of each group, of operands that are read through their strides. The groups cut the rows of y and a, and each has a b of its own; or they cut the sum.
#ifndef TRIAD_GROUPED_GEMM_PRODUCT_CUH
#define TRIAD_GROUPED_GEMM_PRODUCT_CUH
#include <cuda_runtime.h>

#include <algorithm>

#include "arguments.cuh"
#include "element.cuh"

namespace triad {
namespace grouped_gemm {

__host__ __device__ inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Matrix is an operand: element (row, k) lies at row * row_stride + k * k_stride.
template <class T> struct Matrix {
	const T *data;
	int64_t row_stride, k_stride;

	__device__ float operator()(int64_t row, int64_t k) const { return to_float(data[row * row_stride + k * k_stride]); }
};

// Group is the product of one group: y[i,j] = sum_k a[i,k] b[j,k], of rows x cols elements; y is contiguous.
template <class T> struct Group {
	Matrix<T> a, b;
	T *y;
	int64_t rows, depth;
};

// Product is those of all groups.
template <class T> struct Product {
	Matrix<T> a, b;
	T *y;
	const int64_t *offsets;
	int64_t offset_stride;
	int64_t groups, b_group; // elements from one group's b to the next, where each has one
	int64_t rows, cols, depth;
	bool by_depth; // the offsets cut the sum and not the rows

	// begins is where group g begins, or the last one ends.
	__device__ int64_t begins(int64_t g) const { return offsets[g * offset_stride]; }

	__device__ int64_t rows_of(int64_t g) const { return by_depth ? rows : begins(g + 1) - begins(g); }

	__device__ Group<T> group(int64_t g) const {
		const int64_t first = begins(g), size = begins(g + 1) - first;
		if (by_depth)
			return {{a.data + first * a.k_stride, a.row_stride, a.k_stride},
			        {b.data + first * b.k_stride, b.row_stride, b.k_stride},
			        y + g * rows * cols,
			        rows,
			        size};
		return {{a.data + first * a.row_stride, a.row_stride, a.k_stride},
		        {b.data + g * b_group, b.row_stride, b.k_stride},
		        y + first * cols,
		        size,
		        depth};
	}
};

// most_tiles is how many tiles there are at most, whatever the offsets: each group but one may end in a tile that has a single row.
template <int Rows, int Cols, class T> int64_t most_tiles(const Product<T> &p) {
	const int64_t across = ceil_div(p.cols, Cols), down = ceil_div(p.rows, Rows);
	return across * (p.by_depth ? p.groups * down : down + std::min(p.groups, p.rows));
}

// matrix_of reads a tensor with its rows along one of its last two dims, and the sum along the other.
template <class T> Matrix<T> matrix_of(const triad_tensor &t, bool turned) {
	const int64_t *last = t.stride + t.rank - 2;
	return {static_cast<const T *>(t.data), last[turned ? 1 : 0], last[turned ? 0 : 1]};
}

// product_of is the i-th product of a call.
template <class T> Product<T> product_of(const triad_call *call, int i) {
	const triad_tensor &x = call->in[0], &w = call->in[1];
	Product<T> p = {};
	p.y = static_cast<T *>(call->out[i].data);
	p.offsets = static_cast<const int64_t *>(call->in[2].data);
	p.offset_stride = call->in[2].stride[0];
	p.groups = w.shape[0], p.b_group = w.stride[0];
	const int64_t tokens = x.shape[0], k = w.shape[1], n = w.shape[2];
	if (call->n_out == 1) {
		p.a = matrix_of<T>(x, false), p.b = matrix_of<T>(w, true);
		p.rows = tokens, p.cols = n, p.depth = k;
		return p;
	}
	const triad_tensor &dy = call->in[3];
	if (i == 0) {
		p.a = matrix_of<T>(dy, false), p.b = matrix_of<T>(w, false);
		p.rows = tokens, p.cols = k, p.depth = n;
	} else {
		p.a = matrix_of<T>(x, true), p.b = matrix_of<T>(dy, true);
		p.rows = k, p.cols = n, p.depth = tokens, p.by_depth = true;
	}
	return p;
}

// each_product launches every product of a call that is wanted and has elements.
template <class T, class Launch> int each_product(const triad_call *call, Launch launch) {
	for (int i = 0; i < call->n_out; i++) {
		const Product<T> p = product_of<T>(call, i);
		if (p.y == nullptr || p.groups == 0 || p.rows == 0 || p.cols == 0) continue;
		if (const int status = launch(p, stream_of(call)); status != TRIAD_OK) return status;
	}
	return TRIAD_OK;
}

} // namespace grouped_gemm
} // namespace triad
#endif
