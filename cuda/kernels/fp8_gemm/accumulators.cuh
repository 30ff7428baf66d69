// accumulators.cuh: what a thread does with the accumulators of a tensor-core fp8 product: scales them, adds them up, writes them to c.
// A thread holds 64 of 64 x 128 elements, at accumulator_row and accumulator_column of hopper/swizzle.cuh. Portable.
#ifndef TRIAD_FP8_GEMM_ACCUMULATORS_CUH
#define TRIAD_FP8_GEMM_ACCUMULATORS_CUH
#include "product.cuh"
#include "hopper/finish.cuh"
#include "hopper/store_sums.cuh"
#include "wgmma_tile.cuh"

namespace triad {

constexpr int accumulators = WgmmaTile<1>::accumulators, tile_n = WgmmaTile<1>::n;

// ---- scales

// A factor that may lie outside fp32's range, as two: x * first * second rounds as one product with the factor would. Plain: second is 1.
struct Factor {
	float first, second;
};

// plain: the factor leaves room for every product of codes, and for 2^31 of them added up.
__device__ inline bool plain(float factor) {
	const float size = fabsf(factor);
	return size >= 0x1p-80f && size <= 0x1p80f;
}

// The product of two scales, its exponent spread over both factors; beyond +-240 the result is 0 or infinite anyway.
__device__ inline Factor joined(const SplitScale &x, const SplitScale &y) {
	const int exponent = max(-240, min(240, x.exponent + y.exponent)), half = exponent / 2;
	return {x.mantissa * y.mantissa * __int_as_float((half + 127) << 23), __int_as_float((exponent - half + 127) << 23)};
}

__device__ inline Factor product_of_scales(float a, float b) {
	const float product = a * b;
	return plain(product) ? Factor{product, 1.0f} : joined(split_scale(a), split_scale(b));
}

// The factors of a thread's two rows; simple: those of the whole warp are plain.
struct RowFactors {
	Factor row[2];
	bool simple;
};

// sum += part, times the factor of the row.
template <int Count> __device__ inline void add_scaled(float (&sum)[Count], const float (&part)[Count], const RowFactors &by) {
	if (by.simple) {
#pragma unroll
		for (int i = 0; i < Count; i++) sum[i] = fmaf(part[i], by.row[i / 2 % 2].first, sum[i]);
	} else {
#pragma unroll
		for (int i = 0; i < Count; i++) sum[i] = fmaf(part[i] * by.row[i / 2 % 2].first, by.row[i / 2 % 2].second, sum[i]);
	}
}

// ---- what is written

// A scale in this range leaves room for the other one, for every product of codes and for 2^31 of them added up.
__device__ inline bool moderate(float scale) {
	const float size = fabsf(scale);
	return size >= 0x1p-40f && size <= 0x1p40f;
}

// Scales a thread's sums by the scales of its rows and columns; simple: those of the warp are moderate. Others take the long way.
template <int Waves, int Count>
__device__ inline void scale_by(float (&y)[Waves][Count], const float (&a)[Waves][2], const float (&b)[Count / 2], bool simple) {
	if (simple) {
#pragma unroll
		for (int w = 0; w < Waves; w++)
#pragma unroll
			for (int i = 0; i < Count; i++) y[w][i] *= a[w][i / 2 % 2] * b[i / 4 * 2 + i % 2];
		return;
	}
#pragma unroll
	for (int w = 0; w < Waves; w++)
#pragma unroll
		for (int i = 0; i < Count; i++) {
			const Factor f = product_of_scales(a[w][i / 2 % 2], b[i / 4 * 2 + i % 2]);
			y[w][i] = y[w][i] * f.first * f.second;
			hopper::finish(y[w][i]);   // else the factors of all elements wait in registers
		}
}

// Scales a thread's sums by row and column; row0 is its first row. All scales are fetched before the first is used.
template <int Count> __device__ inline void scale_sums(const Product &p, int64_t row0, int64_t col0, float (&y)[1][Count]) {
	constexpr int columns = Count / 2;
	float a[1][2], b[columns];
	bool simple = true;
#pragma unroll
	for (int j = 0; j < columns; j++) {
		const int64_t col = min(col0 + hopper::accumulator_column(static_cast<int>(threadIdx.x), j / 2 * 4 + j % 2), p.n - 1);
		b[j] = p.scale_b.scale[col * p.scale_b.row_stride];
		simple = simple && moderate(b[j]);
	}
#pragma unroll
	for (int h = 0; h < 2; h++) {
		a[0][h] = p.scale_a.scale[min(row0 + 8 * h, p.m - 1) * p.scale_a.row_stride];
		simple = simple && moderate(a[0][h]);
	}
	scale_by(y, a, b, __all_sync(0xffffffffu, simple));
}

// store_sums writes a thread's sums of 64 rows of c from (row0 = its first row, col0 = the tile's first column) on; wide: rows of c are whole vectors
// of 16 bytes.
template <class Sums> __device__ inline void store_sums(const Product &p, int64_t row0, int64_t col0, const Sums &sums, bool wide) {
	const auto store = [&](auto type) {
		using T = decltype(type);
		const hopper::SumsPlace<T> to = {static_cast<T *>(p.c), p.m, p.n, row0, col0};
		if (wide) hopper::store_wide(sums, to, [](float sum) { return sum; });
		else hopper::store_each(sums, to, [](float sum, int64_t) { return sum; });
	};
	if (p.out == TRIAD_BF16) store(__nv_bfloat16());
	else if (p.out == TRIAD_F16) store(__half());
	else store(float());
}

} // namespace triad
#endif
