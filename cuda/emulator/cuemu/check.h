// `triad check`: a program of the user's own, with its main, runs in the emulator, and what is found goes into a file as one JSON object a line.
// The program goes on after most findings. Nothing of this is active where CUEMU_FINDINGS is not set. One OS thread runs all blocks.
#ifndef CUEMU_CHECK_H
#define CUEMU_CHECK_H

#include <cstddef>
#include <cstdint>

#include "cuemu/execution.h"
#include "cuemu/runtime_api.h"
#include "cuemu/scheduler.h"

#pragma GCC visibility push(hidden)
namespace cuemu {

using Pc = const void *;                        // a return address: it points behind a call

extern bool checking;                           // findings are written
extern bool watching;                           // ... and every access of a kernel is looked at

// ---- findings.cc

// Finding is one line of the file. A finding whose kind and places were written before is dropped.
class Finding {
public:
	explicit Finding(const char *kind);            // with the kernel, block and thread that run, if any
	Finding &text(const char *name, const char *value);
	Finding &number(const char *name, long long value);
	Finding &index(const char *name, unsigned x, unsigned y, unsigned z);
	Finding &place(const char *name, Pc pc);       // of the program
	Finding &place(const char *name, const char *file, int line);
	Finding &message(const char *format, ...) __attribute__((format(printf, 2, 3)));
	void write();
	void write_to(int file);                       // whatever was written before

private:
	void add(const char *format, ...) __attribute__((format(printf, 2, 3)));
	void name(const char *name);
	void quoted(const char *value);
	char line[8192];
	size_t n;
	uint64_t same;                                 // a hash of kind and places
};

void know_program();                            // finds where it is loaded
uint32_t offset_in_program(Pc pc);              // from where the program is loaded; 0: not of the program
void tell_barrier_skipped(const char *file, int line);  // threads of the block have ended without it: no mistake by itself
bool in_program(const void *p);                 // its code, constants and global variables
void report_to_finding();                       // the report of a launch becomes a finding, and the program goes on
Pc program_address(uintptr_t pc, uintptr_t sp); // of the program's own code: pc, or the first return address on the stack

// ---- observed.cc: programs whose kernels do not run

extern bool observing;
void *observe_memory(size_t bytes, bool managed);
bool observe_copy(void *to, const void *from, size_t bytes);   // false: neither place is on the device; such a copy is made
void observe_fill(void *to, int value, size_t bytes);
void observe_shared(int bytes);

// ---- access.cc

// Stops a kernel that takes `alignment` bytes of device memory at once, 16 at most, where the address is no multiple of that many.
void refuse_misaligned(uintptr_t address, uintptr_t alignment, Pc pc);

// ---- watch.cc: accesses of kernels

enum { WRITES = 1, ATOMIC = 2, VOLATILE = 4 };
void watch_access(Worker &w, const void *p, size_t bytes, int how, Pc pc);
void shadow_buffer(char *data, size_t bytes, const char *file, int line);  // a new device buffer
void drop_buffer(char *data, const char *file, int line);                  // it is freed
void set_initialised(const void *p, size_t bytes);
void copy_initialised(const void *to, const void *from, size_t bytes);
void watch_block(Worker &w);                     // a block starts
void watch_copied(Worker &w, uint32_t to, uint32_t bytes);  // an asynchronous copy to shared memory starts
void step();                                    // a launch moved on, although no block ended: its watchdog is patient
uint64_t steps();
// A launch whose atomic operations change memory moves on. It does not where a thread only counts how often it has asked for something else, or
// takes its last change back: one that takes a lock, finds nothing done and gives it back waits.
void note_asked(const Worker &w, const void *at);       // what others may write is read, or an atomic operation changed nothing
void note_change(const Worker &w, const void *at, uint64_t before, uint64_t after);  // by an atomic operation
bool waits_for_host();                          // a thread asks for what the host may write meanwhile, and no kernel does
void settle_pending();                          // a write that raced is looked at once it is made

// ---- counts.cc

extern bool counting;                           // requests, sectors and wavefronts are counted
void count_access(Worker &w, const void *p, size_t bytes, int how, Pc pc, bool shared);
void count_run(Worker &w, Pc pc);               // a thread comes to a stretch of code
void count_meeting(const Worker &w);            // all threads of a block meet, or are those of the next one
void count_launch();                            // the launch ended

// ---- happens_before.cc: what happens before what

// Access: of four bytes or fewer, the last one of its kind. time is the number of events that order threads before it.
struct Access {
	uint32_t time, pc, block;
	uint16_t thread;
	uint8_t mask, atomic;  // atomic: ATOMIC, VOLATILE or 0
};

extern uint32_t now;                            // rises with every event that orders threads
extern uint32_t launch_time;                    // when the launch began
uint32_t block_time(const Worker &w);           // when its block began
bool known(Worker &w, const Access &before);    // happens before what the current thread of w does now
void order_launch();
void order_grid();
void order_block(Worker &w);
void order_barrier(Worker &w);
void order_warp(Worker &w, unsigned warp, uint32_t lanes);
void order_fence(Worker &w);
bool order_fenced(const Worker &w);  // whether the thread has passed a fence since the block's last barrier
bool async_known(const Worker &w, uint32_t thread, uint32_t other, uint32_t time);  // async.cc: by an mbarrier, in one block
void order_release(Worker &w, const void *flag);
void order_acquire(Worker &w, const void *flag);
CUEMU_PLAIN inline uint32_t block_of(const Worker &) { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// ---- host_checks.cc

// DeviceReach: while it lives, the device reaches what the host may not touch until it has waited.
class DeviceReach {
public:
	DeviceReach();
	~DeviceReach();
	DeviceReach(const DeviceReach &) = delete;
	DeviceReach &operator=(const DeviceReach &) = delete;
};

void set_sticky_error();                        // the launch died: every later call fails, as on a GPU
cudaError sticky_error();

bool host_fault(const char *address, bool writes, bool atomic, Pc pc);  // true: reported, or right, and the access can be repeated
void host_atomic(const void *p);                // host code is about to do an atomic operation, a load as well
void launch_returns();                          // a launch ended, and the host has not waited for it
void check_end();                               // the program ends

void tell_refused(const Job &job, cudaError error, size_t static_bytes);  // of shared memory, as far as it is known
cudaError check_malloc(void **p, size_t bytes, bool managed, bool pinned, const char *file, int line);
cudaError check_free(void *p, bool pinned, const char *file, int line);
cudaError check_register(void *p, size_t bytes, const char *file, int line);
cudaError check_unregister(void *p, const char *file, int line);
int sort_of_memory(const void *p);                        // a cudaMemoryType
cudaError check_copy(void *to, const void *from, size_t bytes, int kind, bool waits, const char *file, int line);
cudaError check_fill(void *to, int value, size_t bytes, const char *file, int line);
cudaError tell_no_symbol(const char *file, int line);
void check_synchronised();                      // the host has waited for everything
void check_reset();                             // cudaDeviceReset gives back all memory

// memory.cc
void let_host_reach(const void *data, int rights);
void retire(void *data);                        // a freed buffer: nobody reaches it again, and its addresses stay

// shared.cc: Area is what a __shared__ declaration has got in this launch.
struct Area {
	uint32_t offset, bytes;
	const char *file;
	int line;
};
bool area_near(uint32_t offset, Area *area);    // the one that holds an offset, or the last before it

}  // namespace cuemu
#pragma GCC visibility pop

#endif
