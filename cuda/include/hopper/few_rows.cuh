// few_rows.cuh: the pipeline of a product on Hopper (wgmma, sm_90a) whose result has few tiles, as with a batch of 64 tokens. What then counts is how
// fast the weights come from memory, so every multiprocessor must read a part of them, with as many bytes under way as it has room for.
//   The blocks of a cluster have one tile of the result and divide its reduction. A block's last warp, the producer, keeps a ring of stages filled by
//   the copy engine (TMA). The other warps are consumers, warpgroups that each have 64 x 64 elements of the tile:
//
//       producer    wait empty[s]     copy both operands -> full[s]                       (as far ahead as there are stages)
//       consumer    wait full[s]      start stage s      wait for stage s - 1      arrive at empty[s - 1]
//
//   At the end each block sends its sums to the others, by columns of a consumer's 64:
//
//       block 0  [ 0 1 ]     columns 32 c to 32 c + 32 of all blocks' sums go to one block, which adds them
//       block 1  [ 0 1 ] ->  in the order of the blocks, so that the bits do not depend on the schedule
//       ...
//
//   Where blocks do not divide the reduction, they take tiles in turn, and the producer runs ahead of the tiles too. It asks
//   for the first stages as soon as the ring has its barriers, before the block has met.
//   A kernel's work says what a stage holds, how it is multiplied, and what becomes of the sums, 32-bit words of float or int32:
//
//       copy(stage, full, tile, step)       by one thread: starts the copies of a stage, stage_bytes in all, which report to full
//       multiply(d, stage, step)            starts d += the products of a stage, and commits them
//       complete(d, begin, end)             d has the products of steps [begin, end)
//       store(y, tile, chunk)               y holds columns 32 chunk to 32 chunk + 32 of the tile
#ifndef TRIAD_HOPPER_FEW_ROWS_CUH
#define TRIAD_HOPPER_FEW_ROWS_CUH
#include <algorithm>

#include "arguments.cuh"
#include "hopper/barrier.cuh"
#include "hopper/cluster.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/wgmma_half.cuh"
#include "register.cuh"
#include "wgmma_tile.cuh"

