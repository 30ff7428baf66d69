// product.cuh: the products of a gemm call, which is one forward and two backward:
//     y = alpha a b + beta c          grad_a = alpha grad_y b^T, grad_b = alpha a^T grad_y
// All are y[i,j] = alpha * sum_k a[i,k] b[j,k] + beta c[i,j] for each matrix of a batch, of operands that are read through their strides: a
// transposed operand is one whose strides are swapped, so that a kernel serves both layouts of b and both gradients.
#ifndef TRIAD_GEMM_PRODUCT_CUH
#define TRIAD_GEMM_PRODUCT_CUH
#include <cuda_runtime.h>

#include "arguments.cuh"
#include "element.cuh"

namespace triad {
namespace gemm {

// Operand is a matrix of a product, of each of a batch: element (row, k) lies at matrix * batch_stride + row * row_stride + k * k_stride.
template <class T> struct Operand {
	const T *data;
	int64_t batch_stride, row_stride, k_stride;

	__device__ Operand matrix(int64_t i) const { return {data + i * batch_stride, batch_stride, row_stride, k_stride}; }
	__device__ float operator()(int64_t row, int64_t k) const { return to_float(data[row * row_stride + k * k_stride]); }
};

template <class T> struct Product {
	Operand<T> a, b;
	const T *c; // as y; null: nothing is added
	T *y;       // [batch, m, n], contiguous
	int64_t batch, m, n, k;
	float alpha, beta;

	// store finishes element (row, col) of one matrix of the batch.
	__device__ void store(int64_t matrix, int64_t row, int64_t col, float sum) const {
		const int64_t at = (matrix * m + row) * n + col;
		float value = alpha * sum;
		if (c != nullptr) value += beta * to_float(c[at]);
		y[at] = from_float<T>(value);
	}
};

enum Attribute { layout_b, with_c, alpha, beta, attributes };
enum Layout { kn, nk };

// products is how many a call has: one output each. Both passes take three tensors.
inline bool is_backward(const triad_call *call) { return call->n_out == 2; }

// operand_of reads a tensor with its rows along dim 1 or 2, and the reduction along the other.
template <class T> Operand<T> operand_of(const triad_tensor &t, int rows) {
	return {static_cast<const T *>(t.data), t.stride[0], t.stride[rows], t.stride[3 - rows]};
}

// product_of is the i-th product of a call.
template <class T> Product<T> product_of(const triad_call *call, int i) {
	const triad_tensor &a = call->in[0], &b = call->in[1], &third = call->in[2], &out = call->out[i];
	const bool columns = static_cast<int>(call->attr[layout_b]) == nk; // b is [n, k]
	Product<T> p = {};
	p.y = static_cast<T *>(out.data);
	p.batch = out.shape[0], p.m = out.shape[1], p.n = out.shape[2];
	p.alpha = static_cast<float>(call->attr[alpha]), p.beta = static_cast<float>(call->attr[beta]);
	if (!is_backward(call)) {
		p.a = operand_of<T>(a, 1), p.b = operand_of<T>(b, columns ? 1 : 2), p.k = a.shape[2];
		const bool adds = call->attr[with_c] != 0 && p.beta != 0; // beta = 0 does not read c
		p.c = adds ? static_cast<const T *>(third.data) : nullptr;
	} else if (i == 0) { // grad_a[m, k] = sum over n
		p.a = operand_of<T>(third, 1), p.b = operand_of<T>(b, columns ? 2 : 1), p.k = third.shape[2];
	} else { // grad_b[k, n] or [n, k] = sum over m
		p.a = columns ? operand_of<T>(third, 2) : operand_of<T>(a, 2);
		p.b = columns ? operand_of<T>(a, 2) : operand_of<T>(third, 2);
		p.k = third.shape[1];
	}
	return p;
}

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// each_product launches every product of a call that is wanted and has elements.
template <class T, class Variant> int each_product(const triad_call *call, Variant launch) {
	for (int i = 0; i < call->n_out; i++) {
		const Product<T> p = product_of<T>(call, i);
		if (p.y == nullptr || p.batch == 0 || p.m == 0 || p.n == 0) continue;
		const int status = launch(p, stream_of(call));
		if (status != TRIAD_OK) return status;
	}
	return TRIAD_OK;
}

// check_tiles is a limit of kernels that take blocks of Rows x Cols elements of an output.
template <int Rows, int Cols> void check_tiles(Check &check, const triad_call *call) {
	for (int i = 0; i < call->n_out; i++) {
		const int64_t *size = call->out[i].shape;
		check.that(size[0] * ceil_div(size[1], Rows) * ceil_div(size[2], Cols) <= INT32_MAX, "%lld matrices of %lld x %lld are too many blocks",
		           static_cast<long long>(size[0]), static_cast<long long>(size[1]), static_cast<long long>(size[2]));
	}
}

// check_packs is a limit of kernels that read operands 16 bytes at a time, along the dim whose neighbours lie side by side: that dim is whole
// vectors long, and so are all steps beside it.
inline void check_operand_packs(Check &check, const triad_tensor &t, const char *name) {
	const int64_t vector = 16 / element_bytes(t.dtype);
	if (elements(t) == 0) return;
	const bool across = t.stride[1] == 1 && t.shape[1] % vector == 0 && !(t.stride[2] == 1 && t.shape[2] % vector == 0);
	const int along = across ? 1 : 2, beside = 3 - along;
	check.that(t.stride[along] == 1, "neither the rows nor the columns of %s lie side by side", name);
	check.that(t.shape[along] % vector == 0, "%s has runs of %lld elements, not a multiple of %lld", name,
	           static_cast<long long>(t.shape[along]), static_cast<long long>(vector));
	check.that((t.shape[beside] == 1 || t.stride[beside] % vector == 0) && (t.shape[0] == 1 || t.stride[0] % vector == 0),
	           "%s has strides %lld and %lld, not multiples of %lld", name, static_cast<long long>(t.stride[0]),
	           static_cast<long long>(t.stride[beside]), static_cast<long long>(vector));
	check.aligned(t, name, 16);
}

inline void check_packs(Check &check, const triad_call *call) {
	check_operand_packs(check, call->in[0], "a");
	check_operand_packs(check, call->in[1], "b");
	if (is_backward(call)) check_operand_packs(check, call->in[2], "grad_y");
}

} // namespace gemm
} // namespace triad
#endif
