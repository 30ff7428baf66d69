// fp8_quantize.cuh: kernels that make numbers fp8 with the scales of their groups, for operators that quantise. Formula, layout and numerics stand
// at the head of kernels/quantize_fp8.cu.
//
// A call has x [rows, cols] as its first input, and q, scale, q_t, scale_t as outputs; its attributes are those of quantize_fp8.
#ifndef TRIAD_FP8_QUANTIZE_CUH
#define TRIAD_FP8_QUANTIZE_CUH
#include <algorithm>

#include "element.cuh"
#include "fp8_recipe.cuh"
#include "rows.cuh"

namespace triad::quantize {

constexpr int threads = 256;
constexpr int side = 128;   // columns of a block, rows and columns of a tile
constexpr int low = 32;     // rows of a block that needs no square tile
constexpr int parts = 1024; // of a tensor with one scale, at most: a block each

enum Attribute { format, per, recipe, powers, both };
inline Fp8Recipe recipe_of(const triad_call *call) { return {call->attr[format] != 0, call->attr[recipe] != 0, call->attr[powers] != 0}; }
enum Per { per_tensor, per_row, per_block, per_tile };

// Side is one orientation: x or its transpose, and its outputs.
template <class T> struct Side {
	Matrix<const T> x;
	uint8_t *q;
	float *scale;
	int64_t rows, cols, height, width, across, groups; // a group has height x width numbers; across: groups in a row of them

	Side(const triad_call *call, bool turned)
	    : x(call->in[0]), q(static_cast<uint8_t *>(call->out[turned ? 2 : 0].data)), scale(static_cast<float *>(call->out[turned ? 3 : 1].data)),
	      rows(call->in[0].shape[0]), cols(call->in[0].shape[1]) {
		if (turned) std::swap(x.row_stride, x.col_stride), std::swap(rows, cols);
		const int of = call->attr[per];
		height = of == per_tensor ? std::max<int64_t>(rows, 1) : of == per_tile ? side : 1;
		width = of == per_tensor || of == per_row ? std::max<int64_t>(cols, 1) : side;
		across = of == per_tensor || of == per_row ? 1 : (cols + width - 1) / width;
		groups = of == per_tensor ? 1 : (rows + height - 1) / height * across;
	}
};

struct Outputs {
	uint8_t *q, *q_t;
	float *scale, *scale_t;
	const float *factor; // of the whole tensor

	Outputs(const triad_call *call, const float *factor)
	    : q(static_cast<uint8_t *>(call->out[0].data)), q_t(static_cast<uint8_t *>(call->out[2].data)),
	      scale(static_cast<float *>(call->out[1].data)), scale_t(static_cast<float *>(call->out[3].data)), factor(factor) {}
};

// ---- naive ------------------------------------------------------------------------------------------------------------------------------

// A block finds the scale of one group.
template <class T> __global__ void quantize_fp8_scale_kernel(Side<T> s, Fp8Recipe rules, float *factors) {
	__shared__ Magnitude scratch[threads];
	const int64_t group = blockIdx.x, top = group / s.across * s.height, left = group % s.across * s.width;
	const int64_t height = min(s.height, s.rows - top), width = min(s.width, s.cols - left);
	Magnitude own = {};
	for (int64_t i = threadIdx.x; i < height * width; i += threads) own = Largest{}(own, Magnitude::of(to_float(s.x(top + i / width, left + i % width))));
	scratch[threadIdx.x] = own;
	for (int half = threads / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) scratch[threadIdx.x] = Largest{}(scratch[threadIdx.x], scratch[threadIdx.x + half]);
	}
	if (threadIdx.x == 0) s.scale[group] = rules.scale(scratch[0], factors[group]);
}

template <class T> __global__ void quantize_fp8_naive_kernel(Side<T> s, Fp8Recipe rules, const float *factors) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= s.rows * s.cols) return;
	const int64_t r = i / s.cols, c = i % s.cols;
	s.q[i] = rules.code(to_float(s.x(r, c)), factors[r / s.height * s.across + c / s.width]);
}

// ---- row --------------------------------------------------------------------------------------------------------------------------------

template <class T> using Raw = Pack<T, vector<T>>;

// A block shares a row and keeps all of it in registers, Items numbers a thread, as it lies in memory.
template <class T, int Threads, int Items>
__global__ void __launch_bounds__(Threads) quantize_fp8_row_kernel(const T *x, Outputs out, Fp8Recipe rules, int64_t rows, int64_t cols) {
	constexpr int V = vector<T>, Packs = Items / V;
	__shared__ Magnitude scratch[Threads / 32];
	const int first = static_cast<int>(threadIdx.x) * V;
	for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
		Raw<T> held[Packs];
		PackMagnitude<T> own;
#pragma unroll
		for (int p = 0; p < Packs; p++)
			if (first + p * Threads * V < cols) held[p] = fetch<V>(x + r * cols + first + p * Threads * V);
#pragma unroll
		for (int p = 0; p < Packs; p++)
			if (first + p * Threads * V < cols) own.take(held[p]);
		float factor;
		const float stored = rules.scale(block_reduce<Threads>(own.all(), Largest{}, scratch), factor);
		if (threadIdx.x == 0) out.scale[r] = stored;
#pragma unroll
		for (int p = 0; p < Packs; p++)
			if (first + p * Threads * V < cols) put_codes<T>(out.q + r * cols + first + p * Threads * V, held[p], rules, factor);
	}
}

