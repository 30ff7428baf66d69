// whole_tiled.cuh: attention over latent rows without tensor cores, tiles of rows and keys in shared memory, in fp32.
// Pipeline: forward, 16 rows a block: 16 keys to shared memory -> a thread a pair: its score; the 16 lanes of a row have its maximum and its total ->
// weights -> two columns of all rows a thread. Backward, 16 rows and 8 keys, of which one stays and the other streams by: half of the threads make
// q . c of a pair, the others grad_o . v -> P and dS -> three columns of the result a thread.
#ifndef TRIAD_LATENT_WHOLE_TILED_CUH
#define TRIAD_LATENT_WHOLE_TILED_CUH
#include "latent/whole_naive.cuh"

namespace triad {
namespace mla {

constexpr int tile_threads = 256, tile_rows = 16, forward_keys = 16, backward_keys = 8, tiled_dim = 576, tiled_dim_v = 2 * tile_threads;
constexpr int tiled_columns = 3; // of a thread, in a gradient

// A row in shared memory is four elements longer than it need be, so that eight lanes read a quad of different rows from different banks.
__host__ __device__ inline int stride_of(int columns) { return (columns + 3) / 4 * 4 + 4; }

// load_tile copies rows of a view from `first` on in fp32, zeros beyond `end` and beyond the columns.
template <int Rows, class T> __device__ void load_tile(float *tile, const View<T> &from, int64_t b, int first, int end, int columns) {
	const int stride = stride_of(columns);
	for (int i = static_cast<int>(threadIdx.x); i < Rows * stride; i += tile_threads) {
		const int r = i / stride, c = i % stride;
		tile[i] = first + r < end && c < columns ? from.at(b, first + r, c) : 0.0f;
	}
}

// dot_of is the product of two rows in shared memory.
__device__ inline float dot_of(const float *x, const float *y, int columns) {
	float sum[4] = {};
	for (int c = 0; c < columns; c += 4) {
		const float4 a = *reinterpret_cast<const float4 *>(x + c), b = *reinterpret_cast<const float4 *>(y + c);
		sum[0] = fmaf(a.x, b.x, sum[0]);
		sum[1] = fmaf(a.y, b.y, sum[1]);
		sum[2] = fmaf(a.z, b.z, sum[2]);
		sum[3] = fmaf(a.w, b.w, sum[3]);
	}
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class T> __global__ void __launch_bounds__(tile_threads) tiled_forward(Forward<T> a, int tiles) {
	extern __shared__ __align__(16) float tiled_memory[];
	__shared__ __align__(16) float weight[forward_keys][tile_rows];
	__shared__ float decay[tile_rows], whole[tile_rows];
	const Shape &s = a.s;
	const int64_t b = blockIdx.x / tiles;
	const int first = (tiles - 1 - static_cast<int>(blockIdx.x % tiles)) * tile_rows, t = static_cast<int>(threadIdx.x); // long rows come first
	const int stride = stride_of(s.dim), r = t / forward_keys, x = t % forward_keys, row = first + r;
	const int keys = s.visible(min(first + tile_rows, s.rows()) - 1), seen = row < s.rows() ? s.visible(row) : 0;
	float *const q = tiled_memory, *const kv = q + tile_rows * stride;
	float sum[2][tile_rows] = {}, max = -INFINITY, total = 0;
	load_tile<tile_rows>(q, a.q, b, first, s.rows(), s.dim);
	for (int start = 0; start < keys; start += forward_keys) {
		load_tile<forward_keys>(kv, a.kv, b, start, s.keys, s.dim);
		__syncthreads();
		const float score = start + x < seen ? dot_of(q + r * stride, kv + x * stride, s.dim) * s.scale : -INFINITY;
		const float top = fmaxf(max, warp_reduce<forward_keys>(score, Max())), e = expf(score - base(top)), fall = expf(max - base(top));
		total = total * fall + warp_reduce<forward_keys>(e, Sum());
		max = top;
		weight[x][r] = e;
		if (x == 0) decay[r] = fall;
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 2; k++) {
			const int c = t + k * tile_threads;
			if (c >= s.dim_v) break;
			float part[tile_rows] = {};
#pragma unroll 2
			for (int j = 0; j < forward_keys; j++) {
				const float v = kv[j * stride + c];
#pragma unroll
				for (int i = 0; i < tile_rows; i++) part[i] = fmaf(weight[j][i], v, part[i]);
			}
#pragma unroll
			for (int i = 0; i < tile_rows; i++) sum[k][i] = fmaf(sum[k][i], decay[i], part[i]);
		}
		__syncthreads(); // the tile and the weights have been read
	}
	if (x == 0) whole[r] = total;
	if (x == 0 && row < s.rows() && a.lse != nullptr) a.lse[s.statistic(b, row)] = seen > 0 ? log_of(max, total) : -INFINITY;
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 2; k++)
#pragma unroll
		for (int i = 0; i < tile_rows; i++) {
			const int c = t + k * tile_threads;
			if (c < s.dim_v && first + i < s.rows())
				a.o[(b * s.rows() + first + i) * s.dim_v + c] = from_float<T>(s.visible(first + i) > 0 ? sum[k][i] / whole[i] : 0.0f);
		}
}

// TiledPairs is what lies in shared memory before the tiles: of each key and row of a step.
struct TiledPairs {
	float score[backward_keys][tile_rows], grad_p[backward_keys][tile_rows]; // then P and dS
	float lse[tile_rows], delta[tile_rows];
};

template <class T, bool OfKeys> __global__ void __launch_bounds__(tile_threads) tiled_gradient(Backward<T> a, int tiles) {
	extern __shared__ __align__(16) float tiled_memory[];
	__shared__ __align__(16) TiledPairs pairs;
	const Shape &s = a.s;
	const int64_t b = blockIdx.x / tiles;
	const int tile = static_cast<int>(blockIdx.x % tiles), t = static_cast<int>(threadIdx.x), stride = stride_of(s.dim), stride_v = stride_of(s.dim_v);
	const int own = (OfKeys ? tile : tiles - 1 - tile) * (OfKeys ? backward_keys : tile_rows);
	const int end = OfKeys ? s.rows() : s.visible(min(own + tile_rows, s.rows()) - 1);
	float *const q = tiled_memory, *const g = q + tile_rows * stride, *const kv = g + tile_rows * stride_v;
	const int x = t % backward_keys, r = t / backward_keys % tile_rows;
	constexpr int results = OfKeys ? backward_keys : tile_rows, step = OfKeys ? tile_rows : backward_keys;
	float sum[tiled_columns][results] = {};
	const auto load_rows = [&](int first) {
		load_tile<tile_rows>(q, a.q, b, first, s.rows(), s.dim);
		load_tile<tile_rows>(g, a.grad_o, b, first, s.rows(), s.dim_v);
		if (t < tile_rows && first + t < s.rows()) pairs.lse[t] = a.lse[s.statistic(b, first + t)], pairs.delta[t] = a.delta[b * s.rows() + first + t];
	};
	if (OfKeys) load_tile<backward_keys>(kv, a.kv, b, own, s.keys, s.dim);
	else load_rows(own);
	for (int start = OfKeys ? s.first_row(own) / tile_rows * tile_rows : 0; start < end; start += step) {
		if (OfKeys) load_rows(start);
		else load_tile<backward_keys>(kv, a.kv, b, start, s.keys, s.dim);
		__syncthreads();
		const int row = (OfKeys ? start : own) + r, key = (OfKeys ? own : start) + x;
		if (t < tile_threads / 2) pairs.score[x][r] = dot_of(q + r * stride, kv + x * stride, s.dim) * s.scale;
		else pairs.grad_p[x][r] = dot_of(g + r * stride_v, kv + x * stride, s.dim_v);
		__syncthreads();
		if (t < tile_threads / 2) {
			const bool seen = row < s.rows() && key < s.visible(row);
			const float p = seen ? weight_of(pairs.score[x][r], pairs.lse[r]) : 0.0f;
			pairs.score[x][r] = p;
			pairs.grad_p[x][r] = seen ? p * (pairs.grad_p[x][r] - pairs.delta[r]) * s.scale : 0.0f;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < tiled_columns; k++) {
			const int c = t + k * tile_threads;
			if (c >= s.dim) break;
			float part[results] = {};
#pragma unroll 2
			for (int y = 0; y < step; y++) {
				const float other = OfKeys ? q[y * stride + c] : kv[y * stride + c];
#pragma unroll
				for (int i = 0; i < results; i++) part[i] = fmaf(OfKeys ? pairs.grad_p[i][y] : pairs.grad_p[y][i], other, part[i]);
				if (!OfKeys || c >= s.dim_v) continue;
#pragma unroll
				for (int i = 0; i < results; i++) part[i] = fmaf(pairs.score[i][y], g[y * stride_v + c], part[i]);
			}
#pragma unroll
			for (int i = 0; i < results; i++) sum[k][i] += part[i];
		}
		__syncthreads(); // the tile and the pairs have been read
	}
	T *const to = OfKeys ? a.grad_kv : a.grad_q;
	const int count = OfKeys ? s.keys : s.rows();
#pragma unroll
	for (int k = 0; k < tiled_columns; k++)
#pragma unroll
		for (int i = 0; i < results; i++)
			if (t + k * tile_threads < s.dim && own + i < count) to[(b * count + own + i) * s.dim + t + k * tile_threads] = from_float<T>(sum[k][i]);
}

inline int forward_bytes(const Shape &s) { return (tile_rows + forward_keys) * stride_of(s.dim) * static_cast<int>(sizeof(float)); }

inline int backward_bytes(const Shape &s) {
	return ((tile_rows + backward_keys) * stride_of(s.dim) + tile_rows * stride_of(s.dim_v)) * static_cast<int>(sizeof(float));
}

// launch_tiles starts a block for each tile of `each` rows or keys of every batch entry.
template <class Kernel, class Call> int launch_tiles(Kernel kernel, const Call &a, int count, int each, int bytes, cudaStream_t stream) {
	const int tiles = (count + each - 1) / each;
	if (a.s.batch * tiles == 0) return TRIAD_OK;
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return status;
	kernel<<<static_cast<unsigned>(a.s.batch * tiles), tile_threads, static_cast<size_t>(bytes), stream>>>(a, tiles);
	return launched();
}

template <class T> int forward_tiled(const triad_call *call) {
	const Forward<T> a(call);
	return launch_tiles(tiled_forward<T>, a, a.s.rows(), tile_rows, forward_bytes(a.s), stream_of(call));
}

template <class T> int backward_tiled(const triad_call *call) {
	const Backward<T> a(call);
	const cudaStream_t stream = stream_of(call);
	const int bytes = backward_bytes(a.s);
	if (const int status = launch_delta(a, stream)) return status;
	if (a.grad_q)
		if (const int status = launch_tiles(tiled_gradient<T, false>, a, a.s.rows(), tile_rows, bytes, stream)) return status;
	return a.grad_kv ? launch_tiles(tiled_gradient<T, true>, a, a.s.keys, backward_keys, bytes, stream) : TRIAD_OK;
}

} // namespace mla
} // namespace triad
#endif
