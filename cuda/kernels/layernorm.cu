// layernorm: y[r,c] = (x[r,c] - mean_r) * rstd_r * weight[c] + bias[c], rstd_r = 1/sqrt(var_r + eps), var_r biased (divides by cols)
// backward   xhat = (x - mean) * rstd;  dx = rstd * (w*dy - mean_c(w*dy) - xhat * mean_c(w*dy*xhat));  dw = sum_r dy*xhat;  db = sum_r dy
// Layout     x, y, dy, dx: [rows, cols]; weight, bias, dw, db: [cols]; fp32, fp16, bf16. mean, rstd: [rows], fp32. Sums in fp32.
// Limits     rows = 0 gives zeros in dw and db; mean and rstd are optional; a call outside a variant's own limit answers UNSUPPORTED.
// Accuracy   var is the mean of (x - mean)^2 less the square of the mean of (x - mean), which is nothing but the error of the mean: without
//            this correction (Chan, Golub, LeVeque 1983) a row of equal large values gets a variance from rounding alone.
// Source     Ba, Kiros, Hinton 2016, arXiv:1607.06450; Welford 1962
//   forward
//   naive    a thread a row, any strides; the readable one, and the one to trust first
//   block    a block a row, mean, then variance, then output: three reads
//   welford  a block a row, mean and variance in one read by Welford's update, partial results merged by Chan's formula
//   vec      16-byte accesses, row in registers up to 16384 columns; cols % vector == 0, 16-byte aligned rows
//   backward
//   partials a fixed number of groups of threads, each with its own sums of dw and db; a second kernel adds them: same bits in every run;
//            rows in whole vectors come through a ring in shared memory, up to 8192 columns in fp32 and 16384 in 16 bits, where a block may
//            have the 64 or 128 KB for it
//   atomic   the same, but the groups add to one row of sums by atomics: no order, so dw and db are not deterministic
#include <algorithm>

#include "arguments.cuh"
#include "element.cuh"
#include "layernorm/backward.cuh"
#include "moments.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/layernorm.cuh"

namespace {

using triad::from_float;
using triad::layernorm::Saved;
using triad::RowSums;
using triad::Statistics;
using triad::to_float;
using triad::Two;
using triad::Welford;

// ---- kernels: forward -------------------------------------------------------------------------------------------------------------------

// What a forward writes: y always, the statistics where they are wanted.
template <class T> struct Output {
	T *y;
	float *mean, *rstd;
};

template <class T> __device__ void keep(const Output<T> &out, int64_t row, Statistics s) {
	if (out.mean != nullptr) out.mean[row] = s.mean;
	if (out.rstd != nullptr) out.rstd[row] = s.rstd;
}

__device__ inline float normalise(float x, Statistics s, float weight, float bias) { return (x - s.mean) * s.rstd * weight + bias; }

template <class T>
__global__ void layernorm_fwd_naive_kernel(triad::Matrix<const T> x, triad::Vector<const T> weight, triad::Vector<const T> bias, Output<T> out,
                                           int64_t rows, int64_t cols, float eps) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= rows) return;
	triad::LongSum sum, differences, squares;
	for (int64_t c = 0; c < cols; c++) sum.add(to_float(x(row, c)));
	const float mean = sum.total() / static_cast<float>(cols);
	for (int64_t c = 0; c < cols; c++) {
		const float d = to_float(x(row, c)) - mean;
		differences.add(d);
		squares.add(d * d);
	}
	const Statistics s = triad::corrected(mean, {differences.total(), squares.total()}, static_cast<float>(cols), eps);
	for (int64_t c = 0; c < cols; c++)
		out.y[row * cols + c] = from_float<T>(normalise(to_float(x(row, c)), s, to_float(weight(c)), to_float(bias(c))));
	keep(out, row, s);
}

// V elements of the row at a time: 1, or the elements in 16 bytes.
template <class T, int V, int Threads> __device__ inline Statistics two_passes(const T *from, int64_t cols, float eps, float *sums, Two *pairs) {
	float sum = 0;
	for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
		float v[V];
		triad::load(from + c, v);
#pragma unroll
		for (int j = 0; j < V; j++) sum += v[j];
	}
	const float mean = triad::block_reduce<Threads>(sum, triad::Sum(), sums) / static_cast<float>(cols);
	Two mine = {0, 0};
	for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
		float v[V];
		triad::load(from + c, v);