// ---- tile -------------------------------------------------------------------------------------------------------------------------------

// What a tile's scales come from: each of its rows (and columns, for the transpose), all of it, or the whole tensor, whose factor is known.
enum Source { from_rows, from_tile, known };

// A block has Height rows of 128 columns. Neighbouring lanes have a row; each computes the scale of one of their rows, and they share them.
// Shared memory holds the tile for its columns, in the element type: neighbouring threads read neighbouring words.
template <class T, Source From, bool Turn, int Height>
__global__ void __launch_bounds__(threads) quantize_fp8_tile_kernel(const T *x, Outputs out, Fp8Recipe rules, int64_t rows, int64_t cols) {
	constexpr int V = vector<T>, lanes = side / V, at_once = threads / lanes, Packs = Height / at_once;
	static_assert(Height == side || (!Turn && From != from_tile), "a tile is square where its columns or all of it have a scale");
	static_assert(Packs <= lanes, "each of a thread's rows has a lane for its scale");
	extern __shared__ __align__(16) unsigned char memory[];
	T *const tile = reinterpret_cast<T *>(memory);
	// with the factor of the whole tensor, the end of x was read last and may still be in the L2 cache
	const int64_t band = From == known ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
	const int64_t top = band * Height, left = blockIdx.x * static_cast<int64_t>(side);
	const int row = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes, col = lane * V;
	const bool inside = left + col < cols;
	Raw<T> held[Packs];
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int64_t r = top + row + p * at_once;
		held[p] = inside && r < rows ? fetch<V>(x + r * cols + left + col) : Raw<T>{};
	}
	float factor = 0.0f;
	if constexpr (From == known) factor = *out.factor;
	if constexpr (From == from_tile) {
		__shared__ Magnitude scratch[threads / 32];
		PackMagnitude<T> own;
#pragma unroll
		for (int p = 0; p < Packs; p++) own.take(held[p]);
		const float stored = rules.scale(block_reduce<threads>(own.all(), Largest{}, scratch), factor);
		if (threadIdx.x == 0) {
			out.scale[blockIdx.y * static_cast<int64_t>(gridDim.x) + blockIdx.x] = stored;
			if (Turn) out.scale_t[blockIdx.x * static_cast<int64_t>(gridDim.y) + blockIdx.y] = stored;
		}
	}
	if constexpr (From == from_rows) {
		Magnitude of_lane = {};
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const Magnitude largest = warp_reduce<lanes>(largest_of<T>(held[p]), Largest{});
			if (lane == p) of_lane = largest;
		}
		const float stored = rules.scale(of_lane, factor);
		const int64_t r = top + row + lane * at_once;
		if (lane < Packs && r < rows) out.scale[r * gridDim.x + blockIdx.x] = stored;
	}
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int64_t r = top + row + p * at_once;
		const float of_row = From == from_rows ? __shfl_sync(all_lanes, factor, p, lanes) : factor;
		if (inside && r < rows) put_codes<T>(out.q + r * cols + left + col, held[p], rules, of_row);
		if constexpr (Turn) *reinterpret_cast<Raw<T> *>(tile + (row + p * at_once) * side + col) = held[p];
	}
	if constexpr (Turn) {
		__syncthreads();
		const auto scale_of = [&](int c) { return out.scale_t + (left + c) * gridDim.y + blockIdx.y; };
		const int64_t width = min(cols - left, static_cast<int64_t>(side)), height = min(rows - top, static_cast<int64_t>(side));
		put_turned<side, threads, From == from_rows>(tile, out.q_t + left * rows + top, rows, width, height, scale_of, rules, factor);
	}
}

// A grid has at most 65535 rows of blocks: more rows without a transpose take several launches.
template <class T, Source From, bool Turn, int Height> int launch_tiles(const triad_call *call, const float *factor) {
	const int64_t all = call->in[0].shape[0], cols = call->in[0].shape[1];
	constexpr int bytes = Turn ? side * side * static_cast<int>(sizeof(T)) : 0;
	constexpr int64_t most = int64_t{65535} * Height;
	const auto kernel = quantize_fp8_tile_kernel<T, From, Turn, Height>;
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return status;
	for (int64_t top = 0; top < all; top += most) {
		const int64_t rows = std::min(all - top, most);
		const dim3 grid(blocks_for(cols, side), blocks_for(rows, Height));
		Outputs out(call, factor);
		out.q += top * cols;
		if (From == from_rows) out.scale += top * grid.x;
		kernel<<<grid, threads, bytes, stream_of(call)>>>(static_cast<const T *>(call->in[0].data) + top * cols, out, recipe_of(call), rows, cols);
	}
	return launched();
}

