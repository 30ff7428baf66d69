// sm90_tma_backward.cuh: the backward of linear_cross_entropy for Hopper (wgmma, sm_90a). Of the gradients of logits those of a band of classes lie in
// memory, at most 2^27 of them.
//     z = hidden weight^T     dz = w (exp(z - lse) - [c is target])     dhidden = dz weight     dweight = dz^T hidden
//   A band is three products with the pipeline of hopper/pair_product.cuh, tiles of 128 x 128 that two consumers take in turn. What a consumer does
//   with its sums runs beside the products of the other one:
//
//       product        a                    b                   its sums
//       z              hidden, along        weight, along       become dz while they are in fp32, and are stored in 16 bits
//       dhidden        dz, along            weight, across      are added to those of the bands before, in fp32; the last band rounds them
//       dweight        dz, across           hidden, across      are complete: a band has all of the tokens
//
//   Bands are of classes, not of tokens: the sums of dhidden are smaller than those of dweight, and where there is one band, there are none. hidden is
//   copied once, with 0 in the place of tokens that are ignored, which then add nothing to dweight, whatever they hold.
#ifndef TRIAD_LINEAR_CROSS_ENTROPY_SM90_TMA_BACKWARD_CUH
#define TRIAD_LINEAR_CROSS_ENTROPY_SM90_TMA_BACKWARD_CUH
#include "hopper/pair_halves.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/store_sums.cuh"
#include "pack.cuh"
#include "sm90_tma.cuh"
#include "tile_product.cuh"
#include "tokens.cuh"

namespace triad {
namespace linear_cross_entropy {

constexpr int64_t most_gradients = int64_t{1} << 27; // of logits in memory

// Bands divides the classes, as evenly as whole tiles allow, so that a band has at most so many gradients, or a tile's columns.
struct Bands {
	int64_t count, classes; // bands; classes of one, the last of which may have fewer

	Bands(int64_t tokens, int64_t all, int64_t most) {
		const auto ceil_div = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
		const int64_t limit = std::max<int64_t>(most / std::max<int64_t>(tokens, 1) / TmaTile::n, 1) * TmaTile::n;
		count = std::max<int64_t>(ceil_div(all, limit), 1);
		classes = ceil_div(ceil_div(all, count), TmaTile::n) * TmaTile::n;
		count = std::max<int64_t>(ceil_div(all, classes), 1);
	}
};

// GradientRoom is the workspace behind the divisor: sums of dhidden, if there are several bands; the copy of hidden; the gradients of a band's logits.
template <class T> struct GradientRoom {
	float *sums;
	T *hidden, *dz;

	GradientRoom(float *room, const Bands &bands, int64_t elements)
	    : sums(room), hidden(reinterpret_cast<T *>(room + (bands.count > 1 ? elements : 0))), dz(hidden + elements) {}
	static int64_t bytes(int64_t tokens, int64_t dim, int64_t classes, int64_t most = most_gradients) {
		const Bands bands(tokens, classes, most);
		return tokens * (dim * (bands.count > 1 ? 6 : 2) + bands.classes * 2);
	}
};

// A block a row.
template <class T>
__global__ void __launch_bounds__(threads) linear_cross_entropy_counted_hidden_kernel(Strided<T> hidden, T *copy, int64_t dim, Tokens all) {
	const int64_t row = blockIdx.x;
	const bool counts = all.counts(row);
	for (int64_t k = threadIdx.x * vector<T>; k < dim; k += threads * vector<T>)
		*reinterpret_cast<uint4 *>(copy + row * dim + k) = counts ? *reinterpret_cast<const uint4 *>(hidden.data + row * hidden.row_stride + k) : uint4{};
}

// What becomes of the sums of a product. A thread has two rows of each 64, and of each eight columns two; see store_sums.cuh.

// LogitGradients: logits become their gradients, of a band from class `first` on.
template <class T> struct LogitGradients {
	Tokens all;
	Vector<const float> dloss;
	const float *lse, *counted;
	T *dz;
	int64_t first, pitch;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	struct Epilogue {
		const LogitGradients &of;
		float weight[TmaTile::parts][2], lse[TmaTile::parts][2];
		int targets[TmaTile::parts][2]; // as a column of the tile; -1 if it lies elsewhere, ignored if the token is
		static constexpr int ignored = -2;

		// What a row needs comes while the tile is multiplied.
		__device__ void begin(const hopper::PairPlace &at) {
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++)
#pragma unroll
				for (int half = 0; half < 2; half++) {
					const int64_t row = KeepRows::row_of(at, part, half);
					const bool counts = row < of.all.count && of.all.counts(row);
					const int64_t column = counts ? of.all.target(row) - of.first - at.col : -1;
					targets[part][half] = !counts ? ignored : column >= 0 && column < TmaTile::n ? static_cast<int>(column) : -1;
					weight[part][half] = counts ? of.all.weight(of.dloss, of.counted, row) : 0.0f;
					lse[part][half] = counts ? of.lse[row] : 0.0f;
				}
		}

		__device__ void store(TmaTile::Sums &d, const hopper::PairPlace &at) const {
			const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++) {
#pragma unroll
				for (int i = 0; i < TmaTile::n / 8; i++)
#pragma unroll
					for (int e = 0; e < 4; e++) {
						const int half = e / 2, target = targets[part][half];
						const float p = expf(d[part][i][e] - lse[part][half]) - (8 * i + column + e % 2 == target ? 1.0f : 0.0f);
						d[part][i][e] = target == ignored ? 0.0f : weight[part][half] * p;
					}
				hopper::store_wide(d[part], hopper::SumsPlace<T>{of.dz, of.all.count, of.pitch, KeepRows::row_of(at, part, 0), at.col},
				                   [](float sum) { return sum; });
			}
		}
	};
#endif
};

