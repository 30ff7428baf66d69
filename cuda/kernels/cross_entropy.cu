// cross_entropy: loss_r = (1-s)*(lse_r - x[r,target_r]) + s*(lse_r - mean_c x[r,c]), lse_r = log sum_c exp(x[r,c])
// backward       dx[r,c] = w_r*(exp(x[r,c] - lse_r) - (1-s)*[c is target_r] - s/classes), w = dy, for the mean divided by the rows that count
// Layout   x, dx: [rows, classes]; target: [rows] int64; lse: [rows] fp32, contiguous; loss, dy: [rows], or [1] for a sum or a mean, fp32.
//          Inputs may have other strides, outputs are contiguous. fp32, fp16, bf16; every value and sum in fp32. The losses of the rows are
//          added up in one block, always in the same order.
// Limits   a row whose target is ignore_index has loss 0 and gradient 0; so has a mean over no row.
// Special  a row of only -inf, with +inf or with NaN has the lse NaN.
// Source   Milakov & Gimelshein 2018, arXiv:1805.02867 (online)
//   naive   a thread a row, once for the maximum and once for the sum; backward a thread an element. The
//           readable one, and the one to trust first. Costs: threads of a warp read 32 rows, classes elements
//           apart, twice
//   online  a block a row: maximum and sum in one pass, neighbouring threads read neighbours; forward only.
//           Costs: a sum that is scaled anew wherever the maximum grows, and one block however few the
//           classes are
//   vec     as online, 16 bytes a load, of four loads before the first use; a sum is scaled anew at most once for each load, and an
//           exponential is one subtraction, one product and one power of two. Backward 16 bytes a load and a store. Costs: classes a
//           multiple of a vector, rows aligned to 16 bytes
#include "arguments.cuh"
#include "element.cuh"
#include "hopper/arithmetic.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "spec/cross_entropy.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// What a call asks for, and the targets.
struct Setting {
	triad::Vector<const int64_t> target;
	int64_t ignored, rows, classes;
	float smoothing;
	int reduction; // 0: mean, 1: sum, 2: none
};

// ---- kernels: forward -------------------------------------------------------------------------------------------------------------------

// row_loss is the loss of a row from what its elements gave; log is that of the sum of exp(x - max).
// The sum max + log would be rounded to the size of max, which may be far larger than the loss.
__device__ float row_loss(const Setting &set, int64_t target, float x_target, float max, float log, float total) {
	if (target == set.ignored) return 0.0f;
	const float loss = (max - x_target) + log;
	return set.smoothing > 0.0f ? (1.0f - set.smoothing) * loss + set.smoothing * ((max - total / set.classes) + log) : loss;
}

template <class T> __global__ void cross_entropy_fwd_naive_kernel(triad::Matrix<const T> x, float *losses, float *lse, Setting set) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= set.rows) return;
	float max = -INFINITY;
	for (int64_t c = 0; c < set.classes; c++) max = fmaxf(max, to_float(x(row, c)));
	triad::LongSum sum, total;
	for (int64_t c = 0; c < set.classes; c++) {
		sum.add(expf(to_float(x(row, c)) - max));
		total.add(to_float(x(row, c)));
	}
	const float log = logf(sum.total());
	if (lse != nullptr) lse[row] = max + log;
	const int64_t target = set.target(row);
	losses[row] = row_loss(set, target, target == set.ignored ? 0.0f : to_float(x(row, target)), max, log, total.total());
}

// The maximum so far, the sum of exp(x - max) so far, and the sum of x. Empty: -inf, 0 and 0.
struct Online {
	float max, sum, total;
};

__device__ inline Online shuffle_xor(Online v, int lane_mask) {
	return {triad::shuffle_xor(v.max, lane_mask), triad::shuffle_xor(v.sum, lane_mask), triad::shuffle_xor(v.total, lane_mask)};
}

