// The products of groups of fp8 rows for Hopper: more tiles than blocks, more stages than the ring has, groups of two tiles, of one, of none and of a
// single row. Numbers are -1, 0 and 1, and scales powers of two, so that no sum is rounded.
#include <cstdio>

#include "grouped_fp8_gemm/wgmma.cuh"

using namespace triad;

static uint32_t state = 12345;
static int draw(int count) { return static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % count; }

template <class E> static E *managed(int64_t count) {
	E *x;
	cudaMallocManaged(&x, count * sizeof(E));
	return x;
}

static uint8_t *codes_of(int64_t count) {
	static const uint8_t codes[] = {0xB8, 0, 0x38}; // of -1, 0 and 1
	uint8_t *x = managed<uint8_t>(count);
	for (int64_t i = 0; i < count; i++) x[i] = codes[draw(3)];
	return x;
}

static float *scales_of(int64_t count) {
	float *x = managed<float>(count);
	for (int64_t i = 0; i < count; i++) x[i] = static_cast<float>(1 << draw(4));
	return x;
}

static float value(uint8_t code) { return decode_fp8<TRIAD_E4M3>(code); }

constexpr int64_t groups = 5, tokens = 246, k = 912, n = 264, spare = 4096; // elements of y that belong to nobody
constexpr int64_t k_blocks = (k + 127) / 128, n_blocks = (n + 127) / 128;
static const int32_t offsets[groups + 1] = {0, 150, 150, 151, 223, 246};

int main() {
	const uint8_t *const x = codes_of((tokens + 128) * k), *const w = codes_of(groups * n * k);
	const float *const scale_x = scales_of(tokens * k_blocks), *const scale_w = scales_of(groups * n_blocks * k_blocks);
	int32_t *const cuts = managed<int32_t>(groups + 1);
	for (int64_t g = 0; g <= groups; g++) cuts[g] = offsets[g];
	float *const y = managed<float>(tokens * n + spare);
	for (int64_t i = 0; i < tokens * n + spare; i++) y[i] = 12345.0f;
	Fp8Groups g = {};
	g.groups = groups, g.rows = tokens, g.cols = n;
	g.all = {{x, k, 1}, {w, k, 1}, {scale_x, 1, k_blocks, 1}, {scale_w, scale_block, k_blocks, 1}, tokens, n, k, y, TRIAD_F32, block_scaling};
	g.offsets = cuts, g.offset_stride = 1, g.w_step = n * k, g.scale_step = n_blocks * k_blocks;
	const int status = WgmmaGroups::launch(g, nullptr);
	cudaDeviceSynchronize();
	const auto wrong = [&](int64_t i, float want) {
		if (status == 0 && y[i] == want) return false;
		printf("status %d, element %d is %g, want %g\n", status, static_cast<int>(i), static_cast<double>(y[i]), static_cast<double>(want));
		return true;
	};
	for (int64_t group = 0; group < groups; group++)
		for (int64_t t = offsets[group]; t < offsets[group + 1]; t++)
			for (int64_t j = 0; j < n; j++) {
				float sum = 0;
				for (int64_t i = 0; i < k; i++)
					sum += value(x[t * k + i]) * scale_x[t * k_blocks + i / 128] * value(w[(group * n + j) * k + i]) *
					       scale_w[(group * n_blocks + j / 128) * k_blocks + i / 128];
				if (wrong(t * n + j, sum)) return 1;
			}
	for (int64_t i = tokens * n; i < tokens * n + spare; i++)
		if (wrong(i, 12345.0f)) return 1;
	puts("ok");
	return 0;
}
