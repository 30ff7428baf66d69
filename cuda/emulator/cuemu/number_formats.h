// The 16- and 8-bit floating-point formats: storage as integers, one rounding template for all. Every conversion rounds once, to nearest with
// ties to even, straight from its source.
#ifndef CUEMU_NUMBER_FORMATS_H
#define CUEMU_NUMBER_FORMATS_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace cuemu {

// Inlined wherever it is called, into functions that no sanitizer sees as well, which take no other function in.
#define CUEMU_INLINE inline __attribute__((always_inline))

CUEMU_INLINE uint32_t float_bits(float x) {
	uint32_t bits;
	__builtin_memcpy(&bits, &x, 4);
	return bits;
}

CUEMU_INLINE float float_of(uint32_t bits) {
	float x;
	__builtin_memcpy(&x, &bits, 4);
	return x;
}

// A format: sign, E exponent bits with this bias, M mantissa bits; MAX is the largest finite magnitude's code. INF: there is an infinity (the code
// MAX + 1); without one a value beyond the largest becomes NAN_CODE. A value becomes MAX if it rounds to it in a format unbounded above.
template <int E, int M, int BIAS, uint32_t MAX, bool INF, uint32_t NAN_CODE> struct Format {
	static constexpr int BITS = 1 + E + M;
	static constexpr uint32_t SIGN = 1u << (BITS - 1), INFINITE = INF ? MAX + 1 : NAN_CODE;

	// encode rounds x; saturate: what overflows, infinities included, becomes the largest finite value. NaN becomes NAN_CODE.
	static uint32_t encode(float x, bool saturate = false) {
		uint32_t bits = float_bits(x), sign = bits >> 31 ? SIGN : 0, magnitude = bits & 0x7fffffffu;
		if (magnitude > 0x7f800000u) return NAN_CODE;
		if (magnitude == 0x7f800000u) return sign | (saturate ? MAX : INFINITE);
		uint32_t code = round(magnitude);
		if (code > MAX) code = saturate ? MAX : INFINITE;
		return sign | code;
	}

	// round gives the code of a finite magnitude, unbounded above. Normal: the dropped bits decide, a carry runs into the exponent. Subnormal:
	// the mantissa with its hidden bit, shifted to the format's smallest step.
	static uint32_t round(uint32_t magnitude) {
		const int drop = 23 - M;
		const uint32_t least_normal = static_cast<uint32_t>(128 - BIAS) << 23;
		if (magnitude >= least_normal) {
			uint32_t rebased = magnitude - (static_cast<uint32_t>(127 - BIAS) << 23);
			return (rebased + ((1u << (drop - 1)) - 1) + (rebased >> drop & 1)) >> drop;
		}
		int exponent = magnitude < 0x00800000u ? 1 : static_cast<int>(magnitude >> 23);
		uint64_t mantissa = magnitude < 0x00800000u ? magnitude : (magnitude & 0x7fffffu) | 0x800000u;
		int shift = drop + (128 - BIAS) - exponent;
		if (shift > 40) return 0;
		uint64_t half = uint64_t(1) << (shift - 1);
		return static_cast<uint32_t>((mantissa + (half - 1) + (mantissa >> shift & 1)) >> shift);
	}

	static CUEMU_INLINE float decode(uint32_t code) {
		uint32_t sign = (code & SIGN) ? 0x80000000u : 0, magnitude = code & (SIGN - 1);
		if (magnitude > MAX) return float_of(INF && magnitude == INFINITE ? sign | 0x7f800000u : 0x7fffffffu);   // a NaN as the hardware converts it
		if (magnitude >> M) return float_of(sign | ((magnitude << (23 - M)) + (static_cast<uint32_t>(127 - BIAS) << 23)));
		const float step = float_of(static_cast<uint32_t>(127 + 1 - BIAS - M) << 23);  // of subnormal values, a power of two: the product is exact
		return float_of(sign | float_bits(static_cast<float>(magnitude) * step));
	}
};

typedef Format<5, 10, 15, 0x7bff, true, 0x7fff> Half;
typedef Format<4, 3, 7, 0x7e, false, 0x7f> E4m3;
typedef Format<5, 2, 15, 0x7b, true, 0x7f> E5m2;

struct Bfloat16 {
	static uint32_t encode(float x, bool = false) {
		uint32_t bits = float_bits(x);
		if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
		return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	}
	static CUEMU_INLINE float decode(uint32_t code) { return float_of(code << 16); }
};

// to_odd narrows to a float that, when inexact, has an odd last bit. Rounding that to a format of at most 22 bits is as good as rounding the
// double at once.
inline float to_odd(double x) {
	float near = static_cast<float>(x);
	if (!(std::fabs(x) <= 1.7976931348623157e308) || static_cast<double>(near) == x) return near;
	uint32_t bits = float_bits(near);
	if (std::fabs(static_cast<double>(near)) > std::fabs(x)) bits--;   // towards zero; an infinity becomes the largest float
	return float_of(bits | 1);
}

// fused: a * b + c in double, rounded to odd. The product of two 16-bit values is exact; TwoSum tells whether the sum is.
inline float fused(float a, float b, float c) {
	double product = static_cast<double>(a) * b, sum = product + c;
	double part = sum - product, error = (product - (sum - part)) + (c - part);
	if (error != 0 && std::isfinite(sum)) {
		uint64_t bits;
		__builtin_memcpy(&bits, &sum, 8);
		if (!(bits & 1)) bits += ((error > 0) == (sum > 0)) ? 1 : -1;
		__builtin_memcpy(&sum, &bits, 8);
	}
	return to_odd(sum);
}

}  // namespace cuemu

#endif