#pragma unroll
		for (int j = 0; j < V; j++) {
			const float d = v[j] - mean;
			mine.first += d;
			mine.second += d * d;
		}
	}
	return triad::corrected(mean, triad::block_reduce<Threads>(mine, triad::SumTwo(), pairs), static_cast<float>(cols), eps);
}

template <class T, int V, int Threads>
__device__ inline void write_row(const T *from, const T *weight, const T *bias, T *to, int64_t cols, Statistics s) {
	for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
		float v[V], w[V], b[V];
		triad::load(from + c, v);
		triad::load(weight + c, w);
		triad::load(bias + c, b);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = normalise(v[j], s, w[j], b[j]);
		triad::store(to + c, v);
	}
}

template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads)
    layernorm_fwd_block_kernel(triad::Rows<const T> x, const T *weight, const T *bias, Output<T> out, int64_t rows, int64_t cols, float eps) {
	__shared__ float sums[Threads / 32];
	__shared__ Two pairs[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const Statistics s = two_passes<T, V, Threads>(x.row(row), cols, eps, sums, pairs);
		write_row<T, V, Threads>(x.row(row), weight, bias, out.y + row * cols, cols, s);
		if (threadIdx.x == 0) keep(out, row, s);
	}
}

template <class T, int Threads>
__global__ void __launch_bounds__(Threads)
    layernorm_fwd_welford_kernel(triad::Rows<const T> x, const T *weight, const T *bias, Output<T> out, int64_t rows, int64_t cols, float eps) {
	__shared__ Welford scratch[Threads / 32];
	__shared__ float sums[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		Welford mine = {0, 0, 0, 0};
		for (int64_t c = threadIdx.x; c < cols; c += Threads) triad::welford_add(mine, to_float(from[c]));
		const Welford all = triad::block_reduce<Threads>(mine, triad::WelfordMerge(), scratch);
		Statistics s = {all.mean + all.rest, 1.0f / sqrtf(all.squares / static_cast<float>(cols) + eps)};
		if (!triad::is_finite(s.mean)) { // after an infinity the updates give NaN where the mean is infinite
			float sum = 0;
			for (int64_t c = threadIdx.x; c < cols; c += Threads) sum += to_float(from[c]);
			s.mean = triad::block_reduce<Threads>(sum, triad::Sum(), sums) / static_cast<float>(cols);
		}
		write_row<T, 1, Threads>(from, weight, bias, out.y + row * cols, cols, s);
		if (threadIdx.x == 0) keep(out, row, s);
	}
}

// Blocks of so many threads that should share a multiprocessor: 28 or 32 warps, whose registers hold a row of 16 bits, its weight and its bias. fp32
// takes what it takes.
template <class T, int Group> constexpr int vec_blocks = sizeof(T) == 4 ? 1 : (Group <= 32 ? 896 : 1024) / triad::group_block<Group>;

TRIAD_SPILLS(layernorm_fwd_vec_kernel, 116, "rows of fp16 with 32 values a thread, for sm_90a");

// Group threads share a row and keep all of it in registers, Items values each, as it lies in memory, in runs of 16 bytes: one read, one write.
// In 16 bits weight and bias are asked for along with the row: little else hides that they come late. Plain loads and stores: streaming ones are 1 %
// slower at 8192 x 8192, and as fast elsewhere.
template <class T, int Group, int Items>
__global__ void __launch_bounds__(triad::group_block<Group>, vec_blocks<T, Group>)
    layernorm_fwd_vec_kernel(triad::Rows<const T> x, const T *weight, const T *bias, Output<T> out, int64_t rows, int cols, float eps) {
	constexpr int V = triad::vector<T>, Packs = Items / V, RowsPerBlock = triad::group_block<Group> / Group;
	constexpr bool early = sizeof(T) < 4;
	__shared__ float sums[triad::group_warps<Group>];
	__shared__ Two pairs[triad::group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t row = blockIdx.x * static_cast<int64_t>(RowsPerBlock) + threadIdx.x / Group;
	const int here = row < rows ? cols : 0; // a group without a row still takes part in the shuffles
	uint4 held[Packs] = {};                 // zeros beyond the row add nothing to the sum
	uint4 weights[early ? Packs : 1] = {}, biases[early ? Packs : 1] = {};
	const uint4 *from = reinterpret_cast<const uint4 *>(x.row(row)) + member;
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		if ((member + p * Group) * V >= here) continue;
		held[p] = from[p * Group];
		if constexpr (early) {
			weights[p] = reinterpret_cast<const uint4 *>(weight)[member + p * Group];
			biases[p] = reinterpret_cast<const uint4 *>(bias)[member + p * Group];
		}
	}
	float v[V], sum = 0;
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		triad::unpack_here<T>(held[p], v);
#pragma unroll
		for (int j = 0; j < V; j++) sum += v[j];
	}
	const float mean = triad::group_reduce_in_turn<Group>(sum, triad::Sum(), sums) / static_cast<float>(cols);
	Two mine = {0, 0};
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		if ((member + p * Group) * V >= here) continue;
		triad::unpack_here<T>(held[p], v);
