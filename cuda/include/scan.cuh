// scan.cuh: what lies before: the sums of earlier lanes, of earlier threads, and of the tiles that other blocks have. A sum is a float, or
// a uint32_t that wraps.
#ifndef TRIAD_SCAN_CUH
#define TRIAD_SCAN_CUH
#include "reduce.cuh"

namespace triad {

// before_in_warp is the sum of the values of the lanes before this one.
template <class S> __device__ inline S before_in_warp(S v) {
	const int lane = threadIdx.x % 32;
	for (int by = 1; by < 32; by *= 2) {
		const S earlier = __shfl_up_sync(all_lanes, v, by);
		if (lane >= by) v += earlier;
	}
	const S before = __shfl_up_sync(all_lanes, v, 1);
	return lane == 0 ? S(0) : before;
}

// before_in_block is the sum of the values of the threads before this one; total is that of all of them.
template <int Threads, class S> __device__ inline S before_in_block(S v, S &total) {
	__shared__ S warps[Threads / 32];
	const S before = before_in_warp(v);
	__syncthreads(); // the call before may still be read
	if (threadIdx.x % 32 == 31) warps[threadIdx.x / 32] = before + v;
	__syncthreads();
	S earlier = 0;
	total = 0;
	for (int warp = 0; warp < Threads / 32; warp++) {
		if (warp == threadIdx.x / 32) earlier = total;
		total += warps[warp];
	}
	return earlier + before;
}

// What a tile has published: a word of a sum and how much it is of, which is read and written at once, so that no fence is needed.
enum Published : unsigned { nothing = 0, of_tile = 1, of_all_before_too = 2 };

__device__ inline uint32_t bits_of(float sum) { return __float_as_uint(sum); }
__device__ inline uint32_t bits_of(uint32_t sum) { return sum; }
__device__ inline void from_bits(uint32_t bits, float &sum) { sum = __uint_as_float(bits); }
__device__ inline void from_bits(uint32_t bits, uint32_t &sum) { sum = bits; }

struct Board {
	volatile unsigned long long *words; // one a tile; cleared before the launch
	unsigned *taken;                    // how many tiles blocks have taken

	template <class S> __device__ void publish(int64_t tile, S sum, Published what) const {
		words[tile] = static_cast<unsigned long long>(what) << 32 | bits_of(sum);
	}

	// before is the sum of all tiles before one; its block's first warp calls it. A lane looks at a tile, the first lane at the nearest. Every
	// tile before has been taken by a block that runs, so that what is waited for comes.
	template <class S> __device__ S before(int64_t tile) const {
		const int lane = threadIdx.x % 32;
		S sum = 0;
		for (int64_t nearest = tile - 1;; nearest -= 32) {
			unsigned long long word;
			unsigned known, missing, needed;
			do {
				word = nearest >= lane ? words[nearest - lane] : static_cast<unsigned long long>(of_all_before_too) << 32;
				known = __ballot_sync(all_lanes, word >> 32 == of_all_before_too);
				missing = __ballot_sync(all_lanes, word >> 32 == nothing);
				needed = known == 0 ? all_lanes : known ^ (known - 1); // the lanes up to the first that knows all before it
			} while ((missing & needed) != 0);
			S part = 0;
			if (needed >> lane & 1) from_bits(static_cast<uint32_t>(word), part);
			for (int lanes = 16; lanes > 0; lanes /= 2) part += __shfl_xor_sync(all_lanes, part, lanes);
			sum += part;
			if (known != 0) return sum;
		}
	}
};

} // namespace triad
#endif
