// softmax: y[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)          backward: dx = y * (dy - sum_c y*dy)
// Layout   x, y, dy, dx: [rows, cols]; fp32, fp16, bf16; every value and sum in fp32. y and dx are contiguous. Backward reads y, not x.
// Limits   rows or cols = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  a row of only -inf, with +inf or with NaN gives NaN in the whole row: -inf - -inf, inf - inf and NaN reach the sum.
// Source   Milakov & Gimelshein 2018, arXiv:1805.02867 (online)
//   naive   a thread a row, any strides; the readable one, and the one to trust first
//   warp    a warp a row, row in registers; cols <= 1024
//   block   a block a row, three passes over memory; any cols
//   online  a block a row, maximum and sum in one pass; any cols; forward only
//   vec     16-byte accesses, row in registers up to 16384 columns, several short rows a block, longer rows on chip as far as they fit
//           (softmax/long_rows.cuh); cols % vector == 0, 16-byte aligned rows
//   sm90_cluster  a row spread over the blocks of a cluster, which keep all of it on chip (softmax/cluster.cuh); the same rows as vec
#include "arguments.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "softmax/cluster.cuh"
#include "softmax/long_rows.cuh"
#include "spec/softmax.cuh"

#include "rows.cuh"

namespace {

using triad::from_float;
using triad::to_float;

// ---- kernels: forward -------------------------------------------------------------------------------------------------------------------

template <class T> __global__ void softmax_fwd_naive_kernel(triad::Matrix<const T> x, T *y, int64_t rows, int64_t cols) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= rows) return;
	float max = -INFINITY;
	for (int64_t c = 0; c < cols; c++) max = fmaxf(max, to_float(x(row, c)));
	triad::LongSum sum;
	for (int64_t c = 0; c < cols; c++) sum.add(expf(to_float(x(row, c)) - max));
	const float scale = 1.0f / sum.total();
	for (int64_t c = 0; c < cols; c++) y[row * cols + c] = from_float<T>(expf(to_float(x(row, c)) - max) * scale);
}

// A warp holds its row in registers, Items values a lane: lane, lane + 32, lane + 64, ...
template <class T, int Warps, int Items>
__global__ void __launch_bounds__(Warps * 32) softmax_fwd_warp_kernel(triad::Rows<const T> x, T *y, int64_t rows, int cols) {
	const int lane = threadIdx.x % 32;
	for (int64_t row = blockIdx.x * static_cast<int64_t>(Warps) + threadIdx.x / 32; row < rows; row += gridDim.x * static_cast<int64_t>(Warps)) {
		float v[Items];
		float max = -INFINITY;
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = lane + i * 32;
			v[i] = c < cols ? to_float(x.row(row)[c]) : -INFINITY;
			max = fmaxf(max, v[i]);
		}
		max = triad::warp_reduce(max, triad::Max());
		float sum = 0;
#pragma unroll
		for (int i = 0; i < Items; i++) {
			v[i] = expf(v[i] - max);
			if (lane + i * 32 < cols) sum += v[i]; // beyond the row it is NaN when max is -inf
		}
		const float scale = 1.0f / triad::warp_reduce(sum, triad::Sum());
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = lane + i * 32;
			if (c < cols) y[row * cols + c] = from_float<T>(v[i] * scale);
		}
	}
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) softmax_fwd_block_kernel(triad::Rows<const T> x, T *y, int64_t rows, int64_t cols) {
	__shared__ float scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		float max = -INFINITY;
		for (int64_t c = threadIdx.x; c < cols; c += Threads) max = fmaxf(max, to_float(from[c]));
		max = triad::block_reduce<Threads>(max, triad::Max(), scratch);
		float sum = 0;
		for (int64_t c = threadIdx.x; c < cols; c += Threads) sum += expf(to_float(from[c]) - max);
		const float scale = 1.0f / triad::block_reduce<Threads>(sum, triad::Sum(), scratch);
		for (int64_t c = threadIdx.x; c < cols; c += Threads) y[row * cols + c] = from_float<T>(expf(to_float(from[c]) - max) * scale);
	}
}

