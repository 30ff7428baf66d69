// mma.cuh: conv1d of 16-bit operands as products on tensor cores (mma.sync.m16n8k16, sm_80 and newer), with fp32 sums; hopper/mma_product.cuh
// says how. x and grad_y are laid out in the workspace with the channels of a place side by side, and zeros beyond the ends. What a filter meets at
// place l, all taps of all channels, are then neighbours, which begin stride rows further at the next place: a matrix without a copy of what places
// share.
//     y[o,l]      = sum_k w[o,k] x[l * stride * in + k],  k = (t, c)
//     grad_x[c,i] = sum_k w[k,c] dy[i * out + k],         k = (t, o) with the taps from the last to the first; dy has stride - 1 zeros after each place
//     grad_w[o,j] = sum over b and l of dy[l * stride * out + o] x[l * stride * in + j],  j = (t, c)
// A sum over places never runs from one row of the batch into the next, where it would meet what is between them: its steps end with the row. It is
// long, and its elements are few: blocks add up parts of it, and a kernel adds the parts in their order.
#ifndef TRIAD_CONV1D_MMA_CUH
#define TRIAD_CONV1D_MMA_CUH
#include <algorithm>

#include "sizes.cuh"
#include "channels_last.cuh"
#include "hopper/mma_product.cuh"
#include "room.cuh"
#include "rows.cuh"

