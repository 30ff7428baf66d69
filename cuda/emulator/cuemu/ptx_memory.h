// Loads and stores of inline PTX, which the rewriter gives their address first. What they say of caches is no matter here, and how many elements there
// are at once their operands tell.
#ifndef CUEMU_PTX_MEMORY_H
#define CUEMU_PTX_MEMORY_H

#include "cuemu/ptx.h"

namespace cuemu {
namespace ptx {

// Several elements lie at a multiple of their size, and are one access.
template <class T, size_t count> struct alignas(sizeof(T) * count) Several {
	T x[count];
};

template <class T, class... D> inline void load(const char *from, D &...to) {
	const Several<T, sizeof...(D)> all = *reinterpret_cast<const Several<T, sizeof...(D)> *>(from);
	const T *x = all.x;
	(assign(to, wide(*x++)), ...);
}
template <class T, class... D> inline void load_volatile(const char *from, D &...to) {
	const volatile T *x = reinterpret_cast<const volatile T *>(from);
	(assign(to, wide(*x++)), ...);
}
template <class T, class... V> inline void store(char *to, const V &...values) {
	*reinterpret_cast<Several<T, sizeof...(V)> *>(to) = {{static_cast<T>(wide(values))...}};
}
template <class T, class... V> inline void store_volatile(char *to, const V &...values) {
	volatile T *x = reinterpret_cast<volatile T *>(to);
	((*x++ = static_cast<T>(wide(values))), ...);
}

template <class A> inline char *global_memory(const A &at) { return const_cast<char *>(in_memory(at)); }

#define CUEMU_PTX_ACCESS(space, memory, name, T)                                                                                       \
	template <class A, class... D> inline void ld_##space##_##name(const A &at, D &...to) { load<T>(memory(at), to...); }                 \
	template <class A, class... D> inline void ld_volatile_##space##_##name(const A &at, D &...to) { load_volatile<T>(memory(at), to...); } \
	template <class A, class... V> inline void st_##space##_##name(const A &at, const V &...values) { store<T>(memory(at), values...); }   \
	template <class A, class... V> inline void st_volatile_##space##_##name(const A &at, const V &...values) { store_volatile<T>(memory(at), values...); }
#define CUEMU_PTX_ACCESSES(space, memory)              \
	CUEMU_PTX_ACCESS(space, memory, u8, uint8_t)         \
	CUEMU_PTX_ACCESS(space, memory, s8, int8_t)          \
	CUEMU_PTX_ACCESS(space, memory, u16, uint16_t)       \
	CUEMU_PTX_ACCESS(space, memory, s16, int16_t)        \
	CUEMU_PTX_ACCESS(space, memory, u32, uint32_t)       \
	CUEMU_PTX_ACCESS(space, memory, u64, uint64_t)
CUEMU_PTX_ACCESSES(global, global_memory)
CUEMU_PTX_ACCESSES(shared, in_shared_memory)
#undef CUEMU_PTX_ACCESSES
#undef CUEMU_PTX_ACCESS

template <class A> inline void prefetch_global_L1(const A &) {}
template <class A> inline void prefetch_global_L2(const A &) {}
template <class A> inline void prefetchu_L1(const A &) {}
template <class D, class S> inline void cvta_to_global_u64(D &to, const S &from) { assign(to, wide(from)); }

}  // namespace ptx
}  // namespace cuemu

#endif
