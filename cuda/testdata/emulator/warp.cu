// The warp-function matrix: every result is compared with what CUDA's documentation says. Prints "ok N" or what was wrong. `warp small` leaves
// out most block shapes and types, for sanitizers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

__managed__ int wrong, checks;
__managed__ char what[200];

__device__ void check(bool right, const char *name, int a, int b, int got, int want) {
	atomicAdd(&checks, 1);
	if (!right && atomicAdd(&wrong, 1) == 0)
		snprintf(what, sizeof what, "%s(%d, %d) thread (%u,%u,%u): got %d, want %d", name, a, b, threadIdx.x, threadIdx.y, threadIdx.z, got, want);
}
#define CHECK(name, a, b, got, want) check((got) == (want), name, static_cast<int>(a), static_cast<int>(b), static_cast<int>(got), static_cast<int>(want))

__device__ int lane_id() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }
__device__ int live_lanes() {
	int threads = blockDim.x * blockDim.y * blockDim.z, self = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	int rest = threads - self / 32 * 32;
	return rest < 32 ? rest : 32;
}

// T of 2, 4 and 8 bytes; a source beyond the last live lane is undefined and not looked at.
template <class T> __global__ void shuffles() {
	int lane = lane_id(), n = live_lanes();
	unsigned mask = n == 32 ? 0xffffffffu : (1u << n) - 1;
	for (int width = 1; width <= 32; width *= 2) {
		int first = lane / width * width;
		for (int d = 0; d < 33; d++) {
			T v = T(lane * 3);
			int up = static_cast<int>(static_cast<float>(__shfl_up_sync(mask, v, d, width)));
			CHECK("up", d, width, up, (lane - d >= first ? lane - d : lane) * 3);
			int down = static_cast<int>(static_cast<float>(__shfl_down_sync(mask, v, d, width))), from = lane + d < first + width ? lane + d : lane;
			if (from < n) CHECK("down", d, width, down, from * 3);
			int by_xor = static_cast<int>(static_cast<float>(__shfl_xor_sync(mask, v, d & 31, width)));
			from = (lane ^ (d & 31)) < first + width ? lane ^ (d & 31) : lane;
			if (from < n) CHECK("xor", d, width, by_xor, from * 3);
			int at = static_cast<int>(static_cast<float>(__shfl_sync(mask, v, d, width)));
			from = first + d % width;
			if (from < n) CHECK("idx", d, width, at, from * 3);
		}
	}
}

__global__ void votes() {
	int lane = lane_id(), n = live_lanes();
	unsigned all = n == 32 ? 0xffffffffu : (1u << n) - 1;
	for (int k = 0; k < 33; k++) {
		unsigned below = (k == 32 ? 0xffffffffu : (1u << k) - 1) & all;
		CHECK("ballot", k, n, __ballot_sync(0xffffffffu, lane < k), below);
		CHECK("any", k, n, __any_sync(all, lane < k), below != 0);
		CHECK("all", k, n, __all_sync(all, lane < k), below == all);
	}
	unsigned mod = 0;
	for (int i = lane % 5; i < n; i += 5) mod |= 1u << i;
	CHECK("match_any", 0, n, __match_any_sync(all, lane % 5), mod);
	CHECK("match_any64", 0, n, __match_any_sync(all, 0x100000000ull * (lane % 5)), mod);
	int equal = -1;
	CHECK("match_all", 1, n, __match_all_sync(all, 7, &equal), all);
	CHECK("match_all", 1, n, equal, 1);
	CHECK("match_all", 2, n, __match_all_sync(all, lane, &equal), n == 1 ? all : 0);
	CHECK("match_all", 2, n, equal, n == 1);
	int sum = n * (n - 1) / 2;
	CHECK("reduce_add", 0, n, __reduce_add_sync(all, lane - 3), sum - 3 * n);
	CHECK("reduce_add", 1, n, __reduce_add_sync(all, static_cast<unsigned>(lane)), static_cast<unsigned>(sum));
	CHECK("reduce_min", 0, n, __reduce_min_sync(all, lane - 5), -5);
	CHECK("reduce_max", 0, n, __reduce_max_sync(all, lane - 5), n - 6);
	CHECK("reduce_min", 1, n, __reduce_min_sync(all, static_cast<unsigned>(lane - 5)), n > 5 ? 0u : static_cast<unsigned>(-5));
	CHECK("reduce_and", 0, n, __reduce_and_sync(all, static_cast<unsigned>(lane | 64)), n == 1 ? 64u : 64u);
	unsigned either = 0, parity = 0;
	for (int i = 0; i < n; i++) either |= i, parity ^= i;
	CHECK("reduce_or", 0, n, __reduce_or_sync(all, static_cast<unsigned>(lane)), either);
	CHECK("reduce_xor", 0, n, __reduce_xor_sync(all, static_cast<unsigned>(lane)), parity);
}

