// long_rows.cuh: softmax of rows that are too long for the registers of threads that compute with them; cuda/kernels/softmax.cu has the formula
// and calls launch_forward and launch_backward.
//
// A block keeps its row on chip as it lies in memory, in packs of 16 bytes: the first packs of a thread in registers, the next ones in shared
// memory, where a thread reads only what it copied there itself, so that no barrier is needed. What fits neither is read twice, the second time
// from its end backwards, where the L2 cache may still have it.
//
// Rows are read with an ordinary priority and written with an evict-first one. Were both evict-first, whatever another kernel left in the L2 cache
// would stay there, and what is written would have the less room to wait in: 4 % slower for rows of 65536.
#ifndef TRIAD_SOFTMAX_LONG_ROWS_CUH
#define TRIAD_SOFTMAX_LONG_ROWS_CUH
#include <algorithm>
#include <cfloat>

#include "element.cuh"
#include "hopper/arithmetic.cuh"
#include "hopper/async_copy.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "rows.cuh"

namespace triad {
namespace softmax {

// exp_of is e^d for the difference d of a value and a maximum: the difference comes first, so that a large maximum costs no bits.
__device__ inline float exp_of(float d) { return hopper::power_of_two(d * 1.44269504f); }

// The sum of exp(x - max) over what was seen. The maximum of nothing is the lowest finite number, not -inf: then -inf adds exp(-inf) = 0 without a
// branch, and a row of only -inf has the sum 0, whose reciprocal times 0 is NaN. +inf gives exp(inf - inf) = NaN, and NaN stays.
struct Exponentials {
	float max = -FLT_MAX, sum = 0;

	template <int V> __device__ void add(const float (&x)[V]) {
		float top = x[0], part = 0;
#pragma unroll
		for (int j = 1; j < V; j++) top = fmaxf(top, x[j]);
		top = fmaxf(max, top);
#pragma unroll
		for (int j = 0; j < V; j++) part += exp_of(x[j] - top);
		sum = sum * exp_of(max - top) + part;
		max = top;
	}

	// The same of what others have seen.
	__device__ void add(float other_max, float other_sum) {
		const float top = fmaxf(max, other_max);
		sum = sum * exp_of(max - top) + other_sum * exp_of(other_max - top);
		max = top;
	}

