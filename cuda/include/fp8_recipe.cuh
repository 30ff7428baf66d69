// fp8_recipe.cuh: the scales of groups of numbers, and their fp8 codes, with the roundings of a library's recipe.
#ifndef TRIAD_FP8_RECIPE_CUH
#define TRIAD_FP8_RECIPE_CUH
#include <cuda_fp8.h>

#include <cstring>
#include <type_traits>

#include "pack.cuh"
#include "reduce.cuh"

namespace triad {

// Magnitude is |v| as bits: as integers they have the order of the numbers, and NaN is above infinity.
struct Magnitude {
	uint32_t bits;

	__device__ static Magnitude of(float v) { return {__float_as_uint(v) & 0x7fffffffu}; }
};

struct Largest {
	__device__ Magnitude operator()(Magnitude a, Magnitude b) const { return a.bits > b.bits ? a : b; }
};

__device__ inline Magnitude shuffle_xor(Magnitude v, int lane_mask) { return {__shfl_xor_sync(all_lanes, v.bits, lane_mask)}; }

// Fp8Recipe makes scales and codes as torchao or DeepSeek do: the formula is at the head of kernels/quantize_fp8.cu.
struct Fp8Recipe {
	float most;
	bool wide, deepseek, powers; // wide: e5m2

	Fp8Recipe(bool wide, bool deepseek, bool powers) : most(wide ? 57344.0f : 448.0f), wide(wide), deepseek(deepseek), powers(powers) {}

	// The scale that is stored, and the factor of the numbers.
	__device__ float scale(Magnitude largest, float &factor) const {
		const float amax = __uint_as_float(largest.bits); // a comparison with NaN is false, so NaN stays
		if (!deepseek) {
			factor = static_cast<float>(static_cast<double>(most) / (amax < 1e-12 ? 1e-12 : static_cast<double>(amax)));
			if (powers) factor = __uint_as_float(at_most(factor));
			return factor;
		}
		const float a = amax < 1e-4f ? 1e-4f : amax;
		float stored = a / most;
		factor = most / a;
		if (powers) {
			const uint32_t below = at_most(stored);
			if (__uint_as_float(below) < stored) stored = 2.0f * __uint_as_float(below);
			factor = 1.0f / stored;
		}
		return stored;
	}

