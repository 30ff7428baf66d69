// sm90_tma_fast.cuh: the product of two scaled fp8 matrices on Hopper under the contract fast: the tensor cores sum the whole reduction, in about 14
// bits, and nothing is added outside of them. By the pipeline of hopper/pair_product.cuh: tiles of 128 x 128, which two consumers take in turn, in
// clusters of two that share a tile of b. A scale a tensor or a row is applied to the sums in the end.
#ifndef TRIAD_FP8_GEMM_SM90_TMA_FAST_CUH
#define TRIAD_FP8_GEMM_SM90_TMA_FAST_CUH
#include "accumulators.cuh"
#include "capability.cuh"
#include "register.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/finish.cuh"
#include "hopper/named_barrier.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/wgmma_any.cuh"

namespace triad {

// FastScales are the scales of a tile. A thread of the consumer fetches one of a column and one of a row; moderate is of those of a warp.
struct FastScales {
	static constexpr int size = 128;
	float column[size], row[size];
	int32_t moderate[size / 32];
};

using FastTile = hopper::PairTile<2, 6, 2 * sizeof(FastScales)>; // its words hold two codes each
static_assert(FastTile::n == FastScales::size && FastTile::m == FastScales::size && FastTile::warpgroup == FastScales::size,
              "one of each a thread");

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using FastSums = FastTile::Sums;
using FastPart = FastTile::Part;

// multiply_fast: d = a b, plus d if add, for 128 of the reduction from two addresses of shared memory on.
template <int32_t FormatA, int32_t FormatB>
__device__ inline void multiply_fast(FastPart &d, uint32_t a_tile, uint32_t b_tile, bool add) {
	const uint64_t a = hopper::tile_descriptor(a_tile), b = hopper::tile_descriptor(b_tile);
#pragma unroll
	for (int k = 0; k < hopper::tile_row_bytes; k += hopper::mma_k_bytes)
		hopper::multiply_any_fp8<FormatA, FormatB>(d, hopper::advanced(a, k), hopper::advanced(b, k), add || k > 0);
}

// FastEpilogue scales and writes the sums of a consumer, the 128 threads of a warpgroup. The scales of the tile's rows and columns come into
// shared memory while it is multiplied, in two buffers by turns: while a thread fetches those of the next tile, another one may still read.
// Named barriers 3 and 4 are of a consumer's threads.
// wide: rows of c can be written 16 bytes at a time.
class FastEpilogue {
public:
	__device__ FastEpilogue(const Product &product, bool wide_rows, uint32_t aside, int consumer)
	    : p(product), wide(wide_rows), barrier(3 + consumer), thread(static_cast<int>(threadIdx.x) % FastTile::warpgroup),
	      buffers(static_cast<FastScales *>(__cvta_shared_to_generic(aside))) {}

	__device__ void begin(const hopper::PairPlace &at) {
		if (p.scaling != row_scaling) return;
		turn ^= 1;
		FastScales &to = buffers[turn];
		const auto fetch = [&](float &scale, const Fp8Scale &from, int64_t line) {
			copies.copy4(hopper::shared_address(&scale), from.scale + line * from.row_stride, true);
		};
		fetch(to.column[thread], p.scale_b, min(at.col + thread, p.n - 1));
		fetch(to.row[thread], p.scale_a, min(at.row + thread, p.m - 1));
		copies.commit();
	}

	__device__ void store(FastSums &d, const hopper::PairPlace &at) {
		const int row = hopper::accumulator_row(thread, 0);
		if (p.scaling == row_scaling) scale_by_rows(d, row);
		else scale_by(d, p.scale_a.scale[0], p.scale_b.scale[0]);
#pragma unroll
		for (int part = 0; part < parts; part++) store_sums(p, at.row + part * hopper::mma_rows + row, at.col, d[part], wide);
	}

private:
	// scale_by: scales of the tensors.
	__device__ static void scale_by(FastSums &d, float a, float b) {
		const Factor f = product_of_scales(a, b);
		multiply_all(d, f.first);
		if (f.second != 1.0f) multiply_all(d, f.second);
	}
	__device__ static void multiply_all(FastSums &d, float factor) {
#pragma unroll
		for (auto &part : d)
#pragma unroll
			for (auto &eight : part)
#pragma unroll
				for (float &sum : eight) sum *= factor;
	}

	// agreed waits for the scales of the tile, those that this thread fetched and those of the others, and says whether all are moderate.
	__device__ bool agreed(FastScales &scales) {
		copies.wait<0>();
		const bool warp = __all_sync(0xffffffffu, moderate(scales.column[thread]) && moderate(scales.row[thread]));
		if (thread % 32 == 0) scales.moderate[thread / 32] = warp;
		hopper::named_sync(barrier, FastTile::warpgroup);
		return scales.moderate[0] && scales.moderate[1] && scales.moderate[2] && scales.moderate[3];
	}

