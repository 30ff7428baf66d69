// A zoo of bugs, each with its fixed twin: `zoo NAME buggy|fixed` runs one kernel and prints a hash of its output. A line that a tool must name
// carries the comment BUG(NAME). Blocks have at most 128 threads, for ThreadSanitizer.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

const int N = 1000, THREADS = 128;

template <bool fixed> __global__ void missing_if(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (!fixed || i < n) y[i] = 2 * x[i < n ? i : 0];   // BUG(missing_if)
}

template <bool fixed> __global__ void read_past_end(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[i] + (fixed && i + 8 >= n ? 0 : x[i + 8]);   // BUG(read_past_end)
}

template <bool fixed> __global__ void static_shared(const float *x, float *y, int) {
	__shared__ float s[64];
	int i = threadIdx.x;
	if (i < 64) s[i] = x[i];
	__syncthreads();
	if (i < 64) y[i] = s[fixed ? 63 - i : 64 - i];   // BUG(static_shared)
}

template <bool fixed> __global__ void dynamic_shared(const float *x, float *y, int) {
	extern __shared__ float s[];
	int i = threadIdx.x, n = blockDim.x;
	s[fixed ? i : i + 1] = x[i];   // BUG(dynamic_shared)
	__syncthreads();
	y[i] = s[n - 1 - i];
}

template <bool fixed> __global__ void local_array(const float *x, float *y, int) {
	volatile float window[8];
	int i = threadIdx.x;
	for (int k = 0; k < 8; k++) window[k] = x[i + k];
	int last = fixed ? 7 : 8 + i / 1000;
	y[i] = window[last];   // BUG(local_array)
}

template <bool fixed> __global__ void misaligned(const float *x, float *y, int) {
	int i = threadIdx.x;
	const float4 *v = reinterpret_cast<const float4 *>(x + (fixed ? 4 * i : 4 * i + 1));
	y[i] = v->x;   // BUG(misaligned)
}

template <bool fixed> __global__ void tile_row(const float *x, float *y, int) {
	__shared__ float tile[9][8];
	int i = threadIdx.x;
	if (i < 64) tile[i / 8][i % 8] = x[i];
	__syncthreads();
	int column = fixed ? i % 8 : i % 8 + 1;
	if (i < 64) y[i] = tile[i / 8][column];   // BUG(tile_row)
}

template <bool fixed> __global__ void tree(const float *x, float *y, int) {
	__shared__ float s[THREADS];
	int i = threadIdx.x;
	s[i] = x[blockIdx.x * THREADS + i];
	__syncthreads();
	for (int k = THREADS / 2; k > 0; k /= 2) {
		if (i < k) s[i] += s[i + k];   // BUG(tree)
		if (fixed) __syncthreads();
	}
	if (i == 0) y[blockIdx.x] = s[0];
}

// The buffer is filled with the sums while slow threads still read the maximum from it.
template <bool fixed> __global__ void softmax_reuse(const float *x, float *y, int) {
	__shared__ float red[THREADS / 32];
	int i = threadIdx.x, lane = i % 32, warp = i / 32;
	float v = x[blockIdx.x * THREADS + i], m = v;
	for (int k = 16; k > 0; k /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, k));
	if (lane == 0) red[warp] = m;
	__syncthreads();
	for (int w = 0; w < THREADS / 32; w++) m = fmaxf(m, red[w]);
	if (fixed) __syncthreads();
	float e = expf(v - m), sum = e;
	for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
	if (lane == 0) red[warp] = sum;   // BUG(softmax_reuse)
	__syncthreads();
	sum = 0;
	for (int w = 0; w < THREADS / 32; w++) sum += red[w];
	y[blockIdx.x * THREADS + i] = e / sum;
}

template <bool fixed> __global__ void plain_add(const float *x, float *y, int) {
	if (fixed) atomicAdd(reinterpret_cast<int *>(y), static_cast<int>(x[threadIdx.x]) + 1);
	else *reinterpret_cast<volatile int *>(y) += static_cast<int>(x[threadIdx.x]) + 1;   // BUG(plain_add)
}

template <bool fixed> __global__ void missing_syncwarp(const float *x, float *y, int) {
	__shared__ float s[32];
	int i = threadIdx.x;
	if (i >= 32) return;
	s[i] = x[i];
	if (fixed) __syncwarp();
	y[i] = s[31 - i];   // BUG(missing_syncwarp)
}

template <bool fixed> __global__ void uninitialised(const float *x, float *y, int) {
	__shared__ float s[THREADS];
	int i = threadIdx.x;
	if (fixed || i != 5) s[i] = x[i];
	__syncthreads();
	y[i] = s[i];
}

template <bool fixed> __global__ void divergent_barrier(const float *x, float *y, int) {
	int i = threadIdx.x;
	if (fixed || i < 64) {
		__syncthreads();   // BUG(divergent_barrier)
		y[i] = x[i];
	} else {
		__syncthreads();
		y[i] = -x[i];
	}
}

