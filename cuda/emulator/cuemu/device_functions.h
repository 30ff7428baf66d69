// CUDA's built-in functions that are no collectives: loads with cache hints, bits, conversions, min and max, and mathematics. The fast
// intrinsics (__expf ...) are computed accurately; a device's may be off by more, within the bounds of CUDA's tables.
#ifndef CUEMU_DEVICE_FUNCTIONS_H
#define CUEMU_DEVICE_FUNCTIONS_H

#include <math.h>
#include <stdlib.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cuemu/execution.h"
#include "cuemu/number_formats.h"
#include "cuemu/vector_types.h"

namespace cuemu {

template <class To, class From> inline To bit_cast(From from) {
	static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
	To to;
	__builtin_memcpy(&to, &from, sizeof to);
	return to;
}

// to_integer saturates, and gives 0 for NaN, as CUDA's conversions do. x has been rounded already.
template <class Int, class Real> inline auto to_integer(Real x) {
	if (!(x == x)) return Int(0);
	const Real lowest = static_cast<Real>(std::numeric_limits<Int>::min());
	const Real beyond = std::ldexp(static_cast<Real>(1), std::numeric_limits<Int>::digits);
	if (x <= lowest) return std::numeric_limits<Int>::min();
	if (x >= beyond) return std::numeric_limits<Int>::max();
	return static_cast<Int>(x);
}

}  // namespace cuemu

// ---- loads and stores with cache hints: instructions for global memory alone
inline bool __isShared(const void *p) { return static_cast<size_t>(static_cast<const char *>(p) - cuemu_arena) < cuemu::ARENA_BYTES; }
inline bool __isGlobal(const void *p) { return !__isShared(p); }

#define CUEMU_LOAD_WITH_HINT(NAME, VOLATILE)                        \
	template <class T> inline T NAME(const T *p, CUEMU_HERE) {         \
		if (__isShared(p)) cuemu_not_global(file, line);                  \
		return *const_cast<const VOLATILE T *>(p);                        \
	}
#define CUEMU_STORE_WITH_HINT(NAME)                                 \
	template <class T, class V> inline void NAME(T *p, V v, CUEMU_HERE) { \
		if (__isShared(p)) cuemu_not_global(file, line);                  \
		*p = v;                                                           \
	}
CUEMU_LOAD_WITH_HINT(__ldg, )
CUEMU_LOAD_WITH_HINT(__ldca, )
CUEMU_LOAD_WITH_HINT(__ldcg, )
CUEMU_LOAD_WITH_HINT(__ldcs, )
CUEMU_LOAD_WITH_HINT(__ldlu, )
CUEMU_LOAD_WITH_HINT(__ldcv, volatile)
CUEMU_STORE_WITH_HINT(__stwb)
CUEMU_STORE_WITH_HINT(__stcg)
CUEMU_STORE_WITH_HINT(__stcs)
CUEMU_STORE_WITH_HINT(__stwt)
#undef CUEMU_LOAD_WITH_HINT
#undef CUEMU_STORE_WITH_HINT

// ---- the greater and the less of two numbers, as the C library has them, without a call; of NaN and a number the number
#define CUEMU_CHOOSE(name, T, before) \
	extern inline __attribute__((gnu_inline)) T name(T a, T b) noexcept { return a before b || b != b ? a : b; }
extern "C" {
CUEMU_CHOOSE(fmaxf, float, >)
CUEMU_CHOOSE(fminf, float, <)
CUEMU_CHOOSE(fmax, double, >)
CUEMU_CHOOSE(fmin, double, <)
}
#undef CUEMU_CHOOSE

// ---- min and max: CUDA has the mixed ones too, with C's conversions
#define CUEMU_MIN_MAX(A, B, R)                                                                                \
	inline constexpr R min(A a, B b) { return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); } \
	inline constexpr R max(A a, B b) { return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); }
#define CUEMU_MIN_MAX_BOTH(A, B, R) CUEMU_MIN_MAX(A, B, R) CUEMU_MIN_MAX(B, A, R)
CUEMU_MIN_MAX(int, int, int)
CUEMU_MIN_MAX(unsigned, unsigned, unsigned)
CUEMU_MIN_MAX_BOTH(int, unsigned, unsigned)
CUEMU_MIN_MAX(long, long, long)
CUEMU_MIN_MAX(unsigned long, unsigned long, unsigned long)
CUEMU_MIN_MAX_BOTH(long, unsigned long, unsigned long)
CUEMU_MIN_MAX_BOTH(int, long, long)
CUEMU_MIN_MAX_BOTH(int, unsigned long, unsigned long)
CUEMU_MIN_MAX_BOTH(unsigned, unsigned long, unsigned long)
CUEMU_MIN_MAX_BOTH(unsigned, long, long)
CUEMU_MIN_MAX(long long, long long, long long)
CUEMU_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
CUEMU_MIN_MAX_BOTH(long long, unsigned long long, unsigned long long)
CUEMU_MIN_MAX_BOTH(int, long long, long long)
CUEMU_MIN_MAX_BOTH(unsigned, long long, long long)
CUEMU_MIN_MAX_BOTH(long, long long, long long)
CUEMU_MIN_MAX_BOTH(int, unsigned long long, unsigned long long)
CUEMU_MIN_MAX_BOTH(unsigned, unsigned long long, unsigned long long)
CUEMU_MIN_MAX_BOTH(unsigned long, unsigned long long, unsigned long long)
#undef CUEMU_MIN_MAX_BOTH
#undef CUEMU_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }

