// channels_last.cuh: rows of several channels of 16-bit elements, [batch, channels, length] with any strides, laid out with the channels of a place
// side by side, as products on tensor cores read them.
#ifndef TRIAD_CHANNELS_LAST_CUH
#define TRIAD_CHANNELS_LAST_CUH
#include "call.cuh"
#include "turned_tile.cuh"

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

// The same of rows of whole vectors of places, by tiles that begin at places which are multiples of 8, of the input's: the first may begin before it.
using ChannelsTile = TurnedTile<__half>; // or of any other 16 bits
static __global__ void __launch_bounds__(ChannelsTile::threads) channels_last_wide_kernel(ChannelsLast of, int64_t tiles, int64_t across) {
	constexpr int V = ChannelsTile::V, side = ChannelsTile::side;
	__shared__ ChannelsTile tile;
	const int64_t b = blockIdx.x / tiles, own = blockIdx.x % tiles, c0 = own % across * side, i0 = own / across * side - (of.lead + V - 1) / V * V;
	const int64_t i = i0 + ChannelsTile::across() * V, first = c0 + ChannelsTile::down() * V;
	Pack<__half, V> in[V] = {};
#pragma unroll
	for (int c = 0; c < V; c++)
		if (i >= 0 && i < of.length && first < of.channels)
			in[c] = fetch<V>(reinterpret_cast<const __half *>(of.from) + b * of.batch_stride + (first + c) * of.channel_stride + i);
	tile.put(in);
	tile.each_pack([&](int line, int pack, uint4 words) {
		const int64_t r = i0 + line + of.lead, c = c0 + pack * V;
		if (r >= 0 && r < of.count && c < of.channels) *reinterpret_cast<uint4 *>(of.to + (b * of.count + r) * of.channels + c) = words;
	});
}

// channels_last launches one of them; of an empty batch nothing is launched.
inline void channels_last(const ChannelsLast &of, cudaStream_t stream) {
	if (of.blocks() == 0) return;
	constexpr int V = ChannelsTile::V, side = ChannelsTile::side;
	const bool vectors = (of.batch_stride | of.channel_stride | of.length) % V == 0 && reinterpret_cast<uintptr_t>(of.from) % 16 == 0;
	if (of.stride != 1 || of.step != 1 || !vectors) {
		channels_last_kernel<<<static_cast<unsigned>(of.blocks()), ChannelsLast::threads, 0, stream>>>(of);
		return;
	}
	const int64_t across = (of.channels + side - 1) / side, tiles = (of.count + V + side - 1) / side * across; // V: the lead, rounded up
	channels_last_wide_kernel<<<static_cast<unsigned>(of.batch * tiles), ChannelsTile::threads, 0, stream>>>(of, tiles, across);
}

} // namespace triad
#endif
