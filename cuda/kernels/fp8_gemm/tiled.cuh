// tiled.cuh: the products of fp8_gemm on ordinary cores, and what a call says of its products; for fp8_linear and grouped_fp8_gemm too.
#ifndef TRIAD_FP8_GEMM_TILED_CUH
#define TRIAD_FP8_GEMM_TILED_CUH
#include <algorithm>

#include "element.cuh"
#include "product.cuh"
#include "register.cuh"

namespace triad {

// An element of the product.
template <int32_t FormatA, int32_t FormatB> __device__ inline float naive_element(const Product &p, int64_t row, int64_t col) {
	const uint8_t *a = p.a.codes + row * p.a.row_stride, *b = p.b.codes + col * p.b.row_stride;
	float sum = 0;
	for (int64_t k0 = 0; k0 < p.k; k0 += scale_block) {
		const int64_t end = min(p.k, k0 + scale_block), block = k0 / scale_block;
		float part = 0;
		for (int64_t k = k0; k < end; k++)
			part += decode_fp8<FormatA>(a[k * p.a.k_stride]) * decode_fp8<FormatB>(b[k * p.b.k_stride]);
		sum += scaled(part, split_scale(p.scale_a.at(row, block)), split_scale(p.scale_b.at(col, block)));
	}
	return sum;
}

template <int32_t FormatA, int32_t FormatB>
__global__ void product_naive(Product p) {
	const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
	if (i >= p.m * p.n) return;
	store_element(p.c, p.out, i, naive_element<FormatA, FormatB>(p, i / p.n, i % p.n));
}

// Shape of a tiled block: m x n elements of c, rows x cols of them a thread, k of the reduction at a time.
template <int TileM, int TileN, int TileK, int Rows, int Cols>
struct Tile {
	static constexpr int m = TileM, n = TileN, k = TileK, rows = Rows, cols = Cols;
	static constexpr int threads = m / rows * (n / cols);
	static constexpr int fetched = 16;   // codes of each operand that a thread fetches: one 16-byte access where alignment permits
	static_assert(m * k == fetched * threads && n * k == fetched * threads, "every thread fetches 16 codes of each operand");
	static_assert(scale_block % k == 0, "a step must not straddle two scale blocks");
};
using DefaultTile = Tile<64, 64, 32, 8, 4>;

// Writes 16 codes as values into one column of tile[k][row].
template <int32_t Format, int Stride>
__device__ void decode_into(float (*tile)[Stride], int k, int row, const Codes &codes) {
#pragma unroll
	for (int i = 0; i < 16; i++) tile[k + i][row] = decode_fp8<Format>(codes.word[i / 4] >> (i % 4 * 8) & 0xFFu);
}

// sum += part, scaled for scale block `block` of the rows and columns from (row, col) on; part becomes zero.
template <class T>
__device__ void promote(float (&sum)[T::rows][T::cols], float (&part)[T::rows][T::cols], const Product &p, int64_t row, int64_t col,
		int64_t block) {
	SplitScale b[T::cols];
#pragma unroll
	for (int j = 0; j < T::cols; j++) b[j] = split_scale(p.scale_b.at(min(col + j, p.n - 1), block));
#pragma unroll
	for (int i = 0; i < T::rows; i++) {
		const SplitScale a = split_scale(p.scale_a.at(min(row + i, p.m - 1), block));
#pragma unroll
		for (int j = 0; j < T::cols; j++) {
			sum[i][j] += scaled(part[i][j], a, b[j]);
			part[i][j] = 0;
		}
	}
}

// A block's tile of c from (m0, n0) on, over the reduction from k_begin (a multiple of scale_block) to k_end: each thread hands its sums inside c to
// store(row, col, sum).
template <int32_t FormatA, int32_t FormatB, class T, class Store>
__device__ inline void tile_product(const Product &p, int64_t m0, int64_t n0, int64_t k_begin, int64_t k_end, Store store) {
	__shared__ __align__(16) float a_tile[T::k][T::m + 4];
	__shared__ __align__(16) float b_tile[T::k][T::n + 4];
	const int t = static_cast<int>(threadIdx.x);
	const int a_row = t % T::m, a_k = t / T::m * T::fetched, b_row = t % T::n, b_k = t / T::n * T::fetched;
	const int row = t / (T::n / T::cols) * T::rows, col = t % (T::n / T::cols) * T::cols;
	float sum[T::rows][T::cols] = {}, part[T::rows][T::cols] = {};
	Codes a_next = fetch_codes(p.a, p.m, m0 + a_row, k_begin + a_k, k_end);
	Codes b_next = fetch_codes(p.b, p.n, n0 + b_row, k_begin + b_k, k_end);
	for (int64_t k0 = k_begin; k0 < k_end; k0 += T::k) {
		decode_into<FormatA>(a_tile, a_k, a_row, a_next);
		decode_into<FormatB>(b_tile, b_k, b_row, b_next);
		__syncthreads();
		a_next = fetch_codes(p.a, p.m, m0 + a_row, k0 + T::k + a_k, k_end);   // in flight while this step is computed
		b_next = fetch_codes(p.b, p.n, n0 + b_row, k0 + T::k + b_k, k_end);
#pragma unroll 8
		for (int k = 0; k < T::k; k++)
#pragma unroll
			for (int i = 0; i < T::rows; i++)
#pragma unroll
				for (int j = 0; j < T::cols; j++) part[i][j] += a_tile[k][row + i] * b_tile[k][col + j];
		if ((k0 + T::k) % scale_block == 0 || k0 + T::k >= k_end) promote<T>(sum, part, p, m0 + row, n0 + col, k0 / scale_block);
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < T::rows; i++)
#pragma unroll
		for (int j = 0; j < T::cols; j++) {
			const int64_t r = m0 + row + i, c = n0 + col + j;
			if (r < p.m && c < p.n) store(r, c, sum[i][j]);
		}
}

// Block (x, y) computes tile x of c over the y-th part of the reduction, k_part long (a multiple of scale_block): into c where partials
// is null, else in fp32 into partials[y][m][n].
template <int32_t FormatA, int32_t FormatB, class T>
__global__ void __launch_bounds__(T::threads) product_tiled(Product p, int64_t k_part, float *partials) {
	const int64_t tiles_n = (p.n + T::n - 1) / T::n, k_begin = blockIdx.y * k_part;
	tile_product<FormatA, FormatB, T>(p, blockIdx.x / tiles_n * T::m, blockIdx.x % tiles_n * T::n, k_begin, min(p.k, k_begin + k_part),
	                                  [&](int64_t row, int64_t col, float sum) {
		                                  if (partials) partials[(blockIdx.y * p.m + row) * p.n + col] = sum;
		                                  else store_element(p.c, p.out, row * p.n + col, sum);
	                                  });
}

// ---- launches

constexpr int flat_threads = 128;

inline Fp8Matrix matrix_of(const triad_tensor &x) { return {static_cast<const uint8_t *>(x.data), x.stride[0], x.stride[1]}; }

// The scales of an operand; row_group is how many of its rows share one under block scaling.
inline Fp8Scale scale_of(const triad_tensor &x, int scaling, int64_t row_group) {
	const float *data = static_cast<const float *>(x.data);
	if (scaling == tensor_scaling) return {data, 1, 0, 0};
	if (scaling == row_scaling) return {data, 1, x.stride[0], 0};
	return {data, row_group, x.stride[0], x.stride[1]};
}

// The i-th product of a call of fp8_gemm: a forward has one, a backward two, each of four inputs and one output. Under block scaling 128 rows of b
// share a scale, or each has its own.
inline Product product_of(const triad_call *call, int i) {
	const triad_tensor *in = call->in + 4 * i;
	const int scaling = static_cast<int>(call->attr[scaling_attribute]);
	return {matrix_of(in[0]), matrix_of(in[2]), scale_of(in[1], scaling, 1), scale_of(in[3], scaling, in[3].shape[0] == in[2].shape[0] ? 1 : scale_block),
		in[0].shape[0], in[2].shape[0], in[0].shape[1], call->out[i].data, call->out[i].dtype, scaling};
}

struct Naive {
	template <int32_t FormatA, int32_t FormatB>
	static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		const unsigned blocks = static_cast<unsigned>(ceil_div(p.m * p.n, flat_threads));
		product_naive<FormatA, FormatB><<<blocks, flat_threads, 0, stream>>>(p);
		return launched();
	}
};

