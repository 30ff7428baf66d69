// split.cuh: attention over latent rows without tensor cores: 16 heads and a part of a sequence a block.
// Pipeline: tile of the cache to shared memory -> 16 x 32 scores (fp32: 16 x 16), 4 x 4 of them by a group of lanes that share the elements -> a warp
// two heads: maximum, weights, decay of what was summed -> sums of 16 heads, two columns a thread -> the part (sum, maximum, total of weights) to the
// workspace. join_parts weighs the parts of a row by exp(maximum - largest maximum).
#ifndef TRIAD_LATENT_SPLIT_CUH
#define TRIAD_LATENT_SPLIT_CUH
#include "pack.cuh"
#include "latent/parts.cuh"
#include "reduce.cuh"

namespace triad {
namespace latent {

constexpr int split_heads = 16, split_threads = 256, split_dim = 576, split_dim_v = 2 * split_threads;

// A tile has fewer tokens where an element has four bytes: shared memory holds q and the tile.
template <class T> constexpr int split_tokens = sizeof(T) == 4 ? 16 : 32;

// Adds: a latent row is read once for 16 heads, and long sequences are cut. Costs the workspace, whole vectors.
template <class T> __global__ void __launch_bounds__(split_threads) split_rows(Decode<T> a, Parts parts) {
	constexpr int tokens = split_tokens<T>, V = vector<T>, lanes = split_threads / (split_heads / 4) / (tokens / 4);
	extern __shared__ __align__(16) unsigned char split_memory[];
	__shared__ __align__(16) float weight[tokens][split_heads];
	__shared__ float decay[split_heads];
	T *const q = reinterpret_cast<T *>(split_memory), *const tile = q + split_heads * a.dim;
	const int groups = (a.heads + split_heads - 1) / split_heads, part = static_cast<int>(blockIdx.x % parts.count);
	const int first_head = static_cast<int>(blockIdx.x / parts.count % groups) * split_heads;
	const int64_t query = blockIdx.x / parts.count / groups, b = query / a.seq_q;
	const int i = static_cast<int>(query % a.seq_q), t = static_cast<int>(threadIdx.x), lane = t % warp;
	const int keys = a.visible(b, i), begin = part * parts.pages(keys) * page, end = min(keys, begin + parts.pages(keys) * page);
	if (begin >= end) return; // the second kernel knows it too
	for (int v = t; v < split_heads * a.dim / V; v += split_threads) {
		const int h = first_head + v * V / a.dim;
		reinterpret_cast<uint4 *>(q)[v] =
		    h < a.heads ? *reinterpret_cast<const uint4 *>(a.query(b, i, h) + v * V % a.dim) : make_uint4(0, 0, 0, 0);
	}
	const int column = 2 * t, d_lane = t % lanes, h0 = t / lanes % (split_heads / 4) * 4, j0 = t / lanes / (split_heads / 4) * 4;
	constexpr int heads_a_warp = split_heads / (split_threads / warp);
	float sum[split_heads][2] = {}, max[heads_a_warp], total[heads_a_warp] = {};
	for (float &m : max) m = -INFINITY;
	for (int first = begin; first < end; first += tokens) {
		__syncthreads(); // the tile before has been read
		const T *const rows = a.rows_of(b, first / page) + first % page * a.dim;
		for (int v = t; v < tokens * a.dim / V; v += split_threads)
			reinterpret_cast<uint4 *>(tile)[v] =
			    first + v * V / a.dim < end ? reinterpret_cast<const uint4 *>(rows)[v] : make_uint4(0, 0, 0, 0);
		__syncthreads();
		float score[4][4] = {};
		for (int c = d_lane * V; c < a.dim; c += lanes * V) {
			float x[4][V];
#pragma unroll
			for (int h = 0; h < 4; h++) unpack<T>(*reinterpret_cast<const uint4 *>(q + (h0 + h) * a.dim + c), x[h]);
#pragma unroll
			for (int j = 0; j < 4; j++) {
				float y[V];
				unpack<T>(*reinterpret_cast<const uint4 *>(tile + (j0 + j) * a.dim + c), y);
#pragma unroll
				for (int h = 0; h < 4; h++)
#pragma unroll
					for (int e = 0; e < V; e++) score[h][j] = fmaf(x[h][e], y[e], score[h][j]);
			}
		}
#pragma unroll
		for (int h = 0; h < 4; h++)
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const float dot = warp_reduce<lanes>(score[h][j], Sum());
				if (d_lane == 0) weight[j0 + j][h0 + h] = first + j0 + j < end ? dot * a.scale : -INFINITY;
			}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < heads_a_warp; k++) { // a warp weighs its heads, a lane a token
			const int h = t / warp * heads_a_warp + k;
			const float s = lane < tokens ? weight[lane % tokens][h] : -INFINITY, top = fmaxf(max[k], warp_reduce(s, Max()));
			const float e = expf(s - base(top)), fall = expf(max[k] - base(top));
			total[k] = total[k] * fall + warp_reduce(e, Sum());
			max[k] = top;
			if (lane < tokens) weight[lane][h] = e;
			if (lane == 0) decay[h] = fall;
		}
		__syncthreads();
		if (column >= a.dim_v) continue;
		float part_sum[split_heads][2] = {};
		for (int j = 0; j < min(tokens, end - first); j++) {
			const float x = to_float(tile[j * a.dim + column]), y = to_float(tile[j * a.dim + column + 1]);
#pragma unroll
			for (int h = 0; h < split_heads; h++) {
				part_sum[h][0] = fmaf(weight[j][h], x, part_sum[h][0]);
				part_sum[h][1] = fmaf(weight[j][h], y, part_sum[h][1]);
			}
		}
#pragma unroll
		for (int h = 0; h < split_heads; h++)
#pragma unroll
			for (int e = 0; e < 2; e++) sum[h][e] = fmaf(sum[h][e], decay[h], part_sum[h][e]);
	}
	const int64_t row = query * a.heads + first_head;
#pragma unroll
	for (int h = 0; h < split_heads; h++)
		if (first_head + h < a.heads && column < a.dim_v)
			*reinterpret_cast<float2 *>(parts.sum + ((row + h) * parts.count + part) * a.dim_v + column) = make_float2(sum[h][0], sum[h][1]);
#pragma unroll
	for (int k = 0; k < heads_a_warp; k++) {
		const int h = t / warp * heads_a_warp + k;
		if (lane != 0 || first_head + h >= a.heads) continue;
		parts.max[(row + h) * parts.count + part] = max[k];
		parts.total[(row + h) * parts.count + part] = total[k];
	}
}

// Three blocks fit on a multiprocessor: some 1024 keep it busy until the last.
template <class T> Parts split_parts(const Decode<T> &a, Room &room) { return Parts(a, split_heads, 1024, room); }

template <class T> int launch_split(const triad_call *call) {
	const Decode<T> a(call);
	if (a.queries() == 0) return TRIAD_OK;
	Room room(call);
	const Parts parts = split_parts(a, room);
	const int bytes = (split_heads + split_tokens<T>) * a.dim * static_cast<int>(sizeof(T));
	if (const int status = cudaFuncSetAttribute(split_rows<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return status;
	const int64_t blocks = a.queries() * ((a.heads + split_heads - 1) / split_heads) * parts.count;
	split_rows<T><<<static_cast<unsigned>(blocks), split_threads, bytes, stream_of(call)>>>(a, parts);
	return launch_join(a, parts, stream_of(call));
}

} // namespace latent
} // namespace triad
#endif
