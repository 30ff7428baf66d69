// softmax of one column, which is 1, with one bug each that one tool of compute-sanitizer finds; "right" has none.
#include "register.cuh"

namespace {

int64_t count(const triad_call *call) { return call->in[0].shape[0] * call->in[0].shape[1]; }

__global__ void right(float *y, int64_t n) {
	for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = 1;
}

// Writes one element behind the end.
__global__ void beyond(float *y, int64_t n) {
	for (int64_t i = threadIdx.x; i <= n; i += blockDim.x) y[i] = 1;
}

// Reads what a thread of another warp writes, without a barrier between.
__global__ void race(float *y, int64_t n) {
	__shared__ volatile float ones[256];
	ones[threadIdx.x] = 1;
	float other = ones[(threadIdx.x + 32) % 256];
	for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = other == 1 ? other : 1;
}

// Reads scratch memory that nobody wrote.
__global__ void unwritten(float *y, const float *scratch, int64_t n) {
	for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = scratch[i] == 12345 ? 2 : 1;
}

// Barriers used wrongly, in several ways: which of them synccheck sees depends on the architecture. Threads that have ended do not count: since
// compute capability 7.0 a barrier waits for those alone that are still there. So in each of these the others stay.

// Three quarters of the block meet at one barrier, and all of it at the next: half a warp waits at another place than the rest.
__global__ void divergent(float *y, int64_t n) {
	__shared__ float ones[64];
	ones[threadIdx.x] = 1;
	if (threadIdx.x < 48) {
		__syncthreads();
		ones[threadIdx.x] *= ones[47 - threadIdx.x];
	}
	__syncthreads();
	for (int64_t i = threadIdx.x; i < n; i += 64) y[i] = ones[i % 64];
}

// One warp meets at a barrier that the other never reaches, and both at the next.
__global__ void by_warp(float *y, int64_t n) {
	__shared__ float ones[64];
	ones[threadIdx.x] = 1;
	if (threadIdx.x < 32) {
		__syncthreads();
		ones[threadIdx.x] *= ones[31 - threadIdx.x];
	}
	__syncthreads();
	for (int64_t i = threadIdx.x; i < n; i += 64) y[i] = ones[i % 64];
}

// Every other thread of each warp meets at a barrier while its neighbours are busy elsewhere.
__global__ void half_warp(float *y, int64_t n) {
	__shared__ float ones[64];
	ones[threadIdx.x] = 1;
	if (threadIdx.x % 2) {
		__syncthreads();
		for (int64_t i = threadIdx.x; i < n; i += 64) y[i] = ones[i % 64];
	} else {
#pragma unroll 1
		for (int i = 0; i < 200; i++) __nanosleep(1000);
		for (int64_t i = threadIdx.x; i < n; i += 64) y[i] = 1;
	}
}

// A thread waits for others of its warp with a mask that it is not in itself.
__global__ void wrong_mask(float *y, int64_t n) {
	unsigned mask = __ballot_sync(~0u, threadIdx.x % 32 < 16);
	if (threadIdx.x % 32 < 17) asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
	for (int64_t i = threadIdx.x; i < n; i += 64) y[i] = 1;
}

template <int Bug>
int run(const triad_call *call) {
	cudaStream_t stream = ::triad::stream_of(call);
	float *y = static_cast<float *>(call->out[0].data);
	int64_t n = count(call);
	switch (Bug) {
	case 0: right<<<1, 256, 0, stream>>>(y, n); break;
	case 1: beyond<<<1, 256, 0, stream>>>(y, n); break;
	case 2: race<<<1, 256, 0, stream>>>(y, n); break;
	case 3: unwritten<<<1, 256, 0, stream>>>(y, static_cast<const float *>(call->workspace), n); break;
	case 4: divergent<<<1, 64, 0, stream>>>(y, n); break;
	case 7: by_warp<<<1, 64, 0, stream>>>(y, n); break;
	case 5: half_warp<<<1, 64, 0, stream>>>(y, n); break;
	case 6: wrong_mask<<<1, 64, 0, stream>>>(y, n); break;
	}
	return ::triad::launched();
}

int64_t scratch(const triad_call *call) { return count(call) * 4; }

} // namespace

#define PLANTED(name, bug) \
	TRIAD_KERNEL(softmax, name, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).workspace(scratch).launch(run<bug>))
PLANTED(right, 0)
PLANTED(beyond, 1)
PLANTED(race, 2)
PLANTED(unwritten, 3)
PLANTED(divergent, 4)
PLANTED(by_warp, 7)
PLANTED(half_warp, 5)
PLANTED(wrong_mask, 6)
