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

// A barrier that some threads of the block, and of a warp, do not reach.
__global__ void divergent(float *y, int64_t n) {
	__shared__ float ones[256];
	if (threadIdx.x < 100) {
		ones[threadIdx.x] = 1;
		__syncthreads();
		for (int64_t i = threadIdx.x; i < n; i += 100) y[i] = ones[i % 100];
	}
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
	case 4: divergent<<<1, 256, 0, stream>>>(y, n); break;
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
