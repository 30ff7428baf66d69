// conv1d: y[b,o,l] = sum_c sum_t w[o,c,t] * x[b,c,l*stride+t-padding] + bias[o]; nothing is added where x ends
// backward   grad_x[b,c,i] = the sum of w[o,c,t] * grad_y[b,o,l] where l*stride+t-padding = i; grad_w[o,c,t] = the sum over b and l of
//            grad_y[b,o,l] * x[b,c,l*stride+t-padding]; grad_bias[o] = the sum over b and l of grad_y[b,o,l]
// Layout   x [batch, channels_in, length], w [channels_out, channels_in, taps], bias [channels_out] or [0] for none,
//          y [batch, channels_out, places], places = (length + 2*padding - taps)/stride + 1; fp32, fp16, bf16; outputs are contiguous.
// Numerics multiplied and added in fp32, rounded once.
// Limits   batch = 0 leaves y and grad_x empty, and the gradients of w and bias 0. A call outside a variant's own limit answers UNSUPPORTED.
// Source   Dumoulin and Visin 2016, arXiv:1603.07285
// The ladder: each variant adds one idea, and says what that costs.
//   naive    a thread an element, any strides; the readable one, and the one to trust first. Costs: x and w
//            are read taps * channels_in times for every element
//   constant all filters in constant memory, where a warp that reads one weight is served at once. Costs: a copy before each call, and 64 KB
//   tiled    a part of a row with its halo in shared memory, for 64 places and 4 output channels: x is read
//            once for these, not taps * 4 times. Costs: two barriers a channel, and a halo that neighbouring
//            blocks read too
//   window   a thread has 8 neighbouring places, and the elements of x that they share in registers. Costs: stride 1
//   vec      32 channels and 128 places a block, 4 of each a thread; 16-byte loads of x into shared memory. Costs: short filters, whole packs
//   block    (backward) a block for each element of grad_w and grad_bias, whose threads read neighbours:
//            their sums are long. Costs: barriers, and blocks that are mostly idle where the sums are short
//   mma      of fp16 and bf16: products on tensor cores, 128 x 128 elements a block (conv1d/mma.cuh). With the channels of a place side by side,
//            what a filter meets is a run of neighbours, so that no column is copied for each tap. Costs: a newer GPU, whole vectors of
//            channels, a copy of x and w in that order; in the backward of grad_y too, and parts of grad_w in fp32, which are added up at the end
//   sm90_tma as mma, with wgmma of tiles of 128 x 128 that the copy engine brings (conv1d/sm90_tma.cuh). Costs: a GPU of 9.0
#include "capability.cuh"
#include "conv1d/mma.cuh"
#include "conv1d/sizes.cuh"
#include "conv1d/sm90_tma.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "spec/conv1d.cuh"

namespace {

using triad::from_float;
using triad::to_float;
using triad::conv1d::Bias;
using triad::conv1d::ceildiv;
using triad::conv1d::Lanes;
using triad::conv1d::Sizes;
using triad::conv1d::stride;
using triad::conv1d::with_bias;

constexpr int threads = 256;

// ---- naive --------------------------------------------------------------------------------------------------

template <class T> __global__ void conv1d_fwd_naive_kernel(Lanes<T> x, Lanes<T> w, Bias<T> bias, T *y, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= of.batch * of.out * of.places) return;
	const int64_t l = i % of.places, o = i / of.places % of.out, b = i / of.places / of.out;
	triad::LongSum sum;
	for (int64_t c = 0; c < of.in; c++)
		for (int64_t t = 0; t < of.taps; t++)
			if (of.inside(of.at(l, t))) sum.add(w(o, c, t) * x(b, c, of.at(l, t)));
	y[i] = from_float<T>(sum.total() + bias(o));
}

// ---- constant -----------------------------------------------------------------------------------------------

constexpr int64_t constant_bytes = 65536; // all that there is
__constant__ uint4 conv1d_filters[constant_bytes / sizeof(uint4)];

