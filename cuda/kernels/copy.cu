// copy: y[r,c] = x[r,c]          backward: dx = dy
// Layout   x, y, dy, dx: [rows, cols]; fp32, fp16, bf16: elements are moved, never converted. Outputs are contiguous.
// Limits   rows or cols = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Harris 2013, An Efficient Matrix Transpose in CUDA C/C++, NVIDIA developer blog
//   naive   a thread an element, any strides; the readable one, and the one to trust first. Costs: a division
//           an element, which finds its row
//   block   a block of 32 x 8 threads for each 32 x 32 elements: a row and a column are known without a
//           division. Costs: threads without an element where the matrix ends inside a square
//   vec     16-byte accesses, one of them a thread. Costs: contiguous tensors that begin at a multiple of 16
//           bytes
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/copy.cuh"

namespace {

// ---- kernels ------------------------------------------------------------------------------------------------

// One division an element finds the row. Of a contiguous x a warp reads and writes 32 neighbours.
template <class T> __global__ void copy_naive_kernel(triad::Matrix<const T> x, T *y, int64_t cols, int64_t elements) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < elements) y[i] = x(i / cols, i % cols);
}

constexpr int edge = 32; // of the square that a block copies
constexpr int warps = 8; // of a block: each has every eighth row of the square

// Adds two dims to the block: threadIdx.x is the column and threadIdx.y the row, and four rows a thread hide some of
// the time that a load takes. Costs idle threads where the matrix ends inside a square.
template <class T> __global__ void copy_block_kernel(triad::Matrix<const T> x, T *y, int64_t rows, int64_t cols) {
	const int64_t across = (cols + edge - 1) / edge;
	const int64_t col = blockIdx.x % across * edge + threadIdx.x;
	const int64_t first = blockIdx.x / across * edge + threadIdx.y;
	if (col >= cols) return;
#pragma unroll
	for (int r = 0; r < edge; r += warps)
		if (first + r < rows) y[(first + r) * cols + col] = x(first + r, col);
}

constexpr int threads = 256;

// Moves 16 bytes at a time, one access a thread: what limits a copy is how many bytes are in flight, and so many short blocks keep more of them there
// than fewer with several loads a thread. Wants tensors without gaps; what is left of the last pack goes element by element.
template <class T> __global__ void __launch_bounds__(threads) copy_vec_kernel(const T *x, T *y, int64_t elements) {
	constexpr int V = triad::vector<T>;
	const int64_t at = (blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x) * V;
	if (at + V <= elements) triad::put(y + at, triad::fetch<V>(x + at));
	else
		for (int64_t i = at; i < elements; i++) y[i] = x[i];
}

// ---- launchers: the backward is the forward of dy -----------------------------------------------------------

template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
template <class T> triad::Matrix<const T> matrix(const triad_call *call) { return triad::Matrix<const T>(call->in[0]); }

template <class T> int copy_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	copy_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call), output<T>(call), call->in[0].shape[1], n);
	return triad::launched();
}

template <class T> int copy_block(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows * cols == 0) return TRIAD_OK;
	const int64_t squares = (rows + edge - 1) / edge * ((cols + edge - 1) / edge);
	copy_block_kernel<T><<<static_cast<unsigned>(squares), dim3(edge, warps), 0, triad::stream_of(call)>>>(
	    matrix<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int copy_vec(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	copy_vec_kernel<T>
	    <<<triad::blocks_for(n, threads * triad::vector<T>), threads, 0, triad::stream_of(call)>>>(
	        static_cast<const T *>(call->in[0].data), output<T>(call), n);
	return triad::launched();
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(copy, naive, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(copy_naive)))
TRIAD_KERNEL(copy, block, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(copy_block)))
TRIAD_KERNEL(copy, vec, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(copy_vec)))
TRIAD_KERNEL(copy, naive, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(copy_naive)))
TRIAD_KERNEL(copy, block, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(copy_block)))
TRIAD_KERNEL(copy, vec, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(copy_vec)))
