// gemv: y[r] = sum_c a[r,c] * x[c]
// Layout   a [rows, cols], x [cols], y [rows]; fp32, fp16, bf16; multiplied and added in fp32.
// Limits   rows = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Dongarra et al. 1988, An extended set of Fortran basic linear algebra subprograms
//   naive   a thread a row, any strides; the readable one, and the one to trust first. Threads of a warp read 32 rows, cols elements apart.
//   warp    a warp a row: its threads read neighbours and pass their sums by shuffles; any strides. Costs:
//           lanes without an element where rows are short
//   block   a block a row, for few and long rows: the sums of its warps go through shared memory. Costs: a
//           barrier, and most of a block where rows are short
//   vec     16-byte loads, eight of them a thread before the first use, of up to four rows for one of x;
//           where rows are few, their columns are split among blocks, whose sums a second launch adds in a
//           fixed order. Costs: registers; rows of whole packs
//   cublas  NVIDIA's library, where it is found at run time: a product of matrices, one of which has one
//           column. Costs: a library that has to be there
#include "cublas_library.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/gemv.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// ---- kernels ------------------------------------------------------------------------------------------------

template <class T>
__global__ void gemv_naive_kernel(triad::Matrix<const T> a, triad::Vector<const T> x, T *y, int64_t rows, int64_t cols) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (r >= rows) return;
	triad::LongSum sum;
	for (int64_t c = 0; c < cols; c++) sum.add(to_float(a(r, c)) * to_float(x(c)));
	y[r] = from_float<T>(sum.total());
}

// products is the sum of every so-many-th product of a row, from `first` on.
template <class T>
__device__ float products(triad::Matrix<const T> a, triad::Vector<const T> x, int64_t r, int64_t cols, int first, int step) {
	triad::LongSum sum;
	for (int64_t c = first; c < cols; c += step) sum.add(to_float(a(r, c)) * to_float(x(c)));
	return sum.total();
}

// warp_sum: lane 0 gets the sum over the warp.
__device__ float warp_sum(float v) {
	for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(0xffffffffu, v, lanes);
	return v;
}

// block_sum: thread 0 gets the sum over the block: that of each warp, and of these in the first warp.
__device__ float block_sum(float v) {
	__shared__ float sums[threads / 32];
	v = warp_sum(v);
	if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
	__syncthreads();
	return threadIdx.x < 32 ? warp_sum(threadIdx.x < threads / 32 ? sums[threadIdx.x] : 0.0f) : 0.0f;
}

template <class T>
__global__ void gemv_warp_kernel(triad::Matrix<const T> a, triad::Vector<const T> x, T *y, int64_t rows, int64_t cols) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(threads / 32) + threadIdx.x / 32;
	if (r >= rows) return; // a whole warp leaves
	const float sum = warp_sum(products(a, x, r, cols, threadIdx.x % 32, 32));
	if (threadIdx.x % 32 == 0) y[r] = from_float<T>(sum);
}

template <class T>
__global__ void gemv_block_kernel(triad::Matrix<const T> a, triad::Vector<const T> x, T *y, int64_t cols) {
	const float sum = block_sum(products(a, x, blockIdx.x, cols, threadIdx.x, threads));
	if (threadIdx.x == 0) y[blockIdx.x] = from_float<T>(sum);
}

// block_sums: the sums over the block of each of Rows values; the first lane of every 8 of the first Rows * 8 threads gets one.
template <int Rows> __device__ float block_sums(const float (&v)[Rows]) {
	constexpr int warps = threads / 32;
	static_assert(Rows * warps <= 32, "the first warp adds up");
	__shared__ float sums[Rows * warps];
#pragma unroll
	for (int r = 0; r < Rows; r++) {
		const float sum = warp_sum(v[r]);
		if (threadIdx.x % 32 == 0) sums[r * warps + threadIdx.x / 32] = sum;
	}
	__syncthreads();
	if (threadIdx.x >= 32) return 0.0f;
	float sum = threadIdx.x < Rows * warps ? sums[threadIdx.x] : 0.0f;
	for (int lanes = warps / 2; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes, warps);
	return sum;
}

