// Scales and writes the accumulators of a tensor-core fp8 product (cuda/kernels/fp8_gemm/accumulators.cuh) in the emulator, and compares each
// element with the same arithmetic in double; then the factors that a quad fetches (block_factors.cuh). Prints a line for each thing that is wrong.
#include "fp8_gemm/accumulators.cuh"
#include "fp8_gemm/block_factors.cuh"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace triad;

static int wrong;

__host__ __device__ static float element(int64_t row, int64_t column) { return static_cast<float>(row * 131 + column * 7 % 1009 - 500); }

// One warpgroup: its 64 x 128 elements from (row0, col0) on, scaled, and added once more under block scaling.
__global__ void write(Product p, int64_t row0, int64_t col0, bool wide, float block_a, float block_b) {
	float waves[1][accumulators], (&y)[accumulators] = waves[0];
	for (int i = 0; i < accumulators; i++)
		y[i] = element(row0 + hopper::accumulator_row(threadIdx.x, i), col0 + hopper::accumulator_column(threadIdx.x, i));
	const int64_t row = row0 + hopper::accumulator_row(threadIdx.x, 0);
	if (p.scaling == block_scaling) {
		float sum[accumulators] = {};
		const float a[2] = {block_a, 2 * block_a};   // the lower 8 rows of each 16 have another scale
		RowFactors by = {{product_of_scales(a[0], block_b), product_of_scales(a[1], block_b)}, plain(a[0] * block_b) && plain(a[1] * block_b)};
		add_scaled(sum, y, by);
		store_sums(p, row, col0, sum, wide);
	} else {
		scale_sums(p, row, col0, waves);
		store_sums(p, row, col0, y, wide);
	}
}

static double read(const void *c, int32_t dtype, int64_t i) {
	if (dtype == TRIAD_BF16) return __bfloat162float(static_cast<const __nv_bfloat16 *>(c)[i]);
	if (dtype == TRIAD_F16) return __half2float(static_cast<const __half *>(c)[i]);
	return static_cast<const float *>(c)[i];
}

static double rounded(double x, int32_t dtype) {
	if (dtype == TRIAD_BF16) return __bfloat162float(__float2bfloat16_rn(static_cast<float>(x)));
	if (dtype == TRIAD_F16) return __half2float(__float2half_rn(static_cast<float>(x)));
	return static_cast<float>(x);
}

// All scales are powers of two, so that the products are exact and the order of the factors does not matter.
static void check(int64_t m, int64_t n, int32_t dtype, Scaling scaling, int exponent_a, int exponent_b) {
	std::vector<float> a(m), b(n);
	for (int64_t i = 0; i < m; i++) a[i] = static_cast<float>(ldexp(1.0, exponent_a + (scaling == row_scaling ? i % 3 : 0)));
	for (int64_t i = 0; i < n; i++) b[i] = static_cast<float>(ldexp(1.0, exponent_b + (scaling == row_scaling ? i % 5 : 0)));
	const int64_t size = dtype == TRIAD_F32 ? 4 : 2, step = scaling == row_scaling;
	float *scales;
	uint8_t *c;
	cudaMalloc(&scales, (m + n) * sizeof(float));
	cudaMalloc(&c, m * n * size);
	for (int64_t i = 0; i < m; i++) scales[i] = a[i];
	for (int64_t i = 0; i < n; i++) scales[m + i] = b[i];
	for (int64_t i = 0; i < m * n * size; i++) c[i] = 0xFF;
	const Product p = {{nullptr, 0, 0}, {nullptr, 0, 0}, {scales, 1, step, 0}, {scales + m, 1, step, 0}, m, n, 1, c, dtype, scaling};
	for (int64_t row0 = 0; row0 < m; row0 += 64)
		for (int64_t col0 = 0; col0 < n; col0 += 128) write<<<1, 128>>>(p, row0, col0, n % 8 == 0, a[0], b[0]);
	cudaDeviceSynchronize();
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			const double factor = scaling == block_scaling ? (i % 16 < 8 ? 1.0 : 2.0) * a[0] * b[0] : static_cast<double>(a[i]) * b[j];
			const double want = rounded(element(i, j) * factor, dtype), got = read(c, dtype, i * n + j);
			if (want != got && wrong++ < 20)
				printf("wrong: element (%lld, %lld) of %lld x %lld, dtype %d, scaling %d: %g, want %g\n", static_cast<long long>(i), static_cast<long long>(j),
				       static_cast<long long>(m), static_cast<long long>(n), dtype, scaling, got, want);
		}
	cudaFree(scales);
	cudaFree(c);
}

struct Taken {
	float first, second;
	bool simple;
};

