// reverse: y[i] = x[n-1-i]          backward: dx[i] = dy[n-1-i], the reversal of dy
// Layout   x, y, dy, dx: [n], contiguous; fp32, fp16, bf16: elements are moved, never converted.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   NVIDIA, Using Shared Memory in CUDA C/C++, developer blog 2013
//   naive   a thread an element: a warp reads 32 neighbours from the last to the first. The readable one, and
//           the one to trust first
//   tiled   a tile is turned in shared memory, so that a warp reads and writes neighbours in rising order.
//           Costs: a barrier
//   vec     16-byte accesses: a thread turns a pack in its registers, two of them before the first store.
//           Costs: n that is a multiple of a pack, since packs of x and y begin at the same elements nowhere
//           else
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/reverse.cuh"

namespace {

constexpr int threads = 256;

// ---- kernels ------------------------------------------------------------------------------------------------

template <class T> __global__ void reverse_naive_kernel(const T *x, T *y, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) y[i] = x[n - 1 - i];
}

// Adds a stop in shared memory: block b reads the tile that begins at b * threads in rising order and writes it turned,
// to where it ends up. Costs a barrier. GPUs since 2010 join the accesses of a warp in any order, so that the naive
// variant loses little: this one shows the barrier, which the exercise is about.
template <class T> __global__ void reverse_tiled_kernel(const T *x, T *y, int64_t n) {
	__shared__ T tile[threads];
	const int64_t first = blockIdx.x * static_cast<int64_t>(threads);
	const int length = n - first < threads ? static_cast<int>(n - first) : threads;
	if (threadIdx.x < length) tile[threadIdx.x] = x[first + threadIdx.x];
	__syncthreads();
	if (threadIdx.x < length) y[n - first - length + threadIdx.x] = tile[length - 1 - threadIdx.x];
}

constexpr int packs = 2; // loads of 16 bytes in flight for each thread

// Moves 16 bytes at a time: pack p of y is the p-th pack of x from the end, turned in registers. Costs n that is a
// multiple of a pack: elsewhere the packs of x and y do not begin at the same elements.
template <class T> __global__ void __launch_bounds__(threads) reverse_vec_kernel(const T *x, T *y, int64_t n) {
	constexpr int V = triad::vector<T>;
	const int64_t all = n / V;
	for (int64_t first = blockIdx.x * static_cast<int64_t>(threads * packs) + threadIdx.x; first < all;
	     first += gridDim.x * static_cast<int64_t>(threads * packs)) {
		triad::Pack<T, V> in[packs];
#pragma unroll
		for (int p = 0; p < packs; p++)
			if (const int64_t at = first + p * threads; at < all) in[p] = triad::fetch<V>(x + (all - 1 - at) * V);
#pragma unroll
		for (int p = 0; p < packs; p++) {
			const int64_t at = first + p * threads;
			if (at >= all) continue;
			triad::Pack<T, V> out;
#pragma unroll
			for (int j = 0; j < V; j++) out.at[j] = in[p].at[V - 1 - j];
			triad::put(y + at * V, out);
		}
	}
}

// ---- launchers: the backward is the forward of dy -----------------------------------------------------------

template <class T> const T *input(const triad_call *call) { return static_cast<const T *>(call->in[0].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T> int reverse_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	reverse_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call), output<T>(call), n);
	return triad::launched();
}

template <class T> int reverse_tiled(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	reverse_tiled_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call), output<T>(call), n);
	return triad::launched();
}

template <class T> int reverse_vec(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	reverse_vec_kernel<T>
	    <<<triad::blocks_for(n, threads * packs * triad::vector<T>), threads, 0, triad::stream_of(call)>>>(
	        input<T>(call), output<T>(call), n);
	return triad::launched();
}

void whole_packs(triad::Check &check, const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]), pack = 16 / triad::element_bytes(call->in[0].dtype);
	check.that(n % pack == 0, "n %lld is not a multiple of %lld", static_cast<long long>(n), static_cast<long long>(pack));
}

triad::Limit packs_only() {
	return triad::limit("n a multiple of the elements in 16 bytes (4 in fp32, 8 in fp16 and bf16)", whole_packs);
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(reverse, naive, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(reverse_naive)))
TRIAD_KERNEL(reverse, tiled, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(reverse_tiled)))
TRIAD_KERNEL(reverse, vec, forward,
             .contract("exact").dtypes(triad::floats).outputs(1)
             .limits(triad::contiguous(), packs_only(), triad::aligned(16)).launch(TRIAD_BY_DTYPE(reverse_vec)))
TRIAD_KERNEL(reverse, naive, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(reverse_naive)))
TRIAD_KERNEL(reverse, tiled, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(reverse_tiled)))
TRIAD_KERNEL(reverse, vec, backward,
             .contract("exact").dtypes(triad::floats).outputs(1)
             .limits(triad::contiguous(), packs_only(), triad::aligned(16)).launch(TRIAD_BY_DTYPE(reverse_vec)))