// Two halves of a warp run loops of different length over disjoint masks.
__global__ void halves() {
	int lane = lane_id(), half = lane / 16;
	unsigned mask = half ? 0xffff0000u : 0x0000ffffu;
	int v = lane;
	for (int i = 0; i < (half ? 7 : 2); i++) v += __shfl_xor_sync(mask, v, 1 << (i % 4), 16);
	int w[32];
	for (int i = 0; i < 32; i++) w[i] = i;
	for (int i = 0; i < (half ? 7 : 2); i++) {
		int next[32];
		for (int j = 0; j < 32; j++) next[j] = w[j] + w[j ^ (1 << (i % 4))];
		memcpy(w, next, sizeof w);
	}
	CHECK("halves", half, 0, v, w[lane]);
	__syncwarp();
	CHECK("halves after", half, 0, __reduce_add_sync(0xffffffffu, 1), 32);
}

// Lanes leave early; those that stay go on with barriers and warp functions over themselves, also with a mask that still names the others.
__global__ void early_exit() {
	int self = threadIdx.x, lane = self % 32;
	if (self % 3 == 0) return;
	__syncthreads();
	unsigned staying = 0;
	for (int i = 0; i < 32; i++)
		if ((self - lane + i) % 3 != 0) staying |= 1u << i;
	CHECK("early_exit", 0, 0, __ballot_sync(0xffffffffu, 1), staying);
	CHECK("early_exit", 1, 0, __syncthreads_count(1), static_cast<int>(blockDim.x - (blockDim.x + 2) / 3));
}

__global__ void active() {
	int lane = threadIdx.x % 32;
	if (lane % 2) {
		CHECK("activemask", 1, 0, __activemask(), 0xaaaaaaaau);
	} else {
		CHECK("activemask", 0, 0, __activemask(), 0x55555555u);
		cg::coalesced_group g = cg::coalesced_threads();
		CHECK("coalesced rank", 0, 0, g.thread_rank(), static_cast<unsigned>(lane / 2));
		CHECK("coalesced sum", 0, 0, cg::reduce(g, lane, cg::plus<int>()), 240);
		CHECK("coalesced shfl", 0, 0, g.shfl_down(lane, 1), lane < 30 ? lane + 2 : lane);
	}
	__syncwarp();
	CHECK("activemask", 2, 0, __activemask(), 0xffffffffu);
}

__global__ void block_votes() {
	int self = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), n = blockDim.x * blockDim.y * blockDim.z;
	for (int k = 0; k <= n; k += 7) {
		CHECK("count", k, n, __syncthreads_count(self < k), k);
		CHECK("and", k, n, __syncthreads_and(self < k), k == n);
		CHECK("or", k, n, __syncthreads_or(self < k), k > 0);
	}
	__shared__ int turn[8][8];
	if (self < 64) turn[self / 8][self % 8] = self;
	cg::this_thread_block().sync();
	CHECK("shared", 0, 0, turn[self % 64 / 8][self % 8], n < 64 && self % 64 >= n ? -1 : self % 64);
}

template <int n> __global__ void tiles() {
	auto tile = cg::tiled_partition<n>(cg::this_thread_block());
	int rank = tile.thread_rank();
	CHECK("tile sum", n, 0, cg::reduce(tile, rank + 1, cg::plus<int>()), n * (n + 1) / 2);
	CHECK("tile max", n, 0, cg::reduce(tile, rank, cg::greater<int>()), n - 1);
	CHECK("tile shfl", n, 0, tile.shfl(rank, n - 1), n - 1);
	CHECK("tile ballot", n, 0, tile.ballot(rank == 0), 1u);
}

