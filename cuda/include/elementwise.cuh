// elementwise.cuh: a function of the elements at one place, applied to whole tensors with 16-byte accesses.
//
//   struct Silu {
//       static constexpr int inputs = 1, outputs = 1;
//       __device__ void operator()(const float (&in)[1], float (&out)[1]) const { out[0] = in[0] * triad::sigmoid(in[0]).value; }
//   };
//   template <class T> int silu_fwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Silu()); }
//
// All tensors are contiguous, of one dtype and as many elements; outputs that are not wanted are left out.
#ifndef TRIAD_ELEMENTWISE_CUH
#define TRIAD_ELEMENTWISE_CUH
#include <cuda_runtime.h>

#include "arguments.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"

namespace triad {

template <class T, class F> struct ElementwiseTensors {
	const T *in[F::inputs];
	T *out[F::outputs];
};

// N neighbouring elements of every tensor, as fetched.
template <int N, class T, class F>
__device__ inline void elementwise_pack(const ElementwiseTensors<T, F> &tensors, const Pack<T, N> (&packs)[F::inputs], int64_t at, F f) {
	float in[F::inputs][N], out[F::outputs][N];
#pragma unroll
	for (int i = 0; i < F::inputs; i++) unpack(packs[i], in[i]);
#pragma unroll
	for (int j = 0; j < N; j++) {
		float x[F::inputs], y[F::outputs];
#pragma unroll
		for (int i = 0; i < F::inputs; i++) x[i] = in[i][j];
		f(x, y);
#pragma unroll
		for (int o = 0; o < F::outputs; o++) out[o][j] = y[o];
	}
#pragma unroll
	for (int o = 0; o < F::outputs; o++)
		if (tensors.out[o] != nullptr) store(tensors.out[o] + at, out[o]);
}

// A block takes Threads * Packs packs; a thread's packs lie Threads packs apart, so that a warp reads 512
// bytes in a row, and all of them are fetched before the first use. The last block may be partly empty; what
// is left of the last pack goes element by element.
template <class T, class F, int Threads, int Packs>
__global__ void __launch_bounds__(Threads) elementwise_vec_kernel(ElementwiseTensors<T, F> tensors, int64_t elements, F f) {
	constexpr int V = vector<T>;
	constexpr int64_t per_block = static_cast<int64_t>(Threads) * Packs * V;
	for (int64_t first = blockIdx.x * per_block + threadIdx.x * V; first < elements; first += gridDim.x * per_block) {
		Pack<T, V> packs[Packs][F::inputs];
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t at = first + p * Threads * V;
			if (at + V <= elements) {
#pragma unroll
				for (int i = 0; i < F::inputs; i++) packs[p][i] = fetch<V>(tensors.in[i] + at);
			}
		}
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t at = first + p * Threads * V;
			if (at + V <= elements) {
				elementwise_pack<V>(tensors, packs[p], at, f);
			} else {
#pragma unroll 1
				for (int64_t one = at; one < elements; one++) {
					Pack<T, 1> single[F::inputs];
#pragma unroll
					for (int i = 0; i < F::inputs; i++) single[i] = fetch<1>(tensors.in[i] + one);
					elementwise_pack<1>(tensors, single, one, f);
				}
			}
		}
	}
}

template <class T, class F> int elementwise_vec(const triad_call *call, F f) {
	constexpr int threads = 256, packs = 2; // loads of 16 bytes in flight for each input of a thread
	const int64_t n = elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	ElementwiseTensors<T, F> tensors;
	for (int i = 0; i < F::inputs; i++) tensors.in[i] = static_cast<const T *>(call->in[i].data);
	for (int i = 0; i < F::outputs; i++) tensors.out[i] = static_cast<T *>(call->out[i].data);
	elementwise_vec_kernel<T, F, threads, packs>
	    <<<blocks_for(n, threads * packs * vector<T>), threads, 0, stream_of(call)>>>(tensors, n, f);
	return launched();
}

} // namespace triad
#endif
