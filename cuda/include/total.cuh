// total.cuh: y = result(term(0) + term(1) + ... + term(n-1)), one number; a ladder of four kernels for any term.
//
//   struct Product {
//       static constexpr int inputs = 2;
//       __device__ float operator()(const float (&in)[2]) const { return in[0] * in[1]; }
//       __device__ static float result(float total, float n) { return total; }
//   };
//   template <class T> int dot_fwd_tree(const triad_call *call) { return triad::total_tree<T, Product>(call); }
//
// Layout   inputs: [n], contiguous, of one dtype; y: [1]; terms and sums in fp32. Without elements the total is 0.
//   atomic  a thread adds up every so-many-th term and then adds its sum to one number in memory. The order of these
//           additions is that in which threads arrive: two runs may differ in the last bits. They queue up at one
//           address.
//   tree    a block adds up in shared memory, half of its threads fewer at each step, and a second launch adds up
//           the sums of the blocks: the same bits in every run. A step costs a barrier.
//   warp    as tree, but the 32 threads of a warp pass their sums by shuffles: two barriers in place of eight
//   vec     as warp, with 16-byte loads, four of them a thread before the first use
#ifndef TRIAD_TOTAL_CUH
#define TRIAD_TOTAL_CUH
#include "arguments.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"

namespace triad {

constexpr int total_threads = 256;
constexpr int total_blocks = 1024; // that many run at once on a large GPU; each leaves one sum in the workspace

template <class T, class Term> struct Terms {
	const T *in[Term::inputs];
	int64_t n;

	// at is the term of element i.
	__device__ float at(int64_t i) const {
		float x[Term::inputs];
#pragma unroll
		for (int k = 0; k < Term::inputs; k++) x[k] = to_float(in[k][i]);
		return Term()(x);
	}

	// of_thread is the sum of the terms that fall to this thread: threads of a warp read neighbours.
	__device__ float of_thread() const {
		LongSum sum;
		const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
		for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) sum.add(at(i));
		return sum.total();
	}
};

// blocks_of_total is the grid of the first stage, at least one block.
inline unsigned blocks_of_total(int64_t n, int64_t per_block) {
	const unsigned all = blocks_for(n, per_block);
	return all < 1 ? 1 : all > total_blocks ? total_blocks : all;
}

inline int64_t one_sum(const triad_call *) { return sizeof(float); }
inline int64_t sum_a_block(const triad_call *) { return total_blocks * sizeof(float); }

