// Where a kernel meets the scheduler: the index variables, the launch, shared memory, barriers. The state behind these declarations lives once,
// in the runtime library (scheduler.cc, blocks.cc, pool.cc); a kernel library only refers to it.
#ifndef CUEMU_EXECUTION_H
#define CUEMU_EXECUTION_H

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#ifdef CUEMU_OBSERVED
#include "cuemu/observed.h"
#endif
#include "cuemu/sanitizer.h"
#include "cuemu/vector_types.h"

// __thread, not thread_local: no wrapper call for each read. Initial-exec: one instruction each, also from a library opened at run time.
#define CUEMU_TLS __attribute__((tls_model("initial-exec"), visibility("default")))
extern __thread uint3 threadIdx CUEMU_TLS;
extern __thread uint3 blockIdx CUEMU_TLS;
extern __thread dim3 blockDim CUEMU_TLS;
extern __thread dim3 gridDim CUEMU_TLS;
extern __thread bool cuemu_promoted CUEMU_TLS;           // the block left direct mode: its threads are fibers now
extern __thread char *cuemu_arena CUEMU_TLS;             // this block's shared memory

// As in CUDA's headers, no constant expression: a program may define it itself, as const int or constexpr int.
extern const int warpSize __attribute__((visibility("default")));

namespace cuemu {
static constexpr size_t ARENA_BYTES = 320 * 1024;        // of address space for a block's shared memory
}

enum cudaError : int;
struct CUstream_st;
typedef CUstream_st *cudaStream_t;

namespace cuemu {

// Job is a launch as the runtime sees it.
struct Job {
	dim3 grid, block;
	size_t shared_bytes;
	const char *kernel, *file;                             // kernel: its name or null; file and line: where it was launched
	int line;
	void (*thread)(void *body);                            // runs the thread that threadIdx names
	void (*lanes)(void *body, unsigned count, bool down);  // runs count threads from threadIdx on, until one promotes the block
	void *body;
	dim3 cluster;                                          // blocks of a cluster; 1 x 1 x 1: none was asked for
	bool cooperative;                                      // all blocks are resident, and may wait for each other
};

}  // namespace cuemu

#pragma GCC visibility push(default)
extern "C" {
void cuemu_launch(const cuemu::Job *job);
extern uint32_t cuemu_launch_serial;                       // the number of the launch that runs; 0 is none
uint32_t cuemu_shared_offset(uint64_t *slot, size_t bytes, size_t align, const char *file, int line);
void *cuemu_dynamic_shared(void);
int cuemu_barrier(int kind, int predicate, const char *file, int line);
uint64_t cuemu_collective(int kind, uint32_t mask, uint64_t value, uint32_t arg, const char *file, int line);
void cuemu_yield(void);
void cuemu_poll_atomic(const void *p);                     // p is read or changed by an atomic operation, for the same
void cuemu_poll(const void *p);                            // p is read, and others may write it: a block that does so often yields
unsigned cuemu_cluster_rank(void);                         // of this block in its cluster; without one 0 of 1
unsigned cuemu_cluster_size(void);
void cuemu_cluster_arrive(const char *file, int line);
void cuemu_cluster_wait(const char *file, int line);
void cuemu_grid_sync(const char *file, int line);
int cuemu_cooperative(void);                               // 1: the grid was launched so that its blocks may wait for each other
void *cuemu_peer_shared(const void *own, unsigned rank, const char *file, int line);
void cuemu_tile_barrier(unsigned threads, const char *file, int line);  // of the tile of more than 32 threads that holds this one
void cuemu_tile_put(const void *value, size_t bytes);      // into the place of this thread's warp, of at most 64 bytes
void cuemu_tile_get(unsigned warp, void *value, size_t bytes);
void cuemu_promote(void);                                  // this block's threads become fibers
void cuemu_end_thread(void) __attribute__((noreturn));     // this thread has left its kernel
void cuemu_copy_argument(void *to, const void *from, size_t bytes);
unsigned cuemu_lane(void);
int cuemu_in_kernel(void); /* 1 on a thread of a kernel, 0 in host code */
void cuemu_trap(const char *file, int line);
void cuemu_not_global(const char *file, int line);
void cuemu_wrong_block(const char *what, int x, int y, int z, const char *file, int line);  // the block has other sides than a library's template
}
#pragma GCC visibility pop