namespace triad {
namespace conv1d {

using hopper::Mma;
using hopper::MmaOperand;
using hopper::MmaTile;

constexpr int weight_threads = 256;

// The filters as [out, taps, in], or turned round as [taps, out, in] with the taps from the last to the first.
template <bool Turned> __global__ void conv1d_filters_kernel(Lanes<uint16_t> w, uint16_t *to, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(weight_threads) + threadIdx.x;
	if (i >= of.out * of.taps * of.in) return;
	const int64_t c = i % of.in, outer = i / of.in;
	to[i] = Turned ? w.at(outer % of.out, c, of.taps - 1 - outer / of.out) : w.at(outer / of.taps, c, outer % of.taps);
}

// Filtered is y[b,i,l] = sum_k a[i,k] x[b,l,k] + bias[i]; y [batch, rows, places] is contiguous, and a place's k are neighbours in x.
template <class T> struct Filtered {
	MmaOperand<T> a, x; // x of the first row of the batch
	int64_t x_batch;    // from one row of the batch to the next
	Bias<T> bias;
	T *y;
	int64_t rows, places, depth;

	__host__ __device__ int64_t across() const { return ceildiv(places, Mma::n); }
	__host__ __device__ int64_t tiles() const { return ceildiv(rows, Mma::m) * across(); } // of a row of the batch
};

template <class T, bool AlongKA> __global__ void __launch_bounds__(Mma::threads, 2) conv1d_mma_kernel(Filtered<T> p) {
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t b = blockIdx.x / p.tiles(), tile = blockIdx.x % p.tiles();
	const int64_t row0 = tile / p.across() * Mma::m, col0 = tile % p.across() * Mma::n;
	p.x.data += b * p.x_batch;
	const hopper::MmaProduct<MmaOperand<T>> part = {p.a, p.x, row0, p.rows, col0, p.places, p.depth};
	hopper::MmaSums<T> sums = hopper::mma_product<T, MmaTile<Mma::m, AlongKA>, MmaTile<Mma::n, true>>(mma_tiles, part);
#pragma unroll
	for (int i = 0; i < Mma::warp_m / 8; i++) {
		const float bias = sums.row0 + 8 * i < p.rows ? p.bias(sums.row0 + 8 * i) : 0.0f;
#pragma unroll
		for (int j = 0; j < Mma::warp_n / 8; j++) sums.sum[i / 2][j][i % 2 * 2] += bias, sums.sum[i / 2][j][i % 2 * 2 + 1] += bias;
	}
	T *const y = p.y + b * p.rows * p.places;
	if (p.places % Mma::chunk == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0) sums.store_rows(y, 1);
	else sums.each([&](int64_t row, int64_t col, float sum) { y[row * p.places + col] = from_float<T>(sum); });
}

// Places is an operand whose k are the places of all rows of the batch, one row after the other.
template <class T> struct Places {
	const T *data;
	int64_t batch_stride, stride;
};

constexpr int64_t least_steps = Mma::stages, weight_blocks = 528; // of a part; of a call, about: two on each of an H200's 132 processors, twice

// WeightParts is grad_w in parts: sums [parts, out, taps * in].
template <class T> struct WeightParts {
	Places<T> dy, x;
	float *sums;
	int64_t places, rows, cols, steps, each; // steps of all places; of a part

	WeightParts(Places<T> dy, Places<T> x, float *sums, const Sizes &of)
	    : dy(dy), x(x), sums(sums), places(of.places), rows(of.out), cols(of.taps * of.in), steps(of.batch * steps_of_row()),
	      each(std::max(least_steps, ceildiv(steps * tiles(), weight_blocks))) {}
	__host__ __device__ int64_t steps_of_row() const { return ceildiv(places, Mma::k); }
	__host__ __device__ int64_t across() const { return ceildiv(cols, Mma::n); }
	__host__ __device__ int64_t tiles() const { return ceildiv(rows, Mma::m) * across(); }
	int64_t parts() const { return ceildiv(steps, each); }
	int64_t floats() const { return parts() * rows * cols; }
};

// PlaceCopier copies the tiles of such an operand from some step on.
template <class T> struct PlaceCopier : MmaTile<Mma::m, false>::template Copier<T> {
	using Base = typename MmaTile<Mma::m, false>::template Copier<T>;
	int64_t steps, at, back; // of a row of the batch; the next one; from behind a row's last step to the next row

	__device__ PlaceCopier(const Places<T> &x, int64_t row0, int64_t rows, int64_t places, int64_t steps, int64_t first)
	    : Base(MmaOperand<T>{x.data + first / steps * x.batch_stride + first % steps * Mma::k * x.stride, 1, x.stride}, row0, rows,
	           places - first % steps * Mma::k),
	      steps(steps), at(first % steps), back(x.batch_stride - steps * Mma::k * x.stride) {}

	__device__ void copy(hopper::AsyncCopies &copies, hopper::SharedAddress tile) {
		Base::copy(copies, tile);
		if (++at < steps) return;
		at = 0, this->from += back, this->left += steps * Mma::k;
	}
};

template <class T> __global__ void __launch_bounds__(Mma::threads, 2) conv1d_bwd_w_mma_kernel(WeightParts<T> p) {
	using Tile = MmaTile<Mma::m, false>;
	static_assert(Mma::m == Mma::n, "both tiles are alike");
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t part = blockIdx.x / p.tiles(), tile = blockIdx.x % p.tiles(), first = part * p.each;
	const int64_t row0 = tile / p.across() * Mma::m, col0 = tile % p.across() * Mma::n;
	const int64_t steps = p.steps - first < p.each ? p.steps - first : p.each;
	hopper::MmaSums<T> sums(row0, p.rows, col0, p.cols);
	hopper::mma_add<T, Tile, Tile>(mma_tiles, sums, PlaceCopier<T>(p.dy, row0, p.rows, p.places, p.steps_of_row(), first),
	                               PlaceCopier<T>(p.x, col0, p.cols, p.places, p.steps_of_row(), first), steps * Mma::k);
	float *const to = p.sums + part * p.rows * p.cols;
	sums.each_pair([&](int64_t row, int64_t col, float &low, float &high) { *reinterpret_cast<float2 *>(to + row * p.cols + col) = {low, high}; });
}

template <class T> __global__ void conv1d_bwd_w_parts_kernel(const float *sums, int64_t parts, T *dw, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(weight_threads) + threadIdx.x, all = of.out * of.taps * of.in;
	if (i >= all) return;
	LongSum sum;
	for (int64_t part = 0; part < parts; part++) sum.add(sums[part * all + i]);
	const int64_t c = i % of.in, t = i / of.in % of.taps, o = i / of.in / of.taps;
	dw[(o * of.in + c) * of.taps + t] = from_float<T>(sum.total());
}

// MmaCall is a call of either pass, with what it keeps in the workspace.
template <class T> struct MmaCall {
	using Largest = hopper::MmaTiles<T, MmaTile<Mma::m, true>, MmaTile<Mma::n, true>>;
	const triad_call *call;
	Sizes of;
	bool backward;
	int64_t x_count, lead, dy_count; // rows of x; zeros before grad_y; its rows: as many as grad_x reaches, and all places
	Room room;
	uint16_t *x, *w, *dy;
	WeightParts<T> parts;

	explicit MmaCall(const triad_call *call)
	    : call(call), of(call), backward(call->n_out == 3), x_count(of.length + 2 * of.padding),
	      lead(std::max<int64_t>(0, of.taps - 1 - of.padding)),
	      dy_count(lead + std::max(of.length + of.padding, (of.places - 1) * of.stride + 1)), room(call),
	      x(room.take<uint16_t>(of.batch * x_count * of.in)), w(room.take<uint16_t>(of.out * of.taps * of.in)),
	      dy(room.take<uint16_t>(of.batch * dy_count * of.out, backward)),
	      parts({halves(dy) + lead * of.out, dy_count * of.out, of.stride * of.out}, {halves(x), x_count * of.in, of.stride * of.in}, nullptr, of) {
		parts.sums = room.take<float>(parts.floats(), backward);
	}

	static const T *halves(const uint16_t *of) { return reinterpret_cast<const T *>(of); }
	cudaStream_t stream() const { return stream_of(call); }
	unsigned weight_grid() const { return blocks_for(of.out * of.taps * of.in, weight_threads); }

	ChannelsLast x_layout() const { return {call->in[0], x, x_count, of.padding, 1}; }
	ChannelsLast dy_layout() const { return {call->in[2], dy, dy_count, lead, of.stride}; }

	Filtered<T> y_product() const {
		const int64_t depth = of.taps * of.in;
		return {{halves(w), depth, 1}, {halves(x), of.stride * of.in, 1}, x_count * of.in, Bias<T>(call->in[2]),
		        static_cast<T *>(call->out[0].data), of.out, of.places, depth};
	}
	Filtered<T> dx_product() const {
		const T *const first = halves(dy) + (lead + of.padding - (of.taps - 1)) * of.out; // what the last tap meets at the first element
		return {{halves(w), 1, of.in}, {first, of.out, 1}, dy_count * of.out, Bias<T>(), static_cast<T *>(call->out[0].data),
		        of.in, of.length, of.taps * of.out};
	}

	template <bool Turned> void turn_filters() const {
		conv1d_filters_kernel<Turned><<<weight_grid(), weight_threads, 0, stream()>>>(Lanes<uint16_t>(call->in[1]), w, of);
	}
	template <bool AlongKA> int filter(const Filtered<T> &p) const {
		turn_filters<!AlongKA>();
		if (const int status = Largest::allow(conv1d_mma_kernel<T, AlongKA>)) return status;
		conv1d_mma_kernel<T, AlongKA><<<static_cast<unsigned>(of.batch * p.tiles()), Mma::threads, Largest::bytes, stream()>>>(p);
		return launched();
	}

	int grad_w(T *dw) const {
		channels_last(x_layout(), stream());
		if (const int status = Largest::allow(conv1d_bwd_w_mma_kernel<T>)) return status;
		const int64_t blocks = parts.parts() * parts.tiles();
		if (blocks > 0) conv1d_bwd_w_mma_kernel<T><<<static_cast<unsigned>(blocks), Mma::threads, Largest::bytes, stream()>>>(parts);
		conv1d_bwd_w_parts_kernel<T><<<weight_grid(), weight_threads, 0, stream()>>>(parts.sums, parts.parts(), dw, of);
		return launched();
	}
};

// most_mma_blocks of a launch.
inline int64_t most_mma_blocks(const triad_call *call) {
	const MmaCall<uint16_t> of(call);
	const int64_t batch = of.of.batch, x = of.x_layout().blocks();
	if (!of.backward) return std::max(x, batch * of.y_product().tiles());
	return std::max({x, of.dy_layout().blocks(), batch * of.dx_product().tiles(), of.parts.parts() * of.parts.tiles(), of.of.out});
}

inline int64_t mma_workspace(const triad_call *call) { return MmaCall<uint16_t>(call).room.used; }

template <class T> int mma_forward(const triad_call *call) {
	const MmaCall<T> of(call);
	if (of.of.batch == 0) return TRIAD_OK;
	channels_last(of.x_layout(), of.stream());
	return of.template filter<true>(of.y_product());
}

// mma_backward gives grad_x and grad_w.
template <class T> int mma_backward(const triad_call *call) {
	const MmaCall<T> of(call);
	const bool dx = call->out[0].data != nullptr && of.of.batch > 0, dw = call->out[1].data != nullptr;
	if (dx || dw) channels_last(of.dy_layout(), of.stream());
	if (const int status = dx ? of.template filter<false>(of.dx_product()) : TRIAD_OK) return status;
	return dw ? of.grad_w(static_cast<T *>(call->out[1].data)) : launched();
}

} // namespace conv1d
} // namespace triad
#endif
