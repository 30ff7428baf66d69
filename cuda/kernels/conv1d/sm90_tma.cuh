// sm90_tma.cuh: conv1d of 16-bit operands on Hopper's tensor cores (wgmma, sm_90a), of stride 1, without a copy of x in another order.
//     y[b,o,l]      = sum over t and c of w[o,c,t] x[b,c,l + t - padding] + bias[o]
//     grad_x[b,c,i] = sum over t and o of w[o,c,t] dy[b,o,i + padding - t]
//     grad_w[o,c,t] = sum over b and l of dy[b,o,l] x[b,c,l + t - padding]
//   The next tap meets x one element further on. The copy engine reads a box from any element on, and zeros beyond the ends of a row. So all three
//   are products with the pipeline of hopper/pair_product.cuh, tiles of 128 x 128 that two consumers take in turn, with boxes that say where a step is:
//
//       product    a, 128 rows of                b, 128 columns of                 a step of the reduction
//       y          w of one tap, along it        x from the tap on, across it      64 channels; then the next tap
//       grad_x     w of one tap, across it       dy from the tap on, across it     64 channels of the output; the last tap first
//       grad_w     dy, along it                  x from its tap on, along it       64 places; then the next row of the batch
//
//   A box has neighbours only, so w is copied with the taps outside. grad_w has few tiles and long sums: clusters add up parts of them in fp32, and a
//   kernel adds the parts in their order.
#ifndef TRIAD_CONV1D_SM90_TMA_CUH
#define TRIAD_CONV1D_SM90_TMA_CUH
#include <algorithm>

#include "capability.cuh"
#include "hopper/pair_halves.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/store_sums.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "room.cuh"
#include "rows.cuh"
#include "sizes.cuh"

namespace triad {
namespace conv1d {

using TmaTile = hopper::PairTile<2, 6>;
constexpr int tma_threads = 256; // of the small kernels

// ---- the reduction ----------------------------------------------------------------------------------------------------------------------------

// TapsWork is that of y and grad_x: the taps are the heads of a's map, and b lies across the reduction, its rows `channels` long.
struct TapsWork : hopper::PairWork {
	int channels, first; // place l meets element l + first with the tap that comes first
	int head, down;      // of that tap in the map; to the next one's

	template <bool AlongKA, bool AlongKB> struct Walk {
		static_assert(!AlongKB, "x and dy lie along their places");
		hopper::PairBox a, b;
		int channels, down;

		__device__ void next() {
			int &k = AlongKA ? a.column : a.row;
			k = b.row += TmaTile::k;
			if (k < channels) return;
			k = b.row = 0, a.head += down, b.column++;
		}
	};

	template <bool AlongKA, bool AlongKB> __device__ Walk<AlongKA, AlongKB> walk(int matrix, int row, int col) const {
		return {{AlongKA ? 0 : row, AlongKA ? row : 0, head, 0}, {col + first, 0, 0, matrix}, channels, down};
	}
};

// PlacesWork is that of grad_w: a matrix of the work is a part of the sum, from step matrix * steps on, and the tiles of columns are those of one tap
// after the other. The steps that the last part has too many lie beyond the batch, where operands are zero.
struct PlacesWork : hopper::PairWork {
	int places, first, across; // place l meets element l + first with tap 0; tiles of a tap

	template <bool AlongKA, bool AlongKB> struct Walk {
		static_assert(AlongKA && AlongKB, "x and dy lie along their places");
		hopper::PairBox a, b;
		int places, first;

		__device__ void next() {
			a.column += TmaTile::k;
			if (a.column >= places) a.column = 0, a.batch++, b.batch++;
			b.column = a.column + first;
		}
	};

	template <bool AlongKA, bool AlongKB> __device__ Walk<AlongKA, AlongKB> walk(int matrix, int row, int col) const {
		const int of_row = (places + TmaTile::k - 1) / TmaTile::k, step = matrix * steps, batch = step / of_row, place = step % of_row * TmaTile::k;
		const int tile = col / TmaTile::n, tap = tile / across, channel = tile % across * TmaTile::n + col % TmaTile::n;
		return {{place, row, 0, batch}, {place + tap + first, channel, 0, batch}, places, tap + first};
	}
};

// ---- what becomes of the sums: a thread has two rows of each 64, and of each eight columns two; see store_sums.cuh -------------------------------

// Rows are those of y or grad_x: [batch, rows, places]. wide: they can be written 16 bytes at a time.
template <class T> struct ConvolvedRows {
	T *y;
	Bias<T> bias;
	int64_t rows, places;
	bool wide;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	struct Epilogue {
		const ConvolvedRows &of;
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
				const hopper::SumsPlace<T> to = {of.y + at.matrix * of.rows * of.places, of.rows, of.places, row_of(at, part), at.col};
				if (of.wide) hopper::store_wide(d[part], to, [](float sum) { return sum; });
				else hopper::store_each(d[part], to, [](float sum, int64_t) { return sum; });
			}
		}
	};
#endif
};

