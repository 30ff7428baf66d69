// rows.cuh: matrices as kernels see them, sums of one thread over many values, and the grid of kernels that work row by row.
#ifndef TRIAD_ROWS_CUH
#define TRIAD_ROWS_CUH
#include <cuda_runtime.h>

#include "abi.h"

namespace triad {

// Matrix is a view with any two strides (0 shows the same row or column again).
template <class T> struct Matrix {
	T *data;
	int64_t row_stride, col_stride;

	explicit Matrix(const triad_tensor &t) : data(static_cast<T *>(t.data)), row_stride(t.stride[0]), col_stride(t.stride[1]) {}
	__device__ T &operator()(int64_t row, int64_t col) const { return data[row * row_stride + col * col_stride]; }
};

// Rows is a view whose columns are neighbours; the stride between rows is free.
template <class T> struct Rows {
	T *data;
	int64_t stride;

	explicit Rows(const triad_tensor &t) : data(static_cast<T *>(t.data)), stride(t.stride[0]) {}
	__device__ T *row(int64_t r) const { return data + r * stride; }
};

// Vector is a view of a tensor of rank 1 with any stride.
template <class T> struct Vector {
	T *data;
	int64_t stride;

	explicit Vector(const triad_tensor &t) : data(static_cast<T *>(t.data)), stride(t.stride[0]) {}
	__device__ T &operator()(int64_t i) const { return data[i * stride]; }
};

// LongSum adds up many values in one thread in two levels, 64 at a time: the error of a plain running sum grows with the length
// (all the roundings of a constant row go the same way), this one's with a 64th of it.
class LongSum {
public:
	__device__ void add(float v) {
		part += v;
		if (++count == 64) {
			whole += part;
			part = 0;
			count = 0;
		}
	}
	__device__ float total() const { return whole + part; }

private:
	float whole = 0, part = 0;
	int count = 0;
};

// group_warps is the length of the scratch memory that group_reduce asks for.
template <int Group> constexpr int group_warps = Group <= 32 ? 1 : Group / 32;

// group_block<Group> is the block size where Group threads share a row: groups of at most a warp share a block.
template <int Group> constexpr int group_block = Group <= 32 ? 128 : Group;

// by_row_length calls the kernel whose registers hold a row of so many columns: Kernel::registers<Group, Items>, with Group threads a row
// and Items values a thread, or Kernel::longer. More threads only where a row needs them: short rows should share a block, and the
// items of a thread are its loads in flight. Brief kernels, which keep little beside the row, are faster with twice the threads here and there.
template <class Kernel, bool Brief = false> int by_row_length(const triad_call *call, int64_t cols) {
	if (cols <= 8 * 8) return Kernel::template registers<8, 8>(call);
	if (cols <= 32 * 8) return Kernel::template registers<32, 8>(call);
	if (cols <= 32 * 16) return Kernel::template registers<32, 16>(call);
	constexpr int twice = Brief ? 2 : 1;
	if (cols <= 32 * 32) return Kernel::template registers<32 * twice, 32 / twice>(call);
	if (cols <= 128 * 16) return Kernel::template registers<128, 16>(call);
	if (cols <= 128 * 32) return Kernel::template registers<128 * twice, 32 / twice>(call);
	if (cols <= 256 * 32) return Kernel::template registers<256, 32>(call);
	if (cols <= 512 * 32) return Kernel::template registers<512, 32>(call);
	return Kernel::longer(call);
}

// blocks_for is the grid for so many items of work, at most CUDA's limit of 2^31 - 1 (kernels loop over what is beyond).
inline unsigned blocks_for(int64_t items, int64_t per_block) {
	const int64_t blocks = (items + per_block - 1) / per_block;
	return static_cast<unsigned>(blocks < 0x7fffffff ? blocks : 0x7fffffff);
}

} // namespace triad
#endif
