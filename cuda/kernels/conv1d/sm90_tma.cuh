// sm90_tma.cuh: conv1d of 16-bit operands on Hopper's tensor cores (wgmma, sm_90a), of the copies of x, w and grad_y that mma.cuh makes: with the
// channels of a place side by side, what a filter meets at place l, all taps of all channels, is a row of a matrix whose rows begin stride * in
// elements apart, and overlap.
//     y[o,l]      = sum_k w[o,k] x[l * stride * in + k],  k = (t, c)
//     grad_x[c,i] = sum_k w[k,c] dy[i * out + k],         k = (t, o) with the taps from the last to the first
//     grad_w[o,j] = sum over b and l of dy[l * stride * out + o] x[l * stride * in + j],  j = (t, c)
//   All three are products with the pipeline of hopper/pair_product.cuh, tiles of 128 x 128 that two consumers take in turn. The copy engine reads the
//   rows that overlap as it reads others:
//
//       product    a                    b               a step of the reduction
//       y          w, along it          x, along it     64 of the taps' channels
//       grad_x     w, across it         dy, along it    64 of the taps' channels
//       grad_w     dy, across it        x, across it    64 places, of one row of the batch after the other
//
//   grad_w has few tiles and long sums: clusters add up parts of them in fp32, and a kernel adds the parts in their order, as in mma.cuh.
#ifndef TRIAD_CONV1D_SM90_TMA_CUH
#define TRIAD_CONV1D_SM90_TMA_CUH
#include <algorithm>

#include "capability.cuh"
#include "hopper/pair_halves.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/store_sums.cuh"
#include "mma.cuh"
#include "pack.cuh"
#include "reduce.cuh"

namespace triad {
namespace conv1d {

using TmaTile = hopper::PairTile<2, 6>;

// PlacesWork is that of grad_w: a matrix of the work is a part of the sum, from step matrix * steps on. The steps that parts have too many lie beyond
// the batch, where operands are zero.
struct PlacesWork : hopper::PairWork {
	int places; // of a row of the batch

	template <bool AlongKA, bool AlongKB> struct Walk {
		static_assert(!AlongKA && !AlongKB, "the channels of a place lie side by side");
		hopper::PairBox a, b;
		int places;

		__device__ void next() {
			a.row += TmaTile::k;
			if (a.row >= places) a.row = 0, a.batch++, b.batch++;
			b.row = a.row;
		}
	};

	template <bool AlongKA, bool AlongKB> __device__ Walk<AlongKA, AlongKB> walk(int matrix, int row, int col) const {
		const int of_row = (places + TmaTile::k - 1) / TmaTile::k, step = matrix * steps, batch = step / of_row, place = step % of_row * TmaTile::k;
		return {{row, place, 0, batch}, {col, place, 0, batch}, places};
	}
};

// ConvolvedSums says where the sums go: y or grad_x [batch, rows, columns] of T, or parts of grad_w in fp32. wide: 16 bytes at a time, of fp32 8.
// A thread has two rows of each 64, and of each eight columns two; see store_sums.cuh.
template <class T> struct ConvolvedSums {
	T *y;
	Bias<T> bias; // of each row
	int64_t rows, columns;
	bool wide;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	struct Epilogue {
		const ConvolvedSums &of;
		float bias[TmaTile::parts][2];

		__device__ static int64_t row_of(const hopper::PairPlace &at, int part) {
			return at.row + part * hopper::mma_rows + hopper::accumulator_row(static_cast<int>(threadIdx.x) % TmaTile::warpgroup, 0);
		}
		// The bias comes while the tile is multiplied.
		__device__ void begin(const hopper::PairPlace &at) {
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++)
#pragma unroll
				for (int half = 0; half < 2; half++) {
					const int64_t row = row_of(at, part) + 8 * half;
					bias[part][half] = row < of.rows ? of.bias(row) : 0.0f;
				}
		}
		__device__ void store(TmaTile::Sums &d, const hopper::PairPlace &at) const {
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++) {
#pragma unroll
				for (int i = 0; i < TmaTile::n / 8; i++)
#pragma unroll
					for (int e = 0; e < 4; e++) d[part][i][e] += bias[part][e / 2];
				const hopper::SumsPlace<T> to = {of.y + at.matrix * of.rows * of.columns, of.rows, of.columns, row_of(at, part), at.col};
				if (of.wide) hopper::store_wide(d[part], to, [](float sum) { return sum; });
				else hopper::store_each(d[part], to, [](float sum, int64_t) { return sum; });
			}
		}
	};
#endif
};