// The maximum so far, and the sum of exp(x - max) so far. Empty: -inf and 0.
struct Online {
	float max, sum;
};

__device__ inline Online shuffle_xor(Online v, int lane_mask) {
	return {triad::shuffle_xor(v.max, lane_mask), triad::shuffle_xor(v.sum, lane_mask)};
}

// The new value's own term is exp(x - x): 1, but NaN for an infinity. -inf adds nothing; NaN is not above the maximum, and poisons the sum.
__device__ inline void online_add(Online &o, float x) {
	if (x > o.max) {
		o.sum = o.sum * expf(o.max - x) + (1.0f + (x - x));
		o.max = x;
	} else if (x != -INFINITY) {
		o.sum += expf(x - o.max);
	}
}

struct OnlineMerge {
	__device__ Online operator()(Online a, Online b) const {
		const float max = fmaxf(a.max, b.max);
		const float scale_a = a.max == max ? 1.0f : expf(a.max - max); // equal, not subtracted: both may be -inf
		const float scale_b = b.max == max ? 1.0f : expf(b.max - max);
		return {max, a.sum * scale_a + b.sum * scale_b};
	}
};

template <class T, int Threads>
__global__ void __launch_bounds__(Threads) softmax_fwd_online_kernel(triad::Rows<const T> x, T *y, int64_t rows, int64_t cols) {
	__shared__ Online scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		Online mine = {-INFINITY, 0.0f};
		for (int64_t c = threadIdx.x; c < cols; c += Threads) online_add(mine, to_float(from[c]));
		const Online all = triad::block_reduce<Threads>(mine, OnlineMerge(), scratch);
		const float scale = 1.0f / all.sum;
		for (int64_t c = threadIdx.x; c < cols; c += Threads) y[row * cols + c] = from_float<T>(expf(to_float(from[c]) - all.max) * scale);
	}
}

// Group threads share a row and keep all of it in registers, Items values each, in runs of 16 bytes: one read, one write.
template <class T, int Group, int Items>
__global__ void __launch_bounds__(triad::group_block<Group>) softmax_fwd_vec_kernel(triad::Rows<const T> x, T *y, int64_t rows, int cols) {
	constexpr int V = triad::vector<T>, Packs = Items / V, RowsPerBlock = triad::group_block<Group> / Group;
	__shared__ float scratch[triad::group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t row = blockIdx.x * static_cast<int64_t>(RowsPerBlock) + threadIdx.x / Group;
	const int here = row < rows ? cols : 0; // a group without a row still takes part in the shuffles
	float v[Packs][V] = {};
	float max = -INFINITY;
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int c = (member + p * Group) * V;
		if (c < here) triad::load(x.row(row) + c, v[p]);
	}
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		if ((member + p * Group) * V < here) {
#pragma unroll
			for (int j = 0; j < V; j++) max = fmaxf(max, v[p][j]);
		}
	}
	max = triad::group_reduce<Group>(max, triad::Max(), scratch);
	float sum = 0;
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		if ((member + p * Group) * V < here) {
#pragma unroll
			for (int j = 0; j < V; j++) {
				v[p][j] = triad::softmax::exp_of(v[p][j] - max);
				sum += v[p][j];
			}
		}
	}
	const float scale = 1.0f / triad::group_reduce<Group>(sum, triad::Sum(), scratch);
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int c = (member + p * Group) * V;
		if (c < here) {
#pragma unroll
			for (int j = 0; j < V; j++) v[p][j] *= scale;
			triad::store(y + row * cols + c, v[p]);
		}
	}
}

// ---- kernels: backward ------------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void softmax_bwd_naive_kernel(triad::Matrix<const T> y, triad::Matrix<const T> dy, T *dx, int64_t rows, int64_t cols) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= rows) return;
	triad::LongSum sum;
	for (int64_t c = 0; c < cols; c++) sum.add(to_float(y(row, c)) * to_float(dy(row, c)));
	const float dot = sum.total();
	for (int64_t c = 0; c < cols; c++) dx[row * cols + c] = from_float<T>(to_float(y(row, c)) * (to_float(dy(row, c)) - dot));
}

