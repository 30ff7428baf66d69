// Stands in for cuda/include/hopper/wgmma_half.cuh: a model of wgmma with 16-bit elements. Descriptors, the 128-byte swizzle and the distribution
// over lanes are as the PTX manual has them; each warp multiplies its own 16 of the 64 rows. A product runs when its group is waited for, and
// about one group in four when it is committed, so it reads its operands, registers too, at the earliest and at the latest moment. Until the wait the
// accumulators hold NaN. Found here: accumulators written before the wait, and products that were not committed when a wait ends.
#ifndef TRIAD_HOPPER_WGMMA_HALF_CUH
#define TRIAD_HOPPER_WGMMA_HALF_CUH
#include <cmath>
#include <cstring>

#include "cuemu/number_formats.h"
#include "hopper/block_state.cuh"
#include "hopper/mma.cuh"
#include "hopper/shared_address.cuh"
#include "hopper/swizzle.cuh"

#define __CUDA_ARCH_FEAT_SM90_ALL 1 // the kernels for sm_90a have their bodies

namespace triad {
namespace hopper {

inline uint64_t across_descriptor(uint32_t address, uint32_t panel_bytes) {
	return tile_descriptor(address) - (uint64_t{1} << 16) + (static_cast<uint64_t>(panel_bytes >> 4 & 0x3FFFu) << 16);
}

} // namespace hopper
} // namespace triad

namespace cuemu {

// Product is one wgmma of one warp; d and registers are the lanes' own.
struct Product {
	const uint32_t *registers[32]; // null: a is in shared memory
	float (*decode)(uint32_t);
	uint64_t a, b;
	bool a_across, b_across, add;
	int sums; // which Sums
	uint32_t group;
};

// Sums are accumulators that products in flight will change: the lanes' own, and their values.
struct Sums {
	float *d[32];
	float value[32][128];
	int count, products; // floats of a lane; products that have not run
	uint32_t last;       // the group of the youngest product
};

struct Products {
	static constexpr int most = 128, most_sums = 8;
	struct OfWarp {
		Product list[most];
		int count;
		Sums sums[most_sums];
		uint32_t committed; // groups
	} warp[32];

