// swiglu: y = gate * sigmoid(gate) * up, sigmoid(g) = 1 / (1 + exp(-g))
// backward with s = sigmoid(gate):  dup = dy * gate * s;  dgate = dy * up * s * (1 + gate * (1 - s)).  s is computed again, never stored.
// Layout   gate, up, y and all gradients: [rows, cols]; fp32, fp16, bf16; computed in fp32. Outputs are contiguous.
// Limits   rows or cols = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  gate = -inf gives -inf * 0 = NaN, as the formula says.
// Source   Shazeer 2020, arXiv:2002.05202
//   naive   a thread an element, any strides; the readable one, and the one to trust first. Costs: a division
//           an element, which finds its row
//   vec     16-byte accesses, two of them a thread and tensor before the first use. Inputs may be halves of a
//           wider matrix, as gate and up are where one product makes both. Costs: contiguous tensors or rows of
//           whole vectors, that begin at a multiple of 16 bytes
#include <type_traits>

#include "arguments.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "sigmoid.cuh"
#include "spec/swiglu.cuh"

namespace {

using triad::from_float;
using triad::sigmoid;
using triad::to_float;

// ---- formulas ---------------------------------------------------------------------------------------------------------------------------

__device__ inline float silu(float gate) { return gate * sigmoid(gate).value; }

struct Gradients {
	float gate, up;
};

__device__ inline Gradients gradients(float gate, float up, float dy) {
	const triad::Sigmoid s = sigmoid(gate);
	return {dy * up * (s.value * (1.0f + gate * s.rest)), dy * (gate * s.value)};
}

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void swiglu_fwd_naive_kernel(triad::Matrix<const T> gate, triad::Matrix<const T> up, T *y, int64_t cols, int64_t elements) {
	const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < elements; i += step) {
		const int64_t r = i / cols, c = i % cols;
		y[i] = from_float<T>(silu(to_float(gate(r, c))) * to_float(up(r, c)));
	}
}

template <class T>
__global__ void swiglu_bwd_naive_kernel(triad::Matrix<const T> gate, triad::Matrix<const T> up, triad::Matrix<const T> dy, T *dgate, T *dup,
                                        int64_t cols, int64_t elements) {
	const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < elements; i += step) {
		const int64_t r = i / cols, c = i % cols;
		const Gradients d = gradients(to_float(gate(r, c)), to_float(up(r, c)), to_float(dy(r, c)));
		if (dgate != nullptr) dgate[i] = from_float<T>(d.gate);
		if (dup != nullptr) dup[i] = from_float<T>(d.up);
	}
}

// N neighbouring elements of every tensor, as fetched.
template <int N, class T> __device__ inline void forward_pack(triad::Pack<T, N> gate, triad::Pack<T, N> up, T *y) {
	float g[N], u[N];
	triad::unpack(gate, g);
	triad::unpack(up, u);
#pragma unroll
	for (int j = 0; j < N; j++) g[j] = silu(g[j]) * u[j];
	triad::store(y, g);
}

template <int N, class T>
__device__ inline void backward_pack(triad::Pack<T, N> gate, triad::Pack<T, N> up, triad::Pack<T, N> dy, T *dgate, T *dup, int64_t at) {
	float g[N], u[N], d[N];
	triad::unpack(gate, g);
	triad::unpack(up, u);
	triad::unpack(dy, d);
#pragma unroll
	for (int j = 0; j < N; j++) {
		const Gradients out = gradients(g[j], u[j], d[j]);
		g[j] = out.gate;
		u[j] = out.up;
	}
	if (dgate != nullptr) triad::store(dgate + at, g);
	if (dup != nullptr) triad::store(dup + at, u);
}

// In which row a pack lies. Contiguous inputs need none; else rows are whole packs, and those of an input begin `longer` elements behind the end of
// the one before.
template <bool Apart> struct Place {
	int64_t cols;

	__device__ int64_t row(int64_t i) const {
		if constexpr (!Apart) return 0;
		if ((i | cols) >> 32 == 0) return static_cast<uint32_t>(i) / static_cast<uint32_t>(cols); // two divisions of 32 bits are quicker than one of 64
		return i / cols;
	}
};

// A block takes Threads * Packs packs; a thread's packs lie Threads packs apart, so that a warp reads 512 bytes in a row, and all of them
// are fetched before the first use. The last block may be partly empty; what is left of the last pack goes element by element.
template <class T, int Threads, int Packs, bool Apart>
__global__ void __launch_bounds__(Threads)
    swiglu_fwd_vec_kernel(const T *__restrict__ gate, const T *__restrict__ up, T *__restrict__ y, int64_t elements, Place<Apart> place,
                          int64_t longer_gate, int64_t longer_up) {
	constexpr int V = triad::vector<T>;
	constexpr int64_t per_block = static_cast<int64_t>(Threads) * Packs * V;
	for (int64_t first = blockIdx.x * per_block + threadIdx.x * V; first < elements; first += gridDim.x * per_block) {
		triad::Pack<T, V> g[Packs], u[Packs];
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t i = first + p * Threads * V;
			if (i + V <= elements) {
				const int64_t row = place.row(i);
				g[p] = triad::fetch<V>(gate + i + row * longer_gate);
				u[p] = triad::fetch<V>(up + i + row * longer_up);
			}
		}
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t i = first + p * Threads * V;
			if (i + V <= elements) {
				forward_pack(g[p], u[p], y + i);
			} else {
#pragma unroll 1
				for (int64_t one = i; one < elements; one++) forward_pack(triad::fetch<1>(gate + one), triad::fetch<1>(up + one), y + one);
			}
		}
	}
}

