// sm80_mma.cuh: attention over latent rows on tensor cores by mma.sync (sm_80 and newer): 64 heads and a part of a sequence a block.
// Pipeline: tiles of 32 tokens by cp.async, one being copied while the other is used -> scores, 16 heads x 16 tokens a warp -> maximum of a head through
// shared memory -> P, rounded to 16 bits, to shared memory -> sums, 64 heads x 64 columns a warp -> the part to the workspace; join_parts.
#ifndef TRIAD_LATENT_SM80_MMA_CUH
#define TRIAD_LATENT_SM80_MMA_CUH
#include "hopper/arithmetic.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/mma.cuh"
#include "latent/parts.cuh"
#include "reduce.cuh"

namespace triad {
namespace latent {

using hopper::AsyncCopies;
using hopper::SharedAddress;
using hopper::shared_address;

// Eight warps. Of the scores of a tile, 64 heads x 32 tokens, each takes 16 x 16; of the sums, 64 x 512, all heads of 64 columns. Rows in shared
// memory are 16 bytes longer than they need be, an odd number of times 16, so that ldmatrix reads eight of them from different banks.
constexpr int mma_heads = 64, mma_tokens = 32, mma_threads = 256, mma_pad = 8, mma_columns = 64;
constexpr int weight_row = mma_tokens + mma_pad;

// MmaShared is what lies in front of q and of the two tiles.
struct MmaShared {
	float top[2][mma_heads], total[2][mma_heads], decay[mma_heads]; // of the two warps that share heads
	uint16_t weight[mma_heads * weight_row];
};

inline int mma_bytes(int dim) { return static_cast<int>(sizeof(MmaShared)) + 2 * (mma_heads + 2 * mma_tokens) * (dim + mma_pad); }

// copy_latents starts the copy of the tokens first .. first + 32 of a sequence, zeros from end on, which are tokens of one page.
template <class T> __device__ void copy_latents(AsyncCopies &copies, SharedAddress tile, const Decode<T> &a, int64_t b, int first, int end) {
	const T *const rows = a.rows_of(b, first / page) + first % page * a.dim;
	const int chunks = a.dim / 8;
	for (int v = static_cast<int>(threadIdx.x); v < mma_tokens * chunks; v += mma_threads) {
		const int row = v / chunks, chunk = v % chunks;
		copies.copy16(tile + 2 * (row * (a.dim + mma_pad) + chunk * 8), rows + v * 8, first + row < end);
	}
}

// Scores of 16 heads and 16 tokens: q and tile point at their first rows, of so many bytes.
template <class T> __device__ void mma_scores(float (&s)[2][4], SharedAddress q, SharedAddress tile, int dim) {
	const int lane = static_cast<int>(threadIdx.x) % warp, r = lane % 8, i = lane / 8, bytes = 2 * (dim + mma_pad);
	const SharedAddress of_q = q + (r + i % 2 * 8) * bytes + i / 2 * 16, of_tile = tile + (r + i / 2 * 8) * bytes + i % 2 * 16;
#pragma unroll 4
	for (int k = 0; k < dim; k += 16) {
		uint32_t x[4], y[4];
		hopper::load_matrices(x, of_q + 2 * k);
		hopper::load_matrices(y, of_tile + 2 * k);
		hopper::Multiply<T>::add(s[0], x, y[0], y[1]);
		hopper::Multiply<T>::add(s[1], x, y[2], y[3]);
	}
}

// Adds weights x values of a tile to the sums of 64 heads and the warp's 64 columns, as far as there are some.
template <class T> __device__ void mma_values(float (&sum)[4][8][4], SharedAddress weights, SharedAddress tile, int dim, int columns) {
	const int lane = static_cast<int>(threadIdx.x) % warp, r = lane % 8, i = lane / 8;
#pragma unroll
	for (int k = 0; k < mma_tokens; k += 16) {
		uint32_t x[4][4];
#pragma unroll
		for (int m = 0; m < 4; m++) hopper::load_matrices(x[m], weights + 2 * ((16 * m + r + i % 2 * 8) * weight_row + k + i / 2 * 8));
#pragma unroll
		for (int n = 0; n < 8; n += 2) {
			if (8 * n >= columns) break;
			uint32_t y[4];
			hopper::load_transposed(y, tile + 2 * ((k + r + i % 2 * 8) * (dim + mma_pad) + 8 * n + i / 2 * 8));
#pragma unroll
			for (int m = 0; m < 4; m++) {
				hopper::Multiply<T>::add(sum[m][n], x[m], y[0], y[1]);
				hopper::Multiply<T>::add(sum[m][n + 1], x[m], y[2], y[3]);
			}
		}
	}
}

// Adds: tensor cores for both products, and the next tile comes while one is used. Costs a GPU of 8.0 with 150 KB of shared memory a block, and P in
// 16 bits.
template <class T> __global__ void __launch_bounds__(mma_threads, 1) mma_rows(Decode<T> a, Parts parts) {
	extern __shared__ __align__(128) unsigned char mma_memory[];
	MmaShared &shared = *reinterpret_cast<MmaShared *>(mma_memory);
	const int t = static_cast<int>(threadIdx.x), lane = t % warp, g = lane / 4, row_bytes = 2 * (a.dim + mma_pad);
	const SharedAddress weights = shared_address(shared.weight), q = shared_address(mma_memory) + sizeof(MmaShared);
	const SharedAddress tiles = q + mma_heads * row_bytes;
	const int groups = (a.heads + mma_heads - 1) / mma_heads, part = static_cast<int>(blockIdx.x % parts.count);
	const int first_head = static_cast<int>(blockIdx.x / parts.count % groups) * mma_heads;
	const int64_t query = blockIdx.x / parts.count / groups, b = query / a.seq_q;
	const int i = static_cast<int>(query % a.seq_q), keys = a.visible(b, i);
	const int begin = part * parts.pages(keys) * page, end = min(keys, begin + parts.pages(keys) * page);
	if (begin >= end) return; // the kernel that joins parts knows it too
	AsyncCopies copies;
	for (int v = t; v < mma_heads * (a.dim / 8); v += mma_threads) {
		const int h = v / (a.dim / 8), chunk = v % (a.dim / 8);
		copies.copy16(q + h * row_bytes + chunk * 16, a.query(b, i, min(first_head + h, a.heads - 1)) + chunk * 8, first_head + h < a.heads);
	}
	copy_latents(copies, tiles, a, b, begin, end);
	copies.commit();

	const int m = t / warp % 4, half_of_tokens = t / warp / 4, column = t / warp * mma_columns;
	float max[2] = {-INFINITY, -INFINITY}, total[2] = {}, sum[4][8][4] = {};
	for (int first = begin; first < end; first += mma_tokens) {
		const int number = (first - begin) / mma_tokens;
		const SharedAddress tile = tiles + number % 2 * (mma_tokens * row_bytes);
		copies.template wait<0>();
		__syncthreads(); // the tile has arrived for all, and the one before has been read
		if (first + mma_tokens < end) copy_latents(copies, tiles + (number + 1) % 2 * (mma_tokens * row_bytes), a, b, first + mma_tokens, end);
		copies.commit();
		float s[2][4] = {};
		mma_scores<T>(s, q + 16 * m * row_bytes, tile + 16 * half_of_tokens * row_bytes, a.dim);
		float top[2] = {max[0], max[1]};
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int j = first + 16 * half_of_tokens + 8 * n + lane % 4 * 2 + e % 2;
				s[n][e] = j < end ? __fmul_rn(s[n][e], a.scale) : -INFINITY; // not one with the subtraction that follows
				top[e / 2] = fmaxf(top[e / 2], s[n][e]);
			}
#pragma unroll
		for (int e = 0; e < 2; e++) {
			top[e] = warp_reduce<4>(top[e], Max());
			if (lane % 4 == 0) shared.top[half_of_tokens][16 * m + g + 8 * e] = top[e];
		}
		__syncthreads();
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const int h = 16 * m + g + 8 * e;
			top[e] = fmaxf(shared.top[0][h], shared.top[1][h]);
			const float fall = hopper::power_of_two((max[e] - base(top[e])) * log2_e);
			float p[2][2], more = 0;
#pragma unroll
			for (int n = 0; n < 2; n++)
#pragma unroll
				for (int k = 0; k < 2; k++) more += p[n][k] = hopper::power_of_two((s[n][2 * e + k] - base(top[e])) * log2_e);
#pragma unroll
			for (int n = 0; n < 2; n++)
				*reinterpret_cast<uint32_t *>(&shared.weight[h * weight_row + 16 * half_of_tokens + 8 * n + lane % 4 * 2]) =
				    hopper::pack_pair<T>(p[n][0], p[n][1]);
			total[e] = total[e] * fall + more;
			max[e] = top[e];
			if (half_of_tokens == 0 && lane % 4 == 0) shared.decay[h] = fall;
		}
		__syncthreads();
		if (column >= a.dim_v) continue;
#pragma unroll
		for (int of = 0; of < 4; of++) {
			const float fall[2] = {shared.decay[16 * of + g], shared.decay[16 * of + g + 8]};
#pragma unroll
			for (int n = 0; n < 8; n++)
#pragma unroll
				for (int e = 0; e < 4; e++) sum[of][n][e] *= fall[e / 2];
		}
		mma_values<T>(sum, weights, tile + 2 * column, a.dim, a.dim_v - column);
	}
	copies.template wait<0>();

