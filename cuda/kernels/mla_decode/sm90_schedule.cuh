// sm90_schedule.cuh: how the tokens of all sequences are divided evenly among the blocks of mla_decode/sm90_tma, and the kernel that joins what was cut.
//   The rows of a sequence, its queries' heads, are in groups of 64. Work is measured in units: a pair of pages is one, and so is the beginning of a
//   sequence. Part p of n has the units from p / n to (p + 1) / n of those of all sequences, for each group a block, so that the groups of a sequence
//   read the same pages at the same time. Each warp finds its part from the lengths. A sequence that lies within a part is written as it is; of what a
//   part shares with others it leaves sums in the workspace, at most two of a group: of a sequence begun before, and of one that goes on.
#ifndef TRIAD_MLA_DECODE_SM90_SCHEDULE_CUH
#define TRIAD_MLA_DECODE_SM90_SCHEDULE_CUH
#include <algorithm>

#include "hopper/dependent_launch.cuh"
#include "latent/call.cuh"
#include "latent/sm90_tiles.cuh"
#include "quad.cuh"
#include "reduce.cuh"
#include "room.cuh"

namespace triad {
namespace latent {

constexpr int least_units = 2;  // of a part
constexpr int spared_units = 3; // a part may have so many more than its share where none is cut then: what joining costs
constexpr int join_warps = 8;   // of a block, a row each

// Cut is how a sequence was divided: the part in which it begins, and the first and the last part that have pages of it; none where last < first.
struct Cut {
	int begun, first, last;

	__device__ int64_t slot(int part) const { return 2 * static_cast<int64_t>(part) + (part == begun); }
};

// Schedule holds the host's side of it, and the workspace.
struct Schedule {
	int groups, parts;
	float *sum, *max, *total; // [slot, group, 64, Dv], [slot, group, 64]; a part has slot 2 p for what was begun before, 2 p + 1 for what goes on
	Cut *cuts;                // [sequence]

	template <class T> Schedule(const Decode<T> &a, Room &room) {
		groups = (a.seq_q * a.heads + own_rows - 1) / own_rows;
		parts = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount) / std::max(groups, 1));
		const int64_t rows = int64_t{2} * parts * groups * own_rows;
		sum = room.take<float>(rows * a.dim_v);
		max = room.take<float>(rows);
		total = room.take<float>(rows);
		cuts = room.take<Cut>(a.batch);
	}
	__device__ int64_t place(int64_t slot, int group) const { return (slot * groups + group) * own_rows; } // the first of 64 rows
};

template <class T> __device__ int units_of(const Decode<T> &a, int64_t b) { return 1 + (a.lengths(b) + 2 * page - 1) / (2 * page); }

// Piece is a part's share of a sequence: pages first..end, as far as a row sees them, at one of the part's two slots, or all of it and no slot.
struct Piece {
	int b, first, end, slot; // slot: -1 for none
};

// Range is a part: the sequence that has the first of its units, how many of that sequence's lie in parts before, and how many units are left. Parts are
// of whole sequences where all are of one length and the longest part is little longer then.
struct Range {
	int part, parts, all, first, b, skipped, left; // first: of the part's units among all