	// merge gives each group of Width lanes the sum of all of them.
	template <int Width> __device__ void merge() {
		const float top = warp_reduce<Width>(max, Max());
		sum = warp_reduce<Width>(sum * exp_of(max - top), Sum());
		max = top;
	}
};

// block_merge gives every thread of the block the sum of all. scratch: as for block_reduce.
template <int Threads> __device__ inline Exponentials block_merge(Exponentials mine, float2 *scratch) {
	constexpr int warps = Threads / warp_size;
	static_assert(warps <= warp_size && (warps & (warps - 1)) == 0, "a power of two of warps, at most one for each lane");
	mine.template merge<warp_size>();
	__syncthreads(); // the merge before may still be reading scratch
	if (threadIdx.x % warp_size == 0) scratch[threadIdx.x / warp_size] = make_float2(mine.max, mine.sum);
	__syncthreads();
	const float2 other = scratch[threadIdx.x % warps];
	mine.max = other.x;
	mine.sum = other.y;
	mine.template merge<warps>();
	return mine;
}

// Design is how a row lies on the chip, for kernels that read Inputs matrices: Blocks blocks of Threads threads on a multiprocessor; a thread keeps
// Packs packs of each matrix in registers, and reads Left at a time of those that it does not keep.
template <int Inputs_, int Threads_, int Blocks_, int Packs_, int Left_> struct Design {
	static constexpr int Inputs = Inputs_, Threads = Threads_, Blocks = Blocks_, Packs = Packs_, Left = Left_;
	static constexpr int pack_bytes = Inputs * Threads * 16; // of shared memory, for one more pack a thread

	// packs is the number of packs that a thread has of a row of so many.
	static int64_t packs(int64_t row) { return (row + Threads - 1) / Threads; }
};

template <int Inputs> using Raw = uint4[Inputs];             // a pack of each matrix
template <int Inputs> using Sources = const uint4 *[Inputs]; // a row of each matrix

template <class T> __device__ inline const uint4 *packs_of(const Rows<const T> &m, int64_t row) { return reinterpret_cast<const uint4 *>(m.row(row)); }

// Row is what one thread has of a row: the packs threadIdx.x, threadIdx.x + Threads, ..., which are numbered 0, 1, ... here.
template <class D> class Row {
public:
	// Asks for what is kept: after the registers, so many packs as are `shared` in `memory`, [pack][matrix][thread].
	__device__ Row(const Sources<D::Inputs> &row, int64_t packs_of_row, void *memory, int shared_packs)
	    : count(static_cast<int>((packs_of_row - threadIdx.x + D::Threads - 1) / D::Threads)), kept(D::Packs + shared_packs),
	      own(static_cast<uint4 *>(memory) + threadIdx.x) {
#pragma unroll
		for (int i = 0; i < D::Inputs; i++) from[i] = row[i] + threadIdx.x;
		for (int p = D::Packs; p < kept && p < count; p++)
#pragma unroll
			for (int i = 0; i < D::Inputs; i++) copies.copy16(hopper::shared_address(place(p, i)), source(p, i), true);
		copies.commit();
#pragma unroll
		for (int p = 0; p < D::Packs; p++)
#pragma unroll
			for (int i = 0; i < D::Inputs; i++)
				if (p < count) held[p][i] = *source(p, i);
	}

	// each calls use(pack, column) for every pack.
	template <class Use> __device__ void each(Use use) {
		each_held(use);
		copies.template wait<0>();
		each_shared(use);
#pragma unroll 1
		for (left = kept; left < count; left += D::Left) each_left(use);
	}

	// each_again does so once more, and begins with what was read last.
	template <class Use> __device__ void each_again(Use use) {
#pragma unroll 1
		while (left > kept) {
			left -= D::Left;
			each_left(use);
		}
		each_held(use);
		each_shared(use);
	}

private:
	int count, kept, left = 0; // packs of this thread, of which so many are kept; the next one that is not
	Sources<D::Inputs> from;
	uint4 *own;
	Raw<D::Inputs> held[D::Packs];
	hopper::AsyncCopies copies;

	static __device__ int64_t column(int p) { return static_cast<int64_t>(p) * D::Threads + threadIdx.x; }
	__device__ const uint4 *source(int p, int matrix) const { return from[matrix] + static_cast<int64_t>(p) * D::Threads; }
	__device__ uint4 *place(int p, int matrix) const { return own + ((p - D::Packs) * D::Inputs + matrix) * D::Threads; }

	// The branch round a use also keeps the compiler from putting off the last loads until the first packs are used.
	template <class Use> __device__ void each_held(Use use) {
#pragma unroll
		for (int p = 0; p < D::Packs; p++)
			if (p < count) use(held[p], column(p));
	}
	template <class Use> __device__ void each_shared(Use use) {
#pragma unroll 2
		for (int p = D::Packs; p < kept && p < count; p++) {
			Raw<D::Inputs> raw;
#pragma unroll
			for (int i = 0; i < D::Inputs; i++) raw[i] = *place(p, i);
			use(raw, column(p));
		}
	}
	// each_left is for Left packs that are not kept: all are asked for before the first is used.
	template <class Use> __device__ void each_left(Use use) {
		Raw<D::Inputs> raw[D::Left];
#pragma unroll
		for (int c = 0; c < D::Left; c++)
#pragma unroll
			for (int i = 0; i < D::Inputs; i++)
				if (left + c < count) raw[c][i] = *source(left + c, i);
#pragma unroll
		for (int c = 0; c < D::Left; c++)
			if (left + c < count) use(raw[c], column(left + c));
	}
};

// packs: in a row; shared: how many of them a thread keeps in shared memory, if it has so many.
template <class T, class D>
__global__ void __launch_bounds__(D::Threads, D::Blocks)
    softmax_fwd_vec_long_kernel(Rows<const T> x, T *y, int64_t rows, int64_t packs, int shared) {
	constexpr int V = vector<T>;
	extern __shared__ __align__(16) unsigned char memory[];
	__shared__ float2 scratch[D::Threads / warp_size];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		Row<D> mine({packs_of(x, row)}, packs, memory, shared);
		float v[V];
		Exponentials all;
		mine.each([&](const Raw<1> &raw, int64_t) {
			unpack_here<T>(raw[0], v);
			all.add(v);
		});
		all = block_merge<D::Threads>(all, scratch);
		const float scale = 1.0f / all.sum;
		mine.each_again([&](const Raw<1> &raw, int64_t column) {
			unpack_here<T>(raw[0], v);
#pragma unroll
			for (int j = 0; j < V; j++) v[j] = exp_of(v[j] - all.max) * scale;
			store(y + (row * packs + column) * V, v);
		});
	}
}

template <class T, class D>
__global__ void __launch_bounds__(D::Threads, D::Blocks)
    softmax_bwd_vec_long_kernel(Rows<const T> y, Rows<const T> dy, T *dx, int64_t rows, int64_t packs, int shared) {
	constexpr int V = vector<T>;
	extern __shared__ __align__(16) unsigned char memory[];
	__shared__ float scratch[D::Threads / warp_size];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		Row<D> mine({packs_of(y, row), packs_of(dy, row)}, packs, memory, shared);
		float p[V], g[V];
		float dot = 0;
		mine.each([&](const Raw<2> &raw, int64_t) {
			unpack_here<T>(raw[0], p);
			unpack_here<T>(raw[1], g);
			float part = 0;
#pragma unroll
			for (int j = 0; j < V; j++) part += p[j] * g[j];
			dot += part;
		});
		dot = block_reduce<D::Threads>(dot, Sum(), scratch);
		mine.each_again([&](const Raw<2> &raw, int64_t column) {
			unpack_here<T>(raw[0], p);
			unpack_here<T>(raw[1], g);
#pragma unroll
			for (int j = 0; j < V; j++) p[j] *= g[j] - dot;
			store(dx + (row * packs + column) * V, p);
		});
	}
}

