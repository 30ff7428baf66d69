// The scheduler's own types: the runtime library's sources include this, kernels never do.
#ifndef CUEMU_SCHEDULER_H
#define CUEMU_SCHEDULER_H

#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "cuemu/execution.h"
#include "cuemu/warp.h"
#include "host.h"

#pragma GCC visibility push(hidden)
namespace cuemu {

const unsigned MAX_THREADS = 1024, MAX_WARPS = 32, MAX_CLUSTER = 16, MAX_RESIDENT = 256;
const size_t STATIC_LIMIT = 48 * 1024, SHARED_LIMIT = 227 * 1024, RED_ZONE = 32;

// shared_limit is the shared memory of a block, static and dynamic: SHARED_LIMIT, or less by CUEMU_SHARED_BYTES, as GPUs other than Hopper's have.
size_t shared_limit();
// may_have_shared: above STATIC_LIMIT a kernel asks for its dynamic part first (cudaFuncSetAttribute).
bool may_have_shared(size_t static_bytes, size_t dynamic_bytes);

// A stack every 68 KiB, the lowest page unmapped. No power of two, and tops shifted by a colour: else the stacks of a block meet in the same
// cache sets and TLB entries, and a switch costs three times as much.
const size_t STACK_STRIDE = 17 * 4096, STACK_GUARD = 4096;
const unsigned DIRECT_STACK = MAX_THREADS;   // the stack on which direct mode runs

enum WaitKind { IN_BARRIER, IN_COLLECTIVE, IN_CLUSTER, IN_ASYNC, IN_GRID };

// Wait says where a fiber waits; it lies on the fiber's own stack, which is in the cache when it matters.
struct Wait {
	WaitKind what;
	int kind, line;
	const char *file;
	const char *name;                           // IN_ASYNC: of what is waited for
};

// Fiber is a thread of a block: where it goes on, and what it hands to a warp function and gets back. It is a line of the cache.
struct alignas(64) Fiber {
	void *sp;
	const Wait *wait;
	uint64_t value, result;
	uint32_t mask;
	int32_t kind;                               // beside the mask: both are compared at once
	uint32_t source;
};

// Warp: one bit a lane. live = has not left the kernel; every live lane is in exactly one of the seven states that follow. A warp is a line of the
// cache.
struct alignas(64) Warp {
	uint32_t live, runnable, at_barrier, in_collective, in_activemask, in_cluster, in_async, in_grid;
	uint32_t arrived, passed;                   // has arrived at the cluster's barrier and not waited; passed: the others have arrived too
	uint32_t started;                           // has a stack
	uint32_t yielded;                           // runnable, but others go first
	bool down;                                  // lanes run from the highest to the lowest
};

enum Policy { FORWARD, REVERSE, RANDOM, GREEDY };

struct Order {
	Policy policy;
	uint64_t seed;
};

struct Worker;
struct Async;                                   // async_state.h

// Cluster: the blocks that run beside each other on one OS thread, and their barrier. A block that no cluster was asked for is one of its own.
struct Cluster {
	unsigned size, arrived;                     // blocks; threads at the barrier
	Worker *block[MAX_CLUSTER];                 // by rank
	int departures;                             // for TSan: what waiting threads acquire
	unsigned yielded;                           // rank of the block whose turn is over; size: none
	unsigned yields;                            // turns on end that were over so
};

// Worker: one OS thread and the block that it runs, or one block of the cluster that an OS thread runs.
struct Worker {
	void *home;                                 // the suspended context of the OS thread
	const Job *job;
	Order order;
	unsigned threads, warps;                    // of a block
	unsigned current;                           // linear index of the running thread
	unsigned live, arrived;
	int votes, barrier_result;
	Wait barrier_wait;                          // of the first thread at this barrier
	bool divergence_reported, direct, in_block, one_dimensional;
	unsigned direct_rank, direct_thread;        // direct_thread: the one that runs on the direct stack once promoted
	uint32_t ready;                             // by rank: warps with a runnable lane
	unsigned cursor;                            // rank that ran last
	uint64_t random;
	uint8_t rank_of[MAX_WARPS], warp_at[MAX_WARPS];
	Warp warp[MAX_WARPS];
	Fiber fiber[MAX_THREADS];
	char *stacks, *arena;
	char arena_fill;                            // of what no block of this launch has written
	unsigned arena_spoiled;                     // so many launches had been cut short when the arena was filled
	Async *async;                               // null until it is needed
	void *sanitizer_home, *sanitizer_fiber[MAX_THREADS + 1], *sanitizer_fake[MAX_THREADS + 1], *sanitizer_home_fake;
	const void *home_stack;
	size_t home_stack_bytes;
	std::atomic<uint64_t> progress;             // blocks finished
	std::atomic<bool> busy;
	int system_thread;                          // the thread's number for the system
	clockid_t processor_clock;                  // counts its time on a processor; an error, and no fault, once it has ended
	Cluster *cluster, own_cluster;              // of the block that runs
	unsigned rank;                              // of the block in its cluster
	uint3 at;                                   // the block's index, where it is one of several
	bool entered, ended;                        // of a block of several: some thread has run, all have ended
	std::atomic<bool> at_home;                  // a cluster runs, and no block of it
	bool parked;                                // the block has yielded often: blocks of the grid beside it get a turn
	unsigned yields, parkings;                  // yields since the block's turn began; turns that it has given away
	const void *polled;                         // what polling_thread changed last by an atomic operation
	unsigned polling_thread, polls;
	bool is_launcher;
	void *launcher_base;                        // is_launcher: the context to which an abandoned launch returns
};

extern __thread Worker *this_worker __attribute__((tls_model("initial-exec")));

// thread_of is the linear index of the thread that runs.
CUEMU_PLAIN inline uint32_t thread_of(const Worker &w) {
	return w.direct ? threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) : w.current;
}

