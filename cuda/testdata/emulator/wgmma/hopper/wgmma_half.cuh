// A model of wgmma with 16-bit elements: descriptors and the 128-byte swizzle as the PTX manual has them, products when they are issued, and each
// warp for its own 16 of the 64 rows. It shows wrong offsets, layouts and orders of stages; what only asynchrony does, it does not show.
#ifndef TRIAD_HOPPER_WGMMA_HALF_CUH
#define TRIAD_HOPPER_WGMMA_HALF_CUH
#include <cstring>

#include "hopper/mma.cuh"
#include "hopper/swizzle.cuh"

namespace triad::hopper {

inline uint64_t across_descriptor(uint32_t address, uint32_t panel_bytes) {
	return tile_descriptor(address) - (uint64_t{1} << 16) + (static_cast<uint64_t>(panel_bytes >> 4 & 0x3FFFu) << 16);
}
inline void fence() {}
inline void commit() {}
template <int Pending> inline void wait_for() {}
template <int Eights> inline void changed(float (&)[Eights][4]) {}

// element i, of rows or columns, at k of the reduction. Across: 64 of i lie together, panels of them the leading offset apart.
inline uint16_t operand(uint64_t descriptor, bool across, int i, int k) {
	const uint32_t start = (descriptor & 0x3FFFu) << 4, leading = (descriptor >> 16 & 0x3FFFu) << 4, eights = (descriptor >> 32 & 0x3FFFu) << 4;
	uint32_t at = across ? start + i / 64 * leading + k / 8 * eights + k % 8 * 128 + i % 64 * 2 : start + i / 8 * eights + i % 8 * 128 + k * 2;
	at ^= (at >> 7 & 7) << 4;
	uint16_t bits;
	memcpy(&bits, pointer_to(at), sizeof bits);
	return bits;
}

struct WarpsShare {
	float *d;
	const uint32_t *registers; // null: a is in shared memory
	uint64_t a, b;
	bool a_across, b_across, add;
	int cols, first_row;
};

template <class Format> void multiply_share(void *const *lanes) {
	const WarpsShare &any = *static_cast<const WarpsShare *>(lanes[0]);
	double a[16][16], b[16][128];
	for (int k = 0; k < 16; k++) {
		for (int row = 0; row < 16; row++) {
			const uint32_t *held = static_cast<const WarpsShare *>(lanes[row % 8 * 4 + k % 8 / 2])->registers;
			const uint32_t bits = held ? held[row / 8 + k / 8 * 2] >> (k % 2 * 16) & 0xFFFFu : operand(any.a, any.a_across, any.first_row + row, k);
			a[row][k] = static_cast<double>(Format::decode(bits));
		}
		for (int col = 0; col < any.cols; col++) b[k][col] = static_cast<double>(Format::decode(operand(any.b, any.b_across, col, k)));
	}
	for (int lane = 0; lane < 32; lane++) {
		const WarpsShare &mine = *static_cast<const WarpsShare *>(lanes[lane]);
		for (int i = 0; i < any.cols / 2; i++) {
			const int row = accumulator_row(lane, i), col = accumulator_column(lane, i);
			double sum = mine.add ? static_cast<double>(mine.d[i]) : 0;
			for (int k = 0; k < 16; k++) sum += a[row][k] * b[k][col];
			mine.d[i] = static_cast<float>(sum);
		}
	}
}

template <class T> struct FormatOf;
template <> struct FormatOf<__nv_bfloat16> { using type = cuemu::Bfloat16; };
template <> struct FormatOf<__half> { using type = cuemu::Half; };

template <class T> struct WarpgroupMultiply {
	template <int Eights> static void shared(float (&d)[Eights][4], uint64_t a, uint64_t b, int add) {
		run({&d[0][0], nullptr, a, b, false, false, add != 0, 8 * Eights, 0});
	}
	template <int Eights> static void registers(float (&d)[Eights][4], const uint32_t (&a)[4], uint64_t b) {
		run({&d[0][0], a, 0, b, false, true, true, 8 * Eights, 0});
	}
	template <int Eights> static void across(float (&d)[Eights][4], uint64_t a, uint64_t b, int add) {
		run({&d[0][0], nullptr, a, b, true, true, add != 0, 8 * Eights, 0});
	}

private:
	static void run(WarpsShare share) {
		share.first_row = static_cast<int>(threadIdx.x) / 32 % 4 * 16;
		cuemu::warp_call(&multiply_share<typename FormatOf<T>::type>, &share, __FILE__, __LINE__);
	}
};

} // namespace triad::hopper
#endif
