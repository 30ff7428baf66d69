// segment_sum: y[s] = x[offsets[s]] + ... + x[offsets[s+1] - 1]
// Layout   x: [n]; offsets: [segments + 1] int64, rising from 0 to n; y: [segments]; contiguous; fp32, fp16, bf16; added in fp32.
// Limits   an empty segment gives 0; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Merrill and Garland 2016, Merge-based parallel sparse matrix-vector multiplication
//   naive     a thread a segment, one element after the other. Neighbouring threads read places that are far apart, and the threads of a warp
//             wait for the one whose segment is the longest.
//   warp      a warp a segment: the lanes read neighbours and add up by shuffles. A segment of three elements keeps 29 lanes idle, and one
//             long segment keeps one warp busy while the others have finished.
//   balanced  the elements and the ends of the segments, merged in their order, are cut into tiles of one length, so that a block has as much to
//             do as any other, whatever the segments are. Elements, 16 bytes a load, and ends come into shared memory at the same time; then as
//             many threads add up a segment as its length is worth. It costs a search for the cuts and a last launch for the segments that cross
//             tiles.
//   cub       NVIDIA's DeviceSegmentedReduce, compiled with our kernels; see include/cub_library.cuh
#include "cub_library.cuh"
#include "element.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "shared_run.cuh"
#include "spec/segment_sum.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;
constexpr int warps = threads / 32;

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

template <class T> __global__ void segment_sum_naive_kernel(const T *x, const int64_t *offsets, T *y, int64_t segments) {
	const int64_t s = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (s >= segments) return;
	float sum = 0.0f;
	for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) sum += to_float(x[i]);
	y[s] = from_float<T>(sum);
}

template <class T> __global__ void segment_sum_warp_kernel(const T *x, const int64_t *offsets, T *y, int64_t segments) {
	const int64_t s = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) / 32;
	if (s >= segments) return; // the whole warp
	const int lane = threadIdx.x % 32;
	float sum = 0.0f;
	for (int64_t i = offsets[s] + lane; i < offsets[s + 1]; i += 32) sum += to_float(x[i]);
	for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
	if (lane == 0) y[s] = from_float<T>(sum);
}

// ---- balanced: kernels

constexpr int tile = 4096; // elements and ends of segments of one block

// Cut is where a tile begins: at an element, and in the segment that is the next to end.
struct Cut {
	int64_t element, segment;
};

// Part is what a tile has of segments that it does not have whole.
struct Part {
	float head; // of the segment that the tile begins in, up to its end in this tile
	float tail; // of the segment that the tile ends in
};

// segment_sum_cut_kernel finds the cuts: before position d of the merged list stand `segment` ends and d - segment elements. The end of segment s
// comes after its elements and before the others. A few threads look for a cut, each at a place of its own: more of them would need fewer steps, but
// more than the GPU runs at once.
constexpr int seekers = 4;
__global__ void __launch_bounds__(threads)
segment_sum_cut_kernel(const int64_t *offsets, Cut *cuts, int64_t tiles, int64_t n, int64_t segments) {
	const int64_t t = blockIdx.x * static_cast<int64_t>(threads / seekers) + threadIdx.x / seekers;
	const int seeker = static_cast<int>(threadIdx.x) % seekers, shift = static_cast<int>(threadIdx.x) % 32 / seekers * seekers;
	const int64_t d = t * tile < n + segments ? t * tile : n + segments;
	int64_t low = d > n ? d - n : 0, high = d < segments ? d : segments;
	while (__any_sync(triad::all_lanes, low < high)) { // the first segment whose end does not stand before d
		const int64_t step = (high - low + seekers) / (seekers + 1), s = low + (seeker + 1) * step - 1;
		const unsigned votes = __ballot_sync(triad::all_lanes, low < high && s < high && offsets[s + 1] + s < d);
		const int before = __popc(votes >> shift & ((1u << seekers) - 1));
		if (low >= high) continue;
		high = before < seekers && low + (before + 1) * step - 1 < high ? low + (before + 1) * step - 1 : high;
		low += before * step;
	}
	if (seeker == 0 && t <= tiles) cuts[t] = {d - low, low};
}

