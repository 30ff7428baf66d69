// rmsnorm: h = x + residual or x; y[r,c] = h[r,c] * rstd_r * weight[c], rstd_r = 1/sqrt(mean_c h[r,c]^2 + eps)
// backward   n = h * rstd;  dh = rstd * (w*dy - n * mean_c(w*dy*n)) + grad_h;  dx = dresidual = dh;  dw = sum_r dy*n
// Layout     x, y, dy, dx and, with a residual, residual, h, grad_h, dresidual: [rows, cols]; weight, dw: [cols]; fp32, fp16, bf16.
//            rstd: [rows], fp32. The sum h is fp32 inside and rounded where it is stored; sums in fp32.
// Limits     rows = 0 gives zeros in dw; rstd is optional; a call outside a variant's own limit answers UNSUPPORTED.
// Source     Zhang and Sennrich 2019, arXiv:1910.07467
//   forward
//   naive    a thread a row, any strides; the readable one, and the one to trust first: two reads of every
//            row. Costs: threads of a warp read 32 rows, cols elements apart
//   block    a block a row, its sum of squares by a reduction in shared memory: neighbours read neighbours,
//            still two reads. Costs: barriers, and most of a block where rows are short
//   vec      16-byte accesses, row in registers up to 16384 columns: one read. Costs: registers for the row;
//            cols % vector == 0, 16-byte aligned rows
//   ring     as vec, and the rows to come are on their way into shared memory meanwhile; the same limits.
//            Costs: shared memory for the rows that are on their way
//   backward
//   partials a fixed number of groups of threads, each with its own sum of dw; a second kernel adds them: same bits in every run. Where rows are
//            aligned, the rows to come are on their way into shared memory meanwhile, and a block adds the sums of its groups
//   atomic   the same, but the groups add to one row of sums by atomics: no order, so dw is not deterministic
#include <algorithm>

#include "arguments.cuh"
#include "element.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/row_norm_ring.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "rmsnorm/backward.cuh"
#include "rmsnorm/sum.cuh"
#include "row_norm_backward.cuh"
#include "rows.cuh"
#include "spec/rmsnorm.cuh"

namespace {

using triad::from_float;
using triad::rmsnorm::Backward;
using triad::rmsnorm::load_sum;
using triad::to_float;

// ---- kernels: forward -------------------------------------------------------------------------------------------------------------------

// What a forward reads and writes. Without a residual, residual and h have no rows.
template <class T> struct Forward {
	triad::Rows<const T> x, residual;
	const T *weight;
	T *y, *h;
	float *rstd;
	bool add;
	int64_t rows, cols;
	float eps;
};

__device__ inline float reciprocal_root(float squares, int64_t cols, float eps) { return 1.0f / sqrtf(squares / static_cast<float>(cols) + eps); }

template <class T>
__global__ void rmsnorm_fwd_naive_kernel(Forward<T> f, triad::Matrix<const T> x, triad::Matrix<const T> residual, triad::Vector<const T> weight) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= f.rows) return;
	triad::LongSum squares;
	for (int64_t c = 0; c < f.cols; c++) {
		const float v = to_float(x(row, c)) + (f.add ? to_float(residual(row, c)) : 0.0f);
		squares.add(v * v);
	}
	const float rstd = reciprocal_root(squares.total(), f.cols, f.eps);
	for (int64_t c = 0; c < f.cols; c++) {
		const float v = to_float(x(row, c)) + (f.add ? to_float(residual(row, c)) : 0.0f);
		if (f.add) f.h[row * f.cols + c] = from_float<T>(v);
		f.y[row * f.cols + c] = from_float<T>(v * rstd * to_float(weight(c)));
	}
	if (f.rstd != nullptr) f.rstd[row] = rstd;
}

// Writes V neighbours of y, and of h where there is a residual.
template <int V, class T>
__device__ inline void write_row(const Forward<T> &f, int64_t row, int64_t c, float rstd, float (&v)[V], const triad::Pack<T, V> &weight) {
	float w[V];
	triad::unpack(weight, w);
	if (f.add) triad::store(f.h + row * f.cols + c, v);
#pragma unroll
	for (int j = 0; j < V; j++) v[j] = v[j] * rstd * w[j];
	triad::store(f.y + row * f.cols + c, v);
}

TRIAD_SPILLS(rmsnorm_fwd_block_kernel, 24, "fp32 rows beyond the registers, four elements at a time, for sm_90a");