// A lock that lanes of one warp take from each other, and a hand-over from the last thread to the first.
__global__ void locks(int *lock, int *sum, int *flag) {
	while (atomicCAS(lock, 0, 1) != 0) {
	}
	*sum = *sum + 1;
	__threadfence();
	atomicExch(lock, 0);
	if (threadIdx.x == 0) {
		while (atomicAdd(flag, 0) == 0) __nanosleep(20);
		CHECK("hand over", 0, 0, atomicAdd(flag, 0), 1);
	}
	if (threadIdx.x == blockDim.x - 1) atomicExch(flag, 1);
}

__global__ void atomics(int *a, unsigned *u, float *f, double *d, __half2 *h, __nv_bfloat16 *b) {
	atomicAdd(&a[0], 1);
	atomicSub(&a[1], 2);
	atomicMin(&a[2], -static_cast<int>(threadIdx.x));
	atomicMax(&a[3], static_cast<int>(threadIdx.x));
	atomicOr(&u[0], 1u << threadIdx.x % 32);
	atomicXor(&u[1], threadIdx.x);
	atomicInc(&u[2], 9u);
	atomicDec(&u[3], 9u);
	atomicAdd(f, 0.5f);
	atomicAdd(d, 0.25);
	atomicAdd(h, __floats2half2_rn(1.0f, 0.5f));
	atomicAdd(b, __float2bfloat16(1.0f));
}

int main(int argc, char **) {
	const dim3 blocks[] = {48, dim3(5, 3, 3), 32, 1, 7, 96, 255, dim3(8, 8), dim3(4, 4, 16)};
	const bool small = argc > 1;
	for (int i = 0; i < (small ? 2 : 9); i++) {
		dim3 b = blocks[i];
		votes<<<3, b>>>();
		block_votes<<<3, b>>>();
		shuffles<int><<<1, b>>>();
		if (small) continue;
		shuffles<float><<<1, b>>>();
		shuffles<double><<<1, b>>>();
		shuffles<long long><<<1, b>>>();
		shuffles<__half><<<1, b>>>();
		shuffles<__nv_bfloat16><<<1, b>>>();
	}
	halves<<<4, 128>>>();
	early_exit<<<3, 96>>>();
	active<<<2, 64>>>();
	tiles<1><<<1, 64>>>();
	tiles<2><<<1, 64>>>();
	tiles<8><<<2, dim3(16, 4)>>>();
	tiles<32><<<2, 128>>>();
	int *a;
	unsigned *u;
	float *f;
	double *d;
	__half2 *h;
	__nv_bfloat16 *b;
	cudaMalloc(&a, 16), cudaMalloc(&u, 16), cudaMalloc(&f, 4), cudaMalloc(&d, 8), cudaMalloc(&h, 4), cudaMalloc(&b, 2);
	cudaMemset(a, 0, 16);
	locks<<<1, 100>>>(a, a + 1, a + 2);
	CHECK("locks", 0, 0, a[1], 100);
	cudaMemset(a, 0, 16), cudaMemset(u, 0, 16), cudaMemset(f, 0, 4), cudaMemset(d, 0, 8), cudaMemset(h, 0, 4), cudaMemset(b, 0, 2);
	atomics<<<8, 16>>>(a, u, f, d, h, b);
	CHECK("atomicAdd", 0, 0, a[0], 128);
	CHECK("atomicSub", 0, 0, a[1], -256);
	CHECK("atomicMin", 0, 0, a[2], -15);
	CHECK("atomicMax", 0, 0, a[3], 15);
	CHECK("atomicOr", 0, 0, u[0], 0xffffu);
	CHECK("atomicXor", 0, 0, u[1], 0u);
	CHECK("atomicInc", 0, 0, u[2], 8u);
	CHECK("atomicDec", 0, 0, u[3], 2u);
	CHECK("atomicAdd float", 0, 0, *f, 64.0f);
	CHECK("atomicAdd double", 0, 0, *d, 32.0);
	CHECK("atomicAdd half2", 0, 0, __low2float(*h) * 1000 + __high2float(*h), 128064.0f);
	CHECK("atomicAdd bf16", 0, 0, static_cast<float>(*b), 128.0f);
	if (cudaError_t error = cudaGetLastError()) return printf("%s\n", cudaGetErrorString(error)), 1;
	if (wrong) return printf("%d of %d wrong, first %s\n", wrong, checks, what), 1;
	printf("ok %d\n", checks);
	cudaFree(a), cudaFree(u), cudaFree(f), cudaFree(d), cudaFree(h), cudaFree(b);
}
