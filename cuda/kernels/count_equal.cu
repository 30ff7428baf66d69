// count_equal: count = the number of i with x[i] = value
// Layout   x: [n] int32; count: [1] int64. Additions of integers have no order that shows: all are deterministic.
// Limits   n = 0 counts nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Hwu, Kirk and El Hajj 2022, Programming Massively Parallel Processors, chapters 9 and 10
//   atomic   a thread an element, and each that is equal adds 1 to one number in memory; the readable one, and the one
//            to trust first. These additions wait for each other
//   warp     a warp votes on its 32 elements and adds the number of votes at once: a 32nd of the atomics.
//            Costs: every lane has to take part in the vote
//   vec      as many blocks as run at once, 16-byte loads, a count in a register for each thread, and one
//            atomic for each block. Costs: a barrier, and numbers that begin at a multiple of 16 bytes
#include "register.cuh"
#include "rows.cuh"
#include "spec/count_equal.cuh"

namespace {

constexpr int threads = 256;

using Count = unsigned long long; // what atomicAdd takes; the bits of an int64

// ---- kernels ------------------------------------------------------------------------------------------------

__global__ void count_equal_atomic_kernel(triad::Vector<const int32_t> x, Count *count, int64_t n, int32_t value) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n && x(i) == value) atomicAdd(count, Count{1});
}

// All lanes vote, those beyond the end with no.
__global__ void count_equal_warp_kernel(triad::Vector<const int32_t> x, Count *count, int64_t n, int32_t value) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	const unsigned votes = __ballot_sync(0xffffffffu, i < n && x(i) == value);
	if (threadIdx.x % 32 == 0 && votes != 0) atomicAdd(count, static_cast<Count>(__popc(votes)));
}

constexpr int packs = 4; // loads of 16 bytes under way for each thread

__device__ inline int equal(int4 v, int32_t value) {
	return (v.x == value) + (v.y == value) + (v.z == value) + (v.w == value);
}

// A thread sees less than 2^31 elements: 2^40 are the most that a tensor may have, and blocks that run at once have
// thousands of threads.
__global__ void __launch_bounds__(threads)
    count_equal_vec_kernel(const int32_t *x, Count *count, int64_t n, int32_t value) {
	constexpr int in_pack = 4;
	constexpr int64_t tile = static_cast<int64_t>(threads) * packs * in_pack;
	__shared__ int of_warp[threads / 32];
	int mine = 0;
	for (int64_t first = blockIdx.x * tile + threadIdx.x * in_pack; first < n; first += gridDim.x * tile) {
		int4 held[packs];
#pragma unroll
		for (int p = 0; p < packs; p++) {
			const int64_t at = first + p * threads * in_pack;
			if (at + in_pack <= n) held[p] = __ldcs(reinterpret_cast<const int4 *>(x + at));
		}
#pragma unroll
		for (int p = 0; p < packs; p++) {
			const int64_t at = first + p * threads * in_pack;
			if (at + in_pack <= n) mine += equal(held[p], value);
			else
				for (int64_t i = at; i < n; i++) mine += x[i] == value;
		}
	}
	for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(0xffffffffu, mine, lanes);
	if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
	__syncthreads();
	if (threadIdx.x != 0) return;
	Count total = 0;
	for (int w = 0; w < threads / 32; w++) total += static_cast<Count>(of_warp[w]);
	if (total != 0) atomicAdd(count, total);
}

// ---- launchers ----------------------------------------------------------------------------------------------

Count *count_of(const triad_call *call) { return static_cast<Count *>(call->out[0].data); }
int32_t value_of(const triad_call *call) { return static_cast<int32_t>(call->attr[0]); }

// begin makes the count 0, in the order of the stream: kernels add to it.
cudaError_t begin(const triad_call *call) {
	return cudaMemsetAsync(count_of(call), 0, sizeof(Count), triad::stream_of(call));
}

int count_equal_atomic(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (const cudaError_t error = begin(call)) return error;
	if (n > 0)
		count_equal_atomic_kernel<<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
		    triad::Vector<const int32_t>(call->in[0]), count_of(call), n, value_of(call));
	return triad::launched();
}

int count_equal_warp(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (const cudaError_t error = begin(call)) return error;
	if (n > 0)
		count_equal_warp_kernel<<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
		    triad::Vector<const int32_t>(call->in[0]), count_of(call), n, value_of(call));
	return triad::launched();
}

int count_equal_vec(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (const cudaError_t error = begin(call)) return error;
	const unsigned all = triad::blocks_for(n, threads * packs * 4);
	const unsigned at_once = 8 * static_cast<unsigned>(triad::device_attribute(cudaDevAttrMultiProcessorCount));
	if (n > 0)
		count_equal_vec_kernel<<<at_once > 0 && at_once < all ? at_once : all, threads, 0, triad::stream_of(call)>>>(
		    static_cast<const int32_t *>(call->in[0].data), count_of(call), n, value_of(call));
	return triad::launched();
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(count_equal, atomic, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).launch(count_equal_atomic))
TRIAD_KERNEL(count_equal, warp, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).launch(count_equal_warp))
TRIAD_KERNEL(count_equal, vec, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).limits(triad::contiguous(), triad::aligned(16, "x"))
             .launch(count_equal_vec))