template <class T, int V, int Threads> __global__ void __launch_bounds__(Threads) rmsnorm_fwd_block_kernel(Forward<T> f) {
	__shared__ float scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < f.rows; row += gridDim.x) {
		float v[V], squares = 0;
		for (int64_t c = threadIdx.x * V; c < f.cols; c += Threads * V) {
			load_sum(f.x, f.residual, f.add, row, c, v);
#pragma unroll
			for (int j = 0; j < V; j++) squares += v[j] * v[j];
		}
		const float rstd = reciprocal_root(triad::block_reduce<Threads>(squares, triad::Sum(), scratch), f.cols, f.eps);
		for (int64_t c = threadIdx.x * V; c < f.cols; c += Threads * V) {
			load_sum(f.x, f.residual, f.add, row, c, v);
			write_row(f, row, c, rstd, v, triad::fetch<V>(f.weight + c));
		}
		if (threadIdx.x == 0 && f.rstd != nullptr) f.rstd[row] = rstd;
	}
}

// Group threads share a row and keep all of it in registers, Items values each, as it lies in memory, in runs of 16 bytes. In 16 bits the weight is
// asked for along with it, and is there when the sum is.
template <class T, bool Add, int Group, int Items> __global__ void __launch_bounds__(triad::group_block<Group>) rmsnorm_fwd_vec_kernel(Forward<T> f) {
	constexpr int V = triad::vector<T>, Packs = Items / V, RowsPerBlock = triad::group_block<Group> / Group;
	constexpr bool early = sizeof(T) < 4;
	__shared__ float scratch[triad::group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t row = blockIdx.x * static_cast<int64_t>(RowsPerBlock) + threadIdx.x / Group;
	const int64_t here = row < f.rows ? f.cols : 0; // a group without a row still takes part in the shuffles
	uint4 x[Packs] = {}, residual[Add ? Packs : 1] = {}; // zeros beyond the row add nothing to the sum
	triad::Pack<T, V> weights[early ? Packs : 1] = {};
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int64_t c = (member + p * Group) * V;
		if (c >= here) continue;
		x[p] = *reinterpret_cast<const uint4 *>(f.x.row(row) + c);
		if constexpr (Add) residual[p] = *reinterpret_cast<const uint4 *>(f.residual.row(row) + c);
		if constexpr (early) weights[p] = triad::fetch<V>(f.weight + c);
	}
	const auto sum = [&](int p, float(&v)[V]) {
		triad::unpack_here<T>(x[p], v);
		if constexpr (Add) {
			float r[V];
			triad::unpack_here<T>(residual[p], r);
#pragma unroll
			for (int j = 0; j < V; j++) v[j] += r[j];
		}
	};
	float v[V], squares = 0;
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		sum(p, v);
#pragma unroll
		for (int j = 0; j < V; j++) squares += v[j] * v[j];
	}
	const float rstd = reciprocal_root(triad::group_reduce_in_turn<Group>(squares, triad::Sum(), scratch), f.cols, f.eps);
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int64_t c = (member + p * Group) * V;
		if (c >= here) continue;
		sum(p, v);
		write_row(f, row, c, rstd, v, early ? weights[early ? p : 0] : triad::fetch<V>(f.weight + c));
	}
	if (member == 0 && row < f.rows && f.rstd != nullptr) f.rstd[row] = rstd;
}

