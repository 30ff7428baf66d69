// Scales and writes the accumulators of a tensor-core fp8 product (cuda/kernels/fp8_gemm/accumulators.cuh) in the emulator, and compares each
// element with the same arithmetic in double; then the factors that the ring of scale_ring.cuh brings. Prints a line for each thing that is wrong.
#include "fp8_gemm/accumulators.cuh"
#include "fp8_gemm/scale_ring.cuh"

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
		add_scaled(sum, y, row_factors(a, block_b));
		store_sums(p, row, col0, sum, wide);
	} else {
		scale_sums<1>(p, row, col0, waves);
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

using Tile = WgmmaTile<1>;

struct Taken {
	float first, second;
	uint32_t simple;
};

// The first warpgroup brings the factors of one tile, stage by stage; the second takes them, two rows a thread.
__global__ void bring(Product p, TilePlace place, int k_blocks, Taken *out) {
	extern __shared__ uint8_t dynamic_shared[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	uint8_t *const start = dynamic_shared + (aligned - hopper::shared_address(dynamic_shared) % aligned) % aligned;
	const auto memory = hopper::shared_address(start);
	if (threadIdx.x == 0) {
		for (int s = 0; s < Tile::stages; s++) {
			hopper::barrier_init(memory + Tile::full(s), ScaleRing<Tile>::arrivals);
			hopper::barrier_init(memory + Tile::empty(s), Tile::warpgroup / 32);
		}
		hopper::fence_init();
	}
	__syncthreads();
	const int thread = static_cast<int>(threadIdx.x);
	RingPlace<Tile::stages> at;
	ScaleRing<Tile> ring;
	if (thread >= ScaleRing<Tile>::first_thread && thread < Tile::warpgroup) {
		ring.begin(p, place);
		for (int k = 0; k < k_blocks; k++, at.next()) {
			ring.turn(p, k + 1, k + 1 < k_blocks);
			hopper::barrier_wait(memory + Tile::empty(at.stage), at.parity ^ 1);
			ring.put(start, memory + Tile::full(at.stage), at.stage);
		}
	} else if (thread >= Tile::warpgroup) {
		for (int k = 0; k < k_blocks; k++, at.next()) {
			hopper::barrier_wait(memory + Tile::full(at.stage), at.parity);
			const int t = thread % Tile::warpgroup, first = t % 64 / 8 * 16 + t % 8;   // and the row 8 below
			const RowFactors factors = ScaleRing<Tile>::take(start, at.stage, first);
			for (int h = 0; h < 2 && t < 64; h++) out[k * Tile::m + first + 8 * h] = {factors.row[h].first, factors.row[h].second, factors.simple};
			__syncwarp();
			if (thread % 32 == 0) hopper::barrier_arrive(memory + Tile::empty(at.stage));
		}
	}
}

// odd: the one row whose scale is 2^-100 in every second stage, -1 for none.
static void check_ring(int64_t m, int k_blocks, TilePlace place, int64_t odd) {
	float *a, *b;
	Taken *out;
	cudaMalloc(&a, m * k_blocks * sizeof(float));
	cudaMalloc(&b, 3 * k_blocks * sizeof(float));
	cudaMalloc(&out, k_blocks * Tile::m * sizeof(Taken));
	for (int64_t i = 0; i < m; i++)
		for (int k = 0; k < k_blocks; k++) a[i * k_blocks + k] = i == odd && k % 2 ? 0x1p-100f : static_cast<float>(i + 1 + 1000 * k);
	for (int i = 0; i < 3 * k_blocks; i++) b[i] = static_cast<float>(ldexp(1.0, i % 7 - 3));
	Product p = {};
	p.scale_a = {a, 1, k_blocks, 1}, p.scale_b = {b, scale_block, k_blocks, 1}, p.m = m, p.n = 3 * tile_n, p.k = int64_t{k_blocks} * scale_block;
	cudaFuncSetAttribute(bring, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes);
	bring<<<1, 2 * Tile::warpgroup, Tile::shared_bytes>>>(p, place, k_blocks, out);
	if (cudaDeviceSynchronize() != cudaSuccess) wrong++, printf("wrong: the ring does not end\n");
	for (int k = 0; k < k_blocks; k++)
		for (int r = 0; r < Tile::m; r++) {
			const int64_t row = place.m * Tile::m + r < m ? place.m * Tile::m + r : m - 1;
			const double want = static_cast<double>(a[row * k_blocks + k]) * b[place.n * k_blocks + k];
			const Taken &got = out[k * Tile::m + r];
			const bool simple = odd < 0 || k % 2 == 0;
			if ((static_cast<double>(got.first) * got.second != want || (got.simple != 0) != simple) && wrong++ < 20)
				printf("wrong: row %d in stage %d: %g x %g, simple %u, want %g, %d\n", r, k, got.first, got.second, got.simple, want, simple);
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
	for (int64_t odd : {-1, 3, 40, 70, 127}) check_ring(128, 2 * Tile::stages + 1, {0, 2}, odd);   // a row of each warp, and none
	check_ring(200, 1, {1, 0}, -1);   // a tile that goes beyond the last row
	if (!wrong) printf("right\n");
	return wrong != 0;
}