#pragma unroll
		for (int j = 0; j < V; j++) {
			const float d = v[j] - mean;
			mine.first += d;
			mine.second += d * d;
		}
	}
	const Two both = triad::group_reduce_in_turn<Group>(mine, triad::SumTwo(), pairs);
	const Statistics s = triad::corrected(mean, both, static_cast<float>(cols), eps);
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int c = (member + p * Group) * V;
		if (c >= here) continue;
		float w[V], b[V];
		triad::unpack_here<T>(held[p], v);
		if constexpr (early) {
			triad::unpack<T>(weights[p], w);
			triad::unpack<T>(biases[p], b);
		} else {
			triad::load(weight + c, w);
			triad::load(bias + c, b);
		}
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = normalise(v[j], s, w[j], b[j]);
		triad::store<false>(out.y + row * cols + c, v);
	}
	if (member == 0 && row < rows) keep(out, row, s);
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int block_threads = 256;
constexpr int long_threads = 512; // rows beyond the registers

struct Forward {
	const triad_call *call;
	int64_t rows, cols;
	float eps;

	explicit Forward(const triad_call *c)
	    : call(c), rows(c->in[0].shape[0]), cols(c->in[0].shape[1]), eps(static_cast<float>(c->attr[0])) {}
	bool empty() const { return rows == 0 || cols == 0; }
	cudaStream_t stream() const { return triad::stream_of(call); }
	template <class T> triad::Rows<const T> x() const { return triad::Rows<const T>(call->in[0]); }
	template <class T> const T *weight() const { return static_cast<const T *>(call->in[1].data); }
	template <class T> const T *bias() const { return static_cast<const T *>(call->in[2].data); }
	template <class T> Output<T> out() const {
		return {static_cast<T *>(call->out[0].data), static_cast<float *>(call->out[1].data), static_cast<float *>(call->out[2].data)};
	}
};

template <class T> int layernorm_fwd_naive(const triad_call *call) {
	const Forward f(call);
	if (f.empty()) return TRIAD_OK;
	constexpr int threads = 128;
	layernorm_fwd_naive_kernel<T><<<triad::blocks_for(f.rows, threads), threads, 0, f.stream()>>>(
	    triad::Matrix<const T>(call->in[0]), triad::Vector<const T>(call->in[1]), triad::Vector<const T>(call->in[2]), f.out<T>(), f.rows, f.cols,
	    f.eps);
	return triad::launched();
}

template <class T> int layernorm_fwd_block(const triad_call *call) {
	const Forward f(call);
	if (f.empty()) return TRIAD_OK;
	layernorm_fwd_block_kernel<T, 1, block_threads><<<triad::blocks_for(f.rows, 1), block_threads, 0, f.stream()>>>(
	    f.x<T>(), f.weight<T>(), f.bias<T>(), f.out<T>(), f.rows, f.cols, f.eps);
	return triad::launched();
}

template <class T> int layernorm_fwd_welford(const triad_call *call) {
	const Forward f(call);
	if (f.empty()) return TRIAD_OK;
	layernorm_fwd_welford_kernel<T, block_threads><<<triad::blocks_for(f.rows, 1), block_threads, 0, f.stream()>>>(
	    f.x<T>(), f.weight<T>(), f.bias<T>(), f.out<T>(), f.rows, f.cols, f.eps);
	return triad::launched();
}

template <class T> struct ForwardVec {
	template <int Group, int Items> static int registers(const triad_call *call) {
		const Forward f(call);
		constexpr int threads = triad::group_block<Group>;
		layernorm_fwd_vec_kernel<T, Group, Items><<<triad::blocks_for(f.rows, threads / Group), threads, 0, f.stream()>>>(
		    f.x<T>(), f.weight<T>(), f.bias<T>(), f.out<T>(), f.rows, static_cast<int>(f.cols), f.eps);
		return triad::launched();
	}
	static int longer(const triad_call *call) {
		const Forward f(call);
		layernorm_fwd_block_kernel<T, triad::vector<T>, long_threads><<<triad::blocks_for(f.rows, 1), long_threads, 0, f.stream()>>>(
		    f.x<T>(), f.weight<T>(), f.bias<T>(), f.out<T>(), f.rows, f.cols, f.eps);
		return triad::launched();
	}
};