	const int64_t row = query * a.heads + first_head;
#pragma unroll
	for (int of = 0; of < 4; of++)
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				const int h = 16 * of + g + 8 * e, c = column + 8 * n + lane % 4 * 2;
				if (first_head + h < a.heads && c < a.dim_v)
					*reinterpret_cast<float2 *>(parts.sum + ((row + h) * parts.count + part) * a.dim_v + c) =
					    make_float2(sum[of][n][2 * e], sum[of][n][2 * e + 1]);
			}
#pragma unroll
	for (int e = 0; e < 2; e++) {
		total[e] = warp_reduce<4>(total[e], Sum());
		if (lane % 4 == 0) shared.total[half_of_tokens][16 * m + g + 8 * e] = total[e];
		if (lane % 4 == 0 && half_of_tokens == 0) shared.top[0][16 * m + g + 8 * e] = max[e];
	}
	__syncthreads();
	if (t >= mma_heads || first_head + t >= a.heads) return;
	parts.max[(row + t) * parts.count + part] = shared.top[0][t];
	parts.total[(row + t) * parts.count + part] = shared.total[0][t] + shared.total[1][t];
}

// One block fits on a multiprocessor: some 512 are four on each.
template <class T> Parts mma_parts(const Decode<T> &a, Room &room) { return Parts(a, mma_heads, 512, room); }

template <class T> int launch_mma(const triad_call *call) {
	const Decode<T> a(call);
	if (a.queries() == 0) return TRIAD_OK;
	Room room(call);
	const Parts parts = mma_parts(a, room);
	if (const int status = cudaFuncSetAttribute(mma_rows<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, mma_bytes(a.dim))) return status;
	const int64_t blocks = a.queries() * ((a.heads + mma_heads - 1) / mma_heads) * parts.count;
	mma_rows<T><<<static_cast<unsigned>(blocks), mma_threads, mma_bytes(a.dim), stream_of(call)>>>(a, parts);
	return launch_join(a, parts, stream_of(call));
}

} // namespace latent
} // namespace triad
#endif