template <class T, int Warps, int Items>
__global__ void __launch_bounds__(Warps * 32)
    softmax_bwd_warp_kernel(triad::Rows<const T> y, triad::Rows<const T> dy, T *dx, int64_t rows, int cols) {
	const int lane = threadIdx.x % 32;
	for (int64_t row = blockIdx.x * static_cast<int64_t>(Warps) + threadIdx.x / 32; row < rows; row += gridDim.x * static_cast<int64_t>(Warps)) {
		float p[Items], g[Items];
		float dot = 0;
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = lane + i * 32;
			p[i] = c < cols ? to_float(y.row(row)[c]) : 0.0f;
			g[i] = c < cols ? to_float(dy.row(row)[c]) : 0.0f;
			dot += p[i] * g[i];
		}
		dot = triad::warp_reduce(dot, triad::Sum());
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = lane + i * 32;
			if (c < cols) dx[row * cols + c] = from_float<T>(p[i] * (g[i] - dot));
		}
	}
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads)
    softmax_bwd_block_kernel(triad::Rows<const T> y, triad::Rows<const T> dy, T *dx, int64_t rows, int64_t cols) {
	__shared__ float scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *p = y.row(row), *g = dy.row(row);
		float dot = 0;
		for (int64_t c = threadIdx.x; c < cols; c += Threads) dot += to_float(p[c]) * to_float(g[c]);
		dot = triad::block_reduce<Threads>(dot, triad::Sum(), scratch);
		for (int64_t c = threadIdx.x; c < cols; c += Threads) dx[row * cols + c] = from_float<T>(to_float(p[c]) * (to_float(g[c]) - dot));
	}
}

