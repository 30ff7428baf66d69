// shared_run.cuh: a run of neighbouring elements that begins anywhere, brought into shared memory by a block 16 bytes a load, and sums of parts of it.
#ifndef TRIAD_SHARED_RUN_CUH
#define TRIAD_SHARED_RUN_CUH
#include "element.cuh"
#include "pack.cuh"

namespace triad {

// SharedRun holds at most Most elements, from the beginning of the first one's 16 bytes on: `lead` others lie before it there.
template <class T, int Most> struct alignas(16) SharedRun {
	static constexpr int V = vector<T>;
	T elements[Most + V];

	__device__ static int lead_of(const T *from) { return static_cast<int>(reinterpret_cast<uintptr_t>(from) % 16 / sizeof(T)); }

	// load brings `count` elements, by Threads threads; nothing outside of them is read. A barrier has to follow.
	template <int Threads> __device__ void load(const T *from, int lead, int count) {
		constexpr int packs = Most / V / Threads;
		static_assert(packs * V * Threads == Most, "a thread has as many packs as any other");
		const auto fetch_inside = [&](int at) {
			const int first = at - lead;
			if (first >= 0 && first + V <= count) return fetch<V>(from + first);
			Pack<T, V> pack;
#pragma unroll
			for (int j = 0; j < V; j++) pack.at[j] = first + j >= 0 && first + j < count ? from[first + j] : from_float<T>(0.0f);
			return pack;
		};
		const auto keep = [&](int at, const Pack<T, V> &pack) {
			*reinterpret_cast<uint4 *>(elements + at) = make_uint4(word(pack, 0), word(pack, 1), word(pack, 2), word(pack, 3));
		};
		const int own = static_cast<int>(threadIdx.x) * V;
		Pack<T, V> held[packs];
#pragma unroll
		for (int p = 0; p < packs; p++) held[p] = fetch_inside(own + p * Threads * V);
		if (threadIdx.x == 0 && lead + count > Most) keep(Most, fetch_inside(Most));
#pragma unroll
		for (int p = 0; p < packs; p++) keep(own + p * Threads * V, held[p]);
	}

	// sum adds up the elements of places first to end, the lead counted in, by Group threads: 16 bytes a read but for those before and behind.
	template <int Group> __device__ float sum(int first, int end) const {
		const int thread = static_cast<int>(threadIdx.x) % Group, first_pack = (first + V - 1) / V, end_pack = end / V;
		const int head = first_pack * V < end ? first_pack * V : end, tail = end_pack * V > head ? end_pack * V : head;
		float sum = 0.0f;
		for (int i = first + thread; i < head; i += Group) sum += to_float(elements[i]);
		for (int p = first_pack + thread; p < end_pack; p += Group) {
			float v[V];
			unpack<T>(*reinterpret_cast<const uint4 *>(elements + p * V), v);
#pragma unroll
			for (int j = 0; j < V; j++) sum += v[j];
		}
		for (int i = tail + thread; i < end; i += Group) sum += to_float(elements[i]);
		return sum;
	}
};

} // namespace triad
#endif