// TileMemory holds a tile: its elements, and where its segments end.
template <class T> struct TileMemory {
	triad::SharedRun<T, tile> run;
	uint16_t ends[tile];
	float scratch[warps];
};

// sum_tile writes the segments that end in the tile, but what the first of them has in it is a head. Group threads take a segment; the last one of
// `left` is the tail.
template <int Group, class T>
__device__ void sum_tile(TileMemory<T> &memory, int lead, int64_t segment, int left, int count, T *y, Part *part) {
	constexpr int at_once = threads / Group;
	for (int first_of = 0; first_of < left; first_of += at_once) { // whole warps stay together
		const int s = first_of + static_cast<int>(threadIdx.x) / Group;
		const int first = s == 0 || s >= left ? 0 : memory.ends[s - 1], end = s >= left ? 0 : s == left - 1 ? count : memory.ends[s];
		const float sum = triad::group_reduce<Group>(memory.run.template sum<Group>(lead + first, lead + end), triad::Sum{}, memory.scratch);
		if (threadIdx.x % Group != 0 || s >= left) continue;
		if (s == left - 1) part->tail = sum;
		else if (s == 0) part->head = sum;
		else y[segment + s] = from_float<T>(sum);
	}
}

template <class T>
__global__ void __launch_bounds__(threads)
        segment_sum_tile_kernel(const T *x, const int64_t *offsets, const Cut *cuts, Part *parts, T *y) {
	__shared__ TileMemory<T> memory;
	const Cut from = cuts[blockIdx.x], to = cuts[blockIdx.x + 1];
	const int count = static_cast<int>(to.element - from.element), left = static_cast<int>(to.segment - from.segment) + 1;
	const T *const first = x + from.element;
	const int lead = memory.run.lead_of(first);
	for (int s = threadIdx.x; s < left - 1; s += threads) memory.ends[s] = static_cast<uint16_t>(offsets[from.segment + s + 1] - from.element);
	memory.run.template load<threads>(first, lead, count);
	__syncthreads();
	Part *part = parts + blockIdx.x;
	if (count > 1024 * left) sum_tile<threads>(memory, lead, from.segment, left, count, y, part);
	else if (count > 400 * left) sum_tile<32>(memory, lead, from.segment, left, count, y, part);
	else if (count > 48 * left) sum_tile<8>(memory, lead, from.segment, left, count, y, part);
	else if (count > 4 * left) sum_tile<4>(memory, lead, from.segment, left, count, y, part);
	else sum_tile<1>(memory, lead, from.segment, left, count, y, part);
}

// tails adds up those of the tiles from first up to end by Group threads.
template <int Group> __device__ float tails(const Part *parts, int64_t first, int64_t end, float *scratch) {
	float sum = 0.0f;
#pragma unroll 4
	for (int64_t t = first + threadIdx.x % Group; t < end; t += Group) sum += parts[t].tail;
	return triad::group_reduce<Group>(sum, triad::Sum{}, scratch);
}