template <class T, bool AlongKA, bool AlongKB, class Result, class Work>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    conv1d_tma_kernel(const __grid_constant__ ConvolvedSums<Result> result, const __grid_constant__ Work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char conv1d_tiles[];
	hopper::run_pair<TmaTile, AlongKA, AlongKB>(
		work, conv1d_tiles,
		[](TmaTile::Part &d, hopper::SharedAddress a, hopper::SharedAddress b, bool add) { hopper::multiply_stage<T, AlongKA, AlongKB>(d, a, b, add); },
		[&](hopper::SharedAddress, int) { return typename ConvolvedSums<Result>::Epilogue{result}; });
#endif
}

// grad_bias of rows that are whole vectors: a block a channel, a warp a row of the batch.
constexpr int bias_threads = 256;
template <class T> __global__ void __launch_bounds__(bias_threads) conv1d_bwd_bias_rows_kernel(Lanes<T> dy, T *db, Sizes of) {
	constexpr int V = vector<T>, warps = bias_threads / 32;
	__shared__ float sums[warps];
	LongSum sum;
	for (int64_t b = threadIdx.x / 32; b < of.batch; b += warps) {
		const T *const row = &dy.at(b, blockIdx.x, 0);
#pragma unroll 4
		for (int64_t l = threadIdx.x % 32 * V; l < of.places; l += 32 * V) {
			float v[V], eight = 0;
			load(row + l, v);
#pragma unroll
			for (int j = 0; j < V; j++) eight += v[j];
			sum.add(eight);
		}
	}
	const float total = block_reduce<bias_threads>(sum.total(), Sum(), sums);
	if (threadIdx.x == 0) db[blockIdx.x] = from_float<T>(total);
}

// rows_bias launches it for a backward, where it can: rows of grad_y that are whole vectors of 16 bytes.
template <class T> bool rows_bias(const triad_call *call) {
	const triad_tensor &dy = call->in[2];
	const int64_t all = dy.stride[0] | dy.stride[1] | dy.shape[2];
	if (dy.stride[2] != 1 || all % vector<T> != 0 || reinterpret_cast<uintptr_t>(dy.data) % 16 != 0) return false;
	conv1d_bwd_bias_rows_kernel<T>
	    <<<static_cast<unsigned>(dy.shape[1]), bias_threads, 0, stream_of(call)>>>(Lanes<T>(dy), static_cast<T *>(call->out[2].data), Sizes(call));
	return true;
}

