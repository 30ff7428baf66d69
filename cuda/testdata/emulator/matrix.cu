// The warp's matrix instructions and asynchronous copies. `matrix products` compares every element with plain loops; `matrix copies` adds up
// tiles that come by two buffers, with everything right, or without the wait, without a barrier, or with one buffer only (named by the second word),
// and waits for a tile that nobody reads; without its commit, or without the wait for it, the copy may arrive over what was written since.
#include <cstdio>
#include <cstring>

#include "hopper/async_copy.cuh"
#include "hopper/mma.cuh"

using namespace triad::hopper;

static int wrong;

// d = a b + c, by the instructions: a[16][16] by rows, b as rows of b[16][8] (read transposed) or of its transpose.
template <class T> __global__ void product(const T *a, const T *b, bool transposed, float *d) {
	__shared__ __align__(16) T a_tile[16 * 16];
	__shared__ __align__(16) T b_tile[16 * 16];
	const int lane = threadIdx.x;
	for (int i = lane; i < 256; i += 32) a_tile[i] = a[i], b_tile[i] = b[i];
	__syncwarp();
	uint32_t left[4], right[4];
	load_matrices(left, shared_address(a_tile + lane % 16 * 16 + lane / 16 * 8));
	if (transposed) load_transposed(right, shared_address(b_tile + lane % 16 * 16 + lane / 16 * 8));
	else load_matrices(right, shared_address(b_tile + (lane / 16 * 8 + lane % 8) * 16 + lane / 8 % 2 * 8));
	for (int n = 0; n < 2; n++) {
		float sum[4] = {0.5f, 0.5f, 0.5f, 0.5f};
		Multiply<T>::add(sum, left, right[2 * n], right[2 * n + 1]);
		for (int e = 0; e < 4; e++) d[(lane / 4 + e / 2 * 8) * 16 + 8 * n + lane % 4 * 2 + e % 2] = sum[e];
	}
}

template <class T> void check_product(bool transposed) {
	T *a, *b;
	float *d;
	cudaMallocManaged(&a, 256 * sizeof(T));
	cudaMallocManaged(&b, 256 * sizeof(T));
	cudaMallocManaged(&d, 256 * sizeof(float));
	for (int i = 0; i < 256; i++) a[i] = T(static_cast<float>(i * 7 % 31 - 15)), b[i] = T(static_cast<float>(i * 11 % 29 - 14));
	product<T><<<1, 32>>>(a, b, transposed, d);
	cudaDeviceSynchronize();
	for (int row = 0; row < 16; row++)
		for (int col = 0; col < 16; col++) {
			float want = 0.5f;
			for (int k = 0; k < 16; k++)
				want += static_cast<float>(a[row * 16 + k]) * static_cast<float>(transposed ? b[k * 16 + col] : b[col * 16 + k]);
			if (d[row * 16 + col] != want && wrong++ == 0) printf("(%d, %d): got %g, want %g\n", row, col, d[row * 16 + col], want);
		}
}

// sum[i] = sum over the tiles of what the thread's neighbour copied.
template <int Buffers, bool Wait, bool Barrier> __global__ void sum_tiles(const float *x, int tiles, float *sum) {
	__shared__ __align__(16) float tile[2][64 * 4];
	AsyncCopies copies;
	const int thread = threadIdx.x;
	auto copy = [&](int t) {
		copies.copy16(shared_address(tile[t % Buffers] + thread * 4), x + (t * 64 + thread) * 4, true);
		copies.commit();
	};
	copy(0);
	float total = 0;
	for (int t = 0; t < tiles; t++) {
		if (Wait) copies.wait<0>();
		if (Barrier) __syncthreads();
		if (t + 1 < tiles) copy(t + 1);
		for (int i = 0; i < 4; i++) total += tile[t % Buffers][(thread + 33) % 64 * 4 + i];
	}
	copies.wait<0>();
	sum[thread] = total;
}

// zero[i] = 0, by way of a tile that a copy went to before.
template <bool Commit, bool Wait> __global__ void overwrite_tile(const float *x, float *zero) {
	__shared__ __align__(16) float tile[64 * 4];
	AsyncCopies copies;
	const int thread = threadIdx.x;
	copies.copy16(shared_address(tile + thread * 4), x + thread * 4, true);
	if (Commit) copies.commit();
	if (Wait) copies.wait<0>();
	for (int i = 0; i < 4; i++) tile[thread * 4 + i] = 0;
	for (int i = 0; i < 4; i++) zero[thread * 4 + i] = tile[thread * 4 + i];
}

template <bool Commit, bool Wait> void check_overwritten() {
	float *x, *zero;
	cudaMallocManaged(&x, 256 * sizeof(float));
	cudaMallocManaged(&zero, 256 * sizeof(float));
	for (int i = 0; i < 256; i++) x[i] = 1;
	overwrite_tile<Commit, Wait><<<1, 64>>>(x, zero);
	cudaDeviceSynchronize();
	for (int i = 0; i < 256; i++)
		if (zero[i] != 0 && wrong++ == 0) printf("element %d: got %g, want 0\n", i, zero[i]);
}

template <int Buffers, bool Wait, bool Barrier> void check_copies() {
	const int tiles = 5;
	float *x, *sum;
	cudaMallocManaged(&x, tiles * 256 * sizeof(float));
	cudaMallocManaged(&sum, 64 * sizeof(float));
	for (int i = 0; i < tiles * 256; i++) x[i] = static_cast<float>(i % 97);
	sum_tiles<Buffers, Wait, Barrier><<<1, 64>>>(x, tiles, sum);
	cudaDeviceSynchronize();
	for (int thread = 0; thread < 64; thread++) {
		float want = 0;
		for (int t = 0; t < tiles; t++)
			for (int i = 0; i < 4; i++) want += x[(t * 64 + (thread + 33) % 64) * 4 + i];
		if (!(sum[thread] == want) && wrong++ == 0) printf("thread %d: got %g, want %g\n", thread, sum[thread], want);
	}
}

int main(int, char **words) {
	const char *what = words[1];
	if (!strcmp(what, "products")) {
		check_product<__half>(false);
		check_product<__half>(true);
		check_product<__nv_bfloat16>(false);
		check_product<__nv_bfloat16>(true);
	} else if (!strcmp(what, "copies")) {
		check_copies<2, true, true>();
		check_overwritten<true, true>();
	} else if (!strcmp(what, "no_commit")) {
		check_overwritten<false, true>();
	} else if (!strcmp(what, "no_last_wait")) {
		check_overwritten<true, false>();
	} else if (!strcmp(what, "no_wait")) {
		check_copies<2, false, true>();
	} else if (!strcmp(what, "no_barrier")) {
		check_copies<2, true, false>();
	} else if (!strcmp(what, "one_buffer")) {
		check_copies<1, true, true>();
	}
	if (!wrong) puts("ok");
	return wrong != 0;
}
