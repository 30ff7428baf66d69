// fp32_tile.cuh: the tiles of attention kernels that keep the score matrix on chip. 128 threads, 16 rows by 8 columns of them, work on
// a tile whose 16 * R rows stay while tiles of 8 * C rows stream by. Thread (ty, tx) owns rows ty + 16 r and, of a score tile, columns
// tx + 8 c; of a result with head_dim columns it owns the quads that begin at 32 c + 4 tx. So the eight threads of a row are neighbours
// in a warp, and neither reading nor writing shared memory makes two lanes meet in a bank (rows are four elements longer than head_dim).
#ifndef TRIAD_FLASH_ATTENTION_FP32_TILE_CUH
#define TRIAD_FLASH_ATTENTION_FP32_TILE_CUH
#include "call.cuh"
#include "pack.cuh"
#include "register.cuh"

namespace triad {

constexpr int tile_threads = 128, tile_cols = 8, tile_rows = tile_threads / tile_cols;

// Tiling fixes the sizes for head dimensions up to HeadDim: R rows and C columns of a score tile a thread.
template <int HeadDim, int R, int C> struct Tiling {
	static constexpr int head_dim = HeadDim, r = R, c = C;
	static constexpr int rows = tile_rows * R, cols = tile_cols * C; // of the tile that stays; of the tile that streams by
	static constexpr int stride = HeadDim + 4, score_stride = cols + 4;
	static constexpr int own = HeadDim / tile_cols;                  // columns of a result row that one thread owns
	static constexpr int row_floats = rows * stride, col_floats = cols * stride, score_floats = rows * score_stride;
};

__device__ inline float4 read4(const float *from) { return *reinterpret_cast<const float4 *>(from); }

// load_rows copies rows first .. first + Rows of a head to tile[Rows][Stride] in fp32; what lies beyond the tensor is zero.
template <int Rows, int HeadDim, class T>
__device__ inline void load_rows(float *tile, const HeadRows<T> &from, int first, int rows, int head_dim) {
	for (int i = static_cast<int>(threadIdx.x); i < Rows * HeadDim / 4; i += tile_threads) {
		const int row = i / (HeadDim / 4), col = i % (HeadDim / 4) * 4;
		float quad[4] = {0, 0, 0, 0};
		if (first + row < rows && col < head_dim) {
			if (from.packed) {
				load(from.data + (first + row) * from.row_stride + col, quad);
			} else {
#pragma unroll
				for (int e = 0; e < 4; e++) quad[e] = from.at(first + row, col + e);
			}
		}
		*reinterpret_cast<float4 *>(tile + row * (HeadDim + 4) + col) = make_float4(quad[0], quad[1], quad[2], quad[3]);
	}
}

// dot_rows: s[r][c] = sum over d of a[ty + 16 r][d] * b[tx + 8 c][d].
template <class Tile> __device__ inline void dot_rows(float (&s)[Tile::r][Tile::c], const float *a, const float *b, int head_dim) {
	const int ty = static_cast<int>(threadIdx.x) / tile_cols, tx = static_cast<int>(threadIdx.x) % tile_cols;
#pragma unroll
	for (int r = 0; r < Tile::r; r++)
#pragma unroll
		for (int c = 0; c < Tile::c; c++) s[r][c] = 0;
#pragma unroll 2
	for (int d = 0; d < head_dim; d += 4) {
		float4 y[Tile::c];
#pragma unroll
		for (int c = 0; c < Tile::c; c++) y[c] = read4(b + (tx + tile_cols * c) * Tile::stride + d);
#pragma unroll
		for (int r = 0; r < Tile::r; r++) {
			const float4 x = read4(a + (ty + tile_rows * r) * Tile::stride + d);
#pragma unroll
			for (int c = 0; c < Tile::c; c++) {
				s[r][c] += x.x * y[c].x;
				s[r][c] += x.y * y[c].y;
				s[r][c] += x.z * y[c].z;
				s[r][c] += x.w * y[c].w;
			}
		}
	}
}

__device__ inline void add_product(float (&sum)[4], float w, const float4 &x) {
	sum[0] += w * x.x;
	sum[1] += w * x.y;
	sum[2] += w * x.z;
	sum[3] += w * x.w;
}

// add_weighted: sum[r][d] = decay[r] * sum[r][d] + sum over j of w[ty + 16 r][j] * x[j][d], for the columns d that the thread owns.
// The products of one tile are added up before they meet the running sum: its error grows with the number of tiles, not of rows.
template <class Tile>
__device__ inline void add_weighted(float (&sum)[Tile::r][Tile::own], const float (&decay)[Tile::r], const float *w, const float *x,
                                    int head_dim) {
	const int ty = static_cast<int>(threadIdx.x) / tile_cols, tx = static_cast<int>(threadIdx.x) % tile_cols;
#pragma unroll
	for (int c = 0; c < Tile::own / 4; c++) {
		if (c * 32 >= head_dim) break;
		float part[Tile::r][4] = {};
#pragma unroll 2
		for (int j = 0; j < Tile::cols; j += 4) {
			float4 y[4];
#pragma unroll
			for (int e = 0; e < 4; e++) y[e] = read4(x + (j + e) * Tile::stride + c * 32 + tx * 4);
#pragma unroll
			for (int r = 0; r < Tile::r; r++) {
				const float4 v = read4(w + (ty + tile_rows * r) * Tile::score_stride + j);
				add_product(part[r], v.x, y[0]);
				add_product(part[r], v.y, y[1]);
				add_product(part[r], v.z, y[2]);
				add_product(part[r], v.w, y[3]);
			}
		}
#pragma unroll
		for (int r = 0; r < Tile::r; r++)
#pragma unroll
			for (int e = 0; e < 4; e++) sum[r][c * 4 + e] = sum[r][c * 4 + e] * decay[r] + part[r][e];
	}
}

// store_rows writes factor[r] * sum[r][...] to rows first + ty + 16 r of to[rows, head_dim]; rows beyond the tensor are left out.
template <class Tile, class T>
__device__ inline void store_rows(T *to, const float (&sum)[Tile::r][Tile::own], const float (&factor)[Tile::r], int first, int rows,
                                  int head_dim) {
	const int ty = static_cast<int>(threadIdx.x) / tile_cols, tx = static_cast<int>(threadIdx.x) % tile_cols;
#pragma unroll
	for (int r = 0; r < Tile::r; r++) {
		const int row = first + ty + tile_rows * r;
#pragma unroll
		for (int i = 0; i < Tile::own; i++) {
			const int col = i / 4 * 32 + tx * 4 + i % 4;
			if (row < rows && col < head_dim) to[static_cast<int64_t>(row) * head_dim + col] = from_float<T>(sum[r][i] * factor[r]);
		}
	}
}

// launch_tiles starts one block per tile of `rows` rows of every head, with `floats` floats of dynamic shared memory.
template <class Kernel, class... Arguments>
int launch_tiles(Kernel kernel, int tile, int rows, int64_t heads, int floats, cudaStream_t stream, Arguments... arguments) {
	const int64_t blocks = (rows + tile - 1) / tile * heads, bytes = floats_bytes(floats);
	if (blocks == 0) return TRIAD_OK;
	if (const int status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))) return status;
	kernel<<<static_cast<unsigned>(blocks), tile_threads, static_cast<size_t>(bytes), stream>>>(arguments...);
	return launched();
}

} // namespace triad
#endif
