// best.cuh: the k best elements of rows, each in a part or several: a block chooses among the entries that its threads keep in registers.
//
//   bound     the k-th best of the threads' best entries, found bit by bit, a barrier a bit. At least k entries reach it, since k threads have one;
//             few more do, since only those threads have any: 37 of 4096 for k = 32. It stops early, where k to 5/4 k threads are left.
//   found     entries that reach it go to shared memory. Where more than 256 do (rows that rise or fall), it is found again from all entries.
//   rank      one thread per entry: its rank is the number of better entries found
#ifndef TRIAD_BEST_CUH
#define TRIAD_BEST_CUH
#include "order.cuh"
#include "pack.cuh"
#include "room.cuh"
#include "rows.cuh"
#include "scan.cuh"

namespace triad {
namespace best {

constexpr int threads = 128, most_k = threads, most_items = 32, part = threads * most_items;
constexpr uint32_t most_ranked = 2 * threads; // entries that are ranked by comparing each with each

// A block compares entries; no element has the entry 0. Those of 16-bit elements are a word: key above column of the part. Those of fp32, and those
// that are left of earlier parts, are ranks in the whole row.
template <class T> struct EntryOf {
	using Type = uint32_t;
};
template <> struct EntryOf<float> {
	using Type = Rank;
};

__device__ inline Rank widen(Rank entry, int) { return entry; }
__device__ inline Rank widen(uint32_t entry, int begin) {
	return Rank{entry >> 16} << 32 | (0xfffffffeu - static_cast<uint32_t>(begin) - (0xffffu - (entry & 0xffffu)));
}

// entries_of makes entries of a pack, whose first element stands in column c of the part.
__device__ inline void entries_of(const Pack<float, 4> &pack, int begin, int c, Rank *entries) {
#pragma unroll
	for (int j = 0; j < 4; j++) entries[j] = rank_of(pack.at[j], begin + c + j);
}
template <class T> __device__ inline void entries_of(const Pack<T, 8> &pack, int, int c, uint32_t *entries) {
#pragma unroll
	for (int j = 0; j < 4; j++) {
		const uint32_t keys = keys_of<T>(word(pack, j)), column = 0xffffu - static_cast<uint32_t>(c + 2 * j);
		entries[2 * j] = keys << 16 | column;
		entries[2 * j + 1] = (keys & 0xffff0000u) | (column - 1);
	}
}

// read_entries reads `cols` elements of a row from column `begin` on. aligned: rows begin at a multiple of 16 bytes.
template <class T, class Entry, int Items>
__device__ inline void read_entries(const T *row, int begin, int cols, bool aligned, Entry (&own)[Items]) {
	constexpr int V = vector<T>, Packs = Items / V;
	const T *from = row + begin;
	Pack<T, V> packs[Packs];
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int c = (p * threads + static_cast<int>(threadIdx.x)) * V;
		if (aligned && c + V <= cols) {
			packs[p] = fetch<V>(from + c);
		} else {
#pragma unroll
			for (int j = 0; j < V; j++) packs[p].at[j] = from[c + j < cols ? c + j : 0];
		}
	}
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int c = (p * threads + static_cast<int>(threadIdx.x)) * V;
		entries_of(packs[p], begin, c, own + p * V);
		if (c + V > cols) {
#pragma unroll
			for (int j = 0; j < V; j++)
				if (c + j >= cols) own[p * V + j] = 0;
		}
	}
}

// highest is the highest t that at least k entries reach, or a lower one that at most `enough` do: count(t) returns the number of entries that reach t. 1, which every
// entry reaches, where fewer than k are there.
template <class T, class Entry, class Count> __device__ inline Entry highest(uint32_t k, uint32_t enough, Count count) {
	constexpr int bits = sizeof(Entry) == sizeof(uint32_t) ? 32 : 32 + 8 * static_cast<int>(sizeof(T)); // of a key and a column
	Entry t = 0;
	for (Entry bit = Entry{1} << (bits - 1); bit != 0; bit >>= 1) {
		const uint32_t reach = count(t | bit);
		if (reach < k) continue;
		t |= bit;
		if (reach <= enough) break;
	}
	return t == 0 ? 1 : t;
}

template <class Entry, int Items> __device__ inline uint32_t reaching(const Entry (&own)[Items], Entry t) {
	uint32_t n = 0;
#pragma unroll
	for (int i = 0; i < Items; i++) n += own[i] >= t;
	return n;
}