CUEMU_PLAIN inline unsigned lanes_of(const Worker &w, unsigned warp) {
	const unsigned rest = w.threads - warp * 32;
	return rest < 32 ? rest : 32;
}

CUEMU_PLAIN inline char *stack_top(Worker &w, unsigned slot) { return w.stacks + (slot + 1) * STACK_STRIDE - (slot % 61) * 64; }

CUEMU_PLAIN inline unsigned slot_of(const Worker &w, unsigned thread) { return thread == w.direct_thread ? DIRECT_STACK : thread; }

// One launch at a time; what its workers share.
struct LaunchState {
	Job job;
	unsigned cluster_size;                      // more than one: blocks counts clusters
	uint64_t blocks;
	std::atomic<uint64_t> next;
	uint64_t chunk, stride, shift;              // block i of the order is (i * stride + shift) mod blocks
	uint64_t ascending_from;                    // from the i-th on blocks come by their number: `ascending`, if that is not null
	uint64_t *ascending;
	std::atomic<uint64_t> static_bytes;         // shared memory handed out to declarations, red zones included
	std::atomic<uint64_t> static_used;          // without red zones
	std::atomic<int> refused;                   // a cudaError: found when the first thread came to a declaration
	char *dynamic_of(char *arena) const { return arena + ARENA_BYTES - (job.shared_bytes + 15) / 16 * 16; }
};
extern LaunchState current_launch;
extern std::atomic<bool> abandoned;

// pool.cc
unsigned os_threads();                          // that run blocks of this launch
bool prepare_worker(Worker &w, bool guards = true);                 // false: no memory

// debug.cc
extern bool debugging;                          // a debugger looks on: no direct mode
extern "C" CUEMU_API void cuemu_debug_stop(const char *message);
void debug_start(Worker &w);                    // every thread of the block gets its stack

// blocks.cc
void run_blocks(Worker &w);
void set_up(Worker &w, const Job &job);         // for the blocks of a launch
void start_block(Worker &w, uint64_t number);   // of a block, or of its cluster
void finish_block(Worker &w);
bool take_block(uint64_t *number);              // the next one of the grid; false: there is none
void take_ascending();                          // what is left of the grid comes by its numbers from here on

// resident.cc: blocks that run beside each other and are no cluster.
bool run_resident_grid(Worker &w);              // a cooperative launch; false: it is abandoned, or there is no memory
bool run_beside(Worker &w);                     // a block that is parked, with those after it, until all have ended
// poll: a thread reads what others may write, by a volatile or atomic access. After many reads, or changes of the same
// word in a row, it yields.
void poll(Worker &w, const void *p, bool changes);

// scheduler.cc
[[noreturn]] void abandon(Worker &w);           // leave the block, and on the launcher's own code the launch function

// runtime.cc
unsigned resident_blocks(uint64_t threads);     // so many blocks of so many threads can be there at once