	CUEMU_PLAIN void clear() {
		for (OfWarp &w : warp) {
			w.count = 0, w.committed = 0;
			for (Sums &s : w.sums) s.products = s.count = 0;
		}
	}
};

// Issued is what a lane hands in.
struct Issued {
	float *d;
	const uint32_t *registers;
	float (*decode)(uint32_t);
	uint64_t a, b;
	bool a_across, b_across, add;
	int cols, warp;
};

struct Waited {
	int warp, pending;
};

CUEMU_PLAIN inline float not_a_number() {
	const uint32_t bits = 0x7FFFFFFF;
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

// element i, of rows or columns, at k of the reduction. Across: 64 of i lie together, panels of them the leading offset apart.
CUEMU_PLAIN inline uint32_t operand(const char *shared, uint64_t descriptor, bool across, int i, int k) {
	const uint32_t start = (descriptor & 0x3FFFu) << 4, leading = (descriptor >> 16 & 0x3FFFu) << 4, eights = (descriptor >> 32 & 0x3FFFu) << 4;
	const uint32_t u = static_cast<uint32_t>(i), v = static_cast<uint32_t>(k);
	uint32_t at = across ? start + u / 64 * leading + v / 8 * eights + v % 8 * 128 + u % 64 * 2 : start + u / 8 * eights + u % 8 * 128 + v * 2;
	at ^= (at >> 7 & 7) << 4;
	return *reinterpret_cast<const uint16_t *>(shared + static_cast<int32_t>(at));
}

CUEMU_PLAIN inline void run_product(const Product &p, Sums &s, int warp) {
	const char *shared = static_cast<const char *>(triad::hopper::pointer_to(0));
	const int cols = 2 * s.count;
	static thread_local double a[16][16], b[16][256];
	for (int k = 0; k < 16; k++) {
		for (int row = 0; row < 16; row++) {
			const uint32_t *held = p.registers[row % 8 * 4 + k % 8 / 2];
			const uint32_t bits = held ? held[row / 8 + k / 8 * 2] >> (k % 2 * 16) & 0xFFFFu : operand(shared, p.a, p.a_across, warp % 4 * 16 + row, k);
			a[row][k] = static_cast<double>(p.decode(bits));
		}
		for (int col = 0; col < cols; col++) b[k][col] = static_cast<double>(p.decode(operand(shared, p.b, p.b_across, col, k)));
	}
	for (int row = 0; row < 16; row++) {
		static thread_local double d[256];
		for (int col = 0; col < cols; col++) d[col] = 0;
		for (int k = 0; k < 16; k++)
			for (int col = 0; col < cols; col++) d[col] += a[row][k] * b[k][col];
		for (int t = 0; t < 4; t++)
			for (int n = 0; n < cols / 8; n++)
				for (int e = 0; e < 2; e++) {
					float &sum = s.value[row % 8 * 4 + t][4 * n + row / 8 * 2 + e];
					sum = static_cast<float>((p.add ? static_cast<double>(sum) : 0) + d[8 * n + 2 * t + e]);
				}
	}
}

// run_until runs the products of the groups before `group`, in order, each once.
CUEMU_PLAIN inline void run_until(Products::OfWarp &w, uint32_t group, int warp) {
	int done = 0;
	for (; done < w.count && static_cast<int32_t>(w.list[done].group - group) < 0; done++) {
		Sums &s = w.sums[w.list[done].sums];
		run_product(w.list[done], s, warp);
		s.products--;
	}
	for (int i = done; i < w.count; i++) w.list[i - done] = w.list[i];
	w.count -= done;
}

// give_back gives the lanes the sums whose last product is of a group before `group`.
CUEMU_PLAIN inline void give_back(Products::OfWarp &w, uint32_t group) {
	for (Sums &s : w.sums) {
		if (s.count == 0 || static_cast<int32_t>(s.last - group) >= 0) continue;
		for (int lane = 0; lane < 32; lane++)
			for (int i = 0; i < s.count; i++) {
				uint32_t bits;
				memcpy(&bits, s.d[lane] + i, sizeof bits);
				if (bits != 0x7FFFFFFF) __trap(); // accumulators were written while a product was to change them
				s.d[lane][i] = s.value[lane][i];
			}
		s.count = 0;
	}
}

CUEMU_PLAIN inline void issue_share(void *const *lanes) {
	const Issued &any = *static_cast<const Issued *>(lanes[0]);
	Products::OfWarp &w = block_state<Products>().warp[any.warp];
	if (w.count == Products::most) __trap(); // products that nobody waits for
	int found = -1, free = -1;
	for (int i = 0; i < Products::most_sums; i++) {
		if (w.sums[i].count == 0) free = i;
		else if (w.sums[i].d[0] == any.d) found = i;
	}
	if (found < 0) {
		if (free < 0) __trap();
		found = free;
		Sums &s = w.sums[found];
		s.count = any.cols / 2;
		for (int lane = 0; lane < 32; lane++) {
			s.d[lane] = static_cast<const Issued *>(lanes[lane])->d;
			for (int i = 0; i < s.count; i++) {
				s.value[lane][i] = s.d[lane][i];
				s.d[lane][i] = not_a_number();
			}
		}
	}
	Product &p = w.list[w.count++];
	p.decode = any.decode, p.a = any.a, p.b = any.b, p.a_across = any.a_across, p.b_across = any.b_across, p.add = any.add;
	p.sums = found, p.group = w.committed;
	for (int lane = 0; lane < 32; lane++) p.registers[lane] = static_cast<const Issued *>(lanes[lane])->registers;
	w.sums[found].products++;
	w.sums[found].last = w.committed;
}

CUEMU_PLAIN inline void commit_share(void *const *lanes) {
	const int warp = static_cast<const Waited *>(lanes[0])->warp;
	Products::OfWarp &w = block_state<Products>().warp[warp];
	w.committed++;
	const uint32_t mixed = (w.committed + 97 * (static_cast<uint32_t>(warp) / 4) + 193 * blockIdx.x) * 2654435761u;
	if (mixed >> 30 == 0) run_until(w, w.committed, warp);
}

CUEMU_PLAIN inline void wait_share(void *const *lanes) {
	const Waited &any = *static_cast<const Waited *>(lanes[0]);
	Products::OfWarp &w = block_state<Products>().warp[any.warp];
	const uint32_t group = w.committed - static_cast<uint32_t>(any.pending);
	run_until(w, group, any.warp);
	if (any.pending == 0 && w.count > 0) __trap(); // products that were not committed
	give_back(w, group);
}

template <class T> struct FormatOf;
template <> struct FormatOf<__nv_bfloat16> { using type = Bfloat16; };
template <> struct FormatOf<__half> { using type = Half; };

}  // namespace cuemu

namespace triad {
namespace hopper {

inline int this_warp() { return static_cast<int>(threadIdx.x) / 32; }

inline void fence() {}
inline void commit(CUEMU_HERE) {
	cuemu::Waited lane = {this_warp(), 0};
	cuemu::warp_call(&cuemu::commit_share, &lane, file, line);
}
// wait_for lets others run first: what may be overwritten while a product runs is.
template <int Pending> inline void wait_for(CUEMU_HERE) {
	if (threadIdx.x % 32 == 0) cuemu_yield();
	cuemu::Waited lane = {this_warp(), Pending};
	cuemu::warp_call(&cuemu::wait_share, &lane, file, line);
}
template <int Pending> inline void wait_after(float, float, CUEMU_HERE) { wait_for<Pending>(file, line); }
template <int Eights> inline void changed(float (&d)[Eights][4]) { asm volatile("" : : "r"(&d[0][0]) : "memory"); }

template <class T> struct WarpgroupMultiply {
	template <int Eights> static void shared(float (&d)[Eights][4], uint64_t a, uint64_t b, int add, CUEMU_HERE) {
		run(&d[0][0], nullptr, a, b, false, false, add != 0, 8 * Eights, file, line);
	}
	template <int Eights> static void registers(float (&d)[Eights][4], const uint32_t (&a)[4], uint64_t b, CUEMU_HERE) {
		run(&d[0][0], a, 0, b, false, true, true, 8 * Eights, file, line);
	}
	template <int Eights> static void across(float (&d)[Eights][4], uint64_t a, uint64_t b, int add, CUEMU_HERE) {
		run(&d[0][0], nullptr, a, b, true, true, add != 0, 8 * Eights, file, line);
	}

private:
	static void run(float *d, const uint32_t *registers, uint64_t a, uint64_t b, bool a_across, bool b_across, bool add, int cols,
	                const char *file, int line) {
		cuemu::Issued lane = {d, registers, &cuemu::FormatOf<T>::type::decode, a, b, a_across, b_across, add, cols, this_warp()};
		cuemu::warp_call(&cuemu::issue_share, &lane, file, line);
	}
};

} // namespace hopper
} // namespace triad
#endif
