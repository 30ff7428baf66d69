// Inline PTX: arithmetic, comparisons, conversions and shuffles of ordinary numbers, by the names that ptx.h explains.
#ifndef CUEMU_PTX_ARITHMETIC_H
#define CUEMU_PTX_ARITHMETIC_H

#include <cmath>

#include "cuemu/ptx.h"

namespace cuemu {
namespace ptx {

// as is an operand's bits as a number of a type; give what an instruction writes.
template <class T, class X> inline T as(const X &x) {
	const uint64_t bits = wide(x);
	T value;
	__builtin_memcpy(&value, &bits, sizeof value);
	return value;
}
template <class D, class T> inline void give(D &to, T value) {
	uint64_t bits = 0;
	__builtin_memcpy(&bits, &value, sizeof value);
	assign(to, bits);
}

#define CUEMU_PTX_1(name, T, expression)                                   \
	template <class D, class A> inline void name(D &to, const A &first) {     \
		const T a = as<T>(first);                                                \
		give(to, expression);                                                    \
	}
#define CUEMU_PTX_2(name, T, expression)                                                      \
	template <class D, class A, class B> inline void name(D &to, const A &first, const B &second) { \
		const T a = as<T>(first), b = as<T>(second);                                                \
		give(to, expression);                                                                       \
	}
#define CUEMU_PTX_3(name, T, expression)                                                                                 \
	template <class D, class A, class B, class C> inline void name(D &to, const A &first, const B &second, const C &third) { \
		const T a = as<T>(first), b = as<T>(second), c = as<T>(third);                                                        \
		give(to, expression);                                                                                                 \
	}

// Sums and products have the same low bits, signed or not.
#define CUEMU_PTX_INTEGERS(s, T, U)                    \
	CUEMU_PTX_2(add_##s, U, U(a + b))                     \
	CUEMU_PTX_2(sub_##s, U, U(a - b))                     \
	CUEMU_PTX_2(mul_lo_##s, U, U(a * b))                  \
	CUEMU_PTX_3(mad_lo_##s, U, U(a * b + c))              \
	CUEMU_PTX_2(div_##s, T, T(a / b))                     \
	CUEMU_PTX_2(rem_##s, T, T(a % b))                     \
	CUEMU_PTX_2(min_##s, T, a < b ? a : b)                \
	CUEMU_PTX_2(max_##s, T, a < b ? b : a)
CUEMU_PTX_INTEGERS(s32, int32_t, uint32_t)
CUEMU_PTX_INTEGERS(u32, uint32_t, uint32_t)
CUEMU_PTX_INTEGERS(s64, int64_t, uint64_t)
CUEMU_PTX_INTEGERS(u64, uint64_t, uint64_t)
#undef CUEMU_PTX_INTEGERS
CUEMU_PTX_2(mul_wide_s32, int32_t, int64_t(a) * b)
CUEMU_PTX_2(mul_wide_u32, uint32_t, uint64_t(a) * b)
CUEMU_PTX_2(mul_hi_s32, int32_t, int32_t(int64_t(a) * b >> 32))
CUEMU_PTX_2(mul_hi_u32, uint32_t, uint32_t(uint64_t(a) * b >> 32))
CUEMU_PTX_1(abs_s32, uint32_t, a >> 31 ? 0 - a : a)
CUEMU_PTX_1(neg_s32, uint32_t, 0 - a)

// A shift by more than all bits leaves none, or the sign.
#define CUEMU_PTX_BITS(n, T)                                                                                  \
	CUEMU_PTX_2(and_b##n, T, T(a & b))                                                                           \
	CUEMU_PTX_2(or_b##n, T, T(a | b))                                                                            \
	CUEMU_PTX_2(xor_b##n, T, T(a ^ b))                                                                           \
	CUEMU_PTX_1(not_b##n, T, T(~a))                                                                              \
	template <class D, class A, class B> inline void shl_b##n(D &to, const A &a, const B &by) {                   \
		give(to, as<uint32_t>(by) > n - 1 ? T(0) : T(as<T>(a) << as<uint32_t>(by)));                                \
	}                                                                                                            \
	template <class D, class A, class B> inline void shr_u##n(D &to, const A &a, const B &by) {                   \
		give(to, as<uint32_t>(by) > n - 1 ? T(0) : T(as<T>(a) >> as<uint32_t>(by)));                                \
	}                                                                                                            \
	template <class D, class A, class B> inline void shr_b##n(D &to, const A &a, const B &by) { shr_u##n(to, a, by); } \
	template <class D, class A, class B> inline void shr_s##n(D &to, const A &a, const B &by) {                   \
		const uint32_t most = n - 1, bits = as<uint32_t>(by);                                                       \
		give(to, as<std::make_signed_t<T>>(a) >> (bits < most ? bits : most));                                      \
	}
CUEMU_PTX_BITS(32, uint32_t)
CUEMU_PTX_BITS(64, uint64_t)
#undef CUEMU_PTX_BITS
CUEMU_PTX_1(popc_b32, uint32_t, uint32_t(__builtin_popcount(a)))
CUEMU_PTX_1(popc_b64, uint64_t, uint32_t(__builtin_popcountll(a)))
CUEMU_PTX_1(clz_b32, uint32_t, uint32_t(a ? __builtin_clz(a) : 32))
CUEMU_PTX_1(clz_b64, uint64_t, uint32_t(a ? __builtin_clzll(a) : 64))
template <class D, class A, class B, class C> inline void lop3_b32(D &to, const A &first, const B &second, const C &third, int table) {
	const uint32_t a = as<uint32_t>(first), b = as<uint32_t>(second), c = as<uint32_t>(third);
	uint32_t bits = 0;
	for (int row = 0; row < 8; row++)
		if (table >> row & 1) bits |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
	give(to, bits);
}

#define CUEMU_PTX_FLOATS(s, T)                            \
	CUEMU_PTX_2(add_##s, T, a + b)                           \
	CUEMU_PTX_2(add_rn_##s, T, a + b)                        \
	CUEMU_PTX_2(sub_##s, T, a - b)                           \
	CUEMU_PTX_2(sub_rn_##s, T, a - b)                        \
	CUEMU_PTX_2(mul_##s, T, a * b)                           \
	CUEMU_PTX_2(mul_rn_##s, T, a * b)                        \
	CUEMU_PTX_2(div_rn_##s, T, a / b)                        \
	CUEMU_PTX_3(fma_rn_##s, T, std::fma(a, b, c))            \
	CUEMU_PTX_1(sqrt_rn_##s, T, std::sqrt(a))                \
	CUEMU_PTX_1(rcp_rn_##s, T, 1 / a)                        \
	CUEMU_PTX_2(min_##s, T, std::fmin(a, b))                 \
	CUEMU_PTX_2(max_##s, T, std::fmax(a, b))                 \
	CUEMU_PTX_1(abs_##s, T, std::fabs(a))                    \
	CUEMU_PTX_1(neg_##s, T, -a)
CUEMU_PTX_FLOATS(f32, float)
CUEMU_PTX_FLOATS(f64, double)
#undef CUEMU_PTX_FLOATS
CUEMU_PTX_1(mov_f32, float, a)
CUEMU_PTX_1(mov_f64, double, a)
CUEMU_PTX_1(mov_s32, uint32_t, a)
CUEMU_PTX_1(mov_s64, uint64_t, a)
CUEMU_PTX_1(cvt_rn_f32_s32, int32_t, float(a))
CUEMU_PTX_1(cvt_rn_f32_u32, uint32_t, float(a))
CUEMU_PTX_1(cvt_f64_f32, float, double(a))
CUEMU_PTX_1(cvt_rn_f32_f64, double, float(a))
CUEMU_PTX_1(cvt_s64_s32, int32_t, int64_t(a))
CUEMU_PTX_1(cvt_u64_u32, uint32_t, uint64_t(a))

// ---- comparisons and choices
#define CUEMU_PTX_COMPARED(name, sign, s, T)                                                                       \
	template <class A, class B> inline void setp_##name##_##s(Register &to, const A &a, const B &b) { to.bits = as<T>(a) sign as<T>(b); }
#define CUEMU_PTX_ORDERS(s, T)             \
	CUEMU_PTX_COMPARED(lt, <, s, T)           \
	CUEMU_PTX_COMPARED(le, <=, s, T)          \
	CUEMU_PTX_COMPARED(gt, >, s, T)           \
	CUEMU_PTX_COMPARED(ge, >=, s, T)          \
	CUEMU_PTX_COMPARED(eq, ==, s, T)
CUEMU_PTX_ORDERS(s32, int32_t)
CUEMU_PTX_ORDERS(u32, uint32_t)
CUEMU_PTX_ORDERS(f32, float)
CUEMU_PTX_COMPARED(eq, ==, b32, uint32_t)
#undef CUEMU_PTX_ORDERS
#undef CUEMU_PTX_COMPARED
#define CUEMU_PTX_CHOICE(s, T) \
	template <class D, class A, class B> inline void selp_##s(D &to, const A &a, const B &b, const Register &p) { give(to, p ? as<T>(a) : as<T>(b)); }
CUEMU_PTX_CHOICE(b32, uint32_t)
CUEMU_PTX_CHOICE(s32, uint32_t)
CUEMU_PTX_CHOICE(u32, uint32_t)
CUEMU_PTX_CHOICE(f32, float)
#undef CUEMU_PTX_CHOICE
#undef CUEMU_PTX_1
#undef CUEMU_PTX_2
#undef CUEMU_PTX_3

// ---- shuffles: the fourth operand has 32 less the width in bits 8 to 12
#define CUEMU_PTX_SHUFFLE(name, function)                                                                                          \
	template <class D, class A, class B, class C, class M>                                                                            \
	inline void shfl_sync_##name##_b32(D &to, const A &a, const B &by, const C &shape, const M &mask, CUEMU_HERE) {                    \
		const int width = 32 - static_cast<int>(as<uint32_t>(shape) >> 8 & 31);                                                          \
		give(to, function(as<uint32_t>(mask), as<uint32_t>(a), static_cast<int>(as<uint32_t>(by)), width, file, line));                  \
	}
CUEMU_PTX_SHUFFLE(bfly, __shfl_xor_sync)
CUEMU_PTX_SHUFFLE(down, __shfl_down_sync)
CUEMU_PTX_SHUFFLE(up, __shfl_up_sync)
CUEMU_PTX_SHUFFLE(idx, __shfl_sync)
#undef CUEMU_PTX_SHUFFLE

}  // namespace ptx
}  // namespace cuemu

#endif
