/* The emulator as its host sees it: plain C, one library (libtriad_emulator.so) that holds all state.
 *
 * Build     g++ -std=c++17 -O2 -g1 -fPIC -shared -ffp-contract=off -I cuda/emulator cuda/emulator/(all).cc -o libtriad_emulator.so -pthread -ldl
 * Kernels   rewrite FILE.cu (package cuda/rewrite), then, clang++ alike,
 *           g++ -std=c++17 -O2 -g1 -fPIC -shared -ffp-contract=off -I cuda/emulator -include cuda_runtime.h -I cuda -I cuda/include -iquote DIR
 *               -x c++ FILE.rewritten -o op.so
 *           The library refers to the emulator's symbols and is not linked against it: open libtriad_emulator.so first, with RTLD_NOW |
 *           RTLD_GLOBAL, then op.so with RTLD_NOW | RTLD_LOCAL. -O2 is meant: -O1 and -O3 work too, -ffast-math changes results.
 * Sanitizer a standalone program: g++ -std=c++17 -g -O1 -fsanitize=address,undefined (or =thread) -I cuda/emulator -include cuda_runtime.h
 *           -x c++ FILE.rewritten cuda/emulator/(all).cc -o program -pthread -ldl. No handler and no guard page is needed there.
 * Run       cuemu_set_order, cuemu_alloc the tensors, cuemu_fill or copy them, cuemu_run(launch, call), cuemu_check the canaries, copy out.
 *           One cuemu_run at a time. After a report of another kind than CUEMU_OK and CUEMU_LAUNCH_ERROR the process should be replaced:
 *           an abandoned launch leaks what its host code held.
 * A plain   program with `main` and <<<>>> links with the same sources; there a report goes to stderr and the exit status is 3.
 *           CUEMU_ORDER=forward|reverse|random:SEED|greedy:SEED and CUEMU_WORKERS=N set it up;
 *           CUEMU_SHARED_BYTES=N gives blocks less shared memory than Hopper's 227 KB, CUEMU_CAPABILITY=75 an older compute capability than 8.0.
 *
 * Never measure a kernel here: the emulator's time says nothing about a GPU's.
 */
#ifndef CUEMU_HOST_H
#define CUEMU_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUEMU_API __attribute__((visibility("default")))

enum {
	CUEMU_OK = 0,
	CUEMU_OUT_OF_BOUNDS,   /* an access that no buffer permits, a red zone overwritten, a stack overflow */
	CUEMU_DIVERGENT,       /* threads meet in different barriers or warp functions, or call one with a mask that leaves them out */
	CUEMU_DEADLOCK,        /* no thread of a block can run */
	CUEMU_WATCHDOG,        /* no block finished for the time set */
	CUEMU_LAUNCH_ERROR,    /* a launch that CUDA would refuse, or a launch function that returned a CUDA error or threw */
	CUEMU_TRAP             /* __trap, an integer division by zero, an illegal instruction */
};

typedef struct {
	int32_t  kind;                           /* one of the above */
	int32_t  code;                           /* what the launch function returned */
	int32_t  has_place;                      /* 1: block and thread are known, 2: the block alone */
	uint32_t block[3], thread[3];
	int32_t  line;                           /* 0: not known; then see pc_module and pc_offset */
	char     file[256], kernel[128];
	int32_t  access;                         /* 0 not known, 1 read, 2 write */
	uint64_t address;                        /* of a bad access */
	char     buffer[64];                     /* the nearest buffer's name; empty: none near */
	int64_t  distance, buffer_bytes;         /* bytes past its end (0 is the first byte after it), negative: before its start */
	char     pc_module[256];                 /* `addr2line -e pc_module pc_offset` names the source line of a bad access */
	uint64_t pc_offset;
	char     message[1024];                  /* all of it as one sentence */
	int32_t  other_line;                     /* the second place: of the other barrier, of another thread that waits */
	char     other_file[256];
} cuemu_report;

/* Order in which threads and blocks run: "forward", "reverse", "random:SEED", "greedy:SEED". 0, or -1 for another text. */
CUEMU_API int cuemu_set_order(const char *order);
CUEMU_API void cuemu_set_workers(int n);             /* 0: one a core; before the first launch */
CUEMU_API void cuemu_set_watchdog(double seconds);   /* 0: none; default 30 */

/* Where buffers lie from here on between what nothing may touch, and the byte that fills them and shared memory when a block starts; what is around
 * buffers follows from it. -1: 0xFF, and in shared memory another one in each order.
 * CUEMU_AT_END: less than 16 bytes before it; CUEMU_AT_BEGIN: less than 128 bytes behind it, at the same address modulo 128 as at the end.
 * CUEMU_EXACT_END: the byte behind the data is the first that nothing may touch, whatever the alignment; CUEMU_EXACT_BEGIN: the one before it. */
enum { CUEMU_AT_END = 0, CUEMU_AT_BEGIN, CUEMU_EXACT_END, CUEMU_EXACT_BEGIN };
CUEMU_API void cuemu_arrange(int place, int fill);

/* A device buffer between two unmapped megabytes, at an end of what can be read between them (cuemu_arrange). The bytes around it, at least 4096,
 * are its canary, another one than its neighbours'. misalign (0..15): at CUEMU_AT_END the data starts that many bytes past a multiple of 16. Null: no memory. */
CUEMU_API void *cuemu_alloc(const char *name, size_t bytes, size_t misalign);
CUEMU_API int   cuemu_free(void *data);              /* 0, or -1: not a buffer's start */
CUEMU_API void  cuemu_fill(void *data, size_t bytes, const void *pattern, size_t pattern_bytes);
CUEMU_API void  cuemu_copy(void *to, const void *from, size_t bytes);
/* 0: both canaries are intact, and before = after = 0. Else the number of changed bytes; *before: distance in front of the start of the
 * nearest changed byte (1 is the byte just before); *after: bytes past the end of the nearest (1 is the first byte after). */
CUEMU_API int64_t cuemu_check(const void *data, int64_t *before, int64_t *after);

/* Calls launch(call) on a thread of the emulator's own, with the fault handler installed until it returns. Fills *report; returns its kind.
 * launch is a triad_kernel's: int (*)(const triad_call *). */
CUEMU_API int cuemu_run(int (*launch)(const void *call), const void *call, cuemu_report *report);

#ifdef __cplusplus
}
#endif
#endif