// A block has neighbouring places of one output channel, so that its threads want the same weight at the same time.
template <class T> __global__ void conv1d_fwd_constant_kernel(Lanes<T> x, Bias<T> bias, T *y, Sizes of, int64_t parts) {
	const int64_t row = blockIdx.x / parts, l = blockIdx.x % parts * threads + threadIdx.x;
	if (l >= of.places) return;
	const int64_t b = row / of.out, o = row % of.out;
	const T *filter = reinterpret_cast<const T *>(conv1d_filters) + o * of.in * of.taps;
	triad::LongSum sum;
	for (int64_t c = 0; c < of.in; c++)
		for (int64_t t = 0; t < of.taps; t++)
			if (of.inside(of.at(l, t))) sum.add(to_float(filter[c * of.taps + t]) * x(b, c, of.at(l, t)));
	y[row * of.places + l] = from_float<T>(sum.total() + bias(o));
}

// ---- tiled --------------------------------------------------------------------------------------------------

constexpr int tile_places = 64, tile_out = threads / tile_places;

// span is how many elements of a row the places of a tile reach.
__host__ __device__ int64_t span(const Sizes &of) { return (tile_places - 1) * of.stride + of.taps; }

template <class T> __global__ void conv1d_fwd_tiled_kernel(Lanes<T> x, Lanes<T> w, Bias<T> bias, T *y, Sizes of, int64_t parts, int64_t groups) {
	extern __shared__ float reach[]; // of the places: elements of x, 0 beyond its ends
	const int64_t first = blockIdx.x % parts * tile_places, b = blockIdx.x / parts / groups;
	const int64_t o = blockIdx.x / parts % groups * tile_out + threadIdx.x / tile_places;
	const int own = threadIdx.x % tile_places;
	triad::LongSum sum;
	for (int64_t c = 0; c < of.in; c++) {
		for (int64_t i = threadIdx.x; i < span(of); i += threads) {
			const int64_t at = of.at(first, 0) + i;
			reach[i] = of.inside(at) ? x(b, c, at) : 0.0f;
		}
		__syncthreads();
		if (o < of.out)
			for (int64_t t = 0; t < of.taps; t++) sum.add(w(o, c, t) * reach[own * of.stride + t]);
		__syncthreads(); // before the next channel takes its place
	}
	if (o < of.out && first + own < of.places) y[(b * of.out + o) * of.places + first + own] = from_float<T>(sum.total() + bias(o));
}

// ---- window -------------------------------------------------------------------------------------------------

constexpr int wide = 8; // places of a thread

// The first half of the window is what the places meet with one tap, both halves what they meet with so many taps: 8 loads for 64 products.
template <class T> __global__ void conv1d_fwd_window_kernel(Lanes<T> x, Lanes<T> w, Bias<T> bias, T *y, Sizes of, int64_t parts) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= of.batch * of.out * parts) return;
	const int64_t l = i % parts * wide, o = i / parts % of.out, b = i / parts / of.out;
	float sum[wide] = {};
	for (int64_t c = 0; c < of.in; c++) {
		float window[2 * wide], part[wide] = {}; // each channel's sum alone: one long sum would lose more
		const auto element = [&](int64_t at) { return of.inside(at) ? x(b, c, at) : 0.0f; };
#pragma unroll
		for (int j = 0; j < wide; j++) window[j] = element(of.at(l, j));
		for (int64_t t = 0; t < of.taps; t += wide) {
#pragma unroll
			for (int j = 0; j < wide; j++) window[wide + j] = element(of.at(l, t + wide + j));
#pragma unroll
			for (int k = 0; k < wide; k++) {
				const float weight = t + k < of.taps ? w(o, c, t + k) : 0.0f;
#pragma unroll
				for (int j = 0; j < wide; j++) part[j] += weight * window[j + k];
			}
#pragma unroll
			for (int j = 0; j < wide; j++) window[j] = window[wide + j];
		}
#pragma unroll
		for (int j = 0; j < wide; j++) sum[j] += part[j];
	}
	T *row = y + (b * of.out + o) * of.places;
#pragma unroll
	for (int j = 0; j < wide; j++)
		if (l + j < of.places) row[l + j] = from_float<T>(sum[j] + bias(o));
}

// ---- vec ----------------------------------------------------------------------------------------------------

constexpr int vec_out = 32, vec_places = 128, vec_side = 4; // a warp has 4 channels, a lane the places 32 apart
constexpr int vec_in = 8, vec_taps = 32;                    // channels that are staged at once, and the longest filter
constexpr int vec_reach = vec_places + vec_taps + 8;        // of a row, from a whole pack on

