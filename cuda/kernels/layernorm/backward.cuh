// backward.cuh: the kernels of layernorm's backward pass; cuda/kernels/layernorm.cu has the formula and launches them. First the rows:
// dx, and the sums of dw and db over the rows of each group of threads, which a kernel of row_sums.cuh adds up.
#ifndef TRIAD_LAYERNORM_BACKWARD_CUH
#define TRIAD_LAYERNORM_BACKWARD_CUH
#include <type_traits>

#include "element.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/finish.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "row_sums.cuh"
#include "rows.cuh"

namespace triad {
namespace layernorm {

template <class T> struct Saved {
	Rows<const T> x, dy;
	const T *weight;
	const float *mean, *rstd;
};

__device__ inline float gradient(float weighted, float xhat, Two means, float rstd) {
	return rstd * (weighted - means.first - xhat * means.second);
}

// Raw is a pack as it waits for its use: 16 bytes in four registers, where 16-bit elements on their own would take one each.
using Raw = uint4;

// The values of a pack. bfloat16 is the upper half of fp32: one instruction for each, where taking the element out first needs two.
template <class T, int V> __device__ inline void unpack_raw(Raw raw, float (&to)[V]) {
	static_assert(V == vector<T>, "16 bytes");
	if constexpr (std::is_same_v<T, __nv_bfloat16>) {
		const unsigned words[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
		for (int i = 0; i < 4; i++) {
			to[2 * i] = __uint_as_float(words[i] << 16);
			to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
		}
	} else {
		unpack<T>(raw, to);
	}
}

// Single elements, any alignment: Group threads take rows group, group + groups, ...; a thread keeps Items columns of dw and db in registers all
// the way.
template <class T, int Group, int Items>
__global__ void __launch_bounds__(group_block<Group>, 512 / group_block<Group>)
    layernorm_bwd_kernel(Saved<T> in, T *dx, RowSums<2> sums, int64_t rows, int cols) {
	constexpr int GroupsPerBlock = group_block<Group> / Group;
	static_assert(Group >= 32, "a group without a row leaves the loop, so it must not share a warp");
	__shared__ Two scratch[2][group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t group = blockIdx.x * static_cast<int64_t>(GroupsPerBlock) + threadIdx.x / Group;
	const int64_t groups = gridDim.x * static_cast<int64_t>(GroupsPerBlock);
	const float part = 1.0f / static_cast<float>(cols);
	float dw[Items] = {}, db[Items] = {};
	int turn = 0;
	for (int64_t row = group; row < rows; row += groups, turn ^= 1) {
		const float mean = in.mean[row], rstd = in.rstd[row];
		T x[Items], dy[Items];
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = member + i * Group;
			if (c >= cols) continue;
			x[i] = in.x.row(row)[c];
			dy[i] = in.dy.row(row)[c];
		}
		Two mine = {0, 0};
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = member + i * Group;
			if (c >= cols) continue;
			const float xhat = (to_float(x[i]) - mean) * rstd, weighted = to_float(in.weight[c]) * to_float(dy[i]);
			dw[i] += to_float(dy[i]) * xhat;
			db[i] += to_float(dy[i]);
			mine.first += weighted;
			mine.second += weighted * xhat;
		}
		if (dx == nullptr) continue;
		Two means = group_reduce_in_turn<Group>(mine, SumTwo(), scratch[turn]);
		means = {means.first * part, means.second * part};
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = member + i * Group;
			if (c < cols)
				dx[row * cols + c] = from_float<T>(gradient(to_float(in.weight[c]) * to_float(dy[i]), (to_float(x[i]) - mean) * rstd, means, rstd));
		}
	}
#pragma unroll
	for (int i = 0; i < Items; i++) {
		const int c = member + i * Group;
		if (c >= cols) continue;
		sums.put(group, 0, cols, c, {dw[i]});
		sums.put(group, 1, cols, c, {db[i]});
	}
}

// How a ring kernel spreads its work: blocks of 512 threads, one a multiprocessor; Group threads share a row and keep Items columns of dw and db
// each. Stages rows a group are on their way in shared memory: more than two, or more threads, were slower on an H200.
template <class T, int Group_, int Items_, int Stages_ = 2> struct RingShape {
	using Element = T;
	static constexpr int Threads = 512, Stages = Stages_, Group = Group_, Items = Items_, Groups = Threads / Group, Warps = Group / warp_size;
	static constexpr int V = vector<T>, Packs = Items / V, cols = Group * Items; // at most
	static constexpr bool KeepRow = Items <= 16; // in registers between its two uses; else it is read from shared memory again
	static constexpr int bytes = Stages * 2 * Packs * Threads * 16;            // dynamic shared memory
	static constexpr int scratch_floats = 2 * Groups * 2 * Warps;              // static shared memory
	static constexpr int shared_bytes = bytes + scratch_floats * static_cast<int>(sizeof(float));
	static_assert(KeepRow || Stages > 1, "a row that is read again leaves no room for the next one");
	static_assert(Items % V == 0 && Group % warp_size == 0 && Threads % Group == 0, "whole packs, warps and groups only");
	static_assert(bytes >= 2 * Groups * cols * static_cast<int>(sizeof(float)), "the ring's memory holds the sums of all groups in the end");
};

// The rows of a group, on their way in shared memory, [stage][x, dy][pack][thread]: a thread finds the packs that it has copied itself, so that it
// waits for its own copies alone. Blocks side by side take neighbouring rows, and all groups as many but for one.
template <class Shape> class Ring {
public:
	using T = typename Shape::Element;

	const int turns; // of the block: a row for each of its groups

	__device__ Ring(const Saved<T> &saved, unsigned char *memory, int64_t rows, int columns)
	    : turns(share(rows, blockIdx.x)), first(threadIdx.x / Shape::Group * gridDim.x + blockIdx.x), count(share(rows, first)), cols(columns),
	      in(saved), own(memory + threadIdx.x * 16), to(hopper::shared_address(own)) {}

	__device__ int column(int pack) const { return (static_cast<int>(threadIdx.x) % Shape::Group + pack * Shape::Group) * Shape::V; }
	__device__ int64_t row(int turn) const { return first + turn * static_cast<int64_t>(gridDim.x * Shape::Groups); }
	__device__ bool has(int turn) const { return turn < count; }
	__device__ Raw x(int stage, int pack) const { return *reinterpret_cast<const Raw *>(own + offset(stage, 0, pack)); }
	__device__ Raw dy(int stage, int pack) const { return *reinterpret_cast<const Raw *>(own + offset(stage, 1, pack)); }

	// Asks for the row of a turn; zeros come where there is none. A group of copies is committed in any case, so that wait counts turns.
	__device__ void ask(int turn, int stage) {
		if (turn < turns) {
			const bool valid = has(turn);
			const T *x = in.x.row(valid ? row(turn) : 0) + column(0), *dy = in.dy.row(valid ? row(turn) : 0) + column(0);
#pragma unroll
			for (int p = 0; p < Shape::Packs; p++) {
				if (column(p) >= cols) continue;
				copies.copy16(to + offset(stage, 0, p), x + p * Shape::Group * Shape::V, valid);
				copies.copy16(to + offset(stage, 1, p), dy + p * Shape::Group * Shape::V, valid);
			}
		}
		copies.commit();
	}
	__device__ void wait() { copies.template wait<Shape::Stages - 1>(); }

private:
	// How many of the rows from `from` on, a row for each group of the grid apart, there are.
	static __device__ int share(int64_t rows, unsigned from) {
		const int64_t gap = gridDim.x * Shape::Groups;
		return static_cast<int>(rows > from ? (rows - from + gap - 1) / gap : 0);
	}
	static __device__ int offset(int stage, int which, int pack) { return ((stage * 2 + which) * Shape::Packs + pack) * Shape::Threads * 16; }

	const unsigned first; // row of the group
	const int count;      // rows of the group
	const int cols;
	const Saved<T> &in;
	unsigned char *own;
	hopper::SharedAddress to;
	hopper::AsyncCopies copies;
};

// The statistics of the row of a turn. Zeros where there is none, whose x and dy are zeros too: nothing is added.
struct RowStatistics {
	float mean = 0, rstd = 0;

