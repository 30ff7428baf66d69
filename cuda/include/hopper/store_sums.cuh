// store_sums.cuh: the end of a product on tensor cores: how a thread writes its sums of 64 rows to a row-major matrix. Of each eight columns it
// holds two, in its first row and in the row 8 below (accumulator_row, accumulator_column), as sums[eight][4] or sums[4 eights].
// Portable.
#ifndef TRIAD_HOPPER_STORE_SUMS_CUH
#define TRIAD_HOPPER_STORE_SUMS_CUH
#include <cstdint>

#include "element.cuh"
#include "hopper/arithmetic.cuh"
#include "quad.cuh"

namespace triad {
namespace hopper {

// SumsPlace says where a thread's sums go: `row` is its first row, col0 the first column of the tile, in a matrix [rows, columns].
template <class T> struct SumsPlace {
	T *data;
	int64_t rows, columns, row, col0;

	__device__ bool holds(int half) const { return row + 8 * half < rows; }
	__device__ int64_t line(int half) const { return (row + 8 * half) * columns; }
	// How many columns there are from col on, at most so many.
	__device__ int columns_from(int64_t col, int most) const { return static_cast<int>(min(columns - col, static_cast<int64_t>(most))); }
};

template <int Eights> __device__ inline float sum_of(const float (&sums)[Eights][4], int eight, int i) { return sums[eight][i]; }
template <int Count> __device__ inline float sum_of(const float (&sums)[Count], int eight, int i) { return sums[4 * eight + i]; }

// store_each writes value(sum, index of the element) one element at a time.
template <class T, class Sums, class Value> __device__ inline void store_each(const Sums &sums, const SumsPlace<T> &to, Value value) {
	constexpr int eights = sizeof(Sums) / 16;
	const int64_t col = to.col0 + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int columns = to.holds(half) ? to.columns_from(col, 8 * eights) : 0;
		int64_t at = to.line(half) + col;
#pragma unroll
		for (int j = 0; j < eights; j++, at = fresh(at + 8)) {
#pragma unroll
			for (int e = 0; e < 2; e++)
				if (8 * j + e < columns) to.data[at + e] = from_float<T>(value(sum_of(sums, j, 2 * half + e), at + e));
		}
	}
}

// store_wide writes value(sum), 16 bytes at a time: the lanes of a quad exchange their columns first. Rows are whole vectors of 16 bytes.
template <class T, class Sums, class Value> __device__ inline void store_wide(const Sums &sums, const SumsPlace<T> &to, Value value) {
	constexpr int eights = sizeof(Sums) / 16;
	const int lane = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		T *const line = to.holds(half) ? to.data + to.line(half) : nullptr;
#pragma unroll
		for (int group = 0; group < eights / 4; group++) {
			uint32_t words[4];
#pragma unroll
			for (int j = 0; j < 4; j++)
				words[j] = pair_of(T(), value(sum_of(sums, 4 * group + j, 2 * half)), value(sum_of(sums, 4 * group + j, 2 * half + 1)));
			transpose_quad(words, lane);
			const int64_t col = to.col0 + 32 * group + 8 * lane;
			if (line != nullptr && col < to.columns)
				__stcs(reinterpret_cast<uint4 *>(line + col), make_uint4(words[0], words[1], words[2], words[3]));
		}
	}
}

// In fp32 a quad's columns fill 32 bytes already.
template <class Sums, class Value> __device__ inline void store_wide(const Sums &sums, const SumsPlace<float> &to, Value value) {
	constexpr int eights = sizeof(Sums) / 16;
	const int64_t col = to.col0 + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const int columns = to.holds(half) ? to.columns_from(col, 8 * eights) : 0;
		float *const line = to.data + to.line(half) + col;
#pragma unroll
		for (int j = 0; j < eights; j++)
			if (8 * j < columns)
				__stcs(reinterpret_cast<float2 *>(line + 8 * j), make_float2(value(sum_of(sums, j, 2 * half)), value(sum_of(sums, j, 2 * half + 1))));
	}
}

} // namespace hopper
} // namespace triad
#endif
