// layernorm_backward.cuh: the kernels of layernorm's backward pass; cuda/kernels/layernorm.cu has the formula and launches them. First the rows:
// dx, and the sums of dw and db over the rows of each group of threads; then a kernel that adds the groups' sums.
#ifndef TRIAD_LAYERNORM_BACKWARD_CUH
#define TRIAD_LAYERNORM_BACKWARD_CUH
#include <cstring>
#include <type_traits>

#include "element.cuh"
#include "hopper/finish.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "rows.cuh"

namespace triad {
namespace layernorm {

template <class T> struct Saved {
	Rows<const T> x, dy;
	const T *weight;
	const float *mean, *rstd;
};

// The sums over rows, fp32, [groups, 2, cols]: dw, then db. With `shared` set all groups add to one pair of rows, by atomics.
struct RowSums {
	float *data;
	bool shared;

	template <int V> __device__ void put(int64_t group, int64_t cols, int64_t col, const float (&dw)[V], const float (&db)[V]) const {
		if (shared) {
#pragma unroll
			for (int j = 0; j < V; j++) {
				atomicAdd(data + col + j, dw[j]);
				atomicAdd(data + cols + col + j, db[j]);
			}
		} else {
			float *to = data + group * 2 * cols + col;
			store(to, dw);
			store(to + cols, db);
		}
	}
};

__device__ inline float gradient(float weighted, float xhat, Two means, float rstd) {
	return rstd * (weighted - means.first - xhat * means.second);
}

// Raw is a pack as it waits for its use: 16 bytes in four registers, where 16-bit elements on their own would take one each.
template <class T, int V> using Raw = std::conditional_t<sizeof(Pack<T, V>) == sizeof(uint4), uint4, Pack<T, V>>;

// Unpacks without leaving the compiler the idea to keep the values from one use to the next: that is twice the registers.
template <class T, int V> __device__ inline void unpack_here(Raw<T, V> raw, float (&to)[V]) {
	Pack<T, V> pack;
	hopper::refresh(raw);
	memcpy(&pack, &raw, sizeof pack);
	unpack(pack, to);
}

// What a thread reads of a row: Packs packs of x and dy, Group packs apart, and the statistics. Beyond the last column the last pack comes
// again: with a branch around the load its elements would be registers of their own. Single elements are that anyway.
template <class T, int V, int Group, int Packs> struct Row {
	Raw<T, V> x[Packs], dy[Packs];
	float mean, rstd;

	__device__ void fetch(const Saved<T> &in, int64_t row, int cols) {
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int own = (static_cast<int>(threadIdx.x) % Group + p * Group) * V, c = V > 1 ? min(own, cols - V) : own;
			if (V == 1 && own >= cols) continue;
			x[p] = *reinterpret_cast<const Raw<T, V> *>(in.x.row(row) + c);
			dy[p] = *reinterpret_cast<const Raw<T, V> *>(in.dy.row(row) + c);
		}
		mean = in.mean[row];
		rstd = in.rstd[row];
	}
};

// Group threads take rows group, group + groups, ...; a thread keeps Items columns of dw and db in registers all the way. The next row is
// on its way while this one is reduced, where registers suffice for both.
template <class T, int V, int Group, int Items>
__global__ void __launch_bounds__(group_block<Group>, 512 / group_block<Group>)
    layernorm_bwd_kernel(Saved<T> in, T *dx, RowSums sums, int64_t rows, int cols) {
	constexpr int Packs = Items / V, GroupsPerBlock = group_block<Group> / Group;
	constexpr bool ahead = sizeof(T) == 2 && V > 1;
	static_assert(Group >= 32, "a group without a row leaves the loop, so it must not share a warp");
	__shared__ Two scratch[2][group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t group = blockIdx.x * static_cast<int64_t>(GroupsPerBlock) + threadIdx.x / Group;
	const int64_t groups = gridDim.x * static_cast<int64_t>(GroupsPerBlock);
	const float part = 1.0f / static_cast<float>(cols);
	float dw[Packs][V] = {}, db[Packs][V] = {};
	Row<T, V, Group, Packs> next;
	int turn = 0;
	if (ahead && group < rows) next.fetch(in, group, cols);
	for (int64_t row = group; row < rows; row += groups, turn ^= 1) {
		Row<T, V, Group, Packs> now;
		if constexpr (ahead) {
			now = next;
			next.fetch(in, row + groups < rows ? row + groups : row, cols);
		} else {
			now.fetch(in, row, cols);
		}
		Two mine = {0, 0};
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int c = (member + p * Group) * V;
			if (c < cols) {
				float x[V], dy[V], w[V];
				unpack_here<T>(now.x[p], x);
				unpack_here<T>(now.dy[p], dy);
				load(in.weight + c, w);
#pragma unroll
				for (int j = 0; j < V; j++) {
					const float xhat = (x[j] - now.mean) * now.rstd, weighted = w[j] * dy[j];
					dw[p][j] += dy[j] * xhat;
					db[p][j] += dy[j];
					mine.first += weighted;
					mine.second += weighted * xhat;
				}
			}
		}
		if (dx == nullptr) continue;
		Two means = group_reduce_in_turn<Group>(mine, SumTwo(), scratch[turn]);
		means = {means.first * part, means.second * part};
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int c = (member + p * Group) * V;
			if (c < cols) {
				float x[V], dy[V], w[V];
				unpack_here<T>(now.x[p], x);
				unpack_here<T>(now.dy[p], dy);
				load(in.weight + c, w);
#pragma unroll
				for (int j = 0; j < V; j++) x[j] = gradient(w[j] * dy[j], (x[j] - now.mean) * now.rstd, means, now.rstd);
				store(dx + row * cols + c, x);
			}
		}
	}
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int c = (member + p * Group) * V;
		if (c < cols) sums.put(group, cols, c, dw[p], db[p]);
	}
}

