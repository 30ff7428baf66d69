// Functions on the four bytes or two halves of a word (CUDA's SIMD intrinsics), and those of dynamic programming (DPX): sums, minima and
// maxima of two or three numbers. Sums wrap unless the name says that they saturate: ss to a signed part, us to an unsigned one.
#ifndef CUEMU_PARTS_OF_WORDS_H
#define CUEMU_PARTS_OF_WORDS_H

#include <limits>

namespace cuemu {

// f of the corresponding parts, each cut to its width. Its type is deduced (as are those of other templates of these headers): then g++
// instantiates it once, in the precompiled header, and not in every file that reads it.
template <class Part, class F> inline auto by_parts(unsigned x, unsigned y, unsigned z, F f) {
	constexpr int bits = 8 * sizeof(Part);
	unsigned out = 0;
	for (int i = 0; i < 32; i += bits) {
		const int part = f(static_cast<Part>(x >> i), static_cast<Part>(y >> i), static_cast<Part>(z >> i));
		out |= (static_cast<unsigned>(part) & ((1u << bits) - 1)) << i;
	}
	return out;
}

template <class Part> constexpr int saturated(int x) {
	return x < std::numeric_limits<Part>::min() ? std::numeric_limits<Part>::min()
	     : x > std::numeric_limits<Part>::max() ? std::numeric_limits<Part>::max()
	                                            : x;
}

template <class T> constexpr T greater(T a, T b) { return a > b ? a : b; }
template <class T> constexpr T less(T a, T b) { return a < b ? a : b; }
constexpr int magnitude(int x) { return x < 0 ? -x : x; }
constexpr int wrapped_sum(int a, int b) { return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); }

}  // namespace cuemu

// Each defines a function of words from an expression of their parts a and b, which are numbers of the type Part.
#define CUEMU_PARTS(name, T, expression)                                                                \
	inline unsigned name(unsigned x, unsigned y) {                                                         \
		using Part = T;                                                                                       \
		return cuemu::by_parts<Part>(x, y, 0, [](Part a, Part b, Part) -> int { (void)b; return expression; }); \
	}
#define CUEMU_SIGNED_PARTS(name, expression) CUEMU_PARTS(name##2, short, expression) CUEMU_PARTS(name##4, signed char, expression)
#define CUEMU_UNSIGNED_PARTS(name, expression) CUEMU_PARTS(name##2, unsigned short, expression) CUEMU_PARTS(name##4, unsigned char, expression)
#define CUEMU_BOTH_PARTS(name, expression) CUEMU_SIGNED_PARTS(name##s, expression) CUEMU_UNSIGNED_PARTS(name##u, expression)

CUEMU_UNSIGNED_PARTS(__vadd, a + b)
CUEMU_SIGNED_PARTS(__vaddss, cuemu::saturated<Part>(a + b))
CUEMU_UNSIGNED_PARTS(__vaddus, cuemu::saturated<Part>(a + b))
CUEMU_UNSIGNED_PARTS(__vsub, a - b)
CUEMU_SIGNED_PARTS(__vsubss, cuemu::saturated<Part>(a - b))
CUEMU_UNSIGNED_PARTS(__vsubus, cuemu::saturated<Part>(a - b))
CUEMU_BOTH_PARTS(__vabsdiff, cuemu::magnitude(a - b))
CUEMU_BOTH_PARTS(__vavg, (a + b + (a + b >= 0)) >> 1)
CUEMU_UNSIGNED_PARTS(__vhaddu, (a + b) >> 1)
CUEMU_BOTH_PARTS(__vmax, cuemu::greater(a, b))
CUEMU_BOTH_PARTS(__vmin, cuemu::less(a, b))

// A comparison sets all bits of a part, or its lowest.
#define CUEMU_COMPARE(name, kind, op) \
	kind(__vcmp##name, a op b ? -1 : 0) kind(__vset##name, a op b ? 1 : 0)
CUEMU_COMPARE(eq, CUEMU_UNSIGNED_PARTS, ==)
CUEMU_COMPARE(ne, CUEMU_UNSIGNED_PARTS, !=)
CUEMU_COMPARE(ge, CUEMU_BOTH_PARTS, >=)
CUEMU_COMPARE(gt, CUEMU_BOTH_PARTS, >)
CUEMU_COMPARE(le, CUEMU_BOTH_PARTS, <=)
CUEMU_COMPARE(lt, CUEMU_BOTH_PARTS, <)
#undef CUEMU_COMPARE

// The sum over the parts of a difference's magnitude.
inline unsigned __vsads2(unsigned x, unsigned y) { const unsigned d = __vabsdiffs2(x, y); return (d & 0xffff) + (d >> 16); }
inline unsigned __vsadu2(unsigned x, unsigned y) { const unsigned d = __vabsdiffu2(x, y); return (d & 0xffff) + (d >> 16); }
inline unsigned __vsads4(unsigned x, unsigned y) { return __dp4a(__vabsdiffs4(x, y), 0x01010101u, 0u); }
inline unsigned __vsadu4(unsigned x, unsigned y) { return __dp4a(__vabsdiffu4(x, y), 0x01010101u, 0u); }

// Of one word. The least signed number has no positive one: it stays, or saturates.
#define CUEMU_PARTS_OF_ONE(name, expression)                                                                                        \
	inline unsigned name##2(unsigned x) { return cuemu::by_parts<short>(x, 0, 0, [](short a, short, short) -> int { using Part = short; (void)sizeof(Part); return expression; }); } \
	inline unsigned name##4(unsigned x) {                                                                                             \
		return cuemu::by_parts<signed char>(x, 0, 0, [](signed char a, signed char, signed char) -> int { using Part = signed char; (void)sizeof(Part); return expression; });           \
	}