// The new value's own term is exp(x - x): 1, but NaN for an infinity. -inf adds nothing; NaN is not above the maximum, and poisons the sum.
__device__ inline void online_add(Online &o, float x) {
	o.total += x;
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
		return {max, a.sum * scale_a + b.sum * scale_b, a.total + b.total};
	}
};

// give_row writes what a row's elements gave; one thread of its block calls it.
template <class T> __device__ void give_row(const Online &all, const T *from, int64_t row, float *losses, float *lse, const Setting &set) {
	const float log = all.max == -INFINITY ? NAN : logf(all.sum);
	if (lse != nullptr) lse[row] = all.max + log;
	const int64_t target = set.target(row);
	losses[row] = row_loss(set, target, target == set.ignored ? 0.0f : to_float(from[target]), all.max, log, all.total);
}

// A block a row.
template <class T>
__global__ void __launch_bounds__(threads) cross_entropy_fwd_online_kernel(triad::Rows<const T> x, float *losses, float *lse, Setting set) {
	__shared__ Online scratch[threads / 32];
	for (int64_t row = blockIdx.x; row < set.rows; row += gridDim.x) {
		const T *from = x.row(row);
		Online mine = {-INFINITY, 0.0f, 0.0f};
		for (int64_t c = threadIdx.x; c < set.classes; c += threads) online_add(mine, to_float(from[c]));
		const Online all = triad::block_reduce<threads>(mine, OnlineMerge(), scratch);
		if (threadIdx.x == 0) give_row(all, from, row, losses, lse, set);
	}
}

// online_take adds several elements at once. Rounding the product costs |x - max| 2^-24 of a term of e^(x - max), which is the less the more that is.
template <bool Smooth, int N> __device__ inline void online_take(Online &o, const float (&x)[N]) {
	constexpr float log2_e = 1.44269504f;
	float top = o.max, more = 0.0f, total = 0.0f;
#pragma unroll
	for (int j = 0; j < N; j++) top = fmaxf(top, x[j]);
	if (top > o.max) {
		o.sum *= triad::hopper::power_of_two((o.max - top) * log2_e);
		o.max = top;
	}
	const float from = top == -INFINITY ? 0.0f : top; // -inf - -inf would be NaN
#pragma unroll
	for (int j = 0; j < N; j++) {
		more += triad::hopper::power_of_two((x[j] - from) * log2_e);
		if (Smooth) total += x[j];
	}
	o.sum += more;
	if (Smooth) o.total += total;
}

// A block a row, Loads of 16 bytes on their way at once.
template <class T, bool Smooth>
__global__ void __launch_bounds__(threads) cross_entropy_fwd_vec_kernel(triad::Rows<const T> x, float *losses, float *lse, Setting set) {
	constexpr int V = triad::vector<T>, Loads = 4;
	__shared__ Online scratch[threads / 32];
	for (int64_t row = blockIdx.x; row < set.rows; row += gridDim.x) {
		const T *from = x.row(row);
		Online mine = {-INFINITY, 0.0f, 0.0f};
		for (int64_t first = threadIdx.x * V; first < set.classes; first += Loads * threads * V) {
			triad::Pack<T, V> held[Loads];
#pragma unroll
			for (int i = 0; i < Loads; i++)
				if (first + i * threads * V < set.classes) held[i] = triad::fetch<V>(from + first + i * threads * V);
#pragma unroll
			for (int i = 0; i < Loads; i++) {
				if (first + i * threads * V >= set.classes) break;
				float v[V];
				triad::unpack(held[i], v);
				online_take<Smooth>(mine, v);
			}
		}
		const Online all = triad::block_reduce<threads>(mine, OnlineMerge(), scratch);
		if (threadIdx.x == 0) give_row(all, from, row, losses, lse, set);
	}
}

