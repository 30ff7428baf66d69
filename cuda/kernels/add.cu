// add: z = x + y          backward: dx = dz, dy = dz
// Layout   x, y, z, dz, dx, dy: [rows, cols]; fp32, fp16, bf16; added in fp32. Outputs are contiguous. With one row, the vector addition.
// Limits   rows or cols = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   NVIDIA, CUDA C++ Programming Guide: vector addition
//   naive         a thread an element, any strides; the readable one, and the one to trust first. Costs: a
//                 division an element, which finds its row
//   grid_stride   as many threads as the device runs at once, each with every so many elements. Costs: a loop
//                 around the line; contiguous tensors
//   vec           16-byte accesses, two of them a thread and tensor before the first use. Costs: contiguous
//                 tensors that begin at a multiple of 16 bytes
#include "elementwise.cuh"
#include "spec/add.cuh"

namespace {

using triad::from_float;
using triad::to_float;

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void add_fwd_naive_kernel(triad::Matrix<const T> x, triad::Matrix<const T> y, T *z, int64_t cols, int64_t elements) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < elements) z[i] = from_float<T>(to_float(x(i / cols, i % cols)) + to_float(y(i / cols, i % cols)));
}

template <class T> __global__ void add_bwd_naive_kernel(triad::Matrix<const T> dz, T *dx, T *dy, int64_t cols, int64_t elements) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= elements) return;
	const T v = dz(i / cols, i % cols);
	if (dx != nullptr) dx[i] = v;
	if (dy != nullptr) dy[i] = v;
}

template <class T> __global__ void add_fwd_grid_stride_kernel(const T *x, const T *y, T *z, int64_t elements) {
	const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < elements; i += step)
		z[i] = from_float<T>(to_float(x[i]) + to_float(y[i]));
}

template <class T> __global__ void add_bwd_grid_stride_kernel(const T *dz, T *dx, T *dy, int64_t elements) {
	const int64_t step = gridDim.x * static_cast<int64_t>(blockDim.x);
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < elements; i += step) {
		const T v = dz[i];
		if (dx != nullptr) dx[i] = v;
		if (dy != nullptr) dy[i] = v;
	}
}

struct Forward {
	static constexpr int inputs = 2, outputs = 1;
	__device__ void operator()(const float (&in)[2], float (&out)[1]) const { out[0] = in[0] + in[1]; }
};

struct Backward {
	static constexpr int inputs = 1, outputs = 2;
	__device__ void operator()(const float (&in)[1], float (&out)[2]) const { out[0] = out[1] = in[0]; }
};

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int threads = 256;

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }
template <class T> triad::Matrix<const T> matrix(const triad_call *call, int i) { return triad::Matrix<const T>(call->in[i]); }

// resident is a grid that fills the device once: eight blocks of 256 threads on each multiprocessor.
unsigned resident(int64_t elements) {
	const unsigned all = triad::blocks_for(elements, threads);
	const unsigned at_once = 8 * static_cast<unsigned>(triad::device_attribute(cudaDevAttrMultiProcessorCount));
	return at_once > 0 && at_once < all ? at_once : all;
}

template <class T> int add_fwd_naive(const triad_call *call) {
	const int64_t cols = call->in[0].shape[1], n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	add_fwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call, 0), matrix<T>(call, 1), output<T>(call, 0), cols, n);
	return triad::launched();
}

template <class T> int add_bwd_naive(const triad_call *call) {
	const int64_t cols = call->in[0].shape[1], n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	add_bwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call, 0), output<T>(call, 0), output<T>(call, 1), cols, n);
	return triad::launched();
}

template <class T> int add_fwd_grid_stride(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	add_fwd_grid_stride_kernel<T><<<resident(n), threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), output<T>(call, 0), n);
	return triad::launched();
}

template <class T> int add_bwd_grid_stride(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	add_bwd_grid_stride_kernel<T><<<resident(n), threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), output<T>(call, 0), output<T>(call, 1), n);
	return triad::launched();
}

template <class T> int add_fwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Forward()); }
template <class T> int add_bwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Backward()); }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(add, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(add_fwd_naive)))
TRIAD_KERNEL(add, grid_stride, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(add_fwd_grid_stride)))
TRIAD_KERNEL(add, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).launch(TRIAD_BY_DTYPE(add_fwd_vec)))
TRIAD_KERNEL(add, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).launch(TRIAD_BY_DTYPE(add_bwd_naive)))
TRIAD_KERNEL(add, grid_stride, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(add_bwd_grid_stride)))
TRIAD_KERNEL(add, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(triad::whole_vectors()).launch(TRIAD_BY_DTYPE(add_bwd_vec)))