// TapSums are grad_w in parts: [part][tap][out][in].
struct TapSums {
	float *sums;
	int64_t taps, rows, columns;
	int across; // tiles of a tap

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	struct Epilogue {
		const TapSums &of;

		__device__ void begin(const hopper::PairPlace &) {}
		__device__ void store(const TmaTile::Sums &d, const hopper::PairPlace &at) const {
			const int tile = static_cast<int>(at.col) / TmaTile::n;
			float *const matrix = of.sums + (at.matrix * of.taps + tile / of.across) * of.rows * of.columns;
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++) {
				const int64_t row = at.row + part * hopper::mma_rows + hopper::accumulator_row(static_cast<int>(threadIdx.x) % TmaTile::warpgroup, 0);
				const hopper::SumsPlace<float> to = {matrix, of.rows, of.columns, row, static_cast<int64_t>(tile % of.across) * TmaTile::n};
				if (of.columns % 2 == 0) hopper::store_wide(d[part], to, [](float sum) { return sum; });
				else hopper::store_each(d[part], to, [](float sum, int64_t) { return sum; });
			}
		}
	};
#endif
};

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------------

template <class T, bool AlongKA, bool AlongKB, class Result, class Work>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    conv1d_tma_kernel(const __grid_constant__ Result result, const __grid_constant__ Work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char conv1d_tiles[];
	hopper::run_pair<TmaTile, AlongKA, AlongKB>(
		work, conv1d_tiles,
		[](TmaTile::Part &d, hopper::SharedAddress a, hopper::SharedAddress b, bool add) { hopper::multiply_stage<T, AlongKA, AlongKB>(d, a, b, add); },
		[&](hopper::SharedAddress, int) { return typename Result::Epilogue{result}; });
#endif
}

// The filters as [taps, out, pitch].
static __global__ void __launch_bounds__(tma_threads) conv1d_tma_filters_kernel(Lanes<uint16_t> w, uint16_t *to, Sizes of, int64_t pitch) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(tma_threads) + threadIdx.x;
	if (i >= of.out * of.in) return;
	const int64_t o = i / of.in, c = i % of.in;
	for (int64_t t = 0; t < of.taps; t++) to[(t * of.out + o) * pitch + c] = w.at(o, c, t);
}

template <class T>
__global__ void __launch_bounds__(tma_threads) conv1d_tma_parts_kernel(const float *sums, int64_t parts, T *dw, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(tma_threads) + threadIdx.x, all = of.taps * of.out * of.in;
	if (i >= all) return;
	LongSum sum;
#pragma unroll 4
	for (int64_t part = 0; part < parts; part++) sum.add(sums[part * all + i]);
	const int64_t c = i % of.in, o = i / of.in % of.out, t = i / of.in / of.out;
	dw[(o * of.in + c) * of.taps + t] = from_float<T>(sum.total());
}

