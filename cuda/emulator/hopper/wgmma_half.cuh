// Stands in for cuda/include/hopper/wgmma_half.cuh: wgmma with 16-bit elements (async_products.cc).
#ifndef TRIAD_HOPPER_WGMMA_HALF_CUH
#define TRIAD_HOPPER_WGMMA_HALF_CUH
#include "cuemu/number_formats.h"
#include "hopper/swizzle.cuh"
#include "hopper/wgmma.cuh"

namespace cuemu {

template <class T> struct FormatOf;
template <> struct FormatOf<__nv_bfloat16> { using type = Bfloat16; };
template <> struct FormatOf<__half> { using type = Half; };

}  // namespace cuemu

namespace triad {
namespace hopper {

inline uint64_t across_descriptor(uint32_t address, uint32_t panel_bytes) {
	return tile_descriptor(address) - (uint64_t{1} << 16) + (static_cast<uint64_t>(panel_bytes >> 4 & 0x3FFFu) << 16);
}

template <int Pending> inline void wait_after(float, float, CUEMU_HERE) { wait_for<Pending>(file, line); }
template <class Sum, int Eights> inline void changed(Sum (&d)[Eights][4]) { asm volatile("" : : "r"(&d[0][0]) : "memory"); }

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
	CUEMU_UNWATCHED static void run(float *d, const uint32_t *registers, uint64_t a, uint64_t b, bool a_across, bool b_across, bool add, int cols,
	                const char *file, int line) {
		cuemu::Issued lane = {d, registers, nullptr, nullptr, &cuemu::FormatOf<T>::type::decode, a, b, a_across, b_across, add, cols,
		                      cuemu::this_warp(), file, line};
		cuemu::warp_call(&cuemu_wgmma_issue, &lane, file, line);
	}
};

} // namespace hopper
} // namespace triad
#endif