namespace triad {
namespace hopper {

// FewRowsTile divides a block's threads and its shared memory: the ring, its barriers, Aside bytes of the kernel's, what comes from other blocks.
template <int Consumers, int StageBytes, int Stages, int Aside = 0> struct FewRowsTile {
	static constexpr int consumers = Consumers, stage_bytes = StageBytes, stages = Stages, side = mma_rows;
	static constexpr int warpgroup = 128, workers = warpgroup * Consumers, threads = workers + 32;
	static constexpr int eights = side / 8, chunk_eights = 4, chunks = eights / chunk_eights, pairs = 2 * chunk_eights;
	static constexpr int full = Stages * StageBytes, empty = full + 8 * Stages, inbox = empty + 8 * Stages, aside = inbox + 16;
	static constexpr int slots = aside + Aside, chunk_bytes = workers * pairs * static_cast<int>(sizeof(float2)), most_splits = 4;

	// A block finishes so many chunks, of `splits` blocks each; it has the first one of them if any.
	__host__ __device__ static constexpr int own_chunks(int splits) { return splits < chunks ? chunks / splits : 1; }
	__host__ __device__ static constexpr int owner(int chunk, int splits) { return chunk * splits / chunks; }
	__host__ __device__ static constexpr int bytes(int splits) {
		return tile_alignment + slots + own_chunks(splits) * (splits - 1) * chunk_bytes;
	}
};

// FewRowsWork is the work of a launch: tiles of the result, and steps of the reduction.
struct FewRowsWork {
	int tiles, steps;
};

// FewRowsStage is a stage of the ring, as an address and as a pointer.
struct FewRowsStage {
	SharedAddress address;
	const unsigned char *data;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline float word_as_float(float x) { return x; }
__device__ inline float word_as_float(int32_t x) { return __int_as_float(x); }
__device__ inline void float_as_word(float x, float &to) { to = x; }
__device__ inline void float_as_word(float x, int32_t &to) { to = __float_as_int(x); }

// FewRowsBlock is a block's part of the work, which Splits blocks divide, and its shared memory.
template <class Tile, int Splits> struct FewRowsBlock {
	FewRowsWork work;
	unsigned char *start;
	SharedAddress memory;
	int rank, begin, end, first, every; // steps of the reduction; tiles

	__device__ FewRowsBlock(const FewRowsWork &w, unsigned char *shared) : work(w) {
		start = shared + (tile_alignment - static_cast<uint32_t>(shared_address(shared)) % tile_alignment) % tile_alignment;
		memory = shared_address(start);
		rank = Splits > 1 ? static_cast<int>(cluster_rank()) : 0;
		const int part = (w.steps + Splits - 1) / Splits;
		begin = min(rank * part, w.steps), end = min(begin + part, w.steps);
		first = static_cast<int>(blockIdx.x) / Splits, every = static_cast<int>(gridDim.x) / Splits;
	}

	__device__ SharedAddress full(int stage) const { return memory + Tile::full + 8 * stage; }
	__device__ SharedAddress empty(int stage) const { return memory + Tile::empty + 8 * stage; }
	__device__ Inbox *inbox() const { return reinterpret_cast<Inbox *>(start + Tile::inbox); }

	// What the other blocks send: pairs of sums, [chunk of this block's own][block that sends, but for this one][pair][thread].
	__device__ float2 *slot(int chunk, int to, int from, int pair) const {
		const int own = chunk % Tile::own_chunks(Splits), sender = own * (Splits - 1) + from - (from > to);
		return reinterpret_cast<float2 *>(start + Tile::slots) + (sender * Tile::pairs + pair) * Tile::workers + static_cast<int>(threadIdx.x);
	}
	__device__ bool finishes() const { return rank % (Splits > Tile::chunks ? Splits / Tile::chunks : 1) == 0; }

	// prepare is called by one thread; the block barrier follows. A lane a stage would take longer: mbarrier.init wants its address in a register of the
	// warp, so that ptxas writes a loop of lanes.
	__device__ void prepare() const {
		for (int s = 0; s < Tile::stages; s++) {
			barrier_init(full(s), 1);
			barrier_init(empty(s), Tile::workers / 32); // one arrival a warp
		}
		fence_init();
		if (Splits > 1) inbox()->expect(finishes() ? Tile::own_chunks(Splits) * (Splits - 1) * Tile::chunk_bytes : 0);
	}

	template <class Product> __device__ void ask(const Product &product, int stage, int tile, int step) const {
		barrier_arrive_expecting(full(stage), Tile::stage_bytes);
		product.copy(memory + stage * Tile::stage_bytes, full(stage), tile, step);
	}

	// begin_ring asks for what the ring has room for of the first tile, produce for the rest.
	__device__ int asked() const { return min(end - begin, Tile::stages); }
	template <class Product> __device__ void begin_ring(const Product &product) const {
#pragma unroll 1
		for (int i = 0; i < asked(); i++) ask(product, i, first, begin + i);
	}
	template <class Product> __device__ void produce(const Product &product) const {
		RingPlace<Tile::stages> at;
		at.skip(asked());
		for (int tile = first; tile < work.tiles; tile += every)
			for (int step = begin + (tile == first ? asked() : 0); step < end; step++, at.next()) {
				barrier_wait(empty(at.stage), at.parity ^ 1);
				ask(product, at.stage, tile, step);
			}
	}

	// sum adds up this block's part of a tile.
	template <class Word, class Product> __device__ void sum(Product &product, Word (&d)[Tile::eights][4], RingPlace<Tile::stages> &at) const {
		const auto release = [&](int stage) {
			if (threadIdx.x % 32 == 0) barrier_arrive(empty(stage));
		};
		int before = 0; // the stage of the product in flight
		for (int step = begin; step < end; step++, at.next()) {
			barrier_wait(full(at.stage), at.parity);
			product.multiply(d, FewRowsStage{memory + at.stage * Tile::stage_bytes, start + at.stage * Tile::stage_bytes}, step);
			if (step > begin) {
				wait_for<1>();
				release(before);
			}
			before = at.stage;
		}
		wait_for<0>();
		changed(d);
		if (end > begin) release(before);
	}

	template <class Word> __device__ void send(const Word (&d)[Tile::eights][4]) const {
#pragma unroll
		for (int chunk = 0; chunk < Tile::chunks; chunk++) {
			constexpr int apart = Tile::chunk_eights;
			const int to = Tile::owner(chunk, Splits);
			if (to == rank) continue;
#pragma unroll
			for (int pair = 0; pair < Tile::pairs; pair++) {
				const Word *const two = d[chunk * apart + pair / 2] + pair % 2 * 2;
				send_to_peer(slot(chunk, to, rank, pair), inbox(), static_cast<unsigned>(to), make_float2(word_as_float(two[0]), word_as_float(two[1])));
			}
		}
	}

	// finish adds up what has come for the chunks of this block, and stores it.
	template <class Word, class Product> __device__ void finish(const Product &product, const Word (&d)[Tile::eights][4], int tile) const {
#pragma unroll
		for (int chunk = 0; chunk < Tile::chunks; chunk++) {
			if (Tile::owner(chunk, Splits) != rank) continue;
			Word y[Tile::chunk_eights][4] = {};
#pragma unroll
			for (int from = 0; from < Splits; from++) {
#pragma unroll
				for (int pair = 0; pair < Tile::pairs; pair++) {
					const Word *const own = d[chunk * Tile::chunk_eights + pair / 2] + pair % 2 * 2;
					Word two[2] = {own[0], own[1]};
					if (from != rank) {
						const float2 sent = *slot(chunk, rank, from, pair);
						float_as_word(sent.x, two[0]), float_as_word(sent.y, two[1]);
					}
#pragma unroll
					for (int i = 0; i < 2; i++) y[pair / 2][pair % 2 * 2 + i] += two[i];
				}
			}
			product.store(y, tile, chunk);
		}
	}
};

// run_few_rows is a kernel's body. make(aside) gives the block's product, which has Aside bytes of shared memory from aside on.
template <class Tile, int Splits, class Word, class Make>
__device__ inline void run_few_rows(const FewRowsWork &work, unsigned char *shared, Make make) {
	const FewRowsBlock<Tile, Splits> block(work, shared);
	auto product = make(block.start + Tile::aside);
	if (threadIdx.x == Tile::workers) {
		product.prefetch();
		block.prepare();
		block.begin_ring(product);
	}
	__syncthreads();
	if constexpr (Splits > 1) cluster_arrive();
	if (__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0) == Tile::workers / 32) {
		if (threadIdx.x % 32 == 0) block.produce(product);
		if constexpr (Splits > 1) cluster_wait();
		return;
	}
	RingPlace<Tile::stages> at;
	for (int tile = block.first; tile < work.tiles; tile += block.every) {
		Word d[Tile::eights][4] = {};
		block.sum(product, d, at);
		product.complete(d, block.begin, block.end);
		if constexpr (Splits > 1) { // one tile a cluster
			cluster_wait();             // the peers' inboxes are there
			block.send(d);
			if (!block.finishes()) return;
			block.inbox()->wait();
		}
		block.finish(product, d, tile);
	}
}
#endif

// few_rows_splits says how many blocks divide the reduction of so many tiles: more than one only while all of them run at the same time.
template <class Tile> int few_rows_splits(const FewRowsWork &work) {
	const int multiprocessors = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount));
	int splits = 1;
	while (splits < Tile::most_splits && work.tiles * splits * 2 <= multiprocessors && splits * 2 <= work.steps) splits *= 2;
	return splits;
}

// launch_few_rows starts a kernel of this pipeline for Splits blocks: its parameters, the last of which is the work.
template <class Tile, int Splits, class... Parameters, class... Arguments>
int launch_few_rows(void (*kernel)(Parameters...), const FewRowsWork &work, cudaStream_t stream, Arguments... arguments) {
	constexpr int bytes = Tile::bytes(Splits);
	static_assert(bytes <= 227 << 10, "a block's shared memory");
	const int multiprocessors = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount));
	const unsigned clusters = static_cast<unsigned>(std::max(1, std::min(work.tiles, multiprocessors / Splits)));
	if (const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))
		return cleared(static_cast<int>(status));
	if (Splits == 1) {
		kernel<<<clusters, Tile::threads, bytes, stream>>>(arguments..., work);
		return launched();
	}
	if (const int status = launch_clusters(kernel, clusters, Splits, Tile::threads, bytes, stream, arguments..., work)) return cleared(status);
	return launched();
}

} // namespace hopper
} // namespace triad
#endif
