// rainbow_table: h = FNV-1a of the 4 bytes of x, the lowest first, applied for some rounds; no round gives x
// Layout   x, h: [n] uint32. h is contiguous.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Fowler, Noll, Vo: draft-eastlake-fnv-17, section 2
//   naive      a thread a number, byte by byte, any stride; the readable one, and the one to trust first
//   unrolled   16-byte accesses: four numbers a thread, whose chains of products run side by side; no loop
//              over bytes. Two bytes come by dot products (dp4a), which run where products do, and not where
//              the other shifts do. Costs: contiguous numbers that begin at a multiple of 16 bytes, and registers
#include "register.cuh"
#include "rows.cuh"
#include "spec/rainbow_table.cuh"

namespace {

constexpr int threads = 256;
constexpr uint32_t offset = 2166136261u, prime = 16777619u;

// ---- kernels ------------------------------------------------------------------------------------------------

__global__ void rainbow_table_naive_kernel(triad::Vector<const uint32_t> x, uint32_t *h, int64_t n, int64_t rounds) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= n) return;
	uint32_t v = x(i);
	for (int64_t r = 0; r < rounds; r++) {
		uint32_t hash = offset;
		for (int byte = 0; byte < 4; byte++) {
			hash ^= v >> 8 * byte & 0xffu;
			hash *= prime;
		}
		v = hash;
	}
	h[i] = v;
}

// A byte of v: its dot product with a vector that has 1 there. It takes a turn of the pipe of products; a shift takes one of the pipe of logic, which
// has seven turns of a round otherwise, beside four products.
template <int Byte> __device__ inline uint32_t byte_of(uint32_t v) { return __dp4a(v, 1u << 8 * Byte, 0u); }

__device__ inline uint32_t hashed(uint32_t v) {
	uint32_t hash = (offset ^ (v & 0xffu)) * prime;
	hash = (hash ^ byte_of<1>(v)) * prime;
	hash = (hash ^ byte_of<2>(v)) * prime;
	return (hash ^ v >> 24) * prime;
}

// Adds independent work: each product waits for the one before, about 4 clocks, and four numbers a thread fill them.
// One load and one store of 16 bytes serve the four. Costs an aligned, contiguous x, and an end of up to three
// numbers that goes one by one.
__global__ void __launch_bounds__(threads)
    rainbow_table_unrolled_kernel(const uint32_t *x, uint32_t *h, int64_t n, int64_t rounds) {
	constexpr int in_pack = 4;
	const int64_t first = (blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x) * in_pack;
	if (first + in_pack <= n) {
		uint4 v = *reinterpret_cast<const uint4 *>(x + first);
#pragma unroll 4
		for (int64_t r = 0; r < rounds; r++) v = make_uint4(hashed(v.x), hashed(v.y), hashed(v.z), hashed(v.w));
		__stcs(reinterpret_cast<uint4 *>(h + first), v);
		return;
	}
	for (int64_t i = first; i < n; i++) {
		uint32_t v = x[i];
		for (int64_t r = 0; r < rounds; r++) v = hashed(v);
		h[i] = v;
	}
}

// ---- launchers ----------------------------------------------------------------------------------------------

int64_t rounds_of(const triad_call *call) { return static_cast<int64_t>(call->attr[0]); }

int rainbow_table_naive(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (n == 0) return TRIAD_OK;
	rainbow_table_naive_kernel<<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    triad::Vector<const uint32_t>(call->in[0]), static_cast<uint32_t *>(call->out[0].data), n, rounds_of(call));
	return triad::launched();
}

int rainbow_table_unrolled(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (n == 0) return TRIAD_OK;
	rainbow_table_unrolled_kernel<<<triad::blocks_for(n, threads * 4), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const uint32_t *>(call->in[0].data), static_cast<uint32_t *>(call->out[0].data), n,
	    rounds_of(call));
	return triad::launched();
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(rainbow_table, naive, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_U32)).outputs(1).launch(rainbow_table_naive))
TRIAD_KERNEL(rainbow_table, unrolled, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_U32)).outputs(1).limits(triad::whole_vectors())
             .launch(rainbow_table_unrolled))