CUEMU_PARTS_OF_ONE(__vabs, cuemu::magnitude(a))
CUEMU_PARTS_OF_ONE(__vabsss, cuemu::saturated<Part>(cuemu::magnitude(a)))
CUEMU_PARTS_OF_ONE(__vneg, -a)
CUEMU_PARTS_OF_ONE(__vnegss, cuemu::saturated<Part>(-a))
#undef CUEMU_PARTS_OF_ONE
#undef CUEMU_BOTH_PARTS
#undef CUEMU_UNSIGNED_PARTS
#undef CUEMU_SIGNED_PARTS
#undef CUEMU_PARTS

// ---- DPX: which is greater or less, min and max, name(choice), of numbers and of both halves of a word
#define CUEMU_HALVES(name, T, expression)                                                                \
	inline unsigned name(unsigned x, unsigned y, unsigned z) {                                              \
		return cuemu::by_parts<T>(x, y, z, [](T a, T b, T c) -> int { return expression; });                   \
	}
#define CUEMU_DPX(name, choose)                                                                                                \
	inline int __viadd##name##_s32(int a, int b, int c) { return choose(cuemu::wrapped_sum(a, b), c); }                           \
	inline int __viadd##name##_s32_relu(int a, int b, int c) { return cuemu::greater(__viadd##name##_s32(a, b, c), 0); }          \
	inline unsigned __viadd##name##_u32(unsigned a, unsigned b, unsigned c) { return choose(a + b, c); }                          \
	CUEMU_HALVES(__viadd##name##_s16x2, short, choose(static_cast<short>(a + b), c))                                              \
	CUEMU_HALVES(__viadd##name##_s16x2_relu, short, cuemu::greater<int>(choose(static_cast<short>(a + b), c), 0))                 \
	CUEMU_HALVES(__viadd##name##_u16x2, unsigned short, choose(static_cast<unsigned short>(a + b), c))                            \
	inline int __vi##name##3_s32(int a, int b, int c) { return choose(choose(a, b), c); }                                         \
	inline int __vi##name##3_s32_relu(int a, int b, int c) { return cuemu::greater(__vi##name##3_s32(a, b, c), 0); }              \
	inline unsigned __vi##name##3_u32(unsigned a, unsigned b, unsigned c) { return choose(choose(a, b), c); }                     \
	CUEMU_HALVES(__vi##name##3_s16x2, short, choose(choose(a, b), c))                                                             \
	CUEMU_HALVES(__vi##name##3_s16x2_relu, short, cuemu::greater<int>(choose(choose(a, b), c), 0))                                \
	CUEMU_HALVES(__vi##name##3_u16x2, unsigned short, choose(choose(a, b), c))                                                    \
	inline int __vi##name##_s32_relu(int a, int b) { return cuemu::greater(choose(a, b), 0); }                                    \
	inline unsigned __vi##name##_s16x2_relu(unsigned a, unsigned b) { return __vi##name##3_s16x2_relu(a, b, b); }                 \
	inline int __vib##name##_s32(int a, int b, bool *first) { return *first = choose(a, b) == a, choose(a, b); }                  \
	inline unsigned __vib##name##_u32(unsigned a, unsigned b, bool *first) { return *first = choose(a, b) == a, choose(a, b); }   \
	CUEMU_FIRST(__vib##name##_s16x2, __v##name##s2)                                                                               \
	CUEMU_FIRST(__vib##name##_u16x2, __v##name##u2)
// *high and *low say which halves are those of a.
#define CUEMU_FIRST(name, choose)                                                   \
	inline unsigned name(unsigned a, unsigned b, bool *high, bool *low) {             \
		const unsigned chosen = choose(a, b), others = chosen ^ a;                        \
		*high = others >> 16 == 0, *low = (others & 0xffff) == 0;                         \
		return chosen;                                                                    \
	}
CUEMU_DPX(max, cuemu::greater)
CUEMU_DPX(min, cuemu::less)
#undef CUEMU_FIRST
#undef CUEMU_DPX
#undef CUEMU_HALVES

#endif
