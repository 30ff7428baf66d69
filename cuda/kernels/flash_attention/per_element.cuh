// per_element.cuh: kernels of attention with one thread an element or a row: the place of an element, a dot product of two rows, and what the
// backwards in fp32 share.
#ifndef TRIAD_FLASH_ATTENTION_PER_ELEMENT_CUH
#define TRIAD_FLASH_ATTENTION_PER_ELEMENT_CUH
#include "call.cuh"

namespace triad {
namespace attention {

// Place is an element of [B, H, rows, columns], found from its number in row-major order.
struct Place {
	int64_t batch;
	int head, row, col;
};

__device__ inline Place place_of(int64_t i, int heads, int rows, int cols) {
	Place p;
	p.col = static_cast<int>(i % cols);
	i /= cols;
	p.row = static_cast<int>(i % rows);
	i /= rows;
	p.head = static_cast<int>(i % heads);
	p.batch = i / heads;
	return p;
}

__device__ inline int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

template <class T> __device__ float dot(const HeadRows<T> &x, int x_row, const HeadRows<T> &y, int y_row, int columns) {
	float sum = 0;
	for (int d = 0; d < columns; d++) sum += x.at(x_row, d) * y.at(y_row, d);
	return sum;
}

constexpr int flat_threads = 128;

inline unsigned flat_blocks(int64_t n) { return static_cast<unsigned>((n + flat_threads - 1) / flat_threads); }

// One thread per query: delta = sum over d of grad_o * o.
template <class T> __global__ void backward_delta(BackwardCall<T> a) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows()) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, 1);
	a.delta[i] = dot(a.grad_o.of(p.batch, p.head), p.row, a.o.of(p.batch, p.head), p.row, s.head_dim_v);
}

// to[i] = from[i], rounded to the output's format.
template <class T> __global__ void convert_sum(T *to, const float *from, int64_t n) {
	const int64_t i = thread_number();
	if (i < n) to[i] = triad::from_float<T>(from[i]);
}

} // namespace attention
} // namespace triad
#endif
