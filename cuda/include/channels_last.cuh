// channels_last.cuh: rows of several channels of 16-bit elements, [batch, channels, length] with any strides, laid out with the channels of a place
// side by side, as products on tensor cores read them.
#ifndef TRIAD_CHANNELS_LAST_CUH
#define TRIAD_CHANNELS_LAST_CUH
#include "call.cuh"

namespace triad {

// ChannelsLast is [batch, count, channels]: place r is element (r - lead) / step where that is one, else zeros. Channels are whole vectors of 16 bytes,
// and `to` is aligned to 16.
struct ChannelsLast {
	static constexpr int threads = 256, side = 64, pairs = side * side / 2 / threads; // of channels, for each thread

	const uint16_t *from;
	uint16_t *to;
	int64_t batch_stride, channel_stride, stride;
	int64_t batch, channels, length, count, lead, step;

	ChannelsLast(const triad_tensor &t, uint16_t *to, int64_t count, int64_t lead, int64_t step)
	    : from(static_cast<const uint16_t *>(t.data)), to(to), batch_stride(t.stride[0]), channel_stride(t.stride[1]), stride(t.stride[2]),
	      batch(t.shape[0]), channels(t.shape[1]), length(t.shape[2]), count(count), lead(lead), step(step) {}
	__host__ __device__ int64_t across() const { return (channels + side - 1) / side; }
	__host__ __device__ int64_t tiles() const { return (count + side - 1) / side * across(); } // of one of the batch
	int64_t blocks() const { return batch * tiles(); }
};

// A block turns 64 places of 64 channels round.
__global__ void __launch_bounds__(ChannelsLast::threads) channels_last_kernel(ChannelsLast of) {
	constexpr int side = ChannelsLast::side, threads = ChannelsLast::threads;
	__shared__ uint32_t tile[side][side / 2 + 1]; // pairs of channels. One more: the places of a warp lie in different banks
	const int64_t b = blockIdx.x / of.tiles(), own = blockIdx.x % of.tiles(), r0 = own / of.across() * side, c0 = own % of.across() * side;
	const int place = static_cast<int>(threadIdx.x) % side;
	const int64_t at = r0 + place - of.lead, i = at / of.step;
	const bool inside = at >= 0 && i < of.length && i * of.step == at;
	const uint16_t *const from = of.from + b * of.batch_stride + i * of.stride;
#pragma unroll
	for (int k = 0; k < ChannelsLast::pairs; k++) {
		const int pair = k * (side / 2 / ChannelsLast::pairs) + static_cast<int>(threadIdx.x) / side;
		const int64_t c = c0 + 2 * pair;
		uint32_t both = 0;
		if (inside && c < of.channels) both = from[c * of.channel_stride] | static_cast<uint32_t>(from[(c + 1) * of.channel_stride]) << 16;
		tile[place][pair] = both;
	}
	__syncthreads();
#pragma unroll
	for (int k = 0; k < ChannelsLast::pairs / 4; k++) { // four pairs are 16 bytes
		const int j = k * threads + static_cast<int>(threadIdx.x), line = j / (side / 8), first = j % (side / 8) * 4;
		const uint32_t *const four = &tile[line][first];
		const int64_t r = r0 + line, c = c0 + 2 * first;
		if (r < of.count && c < of.channels)
			*reinterpret_cast<uint4 *>(of.to + (b * of.count + r) * of.channels + c) = {four[0], four[1], four[2], four[3]};
	}
}

// channels_last launches it; of an empty batch nothing is launched.
inline void channels_last(const ChannelsLast &of, cudaStream_t stream) {
	if (of.blocks() > 0) channels_last_kernel<<<static_cast<unsigned>(of.blocks()), ChannelsLast::threads, 0, stream>>>(of);
}

} // namespace triad
#endif