// HiddenGradients: dhidden, of which each band adds its part.
template <class T> struct HiddenGradients {
	Tokens all;
	float *sums;
	T *y;
	int64_t dim;
	bool begins, ends;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	struct Epilogue {
		const HiddenGradients &of;

		__device__ void begin(const hopper::PairPlace &) {}
		__device__ void store(TmaTile::Sums &d, const hopper::PairPlace &at) const {
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++) {
				const int64_t row = KeepRows::row_of(at, part, 0);
				const hopper::SumsPlace<float> sums = {of.sums, of.all.count, of.dim, row, at.col};
				if (!of.begins) add(d[part], sums);
				if (!of.ends) {
					hopper::store_wide(d[part], sums, [](float sum) { return sum; });
					continue;
				}
#pragma unroll
				for (int half = 0; half < 2; half++)
					if (sums.holds(half) && !of.all.counts(row + 8 * half))
#pragma unroll
						for (int i = 0; i < TmaTile::n / 8; i++) d[part][i][2 * half] = d[part][i][2 * half + 1] = 0.0f;
				hopper::store_wide(d[part], hopper::SumsPlace<T>{of.y, of.all.count, of.dim, row, at.col}, [](float sum) { return sum; });
			}
		}

	private:
		__device__ static void add(TmaTile::Part &d, const hopper::SumsPlace<float> &from) {
			const int64_t col = from.col0 + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
			for (int half = 0; half < 2; half++) {
				const int columns = from.holds(half) ? from.columns_from(col, TmaTile::n) : 0;
#pragma unroll
				for (int i = 0; i < TmaTile::n / 8; i++) {
					if (8 * i >= columns) continue;
					const float2 more = *reinterpret_cast<const float2 *>(from.data + from.line(half) + col + 8 * i);
					d[i][2 * half] += more.x;
					d[i][2 * half + 1] += more.y;
				}
			}
		}
	};
#endif
};

// WeightGradients: dweight of a band.
template <class T> struct WeightGradients {
	T *y;
	int64_t classes, dim;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	struct Epilogue {
		const WeightGradients &of;

		__device__ void begin(const hopper::PairPlace &) {}
		__device__ void store(const TmaTile::Sums &d, const hopper::PairPlace &at) const {
#pragma unroll
			for (int part = 0; part < TmaTile::parts; part++)
				hopper::store_wide(d[part], hopper::SumsPlace<T>{of.y, of.classes, of.dim, KeepRows::row_of(at, part, 0), at.col},
				                   [](float sum) { return sum; });
		}
	};
#endif
};

template <class T, bool AlongKA, bool AlongKB, class Result>
__global__ void __launch_bounds__(TmaTile::threads, 1)
    linear_cross_entropy_gradient_tma_kernel(const __grid_constant__ Result result, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char gradient_tiles[];
	hopper::run_pair<TmaTile, AlongKA, AlongKB>(
		work, gradient_tiles,
		[](TmaTile::Part &d, hopper::SharedAddress a, hopper::SharedAddress b, bool add) { hopper::multiply_stage<T, AlongKA, AlongKB>(d, a, b, add); },
		[&](hopper::SharedAddress, int) { return typename Result::Epilogue{result}; });
#endif
}

