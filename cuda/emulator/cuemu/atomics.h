// Atomics are real ones, relaxed as on a device: blocks run on several OS threads. A compare-and-swap that fails, and __nanosleep, let
// other threads run, so that spin locks and hand-over inside a block work.
#ifndef CUEMU_ATOMICS_H
#define CUEMU_ATOMICS_H

#include <cstring>

#include "cuemu/execution.h"

namespace cuemu {

template <size_t bytes> struct Word;
template <> struct Word<2> { typedef uint16_t type; };
template <> struct Word<4> { typedef uint32_t type; };
template <> struct Word<8> { typedef uint64_t type; };

// polled: a thread that asks again and again by atomic operations lets others run. Where accesses are watched the emulator sees them itself.
inline void polled(const void *p) {
	if (CUEMU_SANITIZER) cuemu_poll_atomic(p);
}

// update applies change to *address in one piece and returns what was there before.
template <class T, class Change> inline auto update(T *address, Change change) {
	typedef typename Word<sizeof(T)>::type W;
	W *word = reinterpret_cast<W *>(address);
	polled(address);
	W before = __atomic_load_n(word, __ATOMIC_RELAXED);
	for (;;) {
		T old;
		__builtin_memcpy(static_cast<void *>(&old), &before, sizeof(T));
		T next = change(old);
		W after;
		__builtin_memcpy(&after, &next, sizeof(T));
		if (__atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
	}
}

template <class T> inline auto compare_and_swap(T *address, T compare, T value) {
	typedef typename Word<sizeof(T)>::type W;
	W expected, desired;
	__builtin_memcpy(&expected, &compare, sizeof(T));
	__builtin_memcpy(&desired, &value, sizeof(T));
	bool swapped = __atomic_compare_exchange_n(reinterpret_cast<W *>(address), &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	if (!swapped) cuemu_yield();
	T old;
	__builtin_memcpy(static_cast<void *>(&old), &expected, sizeof(T));
	return old;
}

}  // namespace cuemu

#define CUEMU_ATOMIC_INTEGER(T)                                                                                        \
	inline T atomicAdd(T *p, T v) { return cuemu::polled(p), __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }                                  \
	inline T atomicExch(T *p, T v) { return cuemu::polled(p), __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }                                \
	inline T atomicCAS(T *p, T compare, T v) { return cuemu::compare_and_swap<T>(p, compare, v); }                        \
	inline T atomicMin(T *p, T v) { return cuemu::update(p, [=](T old) { return old < v ? old : v; }); }                  \
	inline T atomicMax(T *p, T v) { return cuemu::update(p, [=](T old) { return old > v ? old : v; }); }                  \
	inline T atomicAnd(T *p, T v) { return cuemu::polled(p), __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }                                  \
	inline T atomicOr(T *p, T v) { return cuemu::polled(p), __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }                                    \
	inline T atomicXor(T *p, T v) { return cuemu::polled(p), __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }
CUEMU_ATOMIC_INTEGER(int)
CUEMU_ATOMIC_INTEGER(unsigned int)
CUEMU_ATOMIC_INTEGER(long long)
CUEMU_ATOMIC_INTEGER(unsigned long long)
#undef CUEMU_ATOMIC_INTEGER

inline int atomicSub(int *p, int v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }
inline unsigned atomicSub(unsigned *p, unsigned v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }
inline unsigned atomicInc(unsigned *p, unsigned limit) {
	return cuemu::update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
inline unsigned atomicDec(unsigned *p, unsigned limit) {
	return cuemu::update(p, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1u; });
}
inline float atomicAdd(float *p, float v) { return cuemu::update(p, [=](float old) { return old + v; }); }
inline double atomicAdd(double *p, double v) { return cuemu::update(p, [=](double old) { return old + v; }); }
inline float atomicExch(float *p, float v) { return cuemu::update(p, [=](float) { return v; }); }
inline unsigned short atomicCAS(unsigned short *p, unsigned short compare, unsigned short v) { return cuemu::compare_and_swap(p, compare, v); }
inline float2 atomicAdd(float2 *p, float2 v) { return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; }
inline float4 atomicAdd(float4 *p, float4 v) {
	return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y), atomicAdd(&p->z, v.z), atomicAdd(&p->w, v.w)};
}

// Scopes: the emulator's atomics are those of the whole system.
#define CUEMU_SCOPES(name)                                                                                              \
	template <class T, class V> inline T name##_block(T *p, V v) { return name(p, static_cast<T>(v)); }                    \
	template <class T, class V> inline T name##_system(T *p, V v) { return name(p, static_cast<T>(v)); }
CUEMU_SCOPES(atomicAdd)
CUEMU_SCOPES(atomicSub)
CUEMU_SCOPES(atomicExch)
CUEMU_SCOPES(atomicMin)
CUEMU_SCOPES(atomicMax)
CUEMU_SCOPES(atomicAnd)
CUEMU_SCOPES(atomicOr)
CUEMU_SCOPES(atomicXor)
#undef CUEMU_SCOPES
inline unsigned atomicInc_block(unsigned *p, unsigned v) { return atomicInc(p, v); }
inline unsigned atomicInc_system(unsigned *p, unsigned v) { return atomicInc(p, v); }
inline unsigned atomicDec_block(unsigned *p, unsigned v) { return atomicDec(p, v); }
inline unsigned atomicDec_system(unsigned *p, unsigned v) { return atomicDec(p, v); }
template <class T, class C, class V> inline T atomicCAS_block(T *p, C compare, V v) { return atomicCAS(p, static_cast<T>(compare), static_cast<T>(v)); }
template <class T, class C, class V> inline T atomicCAS_system(T *p, C compare, V v) { return atomicCAS(p, static_cast<T>(compare), static_cast<T>(v)); }

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { cuemu_yield(); }
inline void __trap(CUEMU_HERE) { cuemu_trap(file, line); }

#endif