inline float *sums_of(const triad_call *call) { return static_cast<float *>(call->workspace); }
template <class T> T *total_of(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T, class Term> Terms<T, Term> terms_of(const triad_call *call) {
	Terms<T, Term> terms;
	for (int k = 0; k < Term::inputs; k++) terms.in[k] = static_cast<const T *>(call->in[k].data);
	terms.n = elements(call->in[0]);
	return terms;
}

// ---- atomic -------------------------------------------------------------------------------------------------

template <class T, class Term> __global__ void total_atomic_kernel(Terms<T, Term> terms, float *total) {
	atomicAdd(total, terms.of_thread());
}

template <class T, class Term> __global__ void total_store_kernel(const float *total, T *y, float n) {
	*y = from_float<T>(Term::result(*total, n));
}

template <class T, class Term> int total_atomic(const triad_call *call) {
	const Terms<T, Term> terms = terms_of<T, Term>(call);
	if (const cudaError_t error = cudaMemsetAsync(sums_of(call), 0, sizeof(float), stream_of(call))) return error;
	if (terms.n > 0)
		total_atomic_kernel<T, Term>
		    <<<blocks_of_total(terms.n, total_threads), total_threads, 0, stream_of(call)>>>(terms, sums_of(call));
	total_store_kernel<T, Term>
	    <<<1, 1, 0, stream_of(call)>>>(sums_of(call), total_of<T>(call), static_cast<float>(terms.n));
	return launched();
}

// ---- tree and warp: a sum a block, then one block adds these up ---------------------------------------------

// Tree: thread 0 gets the sum over the block.
struct Tree {
	__device__ float operator()(float v) const {
		__shared__ float sums[total_threads];
		sums[threadIdx.x] = v;
		for (int half = total_threads / 2; half > 0; half /= 2) {
			__syncthreads();
			if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
		}
		return threadIdx.x == 0 ? sums[0] : 0.0f;
	}
};

// Shuffles: thread 0 gets the sum over the block: that of each warp, and of these in the first warp.
struct Shuffles {
	// warp: lane 0 gets the sum over the warp.
	__device__ static float warp(float v) {
		for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(0xffffffffu, v, lanes);
		return v;
	}
	__device__ float operator()(float v) const {
		__shared__ float sums[total_threads / 32];
		v = warp(v);
		if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
		__syncthreads();
		return threadIdx.x < 32 ? warp(threadIdx.x < total_threads / 32 ? sums[threadIdx.x] : 0.0f) : 0.0f;
	}
};

// Block b writes the sum of its terms to sums[b].
template <class T, class Term, class BlockSum> __global__ void total_blocks_kernel(Terms<T, Term> terms, float *sums) {
	const float sum = BlockSum()(terms.of_thread());
	if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One block adds up the sums of the others.
template <class T, class Term, class BlockSum>
__global__ void total_finish_kernel(const float *sums, T *y, int parts, float n) {
	float sum = 0.0f;
	for (int i = threadIdx.x; i < parts; i += total_threads) sum += sums[i];
	sum = BlockSum()(sum);
	if (threadIdx.x == 0) *y = from_float<T>(Term::result(sum, n));
}

template <class T, class Term, class BlockSum> int total_finished(const triad_call *call, unsigned parts, int64_t n) {
	total_finish_kernel<T, Term, BlockSum><<<1, total_threads, 0, stream_of(call)>>>(
	    sums_of(call), total_of<T>(call), static_cast<int>(parts), static_cast<float>(n));
	return launched();
}

template <class T, class Term, class BlockSum> int total_by(const triad_call *call) {
	const Terms<T, Term> terms = terms_of<T, Term>(call);
	const unsigned parts = blocks_of_total(terms.n, total_threads);
	total_blocks_kernel<T, Term, BlockSum><<<parts, total_threads, 0, stream_of(call)>>>(terms, sums_of(call));
	return total_finished<T, Term, BlockSum>(call, parts, terms.n);
}

template <class T, class Term> int total_tree(const triad_call *call) { return total_by<T, Term, Tree>(call); }
template <class T, class Term> int total_warp(const triad_call *call) { return total_by<T, Term, Shuffles>(call); }

// ---- vec ----------------------------------------------------------------------------------------------------

template <class T, class Term>
__global__ void __launch_bounds__(total_threads) total_vec_kernel(Terms<T, Term> terms, float *sums) {
	constexpr int V = vector<T>, packs = 4 / Term::inputs; // four loads of 16 bytes in flight for each thread
	static_assert(packs == 2 || packs == 4, "the sums of packs are added in pairs");
	constexpr int64_t tile = static_cast<int64_t>(total_threads) * packs * V;
	float sum = 0.0f;
	int64_t first = blockIdx.x * tile;
	for (; first + tile <= terms.n; first += gridDim.x * tile) {
		Pack<T, V> pack[packs][Term::inputs];
#pragma unroll
		for (int p = 0; p < packs; p++)
#pragma unroll
			for (int k = 0; k < Term::inputs; k++)
				pack[p][k] = fetch<V>(terms.in[k] + first + (p * total_threads + threadIdx.x) * V);
		float part[packs] = {};
#pragma unroll
		for (int p = 0; p < packs; p++) {
			float in[Term::inputs][V];
#pragma unroll
			for (int k = 0; k < Term::inputs; k++) unpack(pack[p][k], in[k]);
#pragma unroll
			for (int j = 0; j < V; j++) {
				float x[Term::inputs];
#pragma unroll
				for (int k = 0; k < Term::inputs; k++) x[k] = in[k][j];
				part[p] += Term()(x);
			}
		}
		float all = part[0] + part[1];
		if constexpr (packs == 4) all += part[2] + part[3];
		sum += all;
	}
	// what is left is less than a tile, and the block's whose turn it is
	for (int64_t i = first + threadIdx.x; i < terms.n; i += total_threads) sum += terms.at(i);
	sum = Shuffles()(sum);
	if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T, class Term> int total_vec(const triad_call *call) {
	const Terms<T, Term> terms = terms_of<T, Term>(call);
	const unsigned parts = blocks_of_total(terms.n, total_threads * (4 / Term::inputs) * vector<T>);
	total_vec_kernel<T, Term><<<parts, total_threads, 0, stream_of(call)>>>(terms, sums_of(call));
	return total_finished<T, Term, Shuffles>(call, parts, terms.n);
}

} // namespace triad
#endif