	template <class Shape, class T> __device__ RowStatistics(const Ring<Shape> &ring, const Saved<T> &in, int turn) {
		if (!ring.has(turn)) return;
		mean = in.mean[ring.row(turn)];
		rstd = in.rstd[ring.row(turn)];
	}
};

// Adds up two values over a group of threads, all of which get the totals. scratch: 2 * Group / 32 floats that the call before did not use. Half of
// the lanes of a warp add up the one and half the other.
template <int Group> __device__ inline Two group_sum(Two v, float *scratch) {
	constexpr int warps = Group / warp_size, lanes = warp_size / 2;
	const int lane = static_cast<int>(threadIdx.x) % warp_size, which = lane / lanes;
	const float kept = which == 0 ? v.first : v.second, given = which == 0 ? v.second : v.first;
	float sum = warp_reduce<lanes>(kept + shuffle_xor(given, lanes), Sum());
	if constexpr (warps > 1) {
		if (lane % lanes == 0) scratch[which * warps + static_cast<int>(threadIdx.x) % Group / warp_size] = sum;
		__syncthreads();
		sum = warp_reduce<warps>(scratch[which * warps + lane % warps], Sum());
	}
	return {__shfl_sync(all_lanes, sum, 0), __shfl_sync(all_lanes, sum, lanes)};
}

// Writes what a block found of dw and db: the sums of its groups, added in their order. The ring is empty and its memory free for them:
// [group][dw, db][column].
template <class Shape, int Packs, int V>
__device__ inline void put_sums(const Ring<Shape> &ring, unsigned char *memory, const RowSums<2> &sums, int cols, const float (&dw)[Packs][V],
                                const float (&db)[Packs][V]) {
	float *all = reinterpret_cast<float *>(memory);
	__syncthreads();
#pragma unroll
	for (int p = 0; p < Packs; p++) { // zeros beyond the last column
		float *own = all + threadIdx.x / Shape::Group * 2 * Shape::cols + ring.column(p);
		put_shared(own, dw[p]);
		put_shared(own + Shape::cols, db[p]);
	}
	__syncthreads();
	for (int i = threadIdx.x * 4; i < 2 * Shape::cols; i += Shape::Threads * 4) {
		if (i % Shape::cols >= cols) continue;
		float total[4] = {};
#pragma unroll
		for (int g = 0; g < Shape::Groups; g++) {
			float one[4];
			load(all + g * 2 * Shape::cols + i, one);
#pragma unroll
			for (int j = 0; j < 4; j++) total[j] += one[j];
		}
		sums.put(blockIdx.x, i / Shape::cols, cols, i % Shape::cols, total);
	}
}

// Whole vectors, 16-byte aligned rows: a thread keeps Items columns of dw and db in registers all the way, while the ring brings the rows to come.
// A block adds the sums of its groups before it writes them.
template <class Shape>
__global__ void __launch_bounds__(Shape::Threads, 1)
    layernorm_bwd_ring_kernel(Saved<typename Shape::Element> in, typename Shape::Element *dx, RowSums<2> sums, int64_t rows, int cols) {
	using T = typename Shape::Element;
	constexpr int V = Shape::V, Packs = Shape::Packs, Group = Shape::Group;
	extern __shared__ __align__(128) unsigned char ring_memory[];
	__shared__ float scratch[2][Shape::Groups][2 * Shape::Warps];
	static_assert(sizeof scratch == Shape::scratch_floats * sizeof(float), "shared_bytes counts it");
	Ring<Shape> ring(in, ring_memory, rows, cols);
#pragma unroll
	for (int s = 0; s < Shape::Stages; s++) ring.ask(s, s);
	RowStatistics next(ring, in, 0);
	const float part = 1.0f / static_cast<float>(cols);
	float dw[Packs][V] = {}, db[Packs][V] = {};
	Raw weight[Packs] = {};
#pragma unroll
	for (int p = 0; p < Packs; p++)
		if (ring.column(p) < cols) weight[p] = *reinterpret_cast<const Raw *>(in.weight + ring.column(p));
	for (int turn = 0; turn < ring.turns; turn++) {
		const int stage = turn % Shape::Stages;
		const RowStatistics now = next;
		next = RowStatistics(ring, in, turn + 1);
		ring.wait();
		float xhat[Packs][V], weighted[Packs][V]; // weighted: weight * dy
		const auto read = [&](int p, float(&dy)[V]) {
			float w[V];
			if (!Shape::KeepRow) hopper::refresh(weight[p]); // or its values are kept from turn to turn, twice the registers
			unpack_raw<T>(weight[p], w);
			unpack_raw<T>(ring.x(stage, p), xhat[p]);
			unpack_raw<T>(ring.dy(stage, p), dy);
#pragma unroll
			for (int j = 0; j < V; j++) {
				xhat[p][j] = (xhat[p][j] - now.mean) * now.rstd;
				weighted[p][j] = w[j] * dy[j];
			}
		};
		Two mine = {0, 0};
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			if (ring.column(p) >= cols) continue;
			float dy[V];
			read(p, dy);
#pragma unroll
			for (int j = 0; j < V; j++) {
				dw[p][j] += dy[j] * xhat[p][j];
				db[p][j] += dy[j];
				mine.first += weighted[p][j];
				mine.second += weighted[p][j] * xhat[p][j];
			}
		}
		if (Shape::KeepRow) ring.ask(turn + Shape::Stages, stage);
		if (dx != nullptr) {
			const Two total = group_sum<Group>(mine, scratch[turn % 2][threadIdx.x / Group]);
			const float first = now.rstd * (total.first * part), second = now.rstd * (total.second * part);
#pragma unroll
			for (int p = 0; p < Packs; p++) {
				if (ring.column(p) >= cols || !ring.has(turn)) continue;
				float dy[V];
				if (!Shape::KeepRow) read(p, dy);
#pragma unroll
				for (int j = 0; j < V; j++) dy[j] = now.rstd * weighted[p][j] - first - xhat[p][j] * second;
				store(dx + ring.row(turn) * cols + ring.column(p), dy);
			}
		}
		if (!Shape::KeepRow) ring.ask(turn + Shape::Stages, stage);
	}
	put_sums<Shape>(ring, ring_memory, sums, cols, dw, db);
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
__global__ void __launch_bounds__(Threads) layernorm_bwd_long_sums_kernel(Saved<T> in, RowSums<2> sums, int64_t rows, int64_t cols) {
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
	sums.put(blockIdx.y, 0, cols, c, dw);
	sums.put(blockIdx.y, 1, cols, c, db);
}

} // namespace layernorm
} // namespace triad
#endif
