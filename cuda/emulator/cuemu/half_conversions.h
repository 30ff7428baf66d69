// Conversions of halves and bfloat16 from and to floats and integers whose rounding is in their name, and comparisons that hold of NaN too.
#ifndef CUEMU_HALF_CONVERSIONS_H
#define CUEMU_HALF_CONVERSIONS_H

#include <cmath>
#include <limits>

namespace cuemu {

enum Direction { DOWN, UP, TO_ZERO };

// directed narrows x to a 16-bit format. Of the nearest number of the format the neighbour is taken where that lies on the other side of x. A
// long double has room for every integer of 64 bits.
template <class T> T directed(long double x, Direction to) {
	T y(static_cast<double>(x));
	if (std::isnan(x)) return y;
	if (to == TO_ZERO) to = x < 0 ? UP : DOWN;
	const long double at = static_cast<float>(y);
	const bool beyond = to == DOWN ? at > x : at < x;
	if (!beyond) return y;
	const bool negative = y.__x >> 15, away = negative == (to == DOWN);   // away from zero the bits count up
	if ((y.__x & 0x7fffu) == 0) {
		y.__x = to == DOWN ? 0x8001 : 0x0001;
	} else {
		y.__x = static_cast<unsigned short>(away ? y.__x + 1 : y.__x - 1);
	}
	return y;
}

// to_integer gives the nearest integer of a type to what is an integer already; NaN gives 0, of 64 bits only the highest one.
template <class Int> Int to_integer(float x) {
	if (std::isnan(x)) return sizeof(Int) == 8 ? static_cast<Int>(1ull << 63) : Int(0);
	if (x <= static_cast<float>(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
	if (x >= static_cast<float>(std::numeric_limits<Int>::max())) return std::numeric_limits<Int>::max();
	return static_cast<Int>(x);
}

}  // namespace cuemu

#define CUEMU_FROM_DIRECTED(T, name, from, From)                                                                   \
	inline T __##from##2##name##_rn(From x) { return T(x); }                                                        \
	inline T __##from##2##name##_rd(From x) { return cuemu::directed<T>(x, cuemu::DOWN); }                          \
	inline T __##from##2##name##_ru(From x) { return cuemu::directed<T>(x, cuemu::UP); }                            \
	inline T __##from##2##name##_rz(From x) { return cuemu::directed<T>(x, cuemu::TO_ZERO); }
#define CUEMU_BOTH_WAYS(T, name, to, Int)                                                                          \
	CUEMU_FROM_DIRECTED(T, name, to, Int)                                                                           \
	inline Int __##name##2##to##_rn(T x) { return cuemu::to_integer<Int>(rintf(x)); }                               \
	inline Int __##name##2##to##_rd(T x) { return cuemu::to_integer<Int>(floorf(x)); }                              \
	inline Int __##name##2##to##_ru(T x) { return cuemu::to_integer<Int>(ceilf(x)); }                               \
	inline Int __##name##2##to##_rz(T x) { return cuemu::to_integer<Int>(truncf(x)); }
#define CUEMU_HALF_CONVERSIONS(T, name)                                                                            \
	CUEMU_FROM_DIRECTED(T, name, float, float)                                                                      \
	CUEMU_BOTH_WAYS(T, name, int, int)                                                                              \
	CUEMU_BOTH_WAYS(T, name, uint, unsigned)                                                                        \
	CUEMU_BOTH_WAYS(T, name, short, short)                                                                          \
	CUEMU_BOTH_WAYS(T, name, ushort, unsigned short)                                                                \
	CUEMU_BOTH_WAYS(T, name, ll, long long)                                                                         \
	CUEMU_BOTH_WAYS(T, name, ull, unsigned long long)                                                               \
	inline signed char __##name##2char_rz(T x) { return cuemu::to_integer<signed char>(truncf(x)); }                \
	inline unsigned char __##name##2uchar_rz(T x) { return cuemu::to_integer<unsigned char>(truncf(x)); }

// A comparison of a and b, floats, that holds where one of them is NaN.
#define CUEMU_UNORDERED_ONE(T, T2, name, holds)                                                                    \
	inline bool __h##name##u(T x, T y) {                                                                            \
		const float a = x, b = y;                                                                                      \
		return holds;                                                                                                  \
	}                                                                                                               \
	inline T2 __h##name##u2(T2 a, T2 b) {                                                                           \
		return {T(__h##name##u(a.x, b.x) ? 1.0f : 0.0f), T(__h##name##u(a.y, b.y) ? 1.0f : 0.0f)};                     \
	}                                                                                                               \
	inline bool __hb##name##u2(T2 a, T2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }             \
	inline unsigned __h##name##u2_mask(T2 a, T2 b) {                                                                \
		return (__h##name##u(a.x, b.x) ? 0xffffu : 0u) | (__h##name##u(a.y, b.y) ? 0xffff0000u : 0u);                  \
	}
#define CUEMU_UNORDERED(T, T2)                                                                                     \
	CUEMU_UNORDERED_ONE(T, T2, eq, !(a < b || a > b))                                                               \
	CUEMU_UNORDERED_ONE(T, T2, ne, !(a == b))                                                                       \
	CUEMU_UNORDERED_ONE(T, T2, lt, !(a >= b))                                                                       \
	CUEMU_UNORDERED_ONE(T, T2, le, !(a > b))                                                                        \
	CUEMU_UNORDERED_ONE(T, T2, gt, !(a <= b))                                                                       \
	CUEMU_UNORDERED_ONE(T, T2, ge, !(a < b))                                                                        \
	inline T htanh_approx(T a) { return T(tanhf(a)); }                                                              \
	inline T2 h2tanh_approx(T2 a) { return {htanh_approx(a.x), htanh_approx(a.y)}; }

#endif
