// Where the models of asynchronous instructions (files of cuda/emulator/hopper/) meet the runtime library: mbarriers, copies, products of a
// warpgroup, fences. Addresses are pointers into shared memory; file and line are the kernel's.
#ifndef CUEMU_ASYNC_H
#define CUEMU_ASYNC_H

#include <cstdint>

#include "cuemu/execution.h"

namespace cuemu {

// Box is a copy by the copy engine: `rows` rows of 128 bytes to shared memory, chunks of 16 bytes exchanged as the 128-byte swizzle has it.
// Of the source, valid_rows rows with valid_bytes bytes are inside of the tensor; the rest reads as zero. Straight: one row of valid_bytes bytes, none
// exchanged.
struct Box {
	void *to;
	const char *from;
	int64_t row_bytes; // from one row of the source to the next
	int rows, valid_rows, valid_bytes;
	bool straight;
};

// Issued is what a lane hands in for one wgmma: d[64, cols] = or += a[64, K] b, K elements of 32 bytes together.
struct Issued {
	float *d;                  // cols / 2 accumulators
	const uint32_t *registers; // the operand a; null: in shared memory
	const float *decode;       // the values of all codes of one byte; null: decode16
	const float *decode_b;
	float (*decode16)(uint32_t);
	uint64_t a, b;             // descriptors
	bool a_across, b_across, add;
	int cols, warp;
	const char *file;
	int line;
	bool integers = false;     // the accumulators are 32-bit integers, which wrap
};

// Waited is what a lane hands in for a wait: so many groups may be unfinished.
struct Waited {
	int warp, pending;
	const char *file;
	int line;
};

}  // namespace cuemu

// A library whose accesses are not watched is that of variants which ask for nothing of this.
#ifdef CUEMU_SYNCHRONOUS
#define CUEMU_ASYNCHRONOUS __attribute__((error("a variant with asynchronous instructions is registered without .asynchronous() (register.cuh)")))
#else
#define CUEMU_ASYNCHRONOUS
#endif

#pragma GCC visibility push(default)
extern "C" {
CUEMU_ASYNCHRONOUS void cuemu_mbarrier_init(void *barrier, uint32_t arrivals, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_mbarrier_fence(void);
CUEMU_ASYNCHRONOUS void cuemu_mbarrier_arrive(void *barrier, uint32_t bytes, const char *file, int line);  // and expects so many bytes more
CUEMU_ASYNCHRONOUS uint32_t cuemu_mbarrier_phase(void *barrier, const char *file, int line);    // phases that have ended
CUEMU_ASYNCHRONOUS void cuemu_mbarrier_drop(void *barrier, const char *file, int line);         // one arrival fewer from the next phase on
CUEMU_ASYNCHRONOUS void cuemu_mbarrier_arrive_at(void *barrier, unsigned rank, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_mbarrier_wait(void *barrier, uint32_t parity, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_proxy_fence(void);
void cuemu_named_barrier(int number, int threads, int waits, const char *file, int line);
void cuemu_registers(int wanted, int more, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_copy_box(const cuemu::Box *box, void *barrier, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_copy_bytes(void *to, const void *from, uint32_t bytes, void *barrier, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_sums_add(float *to, const float *from, uint32_t bytes, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_sums_commit(void);
CUEMU_ASYNCHRONOUS void cuemu_sums_wait(int pending, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_copy_box_to_each(const cuemu::Box *box, void *barrier, unsigned blocks, const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_copy_async(void *to, const void *from, int bytes, int read, const char *file, int line);  // of which `read` bytes, then zeros
CUEMU_ASYNCHRONOUS void cuemu_copy_async_to(void *to, const void *from, int bytes, void *barrier, const char *file, int line);  // which the barrier's phase waits for
CUEMU_ASYNCHRONOUS void cuemu_copy_commit(void);
CUEMU_ASYNCHRONOUS void cuemu_copy_wait(int pending, const char *file, int line);
void cuemu_copy_end(void);                                     // the thread asks for no more: all have been waited for
CUEMU_ASYNCHRONOUS void cuemu_wgmma_fence(const char *file, int line);
CUEMU_ASYNCHRONOUS void cuemu_wgmma_issue(void *const *lanes);                    // of a warp; for warp_call
CUEMU_ASYNCHRONOUS void cuemu_wgmma_commit(void *const *lanes);
CUEMU_ASYNCHRONOUS void cuemu_wgmma_wait(void *const *lanes);
}
#pragma GCC visibility pop

#endif