// segment_sum_join_kernel writes the first segment that ends in each tile: its head, and the tails of the tiles before that it lies in. A warp takes
// a tile; where a segment lies in many tiles, the block does.
template <class T>
__global__ void __launch_bounds__(threads)
        segment_sum_join_kernel(const int64_t *offsets, const Cut *cuts, const Part *parts, T *y, int64_t tiles) {
	__shared__ float scratch[warps];
	__shared__ int64_t long_from[warps]; // the first tile of a segment that lies in many; -1 where there is none
	constexpr int64_t many = 1024;
	const int64_t first_tile = blockIdx.x * static_cast<int64_t>(warps);
	const auto join = [&](int64_t t, float sum) { y[cuts[t].segment] = from_float<T>(sum + parts[t].head); };
	const int64_t own = first_tile + threadIdx.x / 32;
	int64_t from = -1;
	if (own < tiles && cuts[own].segment != cuts[own + 1].segment) { // a segment ends in the tile
		const int64_t s = cuts[own].segment, began = (offsets[s] + s) / tile;
		if (own - began > many) {
			from = began;
		} else {
			const float sum = tails<32>(parts, began, own, scratch);
			if (threadIdx.x % 32 == 0) join(own, sum);
		}
	}
	if (threadIdx.x % 32 == 0) long_from[threadIdx.x / 32] = from;
	__syncthreads();
	for (int w = 0; w < warps; w++) {
		if (long_from[w] < 0) continue;
		const float sum = tails<threads>(parts, long_from[w], first_tile + w, scratch);
		if (threadIdx.x == 0) join(first_tile + w, sum);
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

template <class T> const T *x_of(const triad_call *call) { return static_cast<const T *>(call->in[0].data); }
const int64_t *offsets_of(const triad_call *call) { return static_cast<const int64_t *>(call->in[1].data); }
template <class T> T *y_of(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
int64_t segments_of(const triad_call *call) { return call->out[0].shape[0]; }

template <class T> int segment_sum_naive(const triad_call *call) {
	const int64_t segments = segments_of(call);
	if (segments == 0) return TRIAD_OK;
	segment_sum_naive_kernel<T><<<triad::blocks_for(segments, threads), threads, 0, triad::stream_of(call)>>>(x_of<T>(call), offsets_of(call),
	                                                                                                   y_of<T>(call), segments);
	return triad::launched();
}

template <class T> int segment_sum_warp(const triad_call *call) {
	const int64_t segments = segments_of(call);
	if (segments == 0) return TRIAD_OK;
	segment_sum_warp_kernel<T><<<triad::blocks_for(segments, warps), threads, 0, triad::stream_of(call)>>>(x_of<T>(call), offsets_of(call),
	                                                                                                y_of<T>(call), segments);
	return triad::launched();
}

int64_t tiles_of(const triad_call *call) { return (triad::elements(call->in[0]) + segments_of(call) + tile - 1) / tile; }
int64_t cuts_and_parts(const triad_call *call) { return (tiles_of(call) + 1) * (sizeof(Cut) + sizeof(Part)); }

template <class T> int segment_sum_balanced(const triad_call *call) {
	const int64_t segments = segments_of(call), tiles = tiles_of(call);
	if (segments == 0) return TRIAD_OK;
	Cut *cuts = static_cast<Cut *>(call->workspace);
	Part *parts = reinterpret_cast<Part *>(cuts + tiles + 1);
	const cudaStream_t stream = triad::stream_of(call);
	segment_sum_cut_kernel<<<triad::blocks_for(tiles + 1, threads / seekers), threads, 0, stream>>>(offsets_of(call), cuts, tiles,
	                                                                                     triad::elements(call->in[0]), segments);
	segment_sum_tile_kernel<T><<<triad::blocks_for(tiles, 1), threads, 0, stream>>>(x_of<T>(call), offsets_of(call), cuts, parts, y_of<T>(call));
	segment_sum_join_kernel<T><<<triad::blocks_for(tiles, warps), threads, 0, stream>>>(offsets_of(call), cuts, parts, y_of<T>(call), tiles);
	return triad::launched();
}

struct CubSegments;
#ifndef __CUEMU__
struct CubSegments {
	template <class T> static cudaError_t run(const triad_call *call, void *scratch, size_t &bytes) {
		return cub::DeviceSegmentedReduce::Reduce(scratch, bytes, triad::cub_input<T>(call->in[0]), triad::cub_output<T>(call->out[0]),
		                                          segments_of(call), offsets_of(call), offsets_of(call) + 1, triad::CubPlus(),
		                                          triad::cub_zero<T>(), triad::stream_of(call));
	}
};
#endif

template <class T> int segment_sum_cub(const triad_call *call) { return triad::cub_run<CubSegments, T>(call); }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(segment_sum, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(segment_sum_naive)))
TRIAD_KERNEL(segment_sum, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(segment_sum_warp)))
TRIAD_KERNEL(segment_sum, balanced, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(cuts_and_parts).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(segment_sum_balanced)))
TRIAD_KERNEL(segment_sum, cub, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::cub_bytes<CubSegments>)
             .limits(triad::contiguous(), triad::cub_limit()).launch(TRIAD_BY_DTYPE(segment_sum_cub)))
