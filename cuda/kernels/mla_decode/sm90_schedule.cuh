// sm90_schedule.cuh: how the tokens of all sequences are divided evenly among the blocks of mla_decode/sm90_tma, and the kernel that joins what was cut.
//   The rows of a sequence, its queries' heads, are in groups of 64. Work is measured in units: a pair of pages is one, and so is the beginning of a
//   sequence. Part p of n has the units from p / n to (p + 1) / n of those of all sequences, for each group a block, so that the groups of a sequence
//   read the same pages at the same time. Each warp finds its part from the lengths. A sequence that lies within a part is written as it is; of what a
//   part shares with others it leaves sums in the workspace, at most two of a group: of a sequence begun before, and of one that goes on.
#ifndef TRIAD_MLA_DECODE_SM90_SCHEDULE_CUH
#define TRIAD_MLA_DECODE_SM90_SCHEDULE_CUH
#include <algorithm>

#include "latent/parts.cuh"
#include "latent/sm90_tiles.cuh"
#include "reduce.cuh"

namespace triad {
namespace latent {

constexpr int least_units = 2; // of a part

// Cut is a sequence that begins in a part and goes on: b, below 0 for none, and the parts that have pages of it.
struct Cut {
	int b, begun, first, last;

	__device__ int64_t slot(int part) const { return 2 * static_cast<int64_t>(part) + (part == begun); }
};

// Schedule holds the host's side of it, and the workspace.
struct Schedule {
	int groups, parts;
	float *sum, *max, *total; // [slot, group, 64, Dv], [slot, group, 64]; a part has slot 2 p for what was begun before, 2 p + 1 for what goes on
	Cut *cuts;                // [part]

	template <class T> Schedule(const Decode<T> &a, Room &room) {
		groups = (a.seq_q * a.heads + own_rows - 1) / own_rows;
		parts = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount) / std::max(groups, 1));
		const int64_t rows = int64_t{2} * parts * groups * own_rows;
		sum = room.take<float>(rows * a.dim_v);
		max = room.take<float>(rows);
		total = room.take<float>(rows);
		cuts = room.take<Cut>(parts);
	}
	__device__ int64_t place(int64_t slot, int group) const { return (slot * groups + group) * own_rows; } // the first of 64 rows
};

template <class T> __device__ int units_of(const Decode<T> &a, int64_t b) { return 1 + (a.lengths(b) + 2 * page - 1) / (2 * page); }

// Piece is a part's share of a sequence: pages first..end, as far as a row sees them, at a slot of the workspace, or all of it and no slot.
struct Piece {
	int b, first, end, slot; // slot: -1 for none
};

// Range is a part: its units, and the sequence that has the first of them, whose own first unit is start.
struct Range {
	int part, parts, all, first, end, b, start;

	template <class T> __device__ Range(const Decode<T> &a, int number, int most) : part(number) {
		const int lane = static_cast<int>(threadIdx.x) % warp_size, each = static_cast<int>((a.batch + warp_size - 1) / warp_size);
		const int from = min(lane * each, static_cast<int>(a.batch)), to = min(from + each, static_cast<int>(a.batch));
		int own = 0;
		for (int i = from; i < to; i++) own += units_of(a, i);
		start = own;
#pragma unroll
		for (int step = 1; step < warp_size; step *= 2) {
			const int before = __shfl_up_sync(all_lanes, start, step);
			if (lane >= step) start += before;
		}
		all = __shfl_sync(all_lanes, start, warp_size - 1);
		start -= own;
		parts = max(1, min(most, all / least_units));
		first = bound(part), end = bound(part + 1);
		const bool mine = start <= first && first < start + own;
		b = from;
		if (mine)
			for (int units = units_of(a, b); start + units <= first; units = units_of(a, b)) start += units, b++;
		const int finder = max(__ffs(static_cast<int>(__ballot_sync(all_lanes, mine))) - 1, 0); // 0 where the part has nothing
		b = __shfl_sync(all_lanes, b, finder);
		start = first < end ? __shfl_sync(all_lanes, start, finder) : end;
	}
	__device__ int bound(int p) const { return p < parts ? static_cast<int>(static_cast<int64_t>(p) * all / parts) : all; }
	// next takes the next sequence; false where the part has none more. A piece may have no pages, where it has all of a sequence without tokens.
	template <class T> __device__ bool next(const Decode<T> &a, Piece &piece) {
		while (start < end) {
			const int units = units_of(a, b), after = start + units;
			const bool before = start < first, on = after > end;
			piece = {b, 2 * max(first - start - 1, 0), 2 * (min(after, end) - start - 1), before ? 2 * part : on ? 2 * part + 1 : -1};
			start = after, b++;
			if (piece.slot < 0 || piece.first < piece.end) return true;
		}
		return false;
	}
	// cut tells which sequence begins in this part and goes on, once next has returned false.
	template <class T> __device__ Cut cut(const Decode<T> &a) const {
		if (first >= end || start <= end) return {-1, 0, 0, 0};
		const int begin = start - units_of(a, b - 1);
		if (begin < first) return {-1, 0, 0, 0};
		const int last = static_cast<int>((static_cast<int64_t>(start) * parts - 1) / all);
		return {b - 1, part, end - begin > 1 ? part : part + 1, last};
	}
};

// A block a row of a group of a sequence that was cut.
template <class T> __global__ void __launch_bounds__(join_threads) join_cuts(const Decode<T> a, const Schedule s) {
	const Cut cut = s.cuts[blockIdx.x / own_rows / s.groups];
	const int group = static_cast<int>(blockIdx.x / own_rows) % s.groups, r = static_cast<int>(blockIdx.x % own_rows), row = group * own_rows + r;
	if (cut.b < 0 || row >= a.seq_q * a.heads) return;
	join_row(a, cut.b, row / a.heads, row % a.heads, s.sum, s.max, s.total, cut.last - cut.first + 1,
	         [&](int p) { return s.place(cut.slot(cut.first + p), group) + r; });
}

template <class T> int launch_join(const Decode<T> &a, const Schedule &s, cudaStream_t stream) {
	if (s.parts == 1) return TRIAD_OK;
	join_cuts<T><<<static_cast<unsigned>(s.parts * s.groups * own_rows), join_threads, 0, stream>>>(a, s);
	return launched();
}

} // namespace latent
} // namespace triad
#endif