// counted_rows is how many rows are not ignored; the threads of a block count them together.
__device__ float counted_rows(const Setting &set, float *scratch) {
	float mine = 0.0f; // exact up to 2^24 rows of one thread
	for (int64_t r = threadIdx.x; r < set.rows; r += threads) mine += set.target(r) != set.ignored;
	return triad::block_reduce<threads>(mine, triad::Sum(), scratch);
}

// One block adds up the losses of the rows.
__global__ void __launch_bounds__(threads) cross_entropy_reduce_kernel(const float *losses, float *loss, Setting set) {
	__shared__ float scratch[threads / 32];
	triad::LongSum mine;
	for (int64_t r = threadIdx.x; r < set.rows; r += threads) mine.add(losses[r]);
	const float sum = triad::block_reduce<threads>(mine.total(), triad::Sum(), scratch);
	const float count = set.reduction == 0 ? fmaxf(counted_rows(set, scratch), 1.0f) : 1.0f;
	if (threadIdx.x == 0) *loss = sum / count;
}

// ---- kernels: backward ------------------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(threads) cross_entropy_count_kernel(float *counted, Setting set) {
	__shared__ float scratch[threads / 32];
	const float count = set.reduction == 0 ? fmaxf(counted_rows(set, scratch), 1.0f) : 1.0f;
	if (threadIdx.x == 0) *counted = count;
}

__device__ float gradient(const Setting &set, float x, float lse, bool is_target, float weight) {
	return weight * (expf(x - lse) - set.smoothing / set.classes - (is_target ? 1.0f - set.smoothing : 0.0f));
}

template <class T>
__global__ void cross_entropy_bwd_naive_kernel(triad::Matrix<const T> x, triad::Vector<const float> dy, const float *lse, const float *counted, T *dx,
                                               Setting set) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= set.rows * set.classes) return;
	const int64_t row = i / set.classes, c = i % set.classes, target = set.target(row);
	const float weight = dy(set.reduction == 2 ? row : 0) / *counted;
	dx[i] = from_float<T>(target == set.ignored ? 0.0f : gradient(set, to_float(x(row, c)), lse[row], c == target, weight));
}