template <class T> __global__ void __launch_bounds__(threads)
    conv1d_fwd_vec_kernel(const T *x, Lanes<T> w, Bias<T> bias, T *y, Sizes of, int64_t parts, int64_t groups) {
	constexpr int V = triad::vector<T>, packs = vec_reach / V;
	__shared__ float rows[vec_in][vec_reach];
	__shared__ __align__(16) float filters[vec_in][vec_taps][vec_out];
	const int64_t first = blockIdx.x % parts * vec_places, o0 = blockIdx.x / parts % groups * vec_out, b = blockIdx.x / parts / groups;
	const int64_t reach = first - of.padding, begin = reach >= 0 ? reach / V * V : -((V - 1 - reach) / V * V);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, skip = static_cast<int>(reach - begin);
	const int taps = static_cast<int>(of.taps);
	float sum[vec_side][vec_side] = {};
	for (int64_t c0 = 0; c0 < of.in; c0 += vec_in) {
		for (int i = threadIdx.x; i < vec_in * packs; i += threads) {
			const int64_t c = c0 + i / packs, at = begin + i % packs * V; // a pack lies inside of a row or outside
			float values[V] = {};
			if (c < of.in && of.inside(at)) triad::load(x + (b * of.in + c) * of.length + at, values);
#pragma unroll
			for (int j = 0; j < V; j++) rows[i / packs][i % packs * V + j] = values[j];
		}
		for (int i = threadIdx.x; i < vec_out * vec_in * taps; i += threads) {
			const int t = i % taps, c = i / taps % vec_in, o = i / taps / vec_in;
			filters[c][t][o] = o0 + o < of.out && c0 + c < of.in ? w(o0 + o, c0 + c, t) : 0.0f;
		}
		__syncthreads();
		float part[vec_side][vec_side] = {};
		for (int c = 0; c < vec_in; c++) {
			for (int t = 0; t < taps; t++) {
				const float4 four = *reinterpret_cast<const float4 *>(&filters[c][t][warp * vec_side]);
				const float weight[vec_side] = {four.x, four.y, four.z, four.w};
#pragma unroll
				for (int j = 0; j < vec_side; j++) {
					const float v = rows[c][skip + lane + 32 * j + t];
#pragma unroll
					for (int k = 0; k < vec_side; k++) part[k][j] += weight[k] * v;
				}
			}
		}
#pragma unroll
		for (int i = 0; i < vec_side * vec_side; i++) sum[i / vec_side][i % vec_side] += part[i / vec_side][i % vec_side];
		__syncthreads();
	}
	for (int k = 0; k < vec_side; k++) {
		const int64_t o = o0 + warp * vec_side + k;
		for (int j = 0; j < vec_side; j++) {
			const int64_t l = first + lane + 32 * j;
			if (o < of.out && l < of.places) y[(b * of.out + o) * of.places + l] = from_float<T>(sum[k][j] + bias(o));
		}
	}
}

// ---- backward -----------------------------------------------------------------------------------------------

template <class T> __global__ void conv1d_bwd_x_kernel(Lanes<T> w, Lanes<T> dy, T *dx, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= of.batch * of.in * of.length) return;
	const int64_t at = i % of.length, c = i / of.length % of.in, b = i / of.length / of.in;
	triad::LongSum sum;
	for (int64_t t = 0; t < of.taps; t++) {
		const int64_t from = at + of.padding - t; // the place that tap t takes this element to, times the stride
		if (from < 0 || from % of.stride != 0 || from / of.stride >= of.places) continue;
		for (int64_t o = 0; o < of.out; o++) sum.add(w(o, c, t) * dy(b, o, from / of.stride));
	}
	dx[i] = from_float<T>(sum.total());
}

// share is what place i, counted through the batch, adds to the gradient of weight (o, c, t).
template <class T> __device__ float share(Lanes<T> x, Lanes<T> dy, const Sizes &of, int64_t o, int64_t c, int64_t t, int64_t i) {
	const int64_t b = i / of.places, l = i % of.places;
	return of.inside(of.at(l, t)) ? dy(b, o, l) * x(b, c, of.at(l, t)) : 0.0f;
}

template <class T> __global__ void conv1d_bwd_w_naive_kernel(Lanes<T> x, Lanes<T> dy, T *dw, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= of.out * of.in * of.taps) return;
	triad::LongSum sum;
	for (int64_t j = 0; j < of.batch * of.places; j++) sum.add(share(x, dy, of, i / of.taps / of.in, i / of.taps % of.in, i % of.taps, j));
	dw[i] = from_float<T>(sum.total());
}