// A block takes every gridDim.x-th row. The next rows are on their way into shared memory, stages of them, while it works on one. A thread
// reads what it copied itself, so a wait of its own is enough, and a stage is free again once it has read it.
template <class T, int Threads, int Stages> __global__ void __launch_bounds__(Threads) rmsnorm_fwd_ring_kernel(Forward<T> f) {
	constexpr int V = triad::vector<T>;
	extern __shared__ __align__(128) unsigned char ring_memory[];
	__shared__ float scratch[2][Threads / 32];
	const int row_bytes = static_cast<int>(f.cols * static_cast<int64_t>(sizeof(T))), stage_bytes = row_bytes * (f.add ? 2 : 1);
	const triad::hopper::SharedAddress ring = triad::hopper::shared_address(ring_memory);
	triad::hopper::AsyncCopies copies;
	// Asks for a row; a group of copies is committed in any case, so that a wait counts rows.
	const auto ask = [&](int64_t row, int stage) {
		for (int at = threadIdx.x * 16; row < f.rows && at < row_bytes; at += Threads * 16) {
			const auto to = static_cast<triad::hopper::SharedAddress>(ring + stage * stage_bytes + at);
			copies.copy16(to, f.x.row(row) + at / static_cast<int>(sizeof(T)), true);
			if (f.add) copies.copy16(to + row_bytes, f.residual.row(row) + at / static_cast<int>(sizeof(T)), true);
		}
		copies.commit();
	};
	const auto read = [&](int stage, int at, float(&v)[V]) {
		const unsigned char *from = ring_memory + stage * stage_bytes + at;
		triad::unpack<T>(*reinterpret_cast<const uint4 *>(from), v);
		if (!f.add) return;
		float r[V];
		triad::unpack<T>(*reinterpret_cast<const uint4 *>(from + row_bytes), r);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] += r[j];
	};
	for (int s = 0; s < Stages; s++) ask(blockIdx.x + s * static_cast<int64_t>(gridDim.x), s);
	int stage = 0, turn = 0;
	for (int64_t row = blockIdx.x; row < f.rows; row += gridDim.x) {
		copies.template wait<Stages - 1>();
		float v[V], squares = 0;
		for (int at = threadIdx.x * 16; at < row_bytes; at += Threads * 16) {
			read(stage, at, v);
#pragma unroll
			for (int j = 0; j < V; j++) squares += v[j] * v[j];
		}
		const float rstd = reciprocal_root(triad::block_reduce_in_turn<Threads>(squares, triad::Sum(), scratch[turn]), f.cols, f.eps);
		for (int at = threadIdx.x * 16; at < row_bytes; at += Threads * 16) {
			const int64_t c = at / static_cast<int>(sizeof(T));
			read(stage, at, v);
			write_row(f, row, c, rstd, v, triad::fetch<V>(f.weight + c));
		}
		if (threadIdx.x == 0 && f.rstd != nullptr) f.rstd[row] = rstd;
		ask(row + Stages * static_cast<int64_t>(gridDim.x), stage);
		stage = stage + 1 == Stages ? 0 : stage + 1;
		turn ^= 1;
	}
	copies.template wait<0>();
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int block_threads = 256;
constexpr int long_threads = 512; // rows beyond the registers

template <class T> Forward<T> forward_of(const triad_call *call) {
	const auto rows = [&](int i) { return triad::Rows<const T>(call->in[i]); };
	return {rows(0), rows(1), static_cast<const T *>(call->in[2].data), static_cast<T *>(call->out[0].data), static_cast<T *>(call->out[2].data),
	        static_cast<float *>(call->out[1].data), call->attr[0] != 0, call->in[0].shape[0], call->in[0].shape[1],
	        static_cast<float>(call->attr[1])};
}

template <class T> int rmsnorm_fwd_naive(const triad_call *call) {
	const Forward<T> f = forward_of<T>(call);
	if (f.rows == 0) return TRIAD_OK;
	constexpr int threads = 128;
	rmsnorm_fwd_naive_kernel<T><<<triad::blocks_for(f.rows, threads), threads, 0, triad::stream_of(call)>>>(
	    f, triad::Matrix<const T>(call->in[0]), triad::Matrix<const T>(call->in[1]), triad::Vector<const T>(call->in[2]));
	return triad::launched();
}

template <class T, int V, int Threads> int launch_block(const triad_call *call) {
	const Forward<T> f = forward_of<T>(call);
	if (f.rows == 0) return TRIAD_OK;
	rmsnorm_fwd_block_kernel<T, V, Threads><<<triad::blocks_for(f.rows, 1), Threads, 0, triad::stream_of(call)>>>(f);
	return triad::launched();
}

template <class T> int rmsnorm_fwd_block(const triad_call *call) { return launch_block<T, 1, block_threads>(call); }

template <class T> struct ForwardVec {
	template <int Group, int Items> static int registers(const triad_call *call) {
		const Forward<T> f = forward_of<T>(call);
		constexpr int threads = triad::group_block<Group>;
		const auto kernel = f.add ? rmsnorm_fwd_vec_kernel<T, true, Group, Items> : rmsnorm_fwd_vec_kernel<T, false, Group, Items>;
		kernel<<<triad::blocks_for(f.rows, threads / Group), threads, 0, triad::stream_of(call)>>>(f);
		return triad::launched();
	}
	static int longer(const triad_call *call) { return launch_block<T, triad::vector<T>, long_threads>(call); }
};

