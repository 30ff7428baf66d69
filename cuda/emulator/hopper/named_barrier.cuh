// Stands in for cuda/include/hopper/named_barrier.cuh. Found here: a barrier at which threads come with different counts.
#ifndef TRIAD_HOPPER_NAMED_BARRIER_CUH
#define TRIAD_HOPPER_NAMED_BARRIER_CUH
#include "hopper/block_state.cuh"

namespace cuemu {

struct NamedBarriers {
	struct One {
		int threads, arrived;
		uint32_t phase;
	} one[16];

	CUEMU_PLAIN void clear() { memset(static_cast<void *>(one), 0, sizeof one); }
	// arrive gives the phase that this thread came to.
	uint32_t arrive(int number, int threads) {
		if (number < 1 || number > 15 || threads < 32 || threads % 32 != 0) __trap();
		One &b = one[number];
		const uint32_t phase = __atomic_load_n(&b.phase, __ATOMIC_RELAXED);
		const int before = __atomic_fetch_add(&b.arrived, 1, __ATOMIC_ACQ_REL);
		if (before == 0) __atomic_store_n(&b.threads, threads, __ATOMIC_RELAXED);
		else if (__atomic_load_n(&b.threads, __ATOMIC_RELAXED) != threads) __trap(); // counts differ
		if (before + 1 < threads) return phase;
		__atomic_store_n(&b.arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b.phase, phase + 1, __ATOMIC_RELEASE);
		return phase;
	}
	bool ended(int number, uint32_t phase) { return __atomic_load_n(&one[number].phase, __ATOMIC_ACQUIRE) != phase; }
};

}  // namespace cuemu

namespace triad {
namespace hopper {

inline void named_arrive(int number, int threads) { cuemu::block_state<cuemu::NamedBarriers>().arrive(number, threads); }
inline void named_sync(int number, int threads) {
	const uint32_t phase = cuemu::block_state<cuemu::NamedBarriers>().arrive(number, threads);
	while (!cuemu::block_state<cuemu::NamedBarriers>().ended(number, phase)) cuemu_yield();
}

} // namespace hopper
} // namespace triad
#endif