template <class T> __global__ void conv1d_bwd_bias_naive_kernel(Lanes<T> dy, T *db, Sizes of) {
	const int64_t o = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (o >= of.out) return;
	triad::LongSum sum;
	for (int64_t j = 0; j < of.batch * of.places; j++) sum.add(dy(j / of.places, o, j % of.places));
	db[o] = from_float<T>(sum.total());
}

template <class T> __global__ void conv1d_bwd_w_block_kernel(Lanes<T> x, Lanes<T> dy, T *dw, Sizes of) {
	__shared__ float sums[threads / 32];
	const int64_t i = blockIdx.x;
	triad::LongSum sum;
	for (int64_t j = threadIdx.x; j < of.batch * of.places; j += threads)
		sum.add(share(x, dy, of, i / of.taps / of.in, i / of.taps % of.in, i % of.taps, j));
	const float total = triad::block_reduce<threads>(sum.total(), triad::Sum(), sums);
	if (threadIdx.x == 0) dw[i] = from_float<T>(total);
}

template <class T> __global__ void conv1d_bwd_bias_block_kernel(Lanes<T> dy, T *db, Sizes of) {
	__shared__ float sums[threads / 32];
	const int64_t whole = threads / of.places, beside = threads % of.places; // of the batch, how far it is to the thread's next element
	triad::LongSum sum;
	int64_t b = threadIdx.x / of.places, l = threadIdx.x % of.places; // of the thread's next element
	while (b < of.batch) {
		float ahead[8]; // loads in flight
#pragma unroll
		for (float &v : ahead) {
			v = b < of.batch ? dy(b, blockIdx.x, l) : 0.0f;
			b += whole, l += beside;
			if (l >= of.places) b++, l -= of.places;
		}
#pragma unroll
		for (const float v : ahead) sum.add(v);
	}
	const float total = triad::block_reduce<threads>(sum.total(), triad::Sum(), sums);
	if (threadIdx.x == 0) db[blockIdx.x] = from_float<T>(total);
}

// ---- launchers ----------------------------------------------------------------------------------------------

template <class T> Lanes<T> lanes(const triad_call *call, int input) { return Lanes<T>(call->in[input]); }
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }

template <class T> int conv1d_fwd_naive(const triad_call *call) {
	const Sizes of(call);
	if (of.batch == 0) return TRIAD_OK;
	conv1d_fwd_naive_kernel<T><<<triad::blocks_for(of.batch * of.out * of.places, threads), threads, 0, triad::stream_of(call)>>>(
	    lanes<T>(call, 0), lanes<T>(call, 1), Bias<T>(call->in[2]), output<T>(call, 0), of);
	return triad::launched();
}

template <class T> int conv1d_fwd_constant(const triad_call *call) {
	const Sizes of(call);
	if (of.batch == 0) return TRIAD_OK;
	const size_t bytes = static_cast<size_t>(of.out * of.in * of.taps) * sizeof(T);
	const cudaError_t copied = cudaMemcpyToSymbolAsync(conv1d_filters, call->in[1].data, bytes, 0, cudaMemcpyDeviceToDevice, triad::stream_of(call));
	if (copied != cudaSuccess) return static_cast<int>(copied);
	const int64_t parts = ceildiv(of.places, threads);
	conv1d_fwd_constant_kernel<T><<<static_cast<unsigned>(of.batch * of.out * parts), threads, 0, triad::stream_of(call)>>>(
	    lanes<T>(call, 0), Bias<T>(call->in[2]), output<T>(call, 0), of, parts);
	return triad::launched();
}

template <class T> int conv1d_fwd_tiled(const triad_call *call) {
	const Sizes of(call);
	if (of.batch == 0) return TRIAD_OK;
	const int64_t parts = ceildiv(of.places, tile_places), groups = ceildiv(of.out, tile_out);
	conv1d_fwd_tiled_kernel<T>
	    <<<static_cast<unsigned>(of.batch * groups * parts), threads, static_cast<size_t>(span(of)) * sizeof(float), triad::stream_of(call)>>>(
	        lanes<T>(call, 0), lanes<T>(call, 1), Bias<T>(call->in[2]), output<T>(call, 0), of, parts, groups);
	return triad::launched();
}