// A block adds up the products of Rows rows, or of a part of each, which it writes to y[r * parts + p]. All of a is read once, and x from the
// cache: the loads of a, 8 for each thread, are what is waited for, so they come first. A pack of x is read once for all of the rows.
template <class T, class Y, int Rows>
__global__ void __launch_bounds__(threads)
    gemv_vec_kernel(triad::Rows<const T> a, const T *x, Y *y, int64_t rows, int64_t cols, int64_t length, int parts) {
	constexpr int V = triad::vector<T>, packs = 8 / Rows;
	constexpr int step = threads * V; // columns that a block reads with one load of each thread
	const int64_t first = blockIdx.x % parts * length, end = first + length < cols ? first + length : cols;
	const int64_t first_row = blockIdx.x / parts * static_cast<int64_t>(Rows);
	const T *row[Rows];
#pragma unroll
	for (int r = 0; r < Rows; r++) row[r] = a.row(first_row + r < rows ? first_row + r : rows - 1);
	float part[packs][Rows] = {};
	for (int64_t c = first + threadIdx.x * V; c < end; c += packs * step) {
		triad::Pack<T, V> of_a[packs][Rows];
#pragma unroll
		for (int p = 0; p < packs; p++)
#pragma unroll
			for (int r = 0; r < Rows; r++)
				if (c + p * step < end) of_a[p][r] = triad::fetch<V>(row[r] + c + p * step);
#pragma unroll
		for (int p = 0; p < packs; p++) {
			if (c + p * step >= end) continue;
			float u[V], v[V];
			triad::load(x + c + p * step, v);
#pragma unroll
			for (int r = 0; r < Rows; r++) {
				triad::unpack(of_a[p][r], u);
#pragma unroll
				for (int j = 0; j < V; j++) part[p][r] += u[j] * v[j];
			}
		}
	}
	float whole[Rows] = {};
#pragma unroll
	for (int p = 0; p < packs; p++)
#pragma unroll
		for (int r = 0; r < Rows; r++) whole[r] += part[p][r];
	const float sum = block_sums(whole);
	const int64_t own = first_row + threadIdx.x / (threads / 32);
	if (threadIdx.x % (threads / 32) == 0 && threadIdx.x < Rows * threads / 32 && own < rows) y[own * parts + blockIdx.x % parts] = from_float<Y>(sum);
}

template <class T> __global__ void gemv_finish_kernel(const float *sums, T *y, int64_t rows, int parts) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (r >= rows) return;
	float sum = 0.0f;
	for (int p = 0; p < parts; p++) sum += sums[r * parts + p];
	y[r] = from_float<T>(sum);
}

// ---- launchers ----------------------------------------------------------------------------------------------

template <class T> triad::Matrix<const T> matrix(const triad_call *call) { return triad::Matrix<const T>(call->in[0]); }
template <class T> triad::Vector<const T> vector(const triad_call *call) { return triad::Vector<const T>(call->in[1]); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T> int gemv_naive(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows == 0) return TRIAD_OK;
	gemv_naive_kernel<T><<<triad::blocks_for(rows, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call), vector<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int gemv_warp(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows == 0) return TRIAD_OK;
	gemv_warp_kernel<T><<<triad::blocks_for(rows, threads / 32), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call), vector<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int gemv_block(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows == 0) return TRIAD_OK;
	gemv_block_kernel<T><<<static_cast<unsigned>(rows), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call), vector<T>(call), output<T>(call), cols);
	return triad::launched();
}

constexpr int64_t enough_blocks = 1024; // fill a large GPU
constexpr int64_t least_length = 4096;  // columns of a part: less is not worth a block

// parts is among how many blocks the columns of a row are split.
int parts(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows == 0 || rows >= enough_blocks) return 1;
	const int64_t wanted = (enough_blocks + rows - 1) / rows, most = (cols + least_length - 1) / least_length;
	return static_cast<int>(wanted < most ? wanted : most);
}

int64_t part_sums(const triad_call *call) {
	return parts(call) == 1 ? 0 : call->in[0].shape[0] * parts(call) * static_cast<int64_t>(sizeof(float));
}

// Rows of a block each, whole, or one in parts.
template <class T, int Rows, class Y> int launch_vec(const triad_call *call, Y *y, int split) {
	constexpr int64_t V = triad::vector<T>;
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	const int64_t length = ((cols + split - 1) / split + V - 1) / V * V; // parts begin at whole packs
	gemv_vec_kernel<T, Y, Rows><<<static_cast<unsigned>((rows + Rows - 1) / Rows * split), threads, 0, triad::stream_of(call)>>>(
	    triad::Rows<const T>(call->in[0]), static_cast<const T *>(call->in[1].data), y, rows, cols, length, split);
	return triad::launched();
}