	__device__ uint8_t code(float v, float factor) const {
		return __nv_cvt_float_to_fp8(v * factor, __NV_SATFINITE, wide ? __NV_E5M2 : __NV_E4M3);
	}

private:
	// The bits of the largest power of two that is at most a normal number; 0, infinity and NaN stay.
	__device__ static uint32_t at_most(float v) {
		const uint32_t bits = __float_as_uint(v);
		return bits < 0x7f800000u ? bits & 0x7f800000u : bits;
	}
};

// PackMagnitude is the largest magnitude of the elements of packs. Those of 16 bits are compared two at a time, as they are: the largest of the low
// halves of words is apart from that of the high halves.
template <class T> class PackMagnitude {
	using Two = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
	static constexpr bool in_pairs = sizeof(T) == 2;
	std::conditional_t<in_pairs, Two, Magnitude> largest;

public:
	static constexpr int columns = 4 / static_cast<int>(sizeof(T)); // elements of a word

	__device__ PackMagnitude() { memset(&largest, 0, sizeof largest); }

	__device__ void take(uint32_t word) {
		if constexpr (in_pairs) {
			Two two;
			memcpy(&two, &word, sizeof two);
			largest = __hmax2_nan(largest, __habs2(two));
		} else {
			largest = Largest{}(largest, Magnitude::of(__uint_as_float(word)));
		}
	}

	template <int N> __device__ void take(const Pack<T, N> &pack) {
#pragma unroll
		for (int i = 0; i < N / columns; i++) take(word(pack, i));
	}

	// The largest of the elements that are the i-th of their word.
	__device__ Magnitude column(int i) const {
		if constexpr (in_pairs) return Magnitude::of(to_float(i == 0 ? largest.x : largest.y));
		else return largest;
	}

	__device__ Magnitude all() const { return Largest{}(column(0), column(columns - 1)); }
};

template <class T> __device__ inline Magnitude largest_of(const Pack<T, vector<T>> &raw) {
	PackMagnitude<T> own;
	own.take(raw);
	return own.all();
}

// codes_of makes codes of numbers, two with one instruction; four are a word.
template <__nv_fp8_interpretation_t Format, int N> __device__ inline void codes_of(const float (&v)[N], float factor, uint32_t (&words)[N / 4]) {
	const auto two = [&](int j) -> uint32_t {
		return __nv_cvt_float2_to_fp8x2(make_float2(v[j] * factor, v[j + 1] * factor), __NV_SATFINITE, Format);
	};
#pragma unroll
	for (int i = 0; i < N / 4; i++) words[i] = two(4 * i) | two(4 * i + 2) << 16;
}

// put_codes writes the codes of 4, 8 or 16 numbers at once.
template <int N> __device__ inline void put_codes(uint8_t *to, const float (&v)[N], Fp8Recipe recipe, float factor) {
	uint32_t words[N / 4];
	if (recipe.wide) codes_of<__NV_E5M2>(v, factor, words);
	else codes_of<__NV_E4M3>(v, factor, words);
	if constexpr (N == 4) *reinterpret_cast<uint32_t *>(to) = words[0];
	if constexpr (N == 8) *reinterpret_cast<uint2 *>(to) = make_uint2(words[0], words[1]);
	if constexpr (N == 16) *reinterpret_cast<uint4 *>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

template <class T> __device__ inline void put_codes(uint8_t *to, const Pack<T, vector<T>> &raw, Fp8Recipe recipe, float factor) {
	float v[vector<T>];
	unpack(raw, v);
	put_codes(to, v, recipe, factor);
}

// TurnedTile writes the codes of a square tile in shared memory, of which height x width elements count and the others are 0, to rows of the
// transpose that are stride apart. A thread has the columns of one word, with a factor each, and part of their rows.
template <int Side, int Threads, class T> struct TurnedTile {
	static constexpr int W = PackMagnitude<T>::columns, words = Side / W, part = Side * words / Threads, parts_of_column = Side / part;
	const int c, first;
	const uint32_t *const column;

	__device__ explicit TurnedTile(const T *tile)
	    : c(static_cast<int>(threadIdx.x) % words * W), first(static_cast<int>(threadIdx.x) / words * part),
	      column(reinterpret_cast<const uint32_t *>(tile + first * Side + c)) {}

	__device__ void put_columns(uint8_t *q_t, int64_t stride, int64_t width, int64_t height, Fp8Recipe rules, const float (&factors)[W]) const {
		if (c >= width) return;
		const int length = static_cast<int>(min(height - first, static_cast<int64_t>(part)));
		for (int i = 0; i < length; i += 16) {
			Pack<T, W> numbers[16];
#pragma unroll
			for (int j = 0; j < 16; j++) memcpy(&numbers[j], column + (i + j) * words, sizeof numbers[j]);
#pragma unroll
			for (int w = 0; w < W; w++) {
				float v[16];
#pragma unroll
				for (int j = 0; j < 16; j++) v[j] = to_float(numbers[j].at[w]);
				uint8_t *const to = q_t + (c + w) * stride + first + i;
				if (stride % 16 == 0)
					put_codes(to, v, rules, factors[w]);
				else
					for (int j = 0; j < 16 && i + j < length; j++) to[j] = rules.code(v[j], factors[w]);
			}
		}
	}
};

// put_turned does so with one factor, or with Own: each column then has a scale of its own, which scale_of(column) points to.
template <int Side, int Threads, bool Own, class T, class ScaleOf>
__device__ inline void put_turned(const T *tile, uint8_t *q_t, int64_t stride, int64_t width, int64_t height, ScaleOf scale_of, Fp8Recipe rules,
                                  float factor) {
	using Tile = TurnedTile<Side, Threads, T>;
	constexpr int W = Tile::W;
	const Tile own(tile);
	float factors[W];
#pragma unroll
	for (int w = 0; w < W; w++) factors[w] = factor;
	if constexpr (Own) {
		__shared__ Magnitude largest[Tile::parts_of_column][Side];
		__shared__ float of_column[Side];
		PackMagnitude<T> most;
#pragma unroll 8
		for (int i = 0; i < Tile::part; i++) most.take(own.column[i * Tile::words]);
#pragma unroll
		for (int w = 0; w < W; w++) largest[own.first / Tile::part][own.c + w] = most.column(w);
		__syncthreads();
		const int mine = static_cast<int>(threadIdx.x);
		if (mine < Side) {
			Magnitude all = {};
#pragma unroll
			for (int i = 0; i < Tile::parts_of_column; i++) all = Largest{}(all, largest[i][mine]);
			const float stored = rules.scale(all, of_column[mine]);
			if (mine < width) *scale_of(mine) = stored;
		}
		__syncthreads();
#pragma unroll
		for (int w = 0; w < W; w++) factors[w] = of_column[own.c + w];
	}
	own.put_columns(q_t, stride, width, height, rules, factors);
}

} // namespace triad
#endif