template <class T> int conv1d_fwd_window(const triad_call *call) {
	const Sizes of(call);
	if (of.batch == 0) return TRIAD_OK;
	const int64_t parts = ceildiv(of.places, wide);
	conv1d_fwd_window_kernel<T><<<triad::blocks_for(of.batch * of.out * parts, threads), threads, 0, triad::stream_of(call)>>>(
	    lanes<T>(call, 0), lanes<T>(call, 1), Bias<T>(call->in[2]), output<T>(call, 0), of, parts);
	return triad::launched();
}

template <class T> int conv1d_fwd_vec(const triad_call *call) {
	const Sizes of(call);
	if (of.batch == 0) return TRIAD_OK;
	const int64_t parts = ceildiv(of.places, vec_places), groups = ceildiv(of.out, vec_out);
	conv1d_fwd_vec_kernel<T><<<static_cast<unsigned>(of.batch * groups * parts), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const T *>(call->in[0].data), lanes<T>(call, 1), Bias<T>(call->in[2]), output<T>(call, 0), of, parts, groups);
	return triad::launched();
}

template <class T> int bwd_x(const triad_call *call, const Sizes &of) {
	if (of.batch == 0) return TRIAD_OK;
	conv1d_bwd_x_kernel<T><<<triad::blocks_for(of.batch * of.in * of.length, threads), threads, 0, triad::stream_of(call)>>>(
	    lanes<T>(call, 1), lanes<T>(call, 2), output<T>(call, 0), of);
	return triad::launched();
}

template <class T> int conv1d_bwd_naive(const triad_call *call) {
	const Sizes of(call);
	const cudaStream_t stream = triad::stream_of(call);
	const Lanes<T> x = lanes<T>(call, 0), dy = lanes<T>(call, 2);
	if (const int status = bwd_x<T>(call, of); status != TRIAD_OK) return status;
	conv1d_bwd_w_naive_kernel<T><<<triad::blocks_for(of.out * of.in * of.taps, threads), threads, 0, stream>>>(x, dy, output<T>(call, 1), of);
	if (const int status = triad::launched(); status != TRIAD_OK || call->attr[with_bias] == 0) return status;
	conv1d_bwd_bias_naive_kernel<T><<<triad::blocks_for(of.out, threads), threads, 0, stream>>>(dy, output<T>(call, 2), of);
	return triad::launched();
}

template <class T> int bwd_bias_block(const triad_call *call, const Sizes &of) {
	conv1d_bwd_bias_block_kernel<T><<<static_cast<unsigned>(of.out), threads, 0, triad::stream_of(call)>>>(lanes<T>(call, 2), output<T>(call, 2), of);
	return triad::launched();
}

template <class T> int conv1d_bwd_block(const triad_call *call) {
	const Sizes of(call);
	const cudaStream_t stream = triad::stream_of(call);
	const Lanes<T> x = lanes<T>(call, 0), dy = lanes<T>(call, 2);
	if (const int status = bwd_x<T>(call, of); status != TRIAD_OK) return status;
	conv1d_bwd_w_block_kernel<T><<<static_cast<unsigned>(of.out * of.in * of.taps), threads, 0, stream>>>(x, dy, output<T>(call, 1), of);
	if (const int status = triad::launched(); status != TRIAD_OK || call->attr[with_bias] == 0) return status;
	return bwd_bias_block<T>(call, of);
}

template <class T> int with_grad_bias(const triad_call *call, int status) {
	if (status != TRIAD_OK || call->attr[with_bias] == 0 || !triad::given(call->out[2])) return status;
	return triad::conv1d::rows_bias<T>(call) ? triad::launched() : bwd_bias_block<T>(call, Sizes(call));
}
template <class T> int conv1d_bwd_mma(const triad_call *call) { return with_grad_bias<T>(call, triad::conv1d::mma_backward<T>(call)); }
template <class T> int conv1d_bwd_tma(const triad_call *call) { return with_grad_bias<T>(call, triad::conv1d::tma_backward<T>(call)); }

// ---- limits -------------------------------------------------------------------------------------------------

const triad::Limit small_filters = triad::limit("filters of at most 65536 bytes", [](triad::Check &check, const triad_call *call) {
	const int64_t bytes = triad::elements(call->in[1]) * triad::element_bytes(call->in[1].dtype);
	check.that(bytes <= constant_bytes, "filters of %lld bytes", static_cast<long long>(bytes));
});