// schedules.cc
bool parse_order(const char *text, Order *order);
unsigned char fill_of(const Order &order);      // NaN, large numbers or others
unsigned char fill_of_order();                  // pool.cc: of the order that is set
void set_block_order(LaunchState &l, const Order &order);
void set_ascending(LaunchState &l, uint64_t from);
uint64_t grid_position(uint64_t i);
void set_ranks(Worker &w, uint64_t block);
unsigned random_bit(Worker &w, uint32_t bits);
void demote(Worker &w, unsigned warp);
void block_index(uint64_t i, uint3 *index);
uint3 thread_index(unsigned linear);
uint64_t mix(uint64_t x);                       // SplitMix64's finalizer

// scheduler.cc, for those that run blocks
unsigned start_fibers(Worker &w);               // every thread is a fiber from its start; which runs first
void enter_block(Worker &w);                    // from home, until it ends or no thread of it can run
void *first_context(Worker &w, unsigned thread);
CUEMU_PLAIN inline bool has_started(const Worker &w, unsigned thread) {
	return __builtin_expect(w.warp[thread / 32].started >> thread % 32 & 1, 1);
}
// context_of is where a thread goes on, or starts.
CUEMU_PLAIN inline void *context_of(Worker &w, unsigned thread) {
	if (!has_started(w, thread)) return first_context(w, thread);
	return w.fiber[thread].sp;
}
void leave_kernel(Worker &w);                   // the current thread has ended
void make_runnable(Worker &w, unsigned warp, uint32_t lanes);
extern "C" void wait_for_others(const Wait *wait);   // in the barrier of the cluster, or in an asynchronous instruction

// cluster.cc
Worker *block_beside(unsigned i);               // what runs the i-th of several blocks of this OS thread; null: no memory
bool run_cluster(Worker &w, uint64_t number);   // false: the launch is abandoned, or there is no memory
void cluster_left(Worker &w);                   // a thread has ended: whoever waits for it goes on
void guard_arena(Worker &w, bool closed);       // closed: no access
const Worker *peer_of(const Worker &w, const char *address);  // the block of the same cluster whose shared memory holds an address

// async.cc
void async_start(Worker &w);                    // a block starts
void async_end(Worker &w);                      // ... and has ended
void async_barrier(Worker &w);                  // all threads of the block have met
void async_warp_barrier(Worker &w, unsigned warp, uint32_t lanes);
bool async_idle(Worker &w);                     // no thread can run: true if one can once a copy has been made
void async_hurry(Worker &w);                     // one of its copies is made, if any is asked for

// collective.cc
extern const char *const collective_names[18];
void compute(Fiber *v, int kind, uint32_t lanes);
enum { NONE = -1, ELSEWHERE = -2 };
int mismatch(const Fiber *v, uint32_t lanes, unsigned self);
void tell_ended_lane(const Worker &w, unsigned warp, uint32_t lanes);
void tell_deadlock(Worker &w);
void tell_divergence(Worker &w, const Wait &wait);
inline CUEMU_PLAIN bool same_place(const Wait &wait, const char *file, int line) {
	return wait.line == line && (wait.file == file || strcmp(wait.file, file) == 0);
}

// shared.cc
bool map_arena(Worker &w);
void open_arena(Worker &w);
void close_arena(Worker &w);
void spoil_arenas();                            // a launch was cut short: what its blocks wrote is still there

// report.cc: the first report of a launch stays, later ones are dropped.
bool report(int kind, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
cuemu_report *open_report(int kind);            // null if there is one already
void fill_place(cuemu_report *r);
void add_other_place(const char *file, int line);                   // of the report that is open
void clear_report();
const cuemu_report &first_report();
bool have_report();
void end_on_report();                           // pool.cc: prints the report and ends a plain program

// memory.cc
struct Buffer {
	char *data, *mapping;
	size_t bytes, mapped;
	char name[64], fill;                        // fill: of the data at first; what is around it follows from it (guard_at)
	std::atomic<bool> used;
};
const Buffer *nearest_buffer(const char *address, int64_t *past_end);
char memory_fill();                             // of shared memory that nobody has written: another one in another order, or what cuemu_arrange asked for
char buffer_fill();                             // of device buffers, and of what is around them

// switch.cc
extern "C" void cuemu_switch(void **save, void *load);
extern "C" [[noreturn]] void cuemu_jump(void *load);
void *new_stack(char *top, void (*entry)());

}  // namespace cuemu
#pragma GCC visibility pop

#endif