	template <class T> __device__ Range(const Decode<T> &a, int number, int most) : part(number) {
		const int lane = static_cast<int>(threadIdx.x) % warp_size, each = static_cast<int>((a.batch + warp_size - 1) / warp_size);
		const int from = min(lane * each, static_cast<int>(a.batch)), to = min(from + each, static_cast<int>(a.batch)), one = units_of(a, 0);
		int own = 0;
		bool same = true;
		for (int i = from; i < to; i++) {
			const int units = units_of(a, i);
			own += units;
			same &= units == one;
		}
		int start = own;
#pragma unroll
		for (int step = 1; step < warp_size; step *= 2) {
			const int before = __shfl_up_sync(all_lanes, start, step);
			if (lane >= step) start += before;
		}
		all = __shfl_sync(all_lanes, start, warp_size - 1);
		start -= own;
		parts = max(1, min(most, all / least_units));
		const int even = (static_cast<int>(a.batch) + parts - 1) / parts * one, share = all / parts, rest = all % parts;
		const bool whole = __all_sync(all_lanes, same) && even <= share + spared_units;
		const auto bound = [&](int p) { return p >= parts ? all : whole ? min(p * even, all) : p * share + p * rest / parts; };
		first = bound(part), left = bound(part + 1) - first;
		const bool mine = start <= first && first < start + own;
		b = from;
		if (mine)
			for (int units = units_of(a, b); start + units <= first; units = units_of(a, b)) start += units, b++;
		const int finder = max(__ffs(static_cast<int>(__ballot_sync(all_lanes, mine))) - 1, 0); // 0 where the part has nothing
		b = __shfl_sync(all_lanes, b, finder);
		start = __shfl_sync(all_lanes, start, finder);
		skipped = left > 0 ? first - start : 0;
	}
	// next takes the next sequence; false where the part has none more. A piece may have no pages, where it has all of a sequence without tokens.
	template <class T> __device__ bool next(const Decode<T> &a, Piece &piece) {
		while (left > 0) {
			const int units = units_of(a, b), end = min(skipped + left, units);
			piece = {b, 2 * max(skipped - 1, 0), 2 * (end - 1), skipped > 0 ? 0 : end < units ? 1 : -1};
			left -= end - skipped;
			skipped = 0, b++;
			if (piece.slot < 0 || piece.first < piece.end) return true;
		}
		return false;
	}
	// tell writes how each sequence that begins in the part was cut.
	template <class T> __device__ void tell(const Decode<T> &a, Cut *cuts) const {
		for (int i = b, start = first - skipped, end = first + left; start < end; i++) {
			const int units = units_of(a, i), after = start + units;
			if (start >= first)
				cuts[i] = after <= end ? Cut{0, 0, -1}
				                       : Cut{part, end - start > 1 ? part : part + 1, static_cast<int>((static_cast<int64_t>(after) * parts - 1) / all)};
			start = after;
		}
	}
};

// A warp a row: of a sequence that was cut, a row of o and its lse are joined from the parts' sums, maxima and totals, each as much as exp(its maximum -
// the largest) says.
template <class T> __global__ void __launch_bounds__(join_warps *warp_size) join_cuts(const Decode<T> a, const Schedule s) {
	constexpr int vectors = 4; // of a thread: Dv is 512
	const int lane = static_cast<int>(threadIdx.x) % warp_size, rows = a.seq_q * a.heads;
	const int64_t at = static_cast<int64_t>(blockIdx.x) * join_warps + threadIdx.x / warp_size, b = at / rows;
	if (b >= a.batch) return;
	const int row = static_cast<int>(at % rows), keys = a.visible(b, row / a.heads);
	hopper::await_previous();
	const Cut cut = s.cuts[b];
	if (cut.last < cut.first) return;
	const auto place = [&](int part) { return s.place(cut.slot(part), row / own_rows) + row % own_rows; };
	float max = -INFINITY, total = 0, sum[vectors][4] = {};
	for (int p = cut.first + lane; p <= cut.last; p += warp_size) max = fmaxf(max, s.max[place(p)]);
	max = warp_reduce(max, Max());
#pragma unroll 4
	for (int p = cut.first; p <= cut.last; p++) {
		const int64_t from = place(p);
		const float weight = expf(s.max[from] - base(max));
		total += s.total[from] * weight;
#pragma unroll
		for (int v = 0; v < vectors; v++) {
			const float4 x = __ldcs(reinterpret_cast<const float4 *>(s.sum + from * a.dim_v) + v * warp_size + lane);
			sum[v][0] += x.x * weight, sum[v][1] += x.y * weight, sum[v][2] += x.z * weight, sum[v][3] += x.w * weight;
		}
	}
	const float inverse = keys > 0 ? 1.0f / total : 0.0f;
	uint2 *const to = reinterpret_cast<uint2 *>(a.o + at * a.dim_v) + lane;
#pragma unroll
	for (int v = 0; v < vectors; v++)
		to[v * warp_size] = make_uint2(pair_of(T(), sum[v][0] * inverse, sum[v][1] * inverse), pair_of(T(), sum[v][2] * inverse, sum[v][3] * inverse));
	if (a.lse != nullptr && lane == 0) a.lse[a.statistic(b, row / a.heads, row % a.heads)] = keys > 0 ? log_of(max, total) : a.empty;
}

template <class T> int launch_join(const Decode<T> &a, const Schedule &s, cudaStream_t stream) {
	if (s.parts == 1) return TRIAD_OK;
	const unsigned blocks = static_cast<unsigned>((a.queries() * a.heads + join_warps - 1) / join_warps);
	return hopper::launch_dependent(join_cuts<T>, blocks, join_warps * warp_size, stream, a, s);
}

} // namespace latent
} // namespace triad
#endif
