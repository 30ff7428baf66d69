// fp8_columns.cuh: numbers of a matrix in fp8 with a scale for each column, as rows of the transpose: what fp8_quantize.cuh's naive kernels do with a
// transposed matrix and a scale for each row, with reads of whole rows.
//   columns   a block finds the largest magnitude of 128 columns in a band of rows
//   join      a thread finds a column's scale from all bands
//   turn      a block writes the codes of a tile of 128 x 128 through shared memory
// Each number is read twice. The matrix is dense, its rows whole vectors.
#ifndef TRIAD_FP8_COLUMNS_CUH
#define TRIAD_FP8_COLUMNS_CUH
#include "fp8_quantize.cuh"

namespace triad::quantize {

constexpr int band = 256; // rows that a block of `columns` looks at

template <class T> __global__ void __launch_bounds__(threads) fp8_columns_kernel(const T *x, Magnitude *largest, int64_t rows, int64_t cols) {
	constexpr int V = vector<T>, lanes = side / V, at_once = threads / lanes, W = PackMagnitude<T>::columns;
	__shared__ Magnitude found[at_once][side];
	const int row = static_cast<int>(threadIdx.x) / lanes, col = static_cast<int>(threadIdx.x) % lanes * V;
	const int64_t left = blockIdx.x * static_cast<int64_t>(side), top = blockIdx.y * static_cast<int64_t>(band);
	PackMagnitude<T> own[V / W];
	if (left + col < cols)
#pragma unroll 8
		for (int64_t r = top + row; r < min(rows, top + band); r += at_once) {
			const Raw<T> held = fetch<V>(x + r * cols + left + col);
#pragma unroll
			for (int w = 0; w < V / W; w++) own[w].take(word(held, w));
		}
#pragma unroll
	for (int i = 0; i < V; i++) found[row][col + i] = own[i / W].column(i % W);
	__syncthreads();
	const int mine = static_cast<int>(threadIdx.x);
	if (mine >= side || left + mine >= cols) return;
	Magnitude most = {};
#pragma unroll
	for (int i = 0; i < at_once; i++) most = Largest{}(most, found[i][mine]);
	largest[blockIdx.y * cols + left + mine] = most;
}

__global__ void __launch_bounds__(threads) fp8_columns_join_kernel(const Magnitude *largest, int64_t bands, int64_t cols, Fp8Recipe rules,
                                                                   float *scale, float *factors) {
	const int64_t col = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (col >= cols) return;
	Magnitude most = {};
	for (int64_t i = 0; i < bands; i++) most = Largest{}(most, largest[i * cols + col]);
	scale[col] = rules.scale(most, factors[col]);
}

template <class T>
__global__ void __launch_bounds__(threads) fp8_columns_turn_kernel(const T *x, uint8_t *q_t, const float *factors, Fp8Recipe rules, int64_t rows,
                                                                   int64_t cols) {
	using Tile = TurnedTile<side, threads, T>;
	constexpr int V = vector<T>, lanes = side / V;
	extern __shared__ __align__(16) unsigned char memory[];
	T *const tile = reinterpret_cast<T *>(memory);
	const int64_t left = blockIdx.x * static_cast<int64_t>(side), top = blockIdx.y * static_cast<int64_t>(side);
	const int col = static_cast<int>(threadIdx.x) % lanes * V;
#pragma unroll
	for (int row = static_cast<int>(threadIdx.x) / lanes; row < side; row += threads / lanes)
		*reinterpret_cast<Raw<T> *>(tile + row * side + col) =
		    left + col < cols && top + row < rows ? fetch<V>(x + (top + row) * cols + left + col) : Raw<T>{};
	__syncthreads();
	const Tile own(tile);
	float of_column[Tile::W];
#pragma unroll
	for (int w = 0; w < Tile::W; w++) of_column[w] = left + own.c + w < cols ? factors[left + own.c + w] : 0.0f;
	own.put_columns(q_t + left * rows + top, rows, min(cols - left, static_cast<int64_t>(side)), min(rows - top, static_cast<int64_t>(side)), rules,
	                of_column);
}

// launch_columns writes q_t and scale_t of a call whose groups are the columns of x.
template <class T> int launch_columns(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1], bands = (rows + band - 1) / band;
	if (cols == 0) return TRIAD_OK;
	const T *x = static_cast<const T *>(call->in[0].data);
	const Outputs out(call, nullptr);
	float *factors = static_cast<float *>(call->workspace);
	Magnitude *largest = static_cast<Magnitude *>(call->workspace) + cols;
	const unsigned across = blocks_for(cols, side);
	const cudaStream_t stream = stream_of(call);
	if (rows > 0) fp8_columns_kernel<T><<<dim3(across, static_cast<unsigned>(bands)), threads, 0, stream>>>(x, largest, rows, cols);
	fp8_columns_join_kernel<<<blocks_for(cols, threads), threads, 0, stream>>>(largest, bands, cols, recipe_of(call), out.scale_t, factors);
	if (rows == 0) return launched();
	constexpr int bytes = side * side * static_cast<int>(sizeof(T));
	if (const int status = cudaFuncSetAttribute(fp8_columns_turn_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return status;
	fp8_columns_turn_kernel<T><<<dim3(across, blocks_for(rows, side)), threads, bytes, stream>>>(x, out.q_t, factors, recipe_of(call), rows, cols);
	return launched();
}

// The workspace of launch_columns: a factor of each column, and its largest magnitude in each band.
inline int64_t magnitudes_of_columns(int64_t rows, int64_t cols) {
	return cols * (1 + (rows + band - 1) / band) * static_cast<int64_t>(sizeof(float));
}

} // namespace triad::quantize
#endif