// select calls put(place, entry) for the k best of the entries that the threads of a block own, and put(place, 0) where there are fewer.
template <class T, class Entry, int Items, class Put> __device__ inline void select(const Entry (&own)[Items], uint32_t k, Put put) {
	constexpr int V = 16 / static_cast<int>(sizeof(Entry));
	__shared__ alignas(16) Entry found[most_ranked + V];
	Entry best = own[0];
#pragma unroll
	for (int i = 1; i < Items; i++) best = own[i] > best ? own[i] : best;
	Entry t = highest<T, Entry>(k, k + k / 4, [&](Entry at_least) { return static_cast<uint32_t>(__syncthreads_count(best >= at_least)); });
	uint32_t slot, n;
	while (slot = before_in_block<threads>(reaching(own, t), n), n > most_ranked)
		t = highest<T, Entry>(k, most_ranked, [&](Entry at_least) {
			uint32_t total;
			before_in_block<threads>(reaching(own, at_least), total);
			return total;
		});
	if (best >= t) {
#pragma unroll
		for (int i = 0; i < Items; i++)
			if (own[i] >= t) found[slot++] = own[i];
	}
	if (threadIdx.x < V) found[n + threadIdx.x] = 0; // the last pack that is compared
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += threads) {
		const Entry entry = found[i];
		uint32_t rank = 0;
		for (uint32_t j = 0; j < n; j += V) {
			const auto others = *reinterpret_cast<const Pack<Entry, V> *>(&found[j]);
#pragma unroll
			for (int v = 0; v < V; v++) rank += others.at[v] > entry;
		}
		if (rank < k) put(rank, entry);
	}
	for (uint32_t i = n + threadIdx.x; i < k; i += threads) put(i, Entry{0});
	__syncthreads(); // the next part overwrites what was found
}

// Cut divides rows of columns or entries into parts.
struct Cut {
	int cols, parts, length; // of each part but the last

	Cut(int64_t all, int64_t multiple) : cols(static_cast<int>(all)) {
		const int64_t least = (all + part - 1) / part, even = (all + least - 1) / least;
		length = static_cast<int>((even + multiple - 1) / multiple * multiple);
		parts = static_cast<int>((all + length - 1) / length);
	}
	__device__ int begin(int64_t row, int64_t at) const { return static_cast<int>(at - row * parts) * length; }
	__device__ int of(int begin) const { return cols - begin < length ? cols - begin : length; }
};

// Left holds the k best entries of each part of a row, in a workspace. The best of all parts come first, then the second ones, so that each
// thread of the next launch gets one of the best. Where they are many, they are cut into parts again, which leave theirs in the other half.
template <class T> struct Left {
	Rank *of[2];
	int64_t bytes;

	Left(const triad_call *call, int64_t rows, int64_t cols, int64_t k) {
		const Cut first(cols, vector<T>), second(first.parts * k, 1);
		Room room(call);
		of[0] = room.take<Rank>(rows * first.parts * k, first.parts > 1);
		of[1] = room.take<Rank>(rows * second.parts * k, second.parts > 1);
		bytes = room.used;
	}
};

// put_left writes an entry of a part, the at-th of all, for the next launch.
__device__ inline void put_left(Rank *left, const Cut &cut, int64_t row, int64_t at, int k, uint32_t rank, Rank entry) {
	left[(row * k + rank) * cut.parts + (at - row * cut.parts)] = entry;
}

// A block chooses among what is left of parts before, and calls out.put(cut, row, at, rank, entry).
template <class T, class Output>
__global__ void __launch_bounds__(threads) best_of_left_kernel(const Rank *left, Output out, Cut cut, int64_t rows) {
	for (int64_t at = blockIdx.x; at < rows * cut.parts; at += gridDim.x) {
		const int64_t row = at / cut.parts;
		const int begin = cut.begin(row, at), cols = cut.of(begin);
		Rank own[most_items];
#pragma unroll
		for (int i = 0; i < most_items; i++) {
			const int c = i * threads + static_cast<int>(threadIdx.x);
			own[i] = c < cols ? left[row * cut.cols + begin + c] : 0;
		}
		select<T>(own, static_cast<uint32_t>(out.k), [&](uint32_t rank, Rank entry) { out.put(cut, row, at, rank, entry); });
	}
}

// choose launches what is needed until the parts of a cut are one. Each launch leaves its best entries in out.left.
template <class T, class Output> void choose(Cut cut, int64_t rows, const Left<T> &left, Output out, cudaStream_t stream) {
	for (int turn = 1; cut.parts > 1; turn = 1 - turn) {
		cut = Cut(int64_t{cut.parts} * out.k, 1);
		out.left = left.of[turn];
		best_of_left_kernel<T><<<blocks_for(rows * cut.parts, 1), threads, 0, stream>>>(left.of[1 - turn], out, cut, rows);
	}
}

} // namespace best
} // namespace triad
#endif