template <class T, Source From> int launch_turned(const triad_call *call, const float *factor) {
	constexpr int height = From == from_tile ? side : low; // many small blocks read while others compute
	if (call->in[0].shape[0] == 0) return TRIAD_OK;
	return call->attr[both] != 0 ? launch_tiles<T, From, true, side>(call, factor) : launch_tiles<T, From, false, height>(call, factor);
}

// ---- parts ------------------------------------------------------------------------------------------------------------------------------

// Block b looks at every so-many-th pack.
template <class T> __global__ void __launch_bounds__(threads) quantize_fp8_part_kernel(const T *x, Magnitude *largest, int64_t packs) {
	__shared__ Magnitude scratch[threads / 32];
	PackMagnitude<T> own;
#pragma unroll 4
	for (int64_t p = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x; p < packs; p += gridDim.x * static_cast<int64_t>(threads))
		own.take(fetch<vector<T>>(x + p * vector<T>));
	const Magnitude of_block = block_reduce<threads>(own.all(), Largest{}, scratch);
	if (threadIdx.x == 0) largest[blockIdx.x] = of_block;
}

// One block joins what they found.
__global__ void __launch_bounds__(threads) quantize_fp8_join_kernel(const Magnitude *largest, int count, Fp8Recipe rules, Outputs out, bool turn, float *factor) {
	__shared__ Magnitude scratch[threads / 32];
	Magnitude own = {};
	for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) own = Largest{}(own, largest[i]);
	own = block_reduce<threads>(own, Largest{}, scratch);
	if (threadIdx.x != 0) return;
	out.scale[0] = rules.scale(own, *factor);
	if (turn) out.scale_t[0] = out.scale[0];
}

// ---- launches ---------------------------------------------------------------------------------------------------------------------------

template <class T> int launch_naive(const triad_call *call) {
	float *factors = static_cast<float *>(call->workspace);
	for (int turned = 0; turned <= call->attr[both]; turned++) {
		const Side<T> s(call, turned != 0);
		if (s.groups > 0)
			quantize_fp8_scale_kernel<T><<<static_cast<unsigned>(s.groups), threads, 0, stream_of(call)>>>(s, recipe_of(call), factors);
		if (s.rows * s.cols > 0)
			quantize_fp8_naive_kernel<T><<<blocks_for(s.rows * s.cols, threads), threads, 0, stream_of(call)>>>(s, recipe_of(call), factors);
	}
	return launched();
}

template <class T> int launch_row(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows == 0) return TRIAD_OK;
	const auto launch = [&](auto kernel, int block) {
		kernel<<<blocks_for(rows, 1), block, 0, stream_of(call)>>>(static_cast<const T *>(call->in[0].data), Outputs(call, nullptr),
		                                                                         recipe_of(call), rows, cols);
		return launched();
	};
	if (cols <= 128 * 8) return launch(quantize_fp8_row_kernel<T, 128, 8>, 128);
	if (cols <= 128 * 32) return launch(quantize_fp8_row_kernel<T, 128, 32>, 128);
	if (cols <= 256 * 32) return launch(quantize_fp8_row_kernel<T, 256, 32>, 256);
	if (cols <= 512 * 32) return launch(quantize_fp8_row_kernel<T, 512, 32>, 512);
	return launch(quantize_fp8_row_kernel<T, 1024, 32>, 1024);
}

template <class T> int launch_tile(const triad_call *call) {
	return call->attr[per] == per_tile ? launch_turned<T, from_tile>(call, nullptr) : launch_turned<T, from_rows>(call, nullptr);
}

template <class T> int launch_parts(const triad_call *call) {
	const int64_t packs = elements(call->in[0]) / vector<T>, wanted = blocks_for(packs, threads * 4);
	const unsigned blocks = static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, parts));
	Magnitude *largest = static_cast<Magnitude *>(call->workspace);
	float *factor = static_cast<float *>(call->workspace) + parts;
	quantize_fp8_part_kernel<T><<<blocks, threads, 0, stream_of(call)>>>(static_cast<const T *>(call->in[0].data), largest, packs);
	quantize_fp8_join_kernel<<<1, threads, 0, stream_of(call)>>>(largest, static_cast<int>(blocks), recipe_of(call), Outputs(call, factor),
	                                                                    call->attr[both] != 0, factor);
	return launch_turned<T, known>(call, factor);
}

// The factors of one orientation at a time: the workspace of launch_naive.
inline int64_t factors_of_groups(const triad_call *call) {
	return std::max(elements(call->out[1]), elements(call->out[3])) * static_cast<int64_t>(sizeof(float));
}

// The workspace of launch_parts.
inline int64_t magnitudes_of_parts(const triad_call *) { return parts * sizeof(Magnitude) + sizeof(float); }

} // namespace triad::quantize
#endif
