// What the runtime library keeps of a block's asynchronous instructions. Kernels never include this.
//
// Clocks. A thread's epoch counts the things it has let others know of. Each thread has two clocks, which say up to which epoch it knows what
// another thread has written: `generic` by ordinary stores, `async` of these what the asynchronous proxy sees. Barriers join both; a proxy fence
// raises the second to the first. The asynchronous access of a byte is wrong if its last ordinary write is not in the issuer's second clock.
//
// Shadows. For each byte of shared memory: who wrote it last by an ordinary store, and when. For four bytes: the copy that will write there. For
// sixteen: how many products read there. For four bytes of a stack: whether a product holds them as registers, and the fence before their last
// write. Ordinary accesses come from access.cc, in kernels that are compiled for it.
#ifndef CUEMU_ASYNC_STATE_H
#define CUEMU_ASYNC_STATE_H

#include <deque>
#include <vector>

#include "cuemu/async.h"
#include "cuemu/scheduler.h"

#pragma GCC visibility push(hidden)
namespace cuemu {

using Clock = std::vector<uint32_t>;

struct Origin {
	const char *file;
	int line;
};

// When copies and products are done: as soon as they are asked for, as late as may be, or at any time between. The order decides.
enum Completion { EARLY, LATE, SHUFFLED };

struct Copy {
	Origin at;
	Box box;             // of the copy engine; rows == 0: `bytes` bytes by cp.async
	uint32_t to, bytes;  // in the arena
	uint32_t read;       // cp.async: bytes of the source that are read
	int barrier;         // in Async::barriers; -1: of a group of a thread
	uint32_t thread, group, epoch; // who asked, in which group and epoch of its own
	bool used, made;     // made: the bytes are there, and nobody may know
};

// Addition is a piece of shared memory that the copy engine adds to sums in global memory.
struct Addition {
	Origin at;
	float *to;
	uint32_t from, bytes, group; // from: in the arena; group: of its thread
	bool made;
};

// Reader says what the asynchronous proxy still does with a piece of shared memory.
struct Reader {
	const char *what;
	Origin at;
};

struct MBarrier {
	uint32_t at, arrivals, missing, phase;
	int64_t bytes;                    // expected and not come; below zero: came and not expected
	uint32_t init_thread, init_epoch;
	bool init_fenced;
	Clock generic, async;             // of all that have arrived; those of the last phase that ended
	Clock ended_generic, ended_async;
	std::vector<uint32_t> waiting;
	Origin init;
};

struct NamedBarrier {
	int threads, arrived;
	uint32_t phase;
	Origin first;
	Clock generic, async, ended_generic, ended_async;
	std::vector<uint32_t> waiting;
};

// Product is one wgmma of one warp.
struct Product {
	Origin at;
	const uint32_t *registers[32];
	const float *decode, *decode_b;
	float (*decode16)(uint32_t);
	uint64_t a, b;
	bool a_across, b_across, add, integers, done;
	int sums, cols, rows_from; // rows_from: the warp's first of the 64 rows
	uint32_t group;
};

// Sums are the accumulators that products in flight change: the lanes' own, and their values.
struct Sums {
	float *d[32];
	float value[32][128];
	int count, products; // floats of a lane, 0: free; products that were not waited for
	uint32_t last;       // the group of the youngest product
	Origin at;
};

struct WarpProducts {
	static const int most_sums = 8;
	std::deque<Product> list;
	Sums sums[most_sums];
	uint32_t committed; // groups
};

struct OperandValues {
	double a[16][32], b[32][256], d[256];
};

struct Async {
	// Of the worker, kept from block to block.
	uint32_t *written;                          // by byte of the arena: 0, or epoch << 11 | by_copy | thread
	uint16_t *in_flight, *reading;              // by 4 bytes: a copy's number + 1; by 16 bytes: products and additions
	uint32_t *registers;                        // by 4 bytes of the stacks: fence << 5 | operands << 1 | accumulator
	uint32_t fences[MAX_THREADS], last_fence;   // the number of the fence that each thread has passed, and of the youngest
	bool dirty, active;                         // dirty: `written` is not all zero; active: the block has used an asynchronous instruction
	// Of the block.
	Completion completion;
	uint64_t random;
	bool fenced[MAX_THREADS];                   // has passed a wgmma fence in this block
	uint32_t epoch[MAX_THREADS];
	std::vector<std::vector<uint32_t>> until;   // by thread and epoch, from 2 on: when it ended, in the time of check.h
	std::vector<Clock> generic, async;          // by thread
	Clock atomics_generic, atomics_async;
	std::vector<MBarrier> barriers;
	NamedBarrier named[16], tiles[32];           // tiles: 16 of 64 threads, 8 of 128 and so on
	char of_tiles[MAX_WARPS][64];               // what a thread of each warp lets the others of its tile know
	std::vector<Copy> copies;
	std::vector<int> free_copies;
	std::vector<std::vector<int>> of_thread;    // cp.async: numbers of copies, oldest first
	std::vector<uint32_t> groups;               // committed by each thread
	std::vector<std::deque<Addition>> additions; // by thread, oldest first
	std::vector<uint32_t> addition_groups;      // committed by each thread
	unsigned outstanding;                       // copies
	uintptr_t source_low, source_high;          // around what outstanding copies read
	WarpProducts *warps[MAX_WARPS];
	int warp_registers[MAX_WARPS], free_registers;
	std::vector<uint32_t> wanting_registers;
	OperandValues values;                       // of the product that runs
};

const uint32_t BY_COPY = 1u << 10, THREAD_BITS = 0x3ff;

// async.cc
Async *async_of(Worker &w);                                         // null: no memory
Async &activate(Worker &w);                                         // of the running thread's block
void wait_in_async(Worker &w, const char *what, Origin at);
void wake(Worker &w, std::vector<uint32_t> &threads);
void join(Clock &to, const Clock &from);
void let_know(Async &a, uint32_t thread, Clock &generic, Clock &async);  // an arrival
void learn(Async &a, uint32_t thread, const Clock &generic, const Clock &async);
uint32_t random_below(Async &a, uint32_t n);
// byte_of names a byte of the arena as the kernel knows it.
struct ByteName {
	char text[64];
};
ByteName byte_of(const Worker &w, uint32_t offset);
uint32_t arena_offset(Worker &w, const void *p, size_t bytes, Origin at);
[[noreturn]] void wrong(Worker &w, Origin at, const char *format, ...) __attribute__((format(printf, 3, 4)));
// unseen: a byte whose last ordinary write the asynchronous proxy of a thread does not see; end if there is none.
uint32_t unseen(const Async &a, uint32_t thread, uint32_t begin, uint32_t end);

// async_copies.cc
void check_destination(Worker &w, Async &a, uint32_t begin, uint32_t end, Origin at, const char *what);
void make_copy(Worker &w, Async &a, int number);
bool make_any(Worker &w, Async &a);
const Copy *copy_reading(const Async &a, uintptr_t address, size_t bytes);

// async_barriers.cc
void bytes_came(Worker &w, Async &a, int barrier, uint32_t bytes);
int barrier_at(Worker &w, Async &a, const void *p, Origin at);
void check_known(Worker &w, const Async &a, const MBarrier &b, Origin at);  // the thread knows that it was initialised
// barrier_in is the number of the mbarrier at an offset of a block of the cluster; peer_in that block, which runs and has mbarriers.
int barrier_in(Worker &w, const Worker &in, uint32_t offset, Origin at);
Worker &peer_in(Worker &w, unsigned rank, Origin at);

// async_products.cc
const Product *product_reading(const Async &a, uint32_t chunk);
void forget_products(Async &a);

// async_sums.cc
Reader reader_of(const Async &a, uint32_t chunk); // of 16 bytes that are being read
void forget_additions(Async &a);

}  // namespace cuemu
#pragma GCC visibility pop

#endif