template <class T>
__global__ void __launch_bounds__(threads)
    cross_entropy_bwd_vec_kernel(triad::Rows<const T> x, triad::Vector<const float> dy, const float *lse, const float *counted, T *dx, Setting set) {
	constexpr int V = triad::vector<T>;
	for (int64_t row = blockIdx.x; row < set.rows; row += gridDim.x) {
		const int64_t target = set.target(row);
		const bool counts = target != set.ignored;
		const float weight = dy(set.reduction == 2 ? row : 0) / *counted, l = lse[row];
		for (int64_t c = threadIdx.x * V; c < set.classes; c += threads * V) {
			float v[V] = {};
			if (counts) triad::load(x.row(row) + c, v);
#pragma unroll
			for (int j = 0; j < V; j++) v[j] = counts ? gradient(set, v[j], l, c + j == target, weight) : 0.0f;
			triad::store(dx + row * set.classes + c, v);
		}
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

Setting setting_of(const triad_call *call) {
	return {triad::Vector<const int64_t>(call->in[1]), static_cast<int64_t>(call->attr[0]), call->in[0].shape[0], call->in[0].shape[1],
	        static_cast<float>(call->attr[1]), static_cast<int>(call->attr[2])};
}

float *lse_of(const triad_call *call) { return static_cast<float *>(call->out[1].data); }
float *loss_of(const triad_call *call) { return static_cast<float *>(call->out[0].data); }

int64_t loss_a_row(const triad_call *call) { return call->in[0].shape[0] * static_cast<int64_t>(sizeof(float)) + 16; }
int64_t one_number(const triad_call *) { return 16; }

// The losses of the rows are the output, or go to the workspace and are added up.
template <class Launch> int forward(const triad_call *call, Launch launch) {
	const Setting set = setting_of(call);
	float *losses = set.reduction == 2 ? loss_of(call) : static_cast<float *>(call->workspace);
	if (set.rows > 0) launch(losses, set);
	if (set.reduction != 2) cross_entropy_reduce_kernel<<<1, threads, 0, triad::stream_of(call)>>>(losses, loss_of(call), set);
	return triad::launched();
}

template <class T> int cross_entropy_fwd_naive(const triad_call *call) {
	return forward(call, [&](float *losses, const Setting &set) {
		cross_entropy_fwd_naive_kernel<T><<<triad::blocks_for(set.rows, threads), threads, 0, triad::stream_of(call)>>>(
		    triad::Matrix<const T>(call->in[0]), losses, lse_of(call), set);
	});
}

template <class T> int forward_rows(const triad_call *call, void (*kernel)(triad::Rows<const T>, float *, float *, Setting)) {
	return forward(call, [&](float *losses, const Setting &set) {
		kernel<<<triad::blocks_for(set.rows, 1), threads, 0, triad::stream_of(call)>>>(triad::Rows<const T>(call->in[0]), losses, lse_of(call), set);
	});
}

template <class T> int cross_entropy_fwd_online(const triad_call *call) { return forward_rows<T>(call, cross_entropy_fwd_online_kernel<T>); }
template <class T> int cross_entropy_fwd_vec(const triad_call *call) {
	return forward_rows<T>(call, setting_of(call).smoothing > 0.0f ? cross_entropy_fwd_vec_kernel<T, true> : cross_entropy_fwd_vec_kernel<T, false>);
}

template <class Launch> int backward(const triad_call *call, Launch launch) {
	const Setting set = setting_of(call);
	if (set.rows == 0) return TRIAD_OK;
	float *counted = static_cast<float *>(call->workspace);
	cross_entropy_count_kernel<<<1, threads, 0, triad::stream_of(call)>>>(counted, set);
	launch(triad::Vector<const float>(call->in[3]), static_cast<const float *>(call->in[2].data), counted, set);
	return triad::launched();
}

template <class T> int cross_entropy_bwd_naive(const triad_call *call) {
	return backward(call, [&](triad::Vector<const float> dy, const float *lse, const float *counted, const Setting &set) {
		cross_entropy_bwd_naive_kernel<T><<<triad::blocks_for(set.rows * set.classes, threads), threads, 0, triad::stream_of(call)>>>(
		    triad::Matrix<const T>(call->in[0]), dy, lse, counted, static_cast<T *>(call->out[0].data), set);
	});
}

template <class T> int cross_entropy_bwd_vec(const triad_call *call) {
	return backward(call, [&](triad::Vector<const float> dy, const float *lse, const float *counted, const Setting &set) {
		cross_entropy_bwd_vec_kernel<T><<<triad::blocks_for(set.rows, 1), threads, 0, triad::stream_of(call)>>>(
		    triad::Rows<const T>(call->in[0]), dy, lse, counted, static_cast<T *>(call->out[0].data), set);
	});
}

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(cross_entropy, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).workspace(loss_a_row).launch(TRIAD_BY_DTYPE(cross_entropy_fwd_naive)))
TRIAD_KERNEL(cross_entropy, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(one_number).launch(TRIAD_BY_DTYPE(cross_entropy_bwd_naive)))
TRIAD_KERNEL(cross_entropy, online, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).workspace(loss_a_row).limits(triad::contiguous_columns("logits"))
             .launch(TRIAD_BY_DTYPE(cross_entropy_fwd_online)))
TRIAD_KERNEL(cross_entropy, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).workspace(loss_a_row).limits(triad::vector_rows("logits"))
             .launch(TRIAD_BY_DTYPE(cross_entropy_fwd_vec)))
TRIAD_KERNEL(cross_entropy, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(one_number).limits(triad::vector_rows("logits", "grad_logits"))
             .launch(TRIAD_BY_DTYPE(cross_entropy_bwd_vec)))