template <class T, int Group, int Items>
__global__ void __launch_bounds__(triad::group_block<Group>)
    softmax_bwd_vec_kernel(triad::Rows<const T> y, triad::Rows<const T> dy, T *dx, int64_t rows, int cols) {
	constexpr int V = triad::vector<T>, Packs = Items / V, RowsPerBlock = triad::group_block<Group> / Group;
	__shared__ float scratch[triad::group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t row = blockIdx.x * static_cast<int64_t>(RowsPerBlock) + threadIdx.x / Group;
	const int here = row < rows ? cols : 0; // a group without a row still takes part in the shuffles
	float p[Packs][V] = {}, g[Packs][V] = {}; // zeros beyond the row add nothing
	float dot = 0;
#pragma unroll
	for (int i = 0; i < Packs; i++) {
		const int c = (member + i * Group) * V;
		if (c < here) {
			triad::load(y.row(row) + c, p[i]);
			triad::load(dy.row(row) + c, g[i]);
		}
	}
#pragma unroll
	for (int i = 0; i < Packs; i++) {
#pragma unroll
		for (int j = 0; j < V; j++) dot += p[i][j] * g[i][j];
	}
	dot = triad::group_reduce<Group>(dot, triad::Sum(), scratch);
#pragma unroll
	for (int i = 0; i < Packs; i++) {
		const int c = (member + i * Group) * V;
		if (c < here) {
#pragma unroll
			for (int j = 0; j < V; j++) p[i][j] *= g[i][j] - dot;
			triad::store(dx + row * cols + c, p[i]);
		}
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int warps_per_block = 4;
constexpr int block_threads = 256;

// One call, either pass: x -> y, or y, dy -> dx. The kernels get views of the inputs and a pointer to the contiguous output.
struct Call {
	const triad_call *call;
	int64_t rows, cols;

	explicit Call(const triad_call *c) : call(c), rows(c->in[0].shape[0]), cols(c->in[0].shape[1]) {}
	bool empty() const { return rows == 0 || cols == 0 || call->out[0].data == nullptr; }
	cudaStream_t stream() const { return triad::stream_of(call); }
	template <class T> triad::Rows<const T> in(int i) const { return triad::Rows<const T>(call->in[i]); }
	template <class T> triad::Matrix<const T> matrix(int i) const { return triad::Matrix<const T>(call->in[i]); }
	template <class T> T *out() const { return static_cast<T *>(call->out[0].data); }
};

template <class T> int softmax_fwd_naive(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	constexpr int threads = 128;
	softmax_fwd_naive_kernel<T><<<triad::blocks_for(c.rows, threads), threads, 0, c.stream()>>>(c.matrix<T>(0), c.out<T>(), c.rows, c.cols);
	return triad::launched();
}

template <class T> int softmax_bwd_naive(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	constexpr int threads = 128;
	softmax_bwd_naive_kernel<T>
	    <<<triad::blocks_for(c.rows, threads), threads, 0, c.stream()>>>(c.matrix<T>(0), c.matrix<T>(1), c.out<T>(), c.rows, c.cols);
	return triad::launched();
}

template <class T, int Items> int launch_fwd_warp(const Call &c) {
	softmax_fwd_warp_kernel<T, warps_per_block, Items><<<triad::blocks_for(c.rows, warps_per_block), warps_per_block * 32, 0, c.stream()>>>(
	    c.in<T>(0), c.out<T>(), c.rows, static_cast<int>(c.cols));
	return triad::launched();
}

template <class T, int Items> int launch_bwd_warp(const Call &c) {
	softmax_bwd_warp_kernel<T, warps_per_block, Items><<<triad::blocks_for(c.rows, warps_per_block), warps_per_block * 32, 0, c.stream()>>>(
	    c.in<T>(0), c.in<T>(1), c.out<T>(), c.rows, static_cast<int>(c.cols));
	return triad::launched();
}

template <class T> int softmax_fwd_warp(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	if (c.cols <= 32) return launch_fwd_warp<T, 1>(c);
	if (c.cols <= 64) return launch_fwd_warp<T, 2>(c);
	if (c.cols <= 128) return launch_fwd_warp<T, 4>(c);
	if (c.cols <= 256) return launch_fwd_warp<T, 8>(c);
	if (c.cols <= 512) return launch_fwd_warp<T, 16>(c);
	return launch_fwd_warp<T, 32>(c);
}

template <class T> int softmax_bwd_warp(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	if (c.cols <= 32) return launch_bwd_warp<T, 1>(c);
	if (c.cols <= 64) return launch_bwd_warp<T, 2>(c);
	if (c.cols <= 128) return launch_bwd_warp<T, 4>(c);
	if (c.cols <= 256) return launch_bwd_warp<T, 8>(c);
	if (c.cols <= 512) return launch_bwd_warp<T, 16>(c);
	return launch_bwd_warp<T, 32>(c);
}

template <class T> int softmax_fwd_block(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	softmax_fwd_block_kernel<T, block_threads>
	    <<<triad::blocks_for(c.rows, 1), block_threads, 0, c.stream()>>>(c.in<T>(0), c.out<T>(), c.rows, c.cols);
	return triad::launched();
}

template <class T> int softmax_bwd_block(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	softmax_bwd_block_kernel<T, block_threads>
	    <<<triad::blocks_for(c.rows, 1), block_threads, 0, c.stream()>>>(c.in<T>(0), c.in<T>(1), c.out<T>(), c.rows, c.cols);
	return triad::launched();
}

template <class T> int softmax_fwd_online(const triad_call *call) {
	const Call c(call);
	if (c.empty()) return TRIAD_OK;
	softmax_fwd_online_kernel<T, block_threads>
	    <<<triad::blocks_for(c.rows, 1), block_threads, 0, c.stream()>>>(c.in<T>(0), c.out<T>(), c.rows, c.cols);
	return triad::launched();
}

template <class T> struct ForwardVec {
	template <int Group, int Items> static int registers(const triad_call *call) {
		const Call c(call);
		constexpr int threads = triad::group_block<Group>;
		softmax_fwd_vec_kernel<T, Group, Items><<<triad::blocks_for(c.rows, threads / Group), threads, 0, c.stream()>>>(
		    c.in<T>(0), c.out<T>(), c.rows, static_cast<int>(c.cols));
		return triad::launched();
	}
	static int longer(const triad_call *call) {
		const Call c(call);
		return triad::softmax::launch_forward(c.in<T>(0), c.out<T>(), c.rows, c.cols, c.stream());
	}
};

template <class T> struct BackwardVec {
	template <int Group, int Items> static int registers(const triad_call *call) {
		const Call c(call);
		constexpr int threads = triad::group_block<Group>;
		softmax_bwd_vec_kernel<T, Group, Items><<<triad::blocks_for(c.rows, threads / Group), threads, 0, c.stream()>>>(
		    c.in<T>(0), c.in<T>(1), c.out<T>(), c.rows, static_cast<int>(c.cols));
		return triad::launched();
	}
	static int longer(const triad_call *call) {
		const Call c(call);
		return triad::softmax::launch_backward(c.in<T>(0), c.in<T>(1), c.out<T>(), c.rows, c.cols, c.stream());
	}
};

template <class T> int softmax_fwd_vec(const triad_call *call) {
	const Call c(call);
	return c.empty() ? TRIAD_OK : triad::by_row_length<ForwardVec<T>, true>(call, c.cols);
}

template <class T> int softmax_bwd_vec(const triad_call *call) {
	const Call c(call);
	return c.empty() ? TRIAD_OK : triad::by_row_length<BackwardVec<T>, true>(call, c.cols);
}

template <class T> int softmax_fwd_cluster(const triad_call *call) {
	const Call c(call);
	return c.empty() ? TRIAD_OK : triad::softmax::cluster::launch_forward(c.in<T>(0), c.out<T>(), c.rows, c.cols, c.stream());
}

template <class T> int softmax_bwd_cluster(const triad_call *call) {
	const Call c(call);
	return c.empty() ? TRIAD_OK : triad::softmax::cluster::launch_backward(c.in<T>(0), c.in<T>(1), c.out<T>(), c.rows, c.cols, c.stream());
}

// ---- registration -----------------------------------------------------------------------------------------------------------------------

const triad::Limits warp = {triad::contiguous_columns(), triad::at_most("cols", 1024)};
const triad::Limits cluster = {triad::hopper::clusters("a row spread over a cluster"), triad::vector_rows(),
                               triad::at_most("rows", triad::softmax::cluster::most_rows)};

} // namespace

TRIAD_SPILLS(softmax_bwd_vec_long_kernel, 32, "1024 threads of a multiprocessor hold a row, 64 registers each, for sm_80");

TRIAD_KERNEL(softmax, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(softmax_fwd_naive)))
TRIAD_KERNEL(softmax, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(warp).launch(TRIAD_BY_DTYPE(softmax_fwd_warp)))
TRIAD_KERNEL(softmax, block, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous_columns()).launch(TRIAD_BY_DTYPE(softmax_fwd_block)))
TRIAD_KERNEL(softmax, online, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous_columns()).launch(TRIAD_BY_DTYPE(softmax_fwd_online)))
TRIAD_KERNEL(softmax, vec, forward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::vector_rows()).launch(TRIAD_BY_DTYPE(softmax_fwd_vec)))
TRIAD_KERNEL(softmax, sm90_cluster, forward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(1).limits(cluster).launch(TRIAD_BY_DTYPE(softmax_fwd_cluster)))

TRIAD_KERNEL(softmax, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(softmax_bwd_naive)))
TRIAD_KERNEL(softmax, warp, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(warp).launch(TRIAD_BY_DTYPE(softmax_bwd_warp)))
TRIAD_KERNEL(softmax, block, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous_columns()).launch(TRIAD_BY_DTYPE(softmax_bwd_block)))
TRIAD_KERNEL(softmax, vec, backward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::vector_rows()).launch(TRIAD_BY_DTYPE(softmax_bwd_vec)))
TRIAD_KERNEL(softmax, sm90_cluster, backward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(1).limits(cluster).launch(TRIAD_BY_DTYPE(softmax_bwd_cluster)))