template <bool fixed> __global__ void divergent_mask(const float *x, float *y, int) {
	int i = threadIdx.x;
	unsigned mask = fixed || i % 32 < 16 ? 0xffffffffu : 0xfffffffeu;
	y[i] = __shfl_xor_sync(mask, x[i], 16);   // BUG(divergent_mask)
}

template <bool fixed> __global__ void not_in_mask(const float *x, float *y, int) {
	int i = threadIdx.x;
	y[i] = __shfl_xor_sync(fixed ? 0xffffffffu : 0x0000ffffu, x[i], 1);   // BUG(not_in_mask)
}

template <bool fixed> __global__ void deadlock(const float *x, float *y, int) {
	int i = threadIdx.x;
	float v = x[i];
	if (fixed || i < 16) v += __shfl_down_sync(0xffffffffu, v, 1);   // BUG(deadlock)
	__syncthreads();
	y[i] = v == v ? v : 0;
}

template <bool fixed> __global__ void divide(const float *x, float *y, int n) {
	int i = threadIdx.x, by = fixed ? n : i - 70;
	y[i] = static_cast<float>(static_cast<int>(x[i]) / by);   // BUG(divide)
}

template <bool fixed> __global__ void trap(const float *x, float *y, int) {
	if (!fixed && threadIdx.x == 9) __trap();   // BUG(trap)
	y[threadIdx.x] = x[threadIdx.x];
}

template <bool fixed> __global__ void streamed(const float *x, float *y, int) {
	__shared__ float s[THREADS];
	if (fixed) s[threadIdx.x] = x[threadIdx.x];
	else __stcs(&s[threadIdx.x], x[threadIdx.x]);   // BUG(streamed)
	__syncthreads();
	__stcs(&y[threadIdx.x], s[THREADS - 1 - threadIdx.x]);
}

template <bool fixed> __global__ void wild(const float *x, float *y, int) {
	float *at = fixed ? y : reinterpret_cast<float *>(8);
	if (threadIdx.x == 3) *at = x[0];   // BUG(wild)
}

template <bool fixed> __global__ void too_much_shared(const float *x, float *y, int) {
	__shared__ float s[fixed ? 1024 : 13000];
	s[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	y[threadIdx.x] = s[127 - threadIdx.x];
}

// The main program forgets to free the output.
template <bool> __global__ void leak(const float *x, float *y, int) { y[threadIdx.x] = x[threadIdx.x]; }

typedef void (*Run)(bool fixed, const float *x, float *y);
#define CASE(name, blocks, shared)                                            \
	{#name, [](bool fixed, const float *x, float *y) {                           \
		 if (fixed) name<true><<<blocks, THREADS, shared>>>(x, y, N);               \
		 else name<false><<<blocks, THREADS, shared>>>(x, y, N);                    \
	 }}
const struct {
	const char *name;
	Run run;
} cases[] = {
    CASE(missing_if, 8, 0), CASE(read_past_end, 8, 0), CASE(static_shared, 1, 0), CASE(dynamic_shared, 1, THREADS * sizeof(float)),
    CASE(local_array, 1, 0), CASE(misaligned, 1, 0), CASE(tile_row, 1, 0), CASE(tree, 7, 0), CASE(softmax_reuse, 7, 0), CASE(plain_add, 64, 0),
    CASE(missing_syncwarp, 1, 0), CASE(uninitialised, 1, 0), CASE(divergent_barrier, 1, 0), CASE(divergent_mask, 1, 0), CASE(not_in_mask, 1, 0),
    CASE(deadlock, 1, 0), CASE(divide, 1, 0), CASE(trap, 1, 0), CASE(streamed, 1, 0), CASE(wild, 1, 0), CASE(too_much_shared, 1, 0),
    CASE(leak, 1, 0),
};

int main(int argc, char **argv) {
	std::string name = argc > 1 ? argv[1] : "", twin = argc > 2 ? argv[2] : "fixed";
	for (const auto &c : cases) {
		if (name != c.name) continue;
		float *x, *y;
		if (cudaMalloc(&x, N * sizeof(float)) || cudaMalloc(&y, N * sizeof(float))) return 2;
		for (int i = 0; i < N; i++) x[i] = static_cast<float>((i * 37 + 11) % 64) * 0.125f;
		cudaMemset(y, 0, N * sizeof(float));
		c.run(twin != "buggy", x, y);
		if (cudaError_t error = cudaGetLastError()) return printf("%s\n", cudaGetErrorString(error)), 2;
		uint64_t hash = 14695981039346656037u;
		for (size_t i = 0; i < N * sizeof(float); i++) hash = (hash ^ reinterpret_cast<unsigned char *>(y)[i]) * 1099511628211u;
		int nans = 0;
		for (int i = 0; i < N; i++) nans += y[i] != y[i];
		printf("%016llx nans=%d\n", static_cast<unsigned long long>(hash), nans);
		cudaFree(x);
		if (name == "leak" && twin == "buggy") x = y = nullptr;
		cudaFree(y);
		return 0;
	}
	return fprintf(stderr, "no case %s\n", name.c_str()), 2;
}
