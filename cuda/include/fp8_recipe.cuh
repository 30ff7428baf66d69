// fp8_recipe.cuh: the scales of groups of numbers, and their fp8 codes, with the roundings of a library's recipe.
#ifndef TRIAD_FP8_RECIPE_CUH
#define TRIAD_FP8_RECIPE_CUH
#include <cuda_fp8.h>

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

// The largest magnitude in a pack of 16 bytes.
template <class T> __device__ inline Magnitude largest_of(const Pack<T, vector<T>> &raw) {
	float v[vector<T>];
	unpack(raw, v);
	Magnitude own = {};
#pragma unroll
	for (int j = 0; j < vector<T>; j++) own = Largest{}(own, Magnitude::of(v[j]));
	return own;
}

// put_codes writes the codes of a pack, 4 or 8 bytes.
template <class T> __device__ inline void put_codes(uint8_t *to, const Pack<T, vector<T>> &raw, Fp8Recipe recipe, float factor) {
	float v[vector<T>];
	unpack(raw, v);
	Pack<uint8_t, vector<T>> codes;
#pragma unroll
	for (int j = 0; j < vector<T>; j++) codes.at[j] = recipe.code(v[j], factor);
	*reinterpret_cast<Pack<uint8_t, vector<T>> *>(to) = codes;
}

} // namespace triad
#endif
