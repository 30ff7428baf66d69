// bias_mask_scale_add: y = (x + bias) * mask * scale + residual
// backward   dx = dy * mask * scale;  dbias = sum over the rows of dx;  dresidual = dy
// Layout   x, residual, y, dy, dx, dresidual: [rows, cols]; bias, dbias: [cols]; mask: [rows, cols], a byte each,
//          0 or 1; fp32, fp16, bf16; every value inside and the sums are fp32. Outputs are contiguous.
// Limits   rows = 0 gives zeros in dbias; a call outside a variant's own limit answers UNSUPPORTED.
// Special  The mask multiplies: inf where it is 0 gives NaN, which a choice of 0 would not.
// Source   Vaswani et al. 2017, Attention Is All You Need, section 5.4
//   naive   forward: a thread an element, any strides; backward: a thread a column, which adds up its rows one
//           after the other. The readable ones, and the ones to trust first
//   vec     16-byte accesses, and a thread keeps its columns for several rows: bias is read once for them, no
//           element needs a division to find its column. Backward: groups of rows side by side, each with its
//           own sums of dbias, which a second kernel adds up in a fixed order. Costs: their memory, and rows
//           of whole packs
#include <algorithm>
#include <type_traits>

#include "element.cuh"
#include "pack.cuh"
#include "row_sums.cuh"
#include "rows.cuh"
#include "spec/bias_mask_scale_add.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// ---- kernels: naive -----------------------------------------------------------------------------------------

template <class T> struct Operands {
	triad::Matrix<const T> x;
	triad::Vector<const T> bias;
	triad::Matrix<const uint8_t> mask;
	triad::Matrix<const T> residual;
};

template <class T>
__global__ void fwd_naive_kernel(Operands<T> in, T *y, int64_t cols, int64_t elements, float scale) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= elements) return;
	const int64_t r = i / cols, c = i % cols;
	const float branch = (to_float(in.x(r, c)) + to_float(in.bias(c))) * static_cast<float>(in.mask(r, c)) * scale;
	y[i] = from_float<T>(branch + to_float(in.residual(r, c)));
}

// What a backward reads and writes. An output that is not wanted is null.
template <class T> struct Gradients {
	triad::Matrix<const T> dy;
	triad::Matrix<const uint8_t> mask;
	T *dx, *dbias, *dresidual;
	int64_t rows, cols;
	float scale;
};

// Neighbouring threads have neighbouring columns, so a warp reads 32 neighbours of each row.
template <class T> __global__ void bwd_naive_kernel(Gradients<T> g) {
	const int64_t c = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (c >= g.cols) return;
	triad::LongSum sum;
	for (int64_t r = 0; r < g.rows; r++) {
		const T dy = g.dy(r, c);
		const float dx = to_float(dy) * static_cast<float>(g.mask(r, c)) * g.scale;
		if (g.dx != nullptr) g.dx[r * g.cols + c] = from_float<T>(dx);
		if (g.dresidual != nullptr) g.dresidual[r * g.cols + c] = dy;
		sum.add(dx);
	}
	if (g.dbias != nullptr) g.dbias[c] = from_float<T>(sum.total());
}

// ---- kernels: vec -------------------------------------------------------------------------------------------

// Rows that a thread has under way: loads before the first use. What waits stays packed in registers.
template <class T> constexpr int held = sizeof(T) == 4 ? 4 : 2;

// The mask's bytes that belong to 16 bytes of T, as they are read.
template <class T> using MaskWord = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T> __device__ inline float masked(MaskWord<T> word, int j) {
	return static_cast<float>(static_cast<uint32_t>(word >> 8 * j) & 0xff);
}

template <class T> __device__ inline MaskWord<T> fetch_mask(const uint8_t *from) {
	return *reinterpret_cast<const MaskWord<T> *>(from);
}

// Blocks cover the matrix in tiles of `across` packs of 16 bytes and threads / across rows at a time: across is a
// power of two, and `tiles` are side by side.
struct Tiling {
	int across;
	unsigned tiles;
	int64_t cols;

	template <class T> static Tiling of(int64_t cols) {
		const int64_t packs = cols / triad::vector<T>;
		int across = 1;
		while (across < threads && across < packs) across *= 2;
		return {across, static_cast<unsigned>((packs + across - 1) / across), cols};
	}
	int down() const { return threads / across; }