// Rows too long for registers, first half: dx, a block a row, two reads.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) layernorm_bwd_long_dx_kernel(Saved<T> in, T *dx, int64_t rows, int64_t cols) {
	__shared__ Two scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const float mean = in.mean[row], rstd = in.rstd[row];
		float x[V], dy[V], w[V];
		Two means = {0, 0};
		for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
			load(in.x.row(row) + c, x);
			load(in.dy.row(row) + c, dy);
			load(in.weight + c, w);
#pragma unroll
			for (int j = 0; j < V; j++) {
				means.first += w[j] * dy[j];
				means.second += w[j] * dy[j] * ((x[j] - mean) * rstd);
			}
		}
		means = block_reduce<Threads>(means, SumTwo(), scratch);
		means = {means.first / static_cast<float>(cols), means.second / static_cast<float>(cols)};
		for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
			load(in.x.row(row) + c, x);
			load(in.dy.row(row) + c, dy);
			load(in.weight + c, w);
#pragma unroll
			for (int j = 0; j < V; j++) x[j] = gradient(w[j] * dy[j], (x[j] - mean) * rstd, means, rstd);
			store(dx + row * cols + c, x);
		}
	}
}

// Second half: the sums over rows. blockIdx.x chooses the columns, V a thread; blockIdx.y is the group, which takes every gridDim.y-th row.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) layernorm_bwd_long_sums_kernel(Saved<T> in, RowSums sums, int64_t rows, int64_t cols) {
	const int64_t c = (blockIdx.x * static_cast<int64_t>(Threads) + threadIdx.x) * V;
	if (c >= cols) return;
	float dw[V] = {}, db[V] = {};
	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		const float mean = in.mean[row], rstd = in.rstd[row];
		float x[V], dy[V];
		load(in.x.row(row) + c, x);
		load(in.dy.row(row) + c, dy);
#pragma unroll
		for (int j = 0; j < V; j++) {
			dw[j] += dy[j] * ((x[j] - mean) * rstd);
			db[j] += dy[j];
		}
	}
	sums.put(blockIdx.y, cols, c, dw, db);
}

// Adds the groups' sums in a fixed order. Columns threads stand side by side, enough for a 32-byte access; every Lanes-th group falls to one of
// Lanes of them, whose sums a warp and then the block add up.
template <class T, int Columns, int Lanes>
__global__ void __launch_bounds__(Columns *Lanes) layernorm_bwd_finish_kernel(const float *sums, T *dw, T *db, int64_t groups, int64_t cols) {
	constexpr int warps = Columns * Lanes / warp_size;
	__shared__ Two part[warps][Columns];
	const int column = threadIdx.x % Columns, lane = threadIdx.x / Columns, warp = threadIdx.x / warp_size;
	const int64_t c = blockIdx.x * static_cast<int64_t>(Columns) + column;
	Two mine = {0, 0};
	if (c < cols) {
#pragma unroll 4
		for (int64_t g = lane; g < groups; g += Lanes) {
			mine.first += sums[g * 2 * cols + c];
			mine.second += sums[g * 2 * cols + cols + c];
		}
	}
#pragma unroll
	for (int other = Columns; other < warp_size; other *= 2) mine = SumTwo()(mine, shuffle_xor(mine, other));
	if (threadIdx.x % warp_size < Columns) part[warp][column] = mine;
	__syncthreads();
	if (threadIdx.x >= Columns || c >= cols) return;
	mine = part[0][column];
#pragma unroll
	for (int w = 1; w < warps; w++) mine = SumTwo()(mine, part[w][column]);
	if (dw != nullptr) dw[c] = from_float<T>(mine.first);
	if (db != nullptr) db[c] = from_float<T>(mine.second);
}

} // namespace layernorm
} // namespace triad
#endif