namespace cuemu {

// next_thread moves threadIdx to the following (or preceding) thread of the block, x fastest.
inline void next_thread(bool down) {
	if (!down) {
		if (++threadIdx.x < blockDim.x) return;
		threadIdx.x = 0;
		if (++threadIdx.y < blockDim.y) return;
		threadIdx.y = 0;
		++threadIdx.z;
		return;
	}
	if (threadIdx.x-- != 0) return;
	threadIdx.x = blockDim.x - 1;
	if (threadIdx.y-- != 0) return;
	threadIdx.y = blockDim.y - 1;
	--threadIdx.z;
}

template <class Body> struct Threads {
	static void one(void *body) { (*static_cast<Body *>(body))(); }
	static void lanes(void *body, unsigned count, bool down) {
		for (;;) {
			asm volatile("" ::: "memory");                         // threadIdx is in memory: a fault names the right thread
			(*static_cast<Body *>(body))();
			if (cuemu_promoted || --count == 0) return;
			next_thread(down);
		}
	}
};

// Kept is work for later: a graph does it, and drops its state with the last of its nodes.
struct Kept {
	cudaError (*run)(void *state);
	void (*drop)(void *state);
	void *state;
};

template <class Work> inline Kept kept_of(const Work &work) {
	return {[](void *state) { return (*static_cast<Work *>(state))(); }, [](void *state) { delete static_cast<Work *>(state); }, new Work(work)};
}

}  // namespace cuemu

extern "C" __attribute__((visibility("default"))) int cuemu_capturing(void);              // a stream captures a graph
extern "C" __attribute__((visibility("default"))) void cuemu_keep(cuemu::Kept kept);      // as the graph's next node