const triad::Limit short_reach = triad::limit("63 * stride + taps <= 12288", [](triad::Check &check, const triad_call *call) {
	check.that(span(Sizes(call)) <= 12288, "64 places reach %lld elements", static_cast<long long>(span(Sizes(call))));
});

const triad::Limit single_steps = triad::limit("stride 1", [](triad::Check &check, const triad_call *call) {
	check.that(call->attr[stride] == 1, "stride is %g", call->attr[stride]);
});

const triad::Limit whole_packs = triad::limit("length a multiple of the elements in 16 bytes", [](triad::Check &check, const triad_call *call) {
	const triad_tensor &x = call->in[0];
	check.that(x.shape[2] * triad::element_bytes(x.dtype) % 16 == 0, "length %lld is no multiple", static_cast<long long>(x.shape[2]));
});

const triad::Limit few_blocks = triad::limit("at most 2^31 - 1 blocks", [](triad::Check &check, const triad_call *call) {
	const Sizes of(call);
	const int64_t rows = of.batch * of.out, parts = ceildiv(of.places, tile_places), weights = of.out * of.in * of.taps;
	check.that(rows <= INT32_MAX / parts && weights <= INT32_MAX, "%lld rows of %lld parts, %lld weights", static_cast<long long>(rows),
	           static_cast<long long>(parts), static_cast<long long>(weights));
});

const triad::Limit few_tiles = triad::limit("at most 2^31 - 1 tiles", [](triad::Check &check, const triad_call *call) {
	check.that(triad::conv1d::most_mma_blocks(call) <= INT32_MAX, "%lld tiles are too many blocks",
	           static_cast<long long>(triad::conv1d::most_mma_blocks(call)));
});

// What mma asks of the channels, whose vectors of 16 bytes it copies.
template <class... Name> triad::Limits mma(Name... channels) {
	return {triad::capability("mma", 80, true), triad::multiple_of(channels, 8)..., few_tiles};
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(conv1d, naive, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(conv1d_fwd_naive)))
TRIAD_KERNEL(conv1d, constant, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("w"), small_filters, few_blocks)
             .launch(TRIAD_BY_DTYPE(conv1d_fwd_constant)))
TRIAD_KERNEL(conv1d, tiled, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(short_reach, few_blocks).launch(TRIAD_BY_DTYPE(conv1d_fwd_tiled)))
TRIAD_KERNEL(conv1d, window, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(single_steps).launch(TRIAD_BY_DTYPE(conv1d_fwd_window)))
TRIAD_KERNEL(conv1d, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1)
             .limits(single_steps, triad::at_most("taps", vec_taps), triad::contiguous("x"), triad::aligned(16, "x"), whole_packs, few_blocks)
             .launch(TRIAD_BY_DTYPE(conv1d_fwd_vec)))
TRIAD_KERNEL(conv1d, naive, backward, .contract("fp32").dtypes(triad::floats).outputs(7).launch(TRIAD_BY_DTYPE(conv1d_bwd_naive)))
TRIAD_KERNEL(conv1d, block, backward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(few_blocks).launch(TRIAD_BY_DTYPE(conv1d_bwd_block)))
TRIAD_KERNEL(conv1d, mma, forward, .asynchronous().contract("fp32").dtypes(triad::halves).outputs(1).limits(mma("channels_in"))
             .workspace(triad::conv1d::mma_workspace).launch(TRIAD_BY_HALF(triad::conv1d::mma_forward)))
TRIAD_KERNEL(conv1d, mma, backward, .asynchronous().contract("fp32").dtypes(triad::halves).outputs(7).limits(mma("channels_in", "channels_out"))
             .workspace(triad::conv1d::mma_workspace).launch(TRIAD_BY_HALF(conv1d_bwd_mma)))
TRIAD_KERNEL(conv1d, sm90_tma, forward, .asynchronous().contract("fp32").dtypes(triad::halves).outputs(1)
             .limits(triad::conv1d::tma("channels_in")).workspace(triad::conv1d::mma_workspace).launch(TRIAD_BY_HALF(triad::conv1d::tma_forward)))
TRIAD_KERNEL(conv1d, sm90_tma, backward, .asynchronous().contract("fp32").dtypes(triad::halves).outputs(7)
             .limits(triad::conv1d::tma("channels_in", "channels_out")).workspace(triad::conv1d::mma_workspace).launch(TRIAD_BY_HALF(conv1d_bwd_tma)))