// TmaCall launches the products of a call.
template <class T> struct TmaCall : MmaCall<T> {
	using Base = MmaCall<T>;
	using Base::of;
	using Base::stream;
	static constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together

	explicit TmaCall(const triad_call *call) : Base(call) {}

	// filter is y or grad_x by what mma.cuh says of it.
	template <bool AlongKA> int filter(const Filtered<T> &p) const {
		this->template turn_filters<!AlongKA>();
		hopper::PairWork work = {};
		if (const int status = hopper::map_pair<TmaTile>(&work, {p.a.data, 0, AlongKA ? p.a.row_stride : p.a.k_stride, AlongKA},
		                                                 {p.x.data, p.x_batch, p.x.row_stride, true}, of.batch, p.rows, p.places, p.depth, height))
			return status;
		return product<AlongKA, true>(work, ConvolvedSums<T>{p.y, p.bias, p.rows, p.places, wide(p.y, p.places)});
	}

	int grad_w(T *dw) const {
		channels_last(this->x_layout(), stream());
		const auto &parts = this->parts;
		const int64_t steps = of.batch * ceildiv(of.places, TmaTile::k), count = parts.parts();
		if (count > 0) {
			PlacesWork work = {};
			if (const int status = map(&work.a.map, parts.dy, of, of.out)) return status;
			if (const int status = map(&work.b.map, parts.x, of, parts.cols)) return status;
			work.order = {ceildiv(of.out, TmaTile::m * TmaTile::cluster), ceildiv(parts.cols, TmaTile::n), height};
			work.batch = count, work.steps = static_cast<int>(ceildiv(steps, count)), work.places = static_cast<int>(of.places);
			if (const int status = product<false, false>(work, ConvolvedSums<float>{parts.sums, Bias<float>(), of.out, parts.cols, true})) return status;
		}
		conv1d_bwd_w_parts_kernel<T><<<this->weight_grid(), weight_threads, 0, stream()>>>(parts.sums, count, dw, of);
		return launched();
	}

private:
	static bool wide(const T *y, int64_t columns) { return columns % 8 == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0; }

	static int map(hopper::HeadMap *to, const Places<T> &x, const Sizes &of, int64_t columns) {
		const hopper::HeadSizes sizes = {of.batch, 1, of.places, columns, x.batch_stride, 0, x.stride};
		return hopper::map_heads(to, x.data, sizes, hopper::box_columns);
	}

	template <bool AlongKA, bool AlongKB, class Result, class Work> int product(const Work &work, const ConvolvedSums<Result> &result) const {
		return hopper::launch_pair<TmaTile>(conv1d_tma_kernel<T, AlongKA, AlongKB, Result, Work>, work, stream(), result);
	}
};

template <class T> int tma_forward(const triad_call *call) {
	const TmaCall<T> of(call);
	if (of.of.batch == 0) return TRIAD_OK;
	channels_last(of.x_layout(), of.stream());
	return of.template filter<true>(of.y_product());
}

// tma_backward gives grad_x and grad_w.
template <class T> int tma_backward(const triad_call *call) {
	const TmaCall<T> of(call);
	const bool dx = call->out[0].data != nullptr && of.of.batch > 0, dw = call->out[1].data != nullptr;
	if (dx || dw) channels_last(of.dy_layout(), of.stream());
	if (const int status = dx ? of.template filter<false>(of.dx_product()) : TRIAD_OK) return status;
	return dw ? of.grad_w(static_cast<T *>(call->out[1].data)) : launched();
}

// check_tma is a limit: what launches, maps and their coordinates can say.
inline void check_tma(Check &check, const triad_call *call) {
	const MmaCall<uint16_t> of(call);
	const int64_t blocks = most_mma_blocks(call), depth = of.of.taps * std::max(of.of.in, of.of.out), places = std::max(of.of.length, of.of.places);
	const int64_t row = std::max(of.x_count * of.of.in, of.dy_count * of.of.out), steps = of.of.batch * ceildiv(of.of.places, TmaTile::k);
	constexpr int64_t most = int64_t{1} << 30;
	check.that(blocks < most && depth < most && places < most && steps < most && row < int64_t{1} << 38,
	           "%lld tiles, filters of %lld elements, %lld places, %lld steps, %lld elements of one of the batch: want below 2^30, of the last below 2^38",
	           static_cast<long long>(blocks), static_cast<long long>(depth), static_cast<long long>(places), static_cast<long long>(steps),
	           static_cast<long long>(row));
}

// tma returns the limits of sm90_tma: the copy engine reads the rows of channels.
template <class... Name> Limits tma(Name... channels) {
	return {wgmma_capability(), multiple_of(channels, 8)..., limit("sizes that launches and tensor maps can have", check_tma)};
}

} // namespace conv1d
} // namespace triad
#endif
