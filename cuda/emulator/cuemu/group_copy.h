// Copies that a group of threads makes together, by cp.async where its alignment allows it.
#ifndef CUEMU_GROUP_COPY_H
#define CUEMU_GROUP_COPY_H

#include "cuda_runtime.h"
#include "cuemu/async.h"

namespace cuda {
// aligned_size_t promises that addresses and bytes are multiples of Alignment.
template <size_t Alignment> struct aligned_size_t {
	size_t value;
	explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
	constexpr operator size_t() const { return value; }
};
}  // namespace cuda

namespace cuemu {

inline bool in_shared(const void *p) {
	const char *at = static_cast<const char *>(p);
	return at >= cuemu_arena && at < cuemu_arena + ARENA_BYTES;
}

// copy_by_group: each thread asks for its share; what cp.async cannot do is copied at once. A barrier's phase waits for the copies that name it,
// the thread for the others.
template <class Group> inline void copy_by_group(const Group &group, void *to, const void *from, size_t bytes, void *barrier, const char *file, int line) {
	const size_t rank = group.thread_rank(), threads = group.size();
	const uintptr_t bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
	const size_t each = bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 1;
	const bool async = each > 1 && in_shared(to) && !in_shared(from);
	const size_t whole = async ? bytes / each * each : 0;
	char *d = static_cast<char *>(to);
	const char *s = static_cast<const char *>(from);
	for (size_t i = rank * each; i < whole; i += threads * each) {
		if (barrier) cuemu_copy_async_to(d + i, s + i, static_cast<int>(each), barrier, file, line);
		else cuemu_copy_async(d + i, s + i, static_cast<int>(each), static_cast<int>(each), file, line);
	}
	if (!async && each >= 4) {
		const size_t words = bytes / 4;
		for (size_t i = rank; i < words; i += threads) memcpy(d + 4 * i, s + 4 * i, 4);
		for (size_t i = words * 4 + rank; i < bytes; i += threads) d[i] = s[i];
		return;
	}
	for (size_t i = whole + rank; i < bytes; i += threads) d[i] = s[i];
}

// Alone is the group of one thread.
struct Alone {
	static unsigned thread_rank() { return 0; }
	static unsigned size() { return 1; }
};

}  // namespace cuemu

#endif