template <class T, int Threads, int Packs, bool Apart>
__global__ void __launch_bounds__(Threads)
    swiglu_bwd_vec_kernel(const T *__restrict__ gate, const T *__restrict__ up, const T *__restrict__ dy, T *__restrict__ dgate,
                          T *__restrict__ dup, int64_t elements, Place<Apart> place, int64_t longer_gate, int64_t longer_up, int64_t longer_dy) {
	constexpr int V = triad::vector<T>;
	constexpr int64_t per_block = static_cast<int64_t>(Threads) * Packs * V;
	for (int64_t first = blockIdx.x * per_block + threadIdx.x * V; first < elements; first += gridDim.x * per_block) {
		triad::Pack<T, V> g[Packs], u[Packs], d[Packs];
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t i = first + p * Threads * V;
			if (i + V <= elements) {
				const int64_t row = place.row(i);
				g[p] = triad::fetch<V>(gate + i + row * longer_gate);
				u[p] = triad::fetch<V>(up + i + row * longer_up);
				d[p] = triad::fetch<V>(dy + i + row * longer_dy);
			}
		}
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t i = first + p * Threads * V;
			if (i + V <= elements) {
				backward_pack(g[p], u[p], d[p], dgate, dup, i);
			} else {
#pragma unroll 1
				for (int64_t one = i; one < elements; one++)
					backward_pack(triad::fetch<1>(gate + one), triad::fetch<1>(up + one), triad::fetch<1>(dy + one), dgate, dup, one);
			}
		}
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int threads = 256;
constexpr int packs = 2; // loads of 16 bytes in flight for each input of a thread

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }
template <class T> triad::Matrix<const T> matrix(const triad_call *call, int i) { return triad::Matrix<const T>(call->in[i]); }

template <class T> int swiglu_fwd_naive(const triad_call *call) {
	const int64_t cols = call->in[0].shape[1], elements = triad::elements(call->in[0]);
	if (elements == 0) return TRIAD_OK;
	swiglu_fwd_naive_kernel<T><<<triad::blocks_for(elements, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call, 0), matrix<T>(call, 1), output<T>(call, 0), cols, elements);
	return triad::launched();
}

template <class T> int swiglu_bwd_naive(const triad_call *call) {
	const int64_t cols = call->in[0].shape[1], elements = triad::elements(call->in[0]);
	if (elements == 0) return TRIAD_OK;
	swiglu_bwd_naive_kernel<T><<<triad::blocks_for(elements, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call, 0), matrix<T>(call, 1), matrix<T>(call, 2), output<T>(call, 0), output<T>(call, 1), cols, elements);
	return triad::launched();
}

// by_place calls f with Place<false> where all inputs are contiguous.
template <class F> int by_place(const triad_call *call, F f) {
	const int64_t cols = call->in[0].shape[1];
	for (int i = 0; i < call->n_in; i++)
		if (!triad::is_contiguous(call->in[i])) return f(Place<true>{cols});
	return f(Place<false>{cols});
}

// How many elements a row of an input is apart from the end of the one before.
int64_t longer(const triad_call *call, int i) { return call->in[i].stride[0] - call->in[i].shape[1]; }

template <class T> int swiglu_fwd_vec(const triad_call *call) {
	const int64_t elements = triad::elements(call->in[0]);
	if (elements == 0) return TRIAD_OK;
	return by_place(call, [&](auto place) {
		constexpr bool apart = std::is_same_v<decltype(place), Place<true>>;
		swiglu_fwd_vec_kernel<T, threads, packs, apart>
		    <<<triad::blocks_for(elements, threads * packs * triad::vector<T>), threads, 0, triad::stream_of(call)>>>(
		        input<T>(call, 0), input<T>(call, 1), output<T>(call, 0), elements, place, longer(call, 0), longer(call, 1));
		return triad::launched();
	});
}

template <class T> int swiglu_bwd_vec(const triad_call *call) {
	const int64_t elements = triad::elements(call->in[0]);
	if (elements == 0) return TRIAD_OK;
	return by_place(call, [&](auto place) {
		constexpr bool apart = std::is_same_v<decltype(place), Place<true>>;
		swiglu_bwd_vec_kernel<T, threads, packs, apart>
		    <<<triad::blocks_for(elements, threads * packs * triad::vector<T>), threads, 0, triad::stream_of(call)>>>(
		        input<T>(call, 0), input<T>(call, 1), input<T>(call, 2), output<T>(call, 0), output<T>(call, 1), elements, place,
		        longer(call, 0), longer(call, 1), longer(call, 2));
		return triad::launched();
	});
}

// Inputs of vec.
void check_rows(triad::Check &check, const triad_call *call) {
	const char *const names[] = {"gate", "up", "grad_y"};
	for (int i = 0; i < call->n_in; i++)
		if (!triad::is_contiguous(call->in[i])) check.vector_rows(call->in[i], names[i]);
}

triad::Limits vec() { return {triad::limit("tensors contiguous, or of rows that are whole vectors of 16 bytes", check_rows), triad::aligned(16)}; }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(swiglu, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(swiglu_fwd_naive)))
TRIAD_KERNEL(swiglu, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(vec()).launch(TRIAD_BY_DTYPE(swiglu_fwd_vec)))
TRIAD_KERNEL(swiglu, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).launch(TRIAD_BY_DTYPE(swiglu_bwd_naive)))
TRIAD_KERNEL(swiglu, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(vec()).launch(TRIAD_BY_DTYPE(swiglu_bwd_vec)))
