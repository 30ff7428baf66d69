// parts.cuh: the parts that sequences are cut into, and the kernel that joins those of a row.
#ifndef TRIAD_LATENT_PARTS_CUH
#define TRIAD_LATENT_PARTS_CUH
#include <algorithm>

#include "latent/call.cuh"
#include "room.cuh"

namespace triad {
namespace latent {

// Parts is where the parts of all rows lie in the workspace: how many a row has, and their sums, maxima and totals.
struct Parts {
	int count;
	float *sum, *max, *total; // [row, part, Dv], [row, part], [row, part]

	// Parts are as many as it takes for so many blocks, each of some heads; a part is a page at least.
	template <class T> Parts(const Decode<T> &a, int heads, int64_t blocks, Room &room) {
		const int64_t uncut = std::max<int64_t>(a.queries() * ((a.heads + heads - 1) / heads), 1), rows = a.queries() * a.heads;
		count = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>((blocks + uncut - 1) / uncut, std::min(a.pages, 64))));
		sum = room.take<float>(rows * count * a.dim_v);
		max = room.take<float>(rows * count);
		total = room.take<float>(rows * count);
	}

	// pages returns how many pages a part has of a row with so many keys: the last parts may have fewer, or none.
	__device__ int pages(int keys) const { return ((keys + page - 1) / page + count - 1) / count; }
};

constexpr int join_threads = 128, join_columns = 4; // of a thread: Dv is at most 512

// A block a row of o, and its lse, from its parts: each as much as exp(its maximum - the largest) says.
template <class T> __global__ void __launch_bounds__(join_threads) join_parts(Decode<T> a, Parts parts) {
	const int query = static_cast<int>(blockIdx.x) / a.heads, h = static_cast<int>(blockIdx.x) % a.heads, b = query / a.seq_q, i = query % a.seq_q;
	const int keys = a.visible(b, i), pages = parts.pages(keys), used = pages > 0 ? (keys + pages * page - 1) / (pages * page) : 0;
	const int64_t row = blockIdx.x, place = row * parts.count;
	float max = -INFINITY, total = 0, sum[join_columns] = {};
	for (int p = 0; p < used; p++) max = fmaxf(max, parts.max[place + p]);
	for (int p = 0; p < used; p++) {
		const float weight = expf(parts.max[place + p] - base(max)), *const from = parts.sum + (place + p) * a.dim_v + threadIdx.x;
		total += parts.total[place + p] * weight;
#pragma unroll
		for (int k = 0; k < join_columns; k++)
			if (static_cast<int>(threadIdx.x) + k * join_threads < a.dim_v) sum[k] += from[k * join_threads] * weight;
	}
	T *const to = a.o + row * a.dim_v + threadIdx.x;
#pragma unroll
	for (int k = 0; k < join_columns; k++)
		if (static_cast<int>(threadIdx.x) + k * join_threads < a.dim_v) to[k * join_threads] = from_float<T>(keys > 0 ? sum[k] / total : 0.0f);
	if (a.lse != nullptr && threadIdx.x == 0) a.lse[a.statistic(b, i, h)] = keys > 0 ? log_of(max, total) : a.empty;
}

template <class T> int launch_join(const Decode<T> &a, const Parts &parts, cudaStream_t stream) {
	join_parts<T><<<static_cast<unsigned>(a.queries() * a.heads), join_threads, 0, stream>>>(a, parts);
	return launched();
}

} // namespace latent
} // namespace triad
#endif