	__device__ int64_t column(int V) const {
		return (blockIdx.x % tiles * static_cast<int64_t>(across) + threadIdx.x % across) * V;
	}
	__device__ int64_t group() const { return blockIdx.x / tiles; }
	__device__ int lane() const { return threadIdx.x / across; }
	__device__ int lanes() const { return threads / across; }
};

template <class T>
__global__ void __launch_bounds__(threads) fwd_vec_kernel(const T *x, const T *bias, const uint8_t *mask,
                                                          const T *residual, T *y, int64_t rows, float scale,
                                                          Tiling tiling) {
	constexpr int V = triad::vector<T>;
	const int64_t c = tiling.column(V), first = tiling.group() * held<T> * tiling.lanes() + tiling.lane();
	if (c >= tiling.cols) return;
	uint4 of_x[held<T>], of_residual[held<T>];
	MaskWord<T> of_mask[held<T>];
#pragma unroll
	for (int h = 0; h < held<T>; h++) {
		const int64_t r = first + h * tiling.lanes(), at = r * tiling.cols + c;
		if (r >= rows) continue;
		of_x[h] = *reinterpret_cast<const uint4 *>(x + at);
		of_mask[h] = fetch_mask<T>(mask + at);
		of_residual[h] = *reinterpret_cast<const uint4 *>(residual + at);
	}
	const uint4 of_bias = *reinterpret_cast<const uint4 *>(bias + c);
#pragma unroll
	for (int h = 0; h < held<T>; h++) {
		const int64_t r = first + h * tiling.lanes();
		if (r >= rows) continue;
		float v[V], b[V], added[V];
		triad::unpack<T>(of_x[h], v);
		triad::unpack<T>(of_bias, b);
		triad::unpack<T>(of_residual[h], added);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = (v[j] + b[j]) * masked<T>(of_mask[h], j) * scale + added[j];
		triad::store(y + r * tiling.cols + c, v);
	}
}

// A group of blocks takes `rows_a_group` rows and writes the sums of dx over them to its row of `sums`.
template <class T>
__global__ void __launch_bounds__(threads)
    bwd_vec_kernel(const T *dy, const uint8_t *mask, T *dx, T *dresidual, triad::RowSums<1> sums, int64_t rows,
                   int64_t rows_a_group, float scale, Tiling tiling) {
	constexpr int V = triad::vector<T>;
	__shared__ __align__(16) float part[threads][V];
	const int64_t c = tiling.column(V), first = tiling.group() * rows_a_group;
	const int64_t end = first + rows_a_group < rows ? first + rows_a_group : rows;
	const int lanes = tiling.lanes();
	float sum[V] = {};
	for (int64_t top = first + tiling.lane(); c < tiling.cols && top < end; top += held<T> * lanes) {
		uint4 of_dy[held<T>];
		MaskWord<T> of_mask[held<T>];
#pragma unroll
		for (int h = 0; h < held<T>; h++) {
			const int64_t r = top + h * lanes, at = r * tiling.cols + c;
			if (r >= end) continue;
			of_dy[h] = *reinterpret_cast<const uint4 *>(dy + at);
			of_mask[h] = fetch_mask<T>(mask + at);
		}
#pragma unroll
		for (int h = 0; h < held<T>; h++) {
			const int64_t r = top + h * lanes, at = r * tiling.cols + c;
			if (r >= end) continue;
			float v[V];
			triad::unpack<T>(of_dy[h], v);
			if (dresidual != nullptr) __stcs(reinterpret_cast<uint4 *>(dresidual + at), of_dy[h]);
#pragma unroll
			for (int j = 0; j < V; j++) {
				v[j] *= masked<T>(of_mask[h], j) * scale;
				sum[j] += v[j];
			}
			if (dx != nullptr) triad::store(dx + at, v);
		}
	}
	triad::put_shared(part[threadIdx.x], sum);
	__syncthreads();
	if (tiling.lane() != 0 || c >= tiling.cols) return;
	for (int l = 1; l < lanes; l++)
#pragma unroll
		for (int j = 0; j < V; j++) sum[j] += part[l * tiling.across + threadIdx.x][j];
	sums.put(tiling.group(), 0, tiling.cols, c, sum);
}

// ---- launchers ----------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call, int i) {
	return static_cast<const T *>(call->in[i].data);
}
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }
float scale_of(const triad_call *call) { return static_cast<float>(call->attr[0]); }