template <class T>
inline dim3 tile_grid(const Product &p, int64_t splits) {
	return dim3(static_cast<unsigned>(ceil_div(p.m, T::m) * ceil_div(p.n, T::n)), static_cast<unsigned>(splits));
}

struct Tiled {
	template <int32_t FormatA, int32_t FormatB>
	static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		const int64_t whole = std::max<int64_t>(1, p.k);
		product_tiled<FormatA, FormatB, DefaultTile><<<tile_grid<DefaultTile>(p, 1), DefaultTile::threads, 0, stream>>>(p, whole, nullptr);
		return launched();
	}
};

// Runs every product of the call whose output is wanted and has elements. WideB: b may be e5m2.
template <class Variant, bool WideB = true>
int launch_products(const triad_call *call) {
	const cudaStream_t stream = stream_of(call);
	for (int i = 0; i < call->n_out; i++) {
		const Product p = product_of(call, i);
		if (!p.c || p.m == 0 || p.n == 0) continue;
		int status = TRIAD_UNSUPPORTED;
		if (call->in[4 * i].dtype == TRIAD_E5M2)
			status = Variant::template launch<TRIAD_E5M2, TRIAD_E4M3>(p, call, stream);
		else if (call->in[4 * i + 2].dtype == TRIAD_E4M3)
			status = Variant::template launch<TRIAD_E4M3, TRIAD_E4M3>(p, call, stream);
		else if constexpr (WideB)
			status = Variant::template launch<TRIAD_E4M3, TRIAD_E5M2>(p, call, stream);
		if (status != TRIAD_OK) return status;
	}
	return TRIAD_OK;
}

} // namespace triad
#endif
