// Stands in for cuda/include/hopper/barrier.cuh. A barrier is a word in shared memory: the parity of the phase that runs, the arrivals of a
// phase and those still missing, and the bytes still to come. Found here: a barrier that was not initialised, more arrivals than a phase has,
// more bytes than were expected. A thread that waits lets the others run; if only bytes are missing, it has the copies made.
#ifndef TRIAD_HOPPER_BARRIER_CUH
#define TRIAD_HOPPER_BARRIER_CUH
#include "hopper/copies.cuh"
#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

// BarrierWord: 7 bits that show it was initialised, 1 parity, 12 arrivals of a phase, 12 missing, 32 bytes to come.
struct BarrierWord {
	static constexpr uint64_t made = 0x5A;
	uint32_t parity, arrivals, missing, bytes;

	static uint64_t *at(SharedAddress barrier) {
		if (barrier % 8 != 0) __trap(); // a barrier is aligned to 8 bytes
		return static_cast<uint64_t *>(pointer_to(barrier));
	}
	static BarrierWord read(SharedAddress barrier) {
		const uint64_t w = __atomic_load_n(at(barrier), __ATOMIC_ACQUIRE);
		if (w >> 57 != made) __trap(); // not initialised, or written over
		const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
		return {low(w >> 56 & 1), low(w >> 44 & 0xfff), low(w >> 32 & 0xfff), low(w)};
	}
	void write(SharedAddress barrier) {
		if (missing == 0 && bytes == 0) parity ^= 1, missing = arrivals;
		const auto wide = [](uint32_t x) { return static_cast<uint64_t>(x); };
		const uint64_t word = made << 57 | wide(parity) << 56 | wide(arrivals) << 44 | wide(missing) << 32 | bytes;
		__atomic_exchange_n(at(barrier), word, __ATOMIC_RELEASE);
	}
};

inline void barrier_init(SharedAddress barrier, uint32_t arrivals) {
	if (arrivals == 0 || arrivals > 0xfff) __trap();
	BarrierWord{0, arrivals, arrivals, 0}.write(barrier);
}
inline void fence_init() {}

inline void arrive_with(SharedAddress barrier, uint32_t bytes) {
	BarrierWord w = BarrierWord::read(barrier);
	if (w.missing == 0) __trap(); // more arrivals than a phase has: its bytes have not come
	w.bytes += bytes;
	w.missing--;
	w.write(barrier);
}
inline void barrier_arrive(SharedAddress barrier) { arrive_with(barrier, 0); }
inline void barrier_arrive_expecting(SharedAddress barrier, uint32_t bytes) { arrive_with(barrier, bytes); }

// bytes_came: a copy has been made.
inline void bytes_came(SharedAddress barrier, uint32_t bytes) {
	BarrierWord w = BarrierWord::read(barrier);
	if (w.bytes < bytes) __trap(); // more than was expected; the model wants them expected first
	w.bytes -= bytes;
	w.write(barrier);
}

inline void barrier_wait(SharedAddress barrier, uint32_t parity) {
	while (BarrierWord::read(barrier).parity == parity) {
		uint32_t bytes = 0;
		if (BarrierWord::read(barrier).missing == 0) bytes = cuemu::copies().make_one_for(barrier, pointer_to);
		if (bytes > 0) bytes_came(barrier, bytes);
		else cuemu_yield();
	}
}

inline void fence_stores() {}

constexpr bool setmaxnreg_takes(int registers) { return registers % 8 == 0 && registers >= 24 && registers <= 256; }
template <int Registers> inline void give_registers() { static_assert(setmaxnreg_takes(Registers), "what setmaxnreg takes"); }
template <int Registers> inline void take_registers() { static_assert(setmaxnreg_takes(Registers), "what setmaxnreg takes"); }

} // namespace hopper
} // namespace triad
#endif