	// `row` is this thread's first of the tile; one is 8 below, and two are in the other part.
	__device__ void scale_by_rows(FastSums &d, int row) {
		FastScales &scales = buffers[turn];
		const float *const columns = scales.column + thread % 4 * 2, *const rows = scales.row + row;
		if (agreed(scales)) {
			float a[2 * parts];
#pragma unroll
			for (int i = 0; i < 2 * parts; i++) a[i] = rows[i / 2 * hopper::mma_rows + i % 2 * 8];
#pragma unroll
			for (int j = 0; j < eights; j++) {
				const float2 b = *reinterpret_cast<const float2 *>(columns + 8 * j);
#pragma unroll
				for (int i = 0; i < 2 * parts; i++) {
					d[i / 2][j][i % 2 * 2] *= a[i] * b.x;
					d[i / 2][j][i % 2 * 2 + 1] *= a[i] * b.y;
				}
			}
			return;
		}
#pragma unroll
		for (int part = 0; part < parts; part++) {
			const SplitScale a[2] = {split_scale(rows[part * hopper::mma_rows]), split_scale(rows[part * hopper::mma_rows + 8])};
#pragma unroll
			for (int j = 0; j < eights; j++) {
				const SplitScale b[2] = {split_scale(columns[8 * j]), split_scale(columns[8 * j + 1])};
#pragma unroll
				for (int i = 0; i < 4; i++) {
					float &sum = d[part][j][i];
					const Factor f = joined(a[i / 2], b[i % 2]);
					sum = sum * f.first * f.second;
					hopper::finish(sum);   // else the factors of all sums wait in registers
				}
			}
		}
	}

	static constexpr int eights = FastTile::n / 8, parts = FastTile::parts;
	const Product &p;
	const bool wide;
	const int barrier, thread;
	FastScales *const buffers;
	int turn = 0;
	hopper::AsyncCopies copies;
};
#endif

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB>
__global__ void __launch_bounds__(FastTile::threads, 1)
    product_tma_fast(const __grid_constant__ Product p, bool wide, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char fast_tiles[];
	hopper::run_pair<FastTile, true, true>(
		work, fast_tiles, [](FastPart &d, uint32_t a, uint32_t b, bool add) { multiply_fast<FormatA, FormatB>(d, a, b, add); },
		[&](uint32_t aside, int consumer) { return FastEpilogue(p, wide, aside, consumer); });
#endif
}

struct TmaFast {
	template <int32_t FormatA, int32_t FormatB> static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		constexpr int64_t height = 8;   // rows of tiles of clusters that are in flight together
		const auto source = [&](const Fp8Matrix &x, int64_t rows) {
			return hopper::PairSource{x.codes, 0, rows == 1 ? (p.k + 15) / 16 * 8 : x.row_stride / 2, true};
		};
		hopper::PairWork work = {};
		if (const int status = hopper::map_pair<FastTile>(&work, source(p.a, p.m), source(p.b, p.n), 1, p.m, p.n, p.k / 2, height)) return status;
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		return hopper::launch_pair<FastTile>(product_tma_fast<FormatA, FormatB>, work, stream, p, wide);
	}

	static Limits limits() {
		return {wgmma_capability(), limit("a scale a tensor or a row", check_scaling),
		        limit("rows that begin at multiples of 16 bytes; no size 0; an even number of sums", check_operands)};
	}

private:
	// A scale for each 128 of the reduction cannot wait until its end.
	static void check_scaling(Check &check, const triad_call *call) {
		check.that(call->attr[scaling_attribute] != block_scaling, "scaling is block: want tensor or row");
	}

	// check_operands: what the copy engine's maps can say of the operands of a call.
	static void check_operands(Check &check, const triad_call *call) {
		for (int i = 0; i < 4 * call->n_out; i += 2) {
			const triad_tensor &t = call->in[i];
			const long long rows = t.shape[0], k = t.shape[1], stride = t.stride[0];
			check.that(rows > 0 && k > 0 && k % 2 == 0, "operand %d is %lld x %lld: want none empty, and an even number of sums", i, rows, k);
			check.that(rows < INT32_MAX && k < INT32_MAX, "operand %d is %lld x %lld: want below 2^31 - 1", i, rows, k);
			check.that(t.stride[1] == 1 && reinterpret_cast<uintptr_t>(t.data) % 16 == 0 &&
			               (rows == 1 || (stride >= k && stride % 16 == 0 && stride < int64_t{1} << 39)),
			           "operand %d has strides %lld, %lld: want rows that begin at multiples of 16 bytes", i, stride, static_cast<long long>(t.stride[1]));
		}
	}
};

} // namespace triad
#endif