// A warpgroup takes the factors of its 64 rows from row0 on, stage by stage.
__global__ void take(Product p, int64_t row0, int64_t col0, int k_begin, int k_blocks, Taken *out) {
	const int first = hopper::accumulator_row(static_cast<int>(threadIdx.x), 0);
	QuadFactors factors(p, row0 + first, col0, k_begin, k_blocks);
	for (int k = k_begin; k < k_blocks; k++) {
		if ((k - k_begin) % QuadFactors::stages == 0) factors.turn(p);
		const RowFactors by = factors.take((k - k_begin) % QuadFactors::stages);
		if (threadIdx.x % 4 == 3)
			for (int h = 0; h < 2; h++) out[k * 64 + first + 8 * h] = {by.row[h].first, by.row[h].second, by.simple};
	}
}

// odd: the one row whose scale is 2^-100 in stages 2, 7, 12 and so on, -1 for none.
static void check_factors(int64_t m, int k_begin, int k_blocks, int64_t row0, int64_t col0, int64_t odd) {
	float *a, *b;
	Taken *out;
	cudaMalloc(&a, m * k_blocks * sizeof(float));
	cudaMalloc(&b, 3 * k_blocks * sizeof(float));
	cudaMalloc(&out, k_blocks * 64 * sizeof(Taken));
	const auto is_odd = [&](int64_t row, int k) { return row == odd && k % 5 == 2; };
	for (int64_t i = 0; i < m; i++)
		for (int k = 0; k < k_blocks; k++) a[i * k_blocks + k] = is_odd(i, k) ? 0x1p-100f : static_cast<float>(i + 1 + 1000 * k);
	for (int i = 0; i < 3 * k_blocks; i++) b[i] = static_cast<float>(ldexp(1.0, i % 7 - 3));
	Product p = {};
	p.scale_a = {a, 1, k_blocks, 1}, p.scale_b = {b, scale_block, k_blocks, 1}, p.m = m, p.n = 3 * tile_n, p.k = int64_t{k_blocks} * scale_block;
	take<<<1, 128>>>(p, row0, col0, k_begin, k_blocks, out);
	if (cudaDeviceSynchronize() != cudaSuccess) wrong++, printf("wrong: the factors are not there\n");
	for (int k = k_begin; k < k_blocks; k++)
		for (int r = 0; r < 64; r++) {
			const auto row_of = [&](int64_t i) { return row0 + i < m ? row0 + i : m - 1; };
			bool simple = true;   // of a warp's 16 rows, in four stages
			for (int i = r / 16 * 16; i < r / 16 * 16 + 16; i++)
				for (int j = k - (k - k_begin) % 4, end = j + 4; j < end && j < k_blocks; j++) simple = simple && !is_odd(row_of(i), j);
			const double want = static_cast<double>(a[row_of(r) * k_blocks + k]) * b[col0 / tile_n * k_blocks + k];
			const Taken &got = out[k * 64 + r];
			if ((static_cast<double>(got.first) * got.second != want || got.simple != simple) && wrong++ < 20)
				printf("wrong: row %d in stage %d: %g x %g, simple %d, want %g, %d\n", r, k, got.first, got.second, got.simple, want, simple);
		}
	cudaFree(a), cudaFree(b), cudaFree(out);
}

int main() {
	const int32_t dtypes[] = {TRIAD_BF16, TRIAD_F16, TRIAD_F32};
	for (int32_t dtype : dtypes)
		for (Scaling scaling : {tensor_scaling, row_scaling, block_scaling}) {
			check(64, 128, dtype, scaling, 0, 0);
			check(67, 136, dtype, scaling, -3, 1);        // rows and columns beyond c, 16 bytes at a time
			check(13, 131, dtype, scaling, 2, -2);        // one by one
			check(16, 40, dtype, scaling, 120, -121);     // the scales far apart
			check(16, 40, dtype, scaling, -140, 122);     // one of them subnormal
			check(16, 40, dtype, scaling, -90, -30);      // their product not plain, the result subnormal or zero in fp16
			check(16, 40, dtype, scaling, -120, -20);     // their product subnormal
			check(16, 40, dtype, scaling, 100, 100);      // infinity
		}
	for (int64_t odd : {-1, 64, 83, 127})   // none, and a row of three warps
		for (int k_blocks : {1, 3, 4, 9}) check_factors(128, 0, k_blocks, 64, 2 * tile_n, odd), check_factors(128, k_blocks / 2, k_blocks, 0, tile_n, odd);
	check_factors(100, 0, 5, 64, 0, 99);   // the last row stands for those beyond it
	if (!wrong) printf("right\n");
	return wrong != 0;
}