template <class T> int layernorm_fwd_vec(const triad_call *call) {
	const Forward f(call);
	return f.empty() ? TRIAD_OK : triad::by_row_length<ForwardVec<T>>(call, f.cols);
}

constexpr int64_t multiprocessors = 132; // of a Hopper GPU; whatever the device has, so that all with room for the same kernel give the same bits of dw and db

// How the rows of a backward are spread where no ring takes them.
struct Plan {
	int64_t group; // threads a row; 0: rows beyond the registers
	int64_t items; // columns a thread
	int64_t blocks, groups;

	Plan(int64_t rows, int64_t cols) {
		group = cols <= 32 * 16 ? 32 : cols <= 128 * 16 ? 128 : cols <= 256 * 16 ? 256 : cols <= 512 * 16 ? 512 : 0;
		items = cols <= 32 * 4 ? 4 : group == 128 && cols <= 128 * 8 ? 8 : 16;
		// As many blocks as fit the registers of each multiprocessor at once, four groups in each where they are small.
		const int64_t per_block = group == 32 ? 4 : 1;
		const int64_t most = group == 0 ? 64 : multiprocessors * (group == 512 ? 1 : group != 128 ? 2 : items == 8 ? 5 : 4);
		blocks = std::min(most, (rows + per_block - 1) / per_block);
		groups = blocks * per_block;
	}
};

struct Backward {
	const triad_call *call;
	int64_t rows, cols;
	Plan plan;
	RowSums<2> sums;

	Backward(const triad_call *c, bool shared)
	    : call(c), rows(c->in[0].shape[0]), cols(c->in[0].shape[1]), plan(rows, cols), sums{static_cast<float *>(c->workspace), shared} {}
	cudaStream_t stream() const { return triad::stream_of(call); }
	template <class T> Saved<T> in() const {
		return {triad::Rows<const T>(call->in[0]), triad::Rows<const T>(call->in[4]), static_cast<const T *>(call->in[1].data),
		        static_cast<const float *>(call->in[2].data), static_cast<const float *>(call->in[3].data)};
	}
	template <class T> T *out(int i) const { return static_cast<T *>(call->out[i].data); }

	// Whether x, weight, dy and dx can be read and written 16 bytes at a time. Very short rows are better spread over more lanes.
	bool vectors() const {
		triad::Check check(nullptr, 0);
		check.vector_rows(call->in[0], "x").vector_rows(call->in[4], "grad_y").vector_rows(call->out[0], "grad_x").aligned(call->in[1], "weight", 16);
		return check.holds() && plan.items != 4;
	}
};

template <class Shape> int launch_ring(const Backward &b, int64_t blocks) {
	using T = typename Shape::Element;
	const auto kernel = triad::layernorm::layernorm_bwd_ring_kernel<Shape>;
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::bytes)) return status;
	kernel<<<static_cast<unsigned>(blocks), Shape::Threads, Shape::bytes, b.stream()>>>(b.in<T>(), b.out<T>(0), b.sums, b.rows,
	                                                                                  static_cast<int>(b.cols));
	return triad::launched();
}

// Single elements.
template <class T, int Group, int Items> void launch_rows(const Backward &b) {
	triad::layernorm::layernorm_bwd_kernel<T, Group, Items><<<static_cast<unsigned>(b.plan.blocks), triad::group_block<Group>, 0, b.stream()>>>(
	    b.in<T>(), b.out<T>(0), b.sums, b.rows, static_cast<int>(b.cols));
}

template <class T, int V> int launch_long_rows(const Backward &b) {
	if (b.out<T>(0) != nullptr)
		triad::layernorm::layernorm_bwd_long_dx_kernel<T, V, long_threads>
		    <<<triad::blocks_for(b.rows, 1), long_threads, 0, b.stream()>>>(b.in<T>(), b.out<T>(0), b.rows, b.cols);
	const dim3 grid(triad::blocks_for(b.cols, block_threads * V), static_cast<unsigned>(b.plan.blocks));
	triad::layernorm::layernorm_bwd_long_sums_kernel<T, V, block_threads><<<grid, block_threads, 0, b.stream()>>>(b.in<T>(), b.sums, b.rows, b.cols);
	return triad::launched();
}