// ---- launching --------------------------------------------------------------------------------------------------------------------------

// Chip is what decides how much of a row can be kept: the shared memory of a multiprocessor, and the most that a block may ask for.
struct Chip {
	int processor_bytes = 0, block_bytes = 0;

	cudaError_t look() {
		int device = 0;
		cudaError_t error = cudaGetDevice(&device);
		if (error == cudaSuccess) error = cudaDeviceGetAttribute(&processor_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
		if (error == cudaSuccess) error = cudaDeviceGetAttribute(&block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
		return error;
	}

	// shared_packs is how many packs a thread can keep in shared memory, beside `scratch` bytes that the kernel has there. CUDA takes 1 KB a block
	// for itself.
	template <class D> int shared_packs(int scratch = 1024) const {
		constexpr int own = 1024;
		return std::max(0, std::min(block_bytes, processor_bytes / D::Blocks - own) - scratch) / D::pack_bytes;
	}
	template <class D> bool keeps(int64_t packs) const { return D::packs(packs) <= D::Packs + shared_packs<D>(); }
};

// launch starts a kernel of design D, a block a row of so many packs; `arguments` come before the number of rows.
template <class D, class Kernel, class... Arguments>
int launch(Kernel kernel, const Chip &chip, int64_t rows, int64_t packs, cudaStream_t stream, Arguments... arguments) {
	const int most = chip.shared_packs<D>();
	const int shared = static_cast<int>(std::min<int64_t>(most, std::max<int64_t>(0, D::packs(packs) - D::Packs)));
	if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most * D::pack_bytes)) return error;
	kernel<<<blocks_for(rows, 1), D::Threads, static_cast<size_t>(shared) * D::pack_bytes, stream>>>(arguments..., rows, packs, shared);
	return launched();
}

// Two blocks on a multiprocessor where that keeps the whole row, since one computes while the other waits; else one, which keeps more of it.
template <class T> int launch_forward(const Rows<const T> &x, T *y, int64_t rows, int64_t cols, cudaStream_t stream) {
	using Pair = Design<1, 512, 2, 8, 2>;
	using Single = Design<1, 1024, 1, 8, 2>;
	const int64_t packs = cols / vector<T>;
	Chip chip;
	if (const cudaError_t error = chip.look()) return error;
	if (chip.keeps<Pair>(packs)) return launch<Pair>(softmax_fwd_vec_long_kernel<T, Pair>, chip, rows, packs, stream, x, y);
	return launch<Single>(softmax_fwd_vec_long_kernel<T, Single>, chip, rows, packs, stream, x, y);
}

template <class T> int launch_backward(const Rows<const T> &y, const Rows<const T> &dy, T *dx, int64_t rows, int64_t cols, cudaStream_t stream) {
	using Pair = Design<2, 512, 2, 4, 1>;
	using Single = Design<2, 1024, 1, 4, 1>;
	const int64_t packs = cols / vector<T>;
	Chip chip;
	if (const cudaError_t error = chip.look()) return error;
	if (chip.keeps<Pair>(packs)) return launch<Pair>(softmax_bwd_vec_long_kernel<T, Pair>, chip, rows, packs, stream, y, dy, dx);
	return launch<Single>(softmax_bwd_vec_long_kernel<T, Single>, chip, rows, packs, stream, y, dy, dx);
}

} // namespace softmax
} // namespace triad
#endif