namespace cuemu {

// A kernel's argument whose class copies or destroys itself is copied on the host, where the launch stands. Threads get the bits of that copy, as
// on a GPU: neither a constructor nor a destructor runs in the kernel.
template <class T> constexpr bool is_plain = std::is_trivially_destructible_v<T> && (!std::is_copy_constructible_v<T> || std::is_trivially_copy_constructible_v<T>) &&
                                             (!std::is_move_constructible_v<T> || std::is_trivially_move_constructible_v<T>);

// Lifted stands for such an argument until the kernel is called with its bits.
template <class T> struct Lifted {
	const T *from;
	// Bits is returned as T is: whoever calls says where it shall lie, since neither is copied by its bits.
	struct Bits {
		alignas(T) unsigned char bytes[sizeof(T)];
		CUEMU_PLAIN explicit Bits(const T *from) { cuemu_copy_argument(bytes, from, sizeof bytes); }
		Bits(const Bits &);
		CUEMU_PLAIN ~Bits() {}
	};
	CUEMU_UNWATCHED static Bits bits(const T *from) { return Bits(from); }
};
template <class T> constexpr bool is_lifted = false;
template <class T> constexpr bool is_lifted<Lifted<T>> = true;

template <class T> CUEMU_PLAIN inline decltype(auto) lift(T &argument) {
	if constexpr (is_plain<T>) return (argument);
	else return Lifted<T>{&argument};
}

// cuemu_argument is what the kernel is called with. The function's own type is hidden from the compiler, which has no T made of bits.
template <class T> inline T &cuemu_argument(T &plain) { return plain; }
template <class T> inline T cuemu_argument(Lifted<T> &lifted) {
	void *function = reinterpret_cast<void *>(&Lifted<T>::bits);
	asm volatile("" : "+r"(function));
	return reinterpret_cast<T (*)(const T *)>(function)(lifted.from);
}

// end_thread stands behind a kernel's call in one expression, at whose end what the kernel was called with would be destroyed.
template <class... Args> inline void end_thread(Args &...) {
	if constexpr ((is_lifted<Args> || ...)) cuemu_end_thread();
}

// Bound is a configured launch with its kernel: calling it with the kernel's arguments runs the grid. Every thread gets its own copies.
template <class Kernel> struct Bound {
	Job job;
	Kernel kernel;
	template <class... Args> void operator()(Args... args) { run(args...); }
	template <class... Args> void run(Args &...args) {
#ifdef CUEMU_OBSERVED
		const Observed all[] = {observed(args)..., Observed()};
		cuemu_observed_launch(&job, all, sizeof...(args));
#else
		if (cuemu_capturing())
			return cuemu_keep(kept_of([self = *this, kept = std::make_tuple(args...)]() mutable { return std::apply(self, kept), cudaError(); }));
		auto body = [&]() CUEMU_PLAIN {                        // what it reads is the host's
			if constexpr (!(is_plain<Args> && ...)) cuemu_promote();
			kernel(lift(args)...);
		};
		using Body = decltype(body);
		job.thread = &Threads<Body>::one;
		job.lanes = &Threads<Body>::lanes;
		job.body = &body;
		cuemu_launch(&job);
#endif
	}
};

// Typed is one whose kernel's parameters are known: arguments are converted to their types where the launch stands, as on a GPU.
template <class Kernel, class... Parameters> struct Typed {
	Bound<Kernel> bound;
	void operator()(Parameters... args) { bound.run(args...); }
};
template <class... Parameters> struct Typing {
	Job job;
	template <class Kernel> Typed<Kernel, Parameters...> operator->*(Kernel kernel) const { return {{job, kernel}}; }
};

// Lent is a configured launch whose kernel takes references: it works on the caller's own objects.
template <class Kernel> struct Lent {
	Job job;
	Kernel kernel;
	template <class... Args> void operator()(Args &&...args) {
#ifdef CUEMU_OBSERVED
		const Observed all[] = {observed(args)..., Observed()};
		cuemu_observed_launch(&job, all, sizeof...(args));
#else
		if (cuemu_capturing())
			return cuemu_keep(kept_of([self = *this, kept = std::tuple<Args...>(std::forward<Args>(args)...)]() mutable {
				return std::apply([&](auto &...a) { self(a...); }, kept), cudaError();
			}));
		auto body = [&]() CUEMU_PLAIN { kernel(args...); };
		using Body = decltype(body);
		job.thread = &Threads<Body>::one;
		job.lanes = &Threads<Body>::lanes;
		job.body = &body;
		cuemu_launch(&job);
#endif
	}
};
struct Lending {
	Job job;
	template <class Kernel> Lent<Kernel> operator->*(Kernel kernel) const { return {job, kernel}; }
};

// Configuration is what stands between <<< and >>>. `launch(grid, block).cuemu_kernel("name")->*[=](auto... a) { kernel(argument(a)...), end_thread(a...); }` binds a
// kernel.
struct Configuration {
	Job job;
	Configuration &cuemu_kernel(const char *name) {
		job.kernel = name;
		return *this;
	}
	template <class Kernel> Bound<Kernel> operator->*(Kernel kernel) const { return {job, kernel}; }
	Configuration *operator->() { return this; }
	template <class... Parameters> Typing<Parameters...> of(void (*)(Parameters...)) const { return {job}; }
	Lending by_reference() const { return {job}; }
};

inline Configuration cuemu_launch(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t = nullptr, const char *file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
	return {{grid, block, shared_bytes, nullptr, file, line, nullptr, nullptr, nullptr, dim3(1), false}};
}

// shared_slot remembers where a declaration's variables lie, and for which launch. Hidden: two libraries may hold kernels of one name.
template <class T> struct SharedSlot {
	__attribute__((visibility("hidden"))) static uint64_t packed;
};
template <class T> __attribute__((visibility("hidden"))) uint64_t SharedSlot<T>::packed = 0;

// cuemu_shared<T>() is the block's instance of T, a struct of the variables that one `__shared__` declaration makes. A block starts with all its
// shared memory filled with 0xFF.
template <class T> CUEMU_PLAIN inline T &cuemu_shared(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
	uint64_t slot = __atomic_load_n(&SharedSlot<T>::packed, __ATOMIC_RELAXED);
	uint32_t offset = static_cast<uint32_t>(slot);
	if (CUEMU_SANITIZER || static_cast<uint32_t>(slot >> 32) != cuemu_launch_serial)
		offset = cuemu_shared_offset(&SharedSlot<T>::packed, sizeof(T), alignof(T), file, line);
	return *reinterpret_cast<T *>(cuemu_arena + offset);
}

// dynsmem is the dynamic shared memory of the launch, aligned to 16 bytes; its end lies within 16 bytes of an unmapped page.
inline void *dynsmem() { return cuemu_dynamic_shared(); }

// Dynamic stands for dynamic shared memory that is declared outside functions: an array of T in each block.
template <class T> struct Dynamic {
	operator T *() const { return static_cast<T *>(dynsmem()); }
	template <class U> explicit operator U *() const { return (U *)dynsmem(); }
};

enum { MULTIPROCESSORS = 4 };                  // of the device that is none
enum { BARRIER_SYNC, BARRIER_COUNT, BARRIER_AND, BARRIER_OR };

}  // namespace cuemu

// Where a wait stands in the source, as two default arguments: the caller's file and line.
#define CUEMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(CUEMU_HERE) { cuemu_barrier(cuemu::BARRIER_SYNC, 0, file, line); }
inline int __syncthreads_count(int predicate, CUEMU_HERE) { return cuemu_barrier(cuemu::BARRIER_COUNT, predicate, file, line); }
inline int __syncthreads_and(int predicate, CUEMU_HERE) { return cuemu_barrier(cuemu::BARRIER_AND, predicate, file, line); }
inline int __syncthreads_or(int predicate, CUEMU_HERE) { return cuemu_barrier(cuemu::BARRIER_OR, predicate, file, line); }

#endif