// GradientSizes are those of a product: m x n sums of k.
struct GradientSizes {
	int64_t m, n, k;
};

template <class T, bool AlongKA, bool AlongKB, class Result>
int launch_gradient_product(const Result &result, const void *a, int64_t a_stride, const void *b, int64_t b_stride, const GradientSizes &s,
                            cudaStream_t stream) {
	hopper::PairWork work = {};
	constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together
	if (const int status = hopper::map_pair<TmaTile>(&work, {a, 0, a_stride, AlongKA}, {b, 0, b_stride, AlongKB}, 1, s.m, s.n, s.k, height)) return status;
	return hopper::launch_pair<TmaTile>(linear_cross_entropy_gradient_tma_kernel<T, AlongKA, AlongKB, Result>, work, stream, result);
}

// launch_gradients makes both gradients: 0, or CUDA's error code. `counted` is the divisor.
template <class T>
int launch_gradients(const Tokens &all, const Strided<T> &hidden, const Strided<T> &weight, int64_t dim, const float *lse, Vector<const float> dloss,
                     const float *counted, float *room, T *dhidden, T *dweight, cudaStream_t stream, int64_t most = most_gradients) {
	if (all.count == 0) return cleared(static_cast<int>(cudaMemsetAsync(dweight, 0, static_cast<size_t>(all.classes * dim) * sizeof(T), stream)));
	const Bands bands(all.count, all.classes, most);
	const GradientRoom<T> at(room, bands, all.count * dim);
	const int64_t pitch = bands.classes;
	linear_cross_entropy_counted_hidden_kernel<T><<<static_cast<unsigned>(all.count), threads, 0, stream>>>(hidden, at.hidden, dim, all);
	for (int64_t first = 0; first < all.classes; first += pitch) {
		const int64_t classes = std::min(pitch, all.classes - first);
		const T *const rows = weight.data + first * weight.row_stride;
		const bool ends = first + classes == all.classes;
		if (const int status = launch_gradient_product<T, true, true>(LogitGradients<T>{all, dloss, lse, counted, at.dz, first, pitch}, hidden.data,
		                                                              hidden.row_stride, rows, weight.row_stride, {all.count, classes, dim}, stream))
			return status;
		if (const int status = launch_gradient_product<T, true, false>(HiddenGradients<T>{all, at.sums, dhidden, dim, first == 0, ends}, at.dz, pitch, rows,
		                                                               weight.row_stride, {all.count, dim, classes}, stream))
			return status;
		if (const int status = launch_gradient_product<T, false, false>(WeightGradients<T>{dweight + first * dim, classes, dim}, at.dz, pitch, at.hidden,
		                                                                dim, {classes, dim, all.count}, stream))
			return status;
	}
	return TRIAD_OK;
}

constexpr int64_t counted_floats = 64; // before the rest, which begins at a multiple of 256 bytes

inline int64_t tma_backward_bytes(const triad_call *call) {
	const triad_tensor &hidden = call->in[0];
	return counted_floats * 4 + GradientRoom<__half>::bytes(hidden.shape[0], hidden.shape[1], call->in[1].shape[0]);
}

// launch_call_gradients is the backward of a call.
template <class T> int launch_call_gradients(const triad_call *call, const Tokens &all, cudaStream_t stream) {
	const auto operand = [&](int i) { return Strided<T>{static_cast<const T *>(call->in[i].data), call->in[i].stride[0], 1}; };
	float *const counted = static_cast<float *>(call->workspace);
	linear_cross_entropy_count_kernel<<<1, threads, 0, stream>>>(counted, all);
	const int status = launch_gradients<T>(all, operand(0), operand(1), call->in[0].shape[1], static_cast<const float *>(call->in[3].data),
	                                       Vector<const float>(call->in[4]), counted, counted + counted_floats, static_cast<T *>(call->out[0].data),
	                                       static_cast<T *>(call->out[1].data), stream);
	return status != TRIAD_OK ? status : launched();
}

} // namespace linear_cross_entropy
} // namespace triad
#endif