template <class T> int fwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	const Operands<T> in{triad::Matrix<const T>(call->in[0]), triad::Vector<const T>(call->in[1]),
	                     triad::Matrix<const uint8_t>(call->in[2]), triad::Matrix<const T>(call->in[3])};
	fwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    in, output<T>(call, 0), call->in[0].shape[1], n, scale_of(call));
	return triad::launched();
}

template <class T> int bwd_naive(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	const Gradients<T> g{triad::Matrix<const T>(call->in[0]), triad::Matrix<const uint8_t>(call->in[1]),
	                     output<T>(call, 0), output<T>(call, 1), output<T>(call, 2), rows, cols, scale_of(call)};
	bwd_naive_kernel<T><<<triad::blocks_for(cols, threads), threads, 0, triad::stream_of(call)>>>(g);
	return triad::launched();
}

template <class T> int fwd_vec(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0];
	if (rows == 0) return TRIAD_OK;
	const Tiling tiling = Tiling::of<T>(call->in[0].shape[1]);
	const unsigned blocks = triad::blocks_for(rows, held<T> * tiling.down()) * tiling.tiles;
	fwd_vec_kernel<T><<<blocks, threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), input<T>(call, 1), input<uint8_t>(call, 2), input<T>(call, 3), output<T>(call, 0), rows,
	    scale_of(call), tiling);
	return triad::launched();
}

// Plan has as many groups of rows as fill the device with eight blocks for each multiprocessor, and none of fewer
// rows than a block has under way.
struct Plan {
	int64_t rows_a_group, groups;

	Plan(int64_t rows, const Tiling &tiling, int held_rows) {
		const int64_t at_once = 8 * static_cast<int64_t>(triad::device_attribute(cudaDevAttrMultiProcessorCount));
		const int64_t wanted = std::max<int64_t>(1, at_once / tiling.tiles), least = held_rows * tiling.down();
		rows_a_group = std::max<int64_t>(1, ((rows + wanted - 1) / wanted + least - 1) / least) * least;
		groups = (rows + rows_a_group - 1) / rows_a_group;
	}
};

template <class T> int bwd_vec(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	const Tiling tiling = Tiling::of<T>(cols);
	const Plan plan(rows, tiling, held<T>);
	auto *sums = static_cast<float *>(call->workspace);
	if (plan.groups > 0)
		bwd_vec_kernel<T><<<static_cast<unsigned>(plan.groups * tiling.tiles), threads, 0, triad::stream_of(call)>>>(
		    input<T>(call, 0), input<uint8_t>(call, 1), output<T>(call, 0), output<T>(call, 2),
		    triad::RowSums<1>{sums, false}, rows, plan.rows_a_group, scale_of(call), tiling);
	if (T *dbias = output<T>(call, 1))
		triad::sum_groups_kernel<T, 1, 1, 32, 8><<<triad::blocks_for(cols, 32), 32 * 8, 0, triad::stream_of(call)>>>(
		    sums, dbias, nullptr, static_cast<int>(plan.groups), cols);
	return triad::launched();
}

template <class T> int64_t groups_of(const triad_call *call) {
	return Plan(call->in[0].shape[0], Tiling::of<T>(call->in[0].shape[1]), held<T>).groups;
}

int64_t bwd_workspace(const triad_call *call) {
	const bool wide = call->in[0].dtype == TRIAD_F32;
	const int64_t groups = wide ? groups_of<float>(call) : groups_of<__half>(call);
	return std::max<int64_t>(1, groups) * call->in[0].shape[1] * static_cast<int64_t>(sizeof(float));
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(bias_mask_scale_add, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(fwd_naive)))
TRIAD_KERNEL(bias_mask_scale_add, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1)
             .limits(triad::contiguous(), triad::aligned(16), triad::vector_rows("x"))
             .launch(TRIAD_BY_DTYPE(fwd_vec)))
TRIAD_KERNEL(bias_mask_scale_add, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(7).launch(TRIAD_BY_DTYPE(bwd_naive)))
TRIAD_KERNEL(bias_mask_scale_add, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(7)
             .limits(triad::contiguous(), triad::aligned(16), triad::vector_rows("grad_y"))
             .workspace(bwd_workspace).launch(TRIAD_BY_DTYPE(bwd_vec)))