// A block a channel, a warp a row of the batch.
template <class T> __global__ void __launch_bounds__(tma_threads) conv1d_tma_bias_kernel(Lanes<T> dy, T *db, Sizes of) {
	constexpr int V = vector<T>, warps = tma_threads / 32;
	__shared__ float sums[warps];
	const int lane = static_cast<int>(threadIdx.x) % 32;
	LongSum sum;
	for (int64_t b = threadIdx.x / 32; b < of.batch; b += warps) {
		const T *const row = &dy.at(b, blockIdx.x, 0);
#pragma unroll 4
		for (int64_t l = lane * V; l + V <= of.places; l += 32 * V) {
			float v[V], eight = 0;
			load(row + l, v);
#pragma unroll
			for (int j = 0; j < V; j++) eight += v[j];
			sum.add(eight);
		}
		for (int64_t l = of.places / V * V + lane; l < of.places; l += 32) sum.add(to_float(row[l]));
	}
	const float total = block_reduce<tma_threads>(sum.total(), Sum(), sums);
	if (threadIdx.x == 0) db[blockIdx.x] = from_float<T>(total);
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------------

// SumParts divides the steps of grad_w's sum so that clusters have equally many, and there is little to add up at the end.
struct SumParts {
	int64_t count = 0, each = 0; // parts; steps of one

	SumParts(int64_t steps, int64_t tiles, int64_t floats, int64_t clusters) {
		constexpr int64_t most = 64, step_clocks = 512, floats_a_clock = 500; // of a whole GPU
		int64_t best = INT64_MAX;
		for (int64_t parts = 1; parts <= std::min(steps, most); parts++) {
			const int64_t own = ceildiv(steps, parts), clocks = ceildiv(tiles * parts, clusters) * own * step_clocks + parts * floats / floats_a_clock;
			if (clocks < best) best = clocks, each = own, count = ceildiv(steps, own);
		}
	}
};

// TmaCall is a call of either pass, with what it keeps in the workspace.
template <class T> struct TmaCall {
	const triad_call *call;
	Sizes of;
	bool backward;
	int64_t pitch, across; // of a row of filters; tiles of a tap in grad_w
	SumParts parts;
	Room room;
	uint16_t *w;
	float *sums;

	explicit TmaCall(const triad_call *call)
	    : call(call), of(call), backward(call->n_out == 3), pitch(ceildiv(of.in, 8) * 8), across(ceildiv(of.in, TmaTile::n)),
	      parts(of.batch * ceildiv(of.places, TmaTile::k), ceildiv(of.out, TmaTile::m * TmaTile::cluster) * of.taps * across, of.taps * of.out * of.in,
	            std::max(1, device_attribute(cudaDevAttrMultiProcessorCount) / TmaTile::cluster)),
	      room(call), w(room.take<uint16_t>(of.taps * of.out * pitch)), sums(room.take<float>(parts.count * of.taps * of.out * of.in, backward)) {}

	cudaStream_t stream() const { return stream_of(call); }

	// convolve makes rows [batch, result.rows, result.places] of t, with the taps from the first to the last or turned round.
	template <bool Turned> int convolve(const triad_tensor &t, const ConvolvedRows<T> &result) const {
		conv1d_tma_filters_kernel<<<blocks_for(of.out * of.in, tma_threads), tma_threads, 0, stream()>>>(Lanes<uint16_t>(call->in[1]), w, of, pitch);
		const int taps = static_cast<int>(of.taps), padding = static_cast<int>(of.padding);
		TapsWork work = {};
		if (const int status = hopper::map_heads(&work.a.map, w, {1, of.taps, of.out, of.in, 0, of.out * pitch, pitch},
		                                         Turned ? hopper::box_columns : TmaTile::m))
			return status;
		if (const int status = map(&work.b.map, t, hopper::box_columns)) return status;
		order(&work, result.rows, ceildiv(result.places, TmaTile::n), of.batch, of.taps * ceildiv(t.shape[1], TmaTile::k));
		work.channels = static_cast<int>(t.shape[1]), work.first = Turned ? padding - (taps - 1) : -padding;
		work.head = Turned ? taps - 1 : 0, work.down = Turned ? -1 : 1;
		return hopper::launch_pair<TmaTile>(conv1d_tma_kernel<T, !Turned, false, ConvolvedRows<T>, TapsWork>, work, stream(), result);
	}

	int grad_w(T *dw) const {
		if (parts.count > 0) {
			PlacesWork work = {};
			if (const int status = map(&work.a.map, call->in[2], TmaTile::m)) return status;
			if (const int status = map(&work.b.map, call->in[0], TmaTile::part)) return status;
			order(&work, of.out, of.taps * across, parts.count, parts.each);
			work.places = static_cast<int>(of.places), work.first = -static_cast<int>(of.padding), work.across = static_cast<int>(across);
			const TapSums result = {sums, of.taps, of.out, of.in, work.across};
			if (const int status = hopper::launch_pair<TmaTile>(conv1d_tma_kernel<T, true, true, TapSums, PlacesWork>, work, stream(), result)) return status;
		}
		conv1d_tma_parts_kernel<T>
		    <<<blocks_for(of.taps * of.out * of.in, tma_threads), tma_threads, 0, stream()>>>(sums, parts.count, dw, of);
		return launched();
	}

	int grad_bias(T *db) const {
		conv1d_tma_bias_kernel<T><<<static_cast<unsigned>(of.out), tma_threads, 0, stream()>>>(Lanes<T>(call->in[2]), db, of);
		return launched();
	}

	// rows of y or grad_x.
	ConvolvedRows<T> rows(Bias<T> bias, int64_t channels, int64_t places) const {
		T *const y = static_cast<T *>(call->out[0].data);
		return {y, bias, channels, places, places % 8 == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0};
	}

private:
	static int map(hopper::HeadMap *to, const triad_tensor &t, int box_rows) {
		return hopper::map_heads(to, t.data, {t.shape[0], 1, t.shape[1], t.shape[2], t.stride[0], 0, t.stride[1]}, box_rows);
	}
	static void order(hopper::PairWork *work, int64_t rows, int64_t tiles_n, int64_t matrices, int64_t steps) {
		constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together
		work->order = {ceildiv(rows, TmaTile::m * TmaTile::cluster), tiles_n, height};
		work->batch = matrices, work->steps = static_cast<int>(steps);
	}
};

inline int64_t tma_workspace(const triad_call *call) { return TmaCall<__half>(call).room.used; }

template <class T> int tma_forward(const triad_call *call) {
	const TmaCall<T> of(call);
	if (of.of.batch == 0) return TRIAD_OK;
	return of.template convolve<false>(call->in[0], of.rows(Bias<T>(call->in[2]), of.of.out, of.of.places));
}

template <class T> int tma_backward(const triad_call *call) {
	const TmaCall<T> of(call);
	const auto wanted = [&](int i) { return given(call->out[i]) ? static_cast<T *>(call->out[i].data) : nullptr; };
	if (wanted(0) != nullptr && of.of.batch > 0)
		if (const int status = of.template convolve<true>(call->in[2], of.rows(Bias<T>(), of.of.in, of.of.length))) return status;
	if (T *const dw = wanted(1))
		if (const int status = of.grad_w(dw)) return status;
	T *const db = wanted(2);
	return call->attr[with_bias] != 0 && db != nullptr ? of.grad_bias(db) : launched();
}

// check_tma is a limit: what maps and the walks along them can say.
inline void check_tma(Check &check, const triad_call *call) {
	const Sizes of(call);
	check.that(of.stride == 1, "stride is %lld", static_cast<long long>(of.stride));
	const int64_t reach = std::max(of.length, of.places) + 2 * of.padding + of.taps + TmaTile::n, steps = of.batch * ceildiv(of.places, TmaTile::k);
	const int64_t columns = of.taps * ceildiv(of.in, TmaTile::n) * TmaTile::n;
	constexpr int64_t most = int64_t{1} << 30;
	check.that(reach < most && steps < most && columns < most,
	           "rows, padding and taps reach %lld elements, the sum of a weight has %lld steps, and a channel has %lld weights: want below 2^30",
	           static_cast<long long>(reach), static_cast<long long>(steps), static_cast<long long>(columns));
	for (int i = 0; i < (call->n_out == 3 ? 3 : 1); i++) {
		if (i == 1) continue; // w is copied
		const triad_tensor &t = call->in[i];
		for (int d = 0; d < 2; d++)
			check.that(t.shape[d] <= 1 || (t.stride[d] > 0 && t.stride[d] < int64_t{1} << 38), "dim %d of input %d has a stride of %lld, want 1 to 2^38", d, i,
			           static_cast<long long>(t.stride[d]));
	}
}

// What sm90_tma asks of x, and in the backward of grad_y. A step has 64 channels, whether they are there or not: with fewer than 8 nearly all of it
// would be zeros.
inline Limits tma_forward_limits() {
	return {wgmma_capability(), at_least("channels_in", 8), contiguous_columns("x"), aligned(16, "x"), stepped(8, "x"),
	        limit("stride 1, and sizes and strides that a tensor map can have", check_tma)};
}
inline Limits tma_backward_limits() {
	Limits all = tma_forward_limits();
	all.insert(all.end(), {at_least("channels_out", 8), contiguous_columns("grad_y"), aligned(16, "grad_y"), stepped(8, "grad_y")});
	return all;
}

} // namespace conv1d
} // namespace triad
#endif