template <class T> int gemv_vec(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0];
	if (rows == 0) return TRIAD_OK;
	if (rows >= 16 * enough_blocks) return launch_vec<T, 4>(call, output<T>(call), 1);
	if (rows >= 4 * enough_blocks) return launch_vec<T, 2>(call, output<T>(call), 1);
	const int split = parts(call);
	if (split == 1) return launch_vec<T, 1>(call, output<T>(call), 1);
	float *sums = static_cast<float *>(call->workspace);
	if (const int status = launch_vec<T, 1>(call, sums, split)) return status;
	gemv_finish_kernel<T><<<triad::blocks_for(rows, threads), threads, 0, triad::stream_of(call)>>>(sums, output<T>(call), rows, split);
	return triad::launched();
}

// ---- cublas -------------------------------------------------------------------------------------------------

#ifdef __CUEMU__
void check_cublas(triad::Check &check, const triad_call *) { check.that(false, "cuBLAS runs on a GPU alone"); }
int64_t cublas_workspace(const triad_call *) { return 0; }
template <class T> int gemv_cublas(const triad_call *) { return TRIAD_UNSUPPORTED; }
#else
// by_columns: a as cuBLAS sees it, columns that lie ld apart; rows that lie so are columns of the transpose.
struct Columns {
	int op;
	int64_t ld;
	bool fits;
};

Columns by_columns(const triad_tensor &a) {
	const int64_t rows = a.shape[0], cols = a.shape[1];
	const bool dense_rows = (cols <= 1 || a.stride[1] == 1) && (rows <= 1 || a.stride[0] >= cols);
	const bool dense_columns = (rows <= 1 || a.stride[0] == 1) && (cols <= 1 || a.stride[1] >= rows);
	const int64_t ld = dense_rows ? (rows <= 1 ? cols : a.stride[0]) : (cols <= 1 ? rows : a.stride[1]);
	return {dense_rows ? triad::Cublas::transposed : triad::Cublas::not_transposed, ld, (dense_rows || dense_columns) && ld <= INT32_MAX};
}

void check_cublas(triad::Check &check, const triad_call *call) {
	const triad_tensor &a = call->in[0];
	check.that(a.shape[0] <= INT32_MAX && a.shape[1] <= INT32_MAX, "cuBLAS takes sizes below 2^31");
	check.that(by_columns(a).fits, "cuBLAS takes a matrix whose rows or columns are neighbours in memory");
	check.that(triad::Cublas::found() != nullptr, "there is no libcublas.so.13 or libcublas.so.12: install NVIDIA's cuBLAS, or name its folder "
	           "in LD_LIBRARY_PATH");
}

int64_t cublas_workspace(const triad_call *) { return triad::cublas_workspace_bytes; }

template <class T> int gemv_cublas(const triad_call *call) {
	const int rows = static_cast<int>(call->in[0].shape[0]), cols = static_cast<int>(call->in[0].shape[1]);
	if (rows == 0) return TRIAD_OK;
	const triad::Cublas *const library = triad::Cublas::found();
	triad::Cublas::Use use;
	if (library != nullptr) use = library->ready(triad::stream_of(call), call->workspace, call->workspace_bytes);
	if (use.handle == nullptr) return static_cast<int>(cudaErrorUnknown);
	const Columns a = by_columns(call->in[0]);
	const float one = 1.0f, nothing = 0.0f;
	const int type = triad::cublas_type<T>;
	const int status = library->multiply(use.handle, a.op, triad::Cublas::not_transposed, rows, 1, cols, &one, call->in[0].data, type,
	                                     static_cast<int>(a.ld), 0, call->in[1].data, type, cols, 0, &nothing, call->out[0].data, type, rows, 0,
	                                     1, triad::Cublas::compute_32f, triad::Cublas::default_algorithm);
	return status == 0 ? triad::launched() : static_cast<int>(cudaErrorUnknown);
}
#endif

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(gemv, naive, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(gemv_naive)))
TRIAD_KERNEL(gemv, warp, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(gemv_warp)))
TRIAD_KERNEL(gemv, block, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(gemv_block)))
TRIAD_KERNEL(gemv, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(part_sums)
             .limits(triad::vector_rows("a"), triad::contiguous("x"), triad::aligned(16, "x"))
             .launch(TRIAD_BY_DTYPE(gemv_vec)))
TRIAD_KERNEL(gemv, cublas, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(cublas_workspace)
             .limits(triad::contiguous("x"), triad::limit("a GPU, cuBLAS, a matrix whose rows or columns are neighbours", check_cublas))
             .launch(TRIAD_BY_DTYPE(gemv_cublas)))