template <class T> int rmsnorm_fwd_vec(const triad_call *call) {
	return call->in[0].shape[0] == 0 ? TRIAD_OK : triad::by_row_length<ForwardVec<T>, true>(call, call->in[0].shape[1]);
}

// A block a multiprocessor and more where several fit; rows of which not two fit a block are read twice.
template <class T> int rmsnorm_fwd_ring(const triad_call *call) {
	constexpr int stages = 3;
	const Forward<T> f = forward_of<T>(call);
	if (f.rows == 0) return TRIAD_OK;
	const int64_t bytes = stages * f.cols * static_cast<int64_t>(sizeof(T)) * (f.add ? 2 : 1);
	const int64_t scratch = 2 * block_threads / 32 * static_cast<int64_t>(sizeof(float));
	if (bytes + scratch > triad::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin))
		return launch_block<T, triad::vector<T>, long_threads>(call);
	const auto kernel = rmsnorm_fwd_ring_kernel<T, block_threads, stages>;
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))) return status;
	const int64_t shared = triad::device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
	const int64_t at_once = std::max<int64_t>(1, std::min<int64_t>(8, shared / (bytes + scratch + 1024)));
	const int64_t blocks = std::min(f.rows, at_once * std::max(1, triad::device_attribute(cudaDevAttrMultiProcessorCount)));
	kernel<<<static_cast<unsigned>(blocks), block_threads, static_cast<size_t>(bytes), triad::stream_of(call)>>>(f);
	return triad::launched();
}

constexpr int64_t multiprocessors = 132; // of a Hopper GPU, whatever the device has

// How the rows of a backward are spread where no ring takes them: whatever the device has, so that all give the same bits of dw.
struct Plan {
	int64_t group, groups; // threads a row, 0 for rows beyond the registers; sums of dw

	Plan(int64_t rows, int64_t cols) {
		group = cols <= 32 * 16 ? 32 : cols <= 128 * 16 ? 128 : cols <= 512 * 16 ? 512 : 0;
		const int64_t per_block = group == 32 ? 4 : 1, most = multiprocessors * (group == 0 ? 1 : group == 512 ? 2 : 4);
		groups = std::min(most, (rows + per_block - 1) / per_block) * per_block;
	}
};

template <class T, int V> int launch_long_rows(const triad_call *call, const Backward<T> &b, const Plan &plan) {
	const cudaStream_t stream = triad::stream_of(call);
	if (b.dx != nullptr || b.dresidual != nullptr)
		triad::row_norm_bwd_long_rows_kernel<Backward<T>, V, long_threads><<<triad::blocks_for(b.rows, 1), long_threads, 0, stream>>>(b);
	triad::row_norm_bwd_long_sums_kernel<Backward<T>, V, block_threads>
	    <<<dim3(triad::blocks_for(b.cols, block_threads * V), static_cast<unsigned>(plan.groups)), block_threads, 0, stream>>>(b);
	return triad::launched();
}

template <class T> int launch_single(const triad_call *call, const Backward<T> &b, const Plan &plan) {
	const auto stream = triad::stream_of(call);
	switch (plan.group) {
	case 32: triad::row_norm_bwd_kernel<Backward<T>, 32, 16><<<static_cast<unsigned>(plan.groups / 4), triad::group_block<32>, 0, stream>>>(b); break;
	case 128: triad::row_norm_bwd_kernel<Backward<T>, 128, 16><<<static_cast<unsigned>(plan.groups), 128, 0, stream>>>(b); break;
	case 512: triad::row_norm_bwd_kernel<Backward<T>, 512, 16><<<static_cast<unsigned>(plan.groups), 512, 0, stream>>>(b); break;
	default: return launch_long_rows<T, 1>(call, b, plan);
	}
	return triad::launched();
}

// Whether all rows can be read and written 16 bytes at a time.
bool vectors(const triad_call *call) {
	triad::Check check(nullptr, 0);
	check.vector_rows(call->in[0], "x").vector_rows(call->in[4], "grad_y").vector_rows(call->out[0], "grad_x").aligned(call->in[2], "weight", 16);
	if (call->attr[0] != 0)
		check.vector_rows(call->in[1], "residual").vector_rows(call->in[5], "grad_h").vector_rows(call->out[1], "grad_residual");
	return check.holds();
}