template <class T> int launch_single(const Backward &b) {
	switch (b.plan.group) {
	case 32: b.plan.items == 4 ? launch_rows<T, 32, 4>(b) : launch_rows<T, 32, 16>(b); break;
	case 128: b.plan.items == 8 ? launch_rows<T, 128, 8>(b) : launch_rows<T, 128, 16>(b); break;
	case 256: launch_rows<T, 256, 16>(b); break;
	case 512: launch_rows<T, 512, 16>(b); break;
	default: return launch_long_rows<T, 1>(b);
	}
	return triad::launched();
}

// Adds up the sums of so many groups.
template <class T, int V> int launch_finish(const Backward &b, int64_t groups) {
	constexpr int columns = 8, lanes = 16;
	triad::sum_groups_kernel<T, 2, V, columns, lanes><<<triad::blocks_for(2 * b.cols, columns * V), columns * lanes, 0, b.stream()>>>(
	    b.sums.data, b.out<T>(1), b.out<T>(2), static_cast<int>(b.sums.shared ? 1 : groups), b.cols);
	return triad::launched();
}

template <class T> int launch_bwd(const Backward &b) {
	int status = TRIAD_OK;
	int64_t groups = b.plan.groups;
	const auto ring = [&](auto shape) {
		if (triad::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < shape.shared_bytes) return false; // sm_86 has 99 KB, sm_75 64
		groups = std::min<int64_t>(multiprocessors, (b.rows + shape.Groups - 1) / shape.Groups);
		status = launch_ring<decltype(shape)>(b, groups);
		return true;
	};
	if (b.rows > 0 && !b.vectors()) {
		status = launch_single<T>(b);
	} else if (b.rows > 0 && !triad::by_ring<T, 2, 2>(b.cols, ring)) {
		groups = b.plan.blocks;
		status = launch_long_rows<T, triad::vector<T>>(b);
	}
	if (status != TRIAD_OK) return status;
	return b.cols % 4 == 0 ? launch_finish<T, 4>(b, groups) : launch_finish<T, 1>(b, groups);
}

template <class T> int layernorm_bwd_partials(const triad_call *call) {
	const Backward b(call, false);
	return b.cols == 0 ? TRIAD_OK : launch_bwd<T>(b);
}

template <class T> int layernorm_bwd_atomic(const triad_call *call) {
	const Backward b(call, true);
	if (b.cols == 0) return TRIAD_OK;
	const cudaError_t cleared = cudaMemsetAsync(b.sums.data, 0, static_cast<size_t>(2 * b.cols) * sizeof(float), b.stream());
	return cleared != cudaSuccess ? static_cast<int>(cleared) : launch_bwd<T>(b);
}

// ---- registration -----------------------------------------------------------------------------------------------------------------------

int64_t partials_workspace(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	return std::max(Plan(rows, cols).groups, std::min(rows, multiprocessors)) * 2 * cols * static_cast<int64_t>(sizeof(float));
}

int64_t atomic_workspace(const triad_call *call) { return 2 * call->in[0].shape[1] * static_cast<int64_t>(sizeof(float)); }

const triad::Limits forward_rows = {triad::contiguous_columns("x"), triad::contiguous("weight", "bias")};
const triad::Limits forward_vec = {triad::vector_rows("x", "y"), triad::contiguous("weight", "bias"), triad::aligned(16, "weight", "bias")};
const triad::Limits backward_rows = {triad::contiguous_columns("x", "grad_y"), triad::contiguous("weight", "mean", "rstd")};

} // namespace

TRIAD_KERNEL(layernorm, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).launch(TRIAD_BY_DTYPE(layernorm_fwd_naive)))
TRIAD_KERNEL(layernorm, block, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(forward_rows).launch(TRIAD_BY_DTYPE(layernorm_fwd_block)))
TRIAD_KERNEL(layernorm, welford, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(forward_rows).launch(TRIAD_BY_DTYPE(layernorm_fwd_welford)))
TRIAD_KERNEL(layernorm, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(forward_vec).launch(TRIAD_BY_DTYPE(layernorm_fwd_vec)))

TRIAD_KERNEL(layernorm, partials, backward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(7).forward("block").limits(backward_rows).workspace(partials_workspace)
             .launch(TRIAD_BY_DTYPE(layernorm_bwd_partials)))
TRIAD_KERNEL(layernorm, atomic, backward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(7).nondeterministic(6).forward("block").limits(backward_rows)
             .workspace(atomic_workspace).launch(TRIAD_BY_DTYPE(layernorm_bwd_atomic)))