// ---- bits
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
	unsigned y = 0;
	for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
	return y;
}
inline unsigned long long __brevll(unsigned long long x) {
	return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 | __brev(static_cast<unsigned>(x >> 32));
}
// The fourth bit of each half of a selector, by which PTX's prmt repeats a sign, is ignored: nvcc takes it away.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
	unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
	unsigned out = 0;
	for (int i = 0; i < 4; i++) out |= (static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7))) & 0xff) << (8 * i);
	return out;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
	return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
	return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (n & 31));
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
	return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) { return static_cast<int>(static_cast<unsigned>((a << 8 >> 8)) * static_cast<unsigned>((b << 8 >> 8))); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(a < b ? b - a : a - b); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline int __dp4a(int a, int b, int c) {
	for (int i = 0; i < 4; i++) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
	return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
	for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
	return c;
}

// ---- casts and conversions
inline int __float_as_int(float x) { return cuemu::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return cuemu::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return cuemu::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return cuemu::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return cuemu::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return cuemu::bit_cast<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(cuemu::bit_cast<long long>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(cuemu::bit_cast<long long>(x)); }
inline double __hiloint2double(int hi, int lo) {
	return cuemu::bit_cast<double>(static_cast<long long>(static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 | static_cast<unsigned>(lo)));
}
#define CUEMU_TO_INTEGER(name, Real, Int)                                                    \
	inline Int name##_rn(Real x) { return cuemu::to_integer<Int>(std::nearbyint(x)); }          \
	inline Int name##_rz(Real x) { return cuemu::to_integer<Int>(std::trunc(x)); }              \
	inline Int name##_rd(Real x) { return cuemu::to_integer<Int>(std::floor(x)); }              \
	inline Int name##_ru(Real x) { return cuemu::to_integer<Int>(std::ceil(x)); }
CUEMU_TO_INTEGER(__float2int, float, int)
CUEMU_TO_INTEGER(__float2uint, float, unsigned)
CUEMU_TO_INTEGER(__float2ll, float, long long)
CUEMU_TO_INTEGER(__float2ull, float, unsigned long long)
CUEMU_TO_INTEGER(__double2int, double, int)
CUEMU_TO_INTEGER(__double2uint, double, unsigned)
CUEMU_TO_INTEGER(__double2ll, double, long long)
CUEMU_TO_INTEGER(__double2ull, double, unsigned long long)
#undef CUEMU_TO_INTEGER
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

// ---- arithmetic with the rounding in its name, never contracted
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline double __drcp_rn(double x) { return 1.0 / x; }

// ---- mathematics beyond the host library's
inline float rsqrtf(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return static_cast<float>(1.0 / cbrt(static_cast<double>(x))); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float sinpif(float x) { return static_cast<float>(sin(M_PI * fmod(static_cast<double>(x), 2.0))); }
inline float cospif(float x) { return static_cast<float>(cos(M_PI * fmod(static_cast<double>(x), 2.0))); }
inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
inline float normcdff(float x) { return static_cast<float>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline float rnorm3df(float a, float b, float c) { return static_cast<float>(1 / sqrt(double(a) * a + double(b) * b + double(c) * c)); }
inline void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
inline void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
inline float norm3df(float a, float b, float c) { return static_cast<float>(sqrt(double(a) * a + double(b) * b + double(c) * c)); }
inline float norm4df(float a, float b, float c, float d) {
	return static_cast<float>(sqrt(double(a) * a + double(b) * b + double(c) * c + double(d) * d));
}

// glibc declares some of these names itself without defining them: the same linkage and exception specification.
extern "C" {
inline float __expf(float x) noexcept { return expf(x); }
inline float __exp10f(float x) noexcept { return static_cast<float>(pow(10.0, static_cast<double>(x))); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline void __sincosf(float x, float *s, float *c) noexcept {
	*s = sinf(x);
	*c = cosf(x);
}
}
inline float __tanhf(float x) { return tanhf(x); }

// A counter that rises; no measure of a device's time.
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

inline long long __clock64() { return clock64(); }
inline void __prof_trigger(int) {}

#include "cuemu/parts_of_words.h"

#endif