// The rows, and sums of dw of so many groups.
template <class T> int launch_rows(const triad_call *call, const Backward<T> &b, int64_t &groups) {
	const Plan plan(b.rows, b.cols);
	groups = plan.groups;
	if (b.rows == 0) return TRIAD_OK;
	if (!vectors(call)) return launch_single<T>(call, b, plan);
	int status = TRIAD_OK;
	return triad::launch_norm_ring<T>(call, b, multiprocessors, groups, status) ? status : launch_long_rows<T, triad::vector<T>>(call, b, plan);
}

// Adds up the sums of so many groups.
template <class T, int V> int launch_finish(const triad_call *call, const Backward<T> &b, int64_t groups) {
	triad::sum_groups_kernel<T, 1, V, 8, 16><<<triad::blocks_for(b.cols, 8 * V), 8 * 16, 0, triad::stream_of(call)>>>(
	    b.sums, static_cast<T *>(call->out[2].data), nullptr, b.shared ? 1 : static_cast<int>(groups), b.cols);
	return triad::launched();
}

template <class T, bool Shared> int rmsnorm_bwd(const triad_call *call) {
	const auto rows = [&](int i) { return triad::Rows<const T>(call->in[i]); };
	const Backward<T> b = {rows(0), rows(1), rows(4), rows(5), static_cast<const T *>(call->in[2].data), static_cast<const float *>(call->in[3].data),
	                       static_cast<T *>(call->out[0].data), static_cast<T *>(call->out[1].data),
	                       static_cast<float *>(call->workspace), Shared, call->attr[0] != 0, call->in[0].shape[0], call->in[0].shape[1]};
	int status = Shared ? cudaMemsetAsync(b.sums, 0, static_cast<size_t>(b.cols) * sizeof(float), triad::stream_of(call)) : TRIAD_OK;
	int64_t groups = 0;
	if (status == TRIAD_OK) status = launch_rows(call, b, groups);
	if (status != TRIAD_OK || call->out[2].data == nullptr) return status;
	return b.cols % 4 == 0 ? launch_finish<T, 4>(call, b, groups) : launch_finish<T, 1>(call, b, groups);
}

template <class T> int rmsnorm_bwd_partials(const triad_call *call) { return rmsnorm_bwd<T, false>(call); }
template <class T> int rmsnorm_bwd_atomic(const triad_call *call) { return rmsnorm_bwd<T, true>(call); }

// ---- registration -----------------------------------------------------------------------------------------------------------------------

int64_t partials_workspace(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	return std::max({int64_t{1}, Plan(rows, cols).groups, std::min(rows, multiprocessors)}) * cols * static_cast<int64_t>(sizeof(float));
}

int64_t atomic_workspace(const triad_call *call) { return call->in[0].shape[1] * static_cast<int64_t>(sizeof(float)); }

const triad::Limits forward_rows = {triad::contiguous_columns("x", "residual"), triad::contiguous("weight")};
const triad::Limits forward_vectors = {triad::vector_rows("x", "residual", "y", "h"), triad::contiguous("weight"), triad::aligned(16, "weight")};
const triad::Limits backward_rows = {triad::contiguous_columns("x", "residual", "grad_y", "grad_h"), triad::contiguous("weight", "rstd")};

} // namespace

TRIAD_KERNEL(rmsnorm, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).launch(TRIAD_BY_DTYPE(rmsnorm_fwd_naive)))
TRIAD_KERNEL(rmsnorm, block, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(forward_rows).launch(TRIAD_BY_DTYPE(rmsnorm_fwd_block)))
TRIAD_KERNEL(rmsnorm, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(forward_vectors).launch(TRIAD_BY_DTYPE(rmsnorm_fwd_vec)))
TRIAD_KERNEL(rmsnorm, ring, forward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(7).limits(forward_vectors).launch(TRIAD_BY_DTYPE(rmsnorm_fwd_ring)))

TRIAD_KERNEL(rmsnorm, partials, backward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(7).forward("block").limits(backward_rows).workspace(partials_workspace)
             .launch(TRIAD_BY_DTYPE(rmsnorm_bwd_partials)))
TRIAD_KERNEL(rmsnorm, atomic, backward,
             .asynchronous().contract("fp32").dtypes(triad::floats).outputs(7).nondeterministic(4).forward("block").limits(backward_rows)
             .workspace(atomic_workspace).launch(TRIAD_BY_DTYPE(rmsnorm_bwd_atomic)))
