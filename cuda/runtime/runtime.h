/* What triad's worker asks of a GPU beside kernels: calls captured into a graph and timed with events, ceilings (kernels that do nothing but
   move bytes), comparison of buffers. Plain C; every function returns 0 or the number of a CUDA error. The caller's thread has made the
   device's primary context current. */
#ifndef TRIAD_RUNTIME_H
#define TRIAD_RUNTIME_H
#include <stdint.h>

#include "../include/own_calls.h"
#ifdef __cplusplus
extern "C" {
#endif
#define TRIAD_RUNTIME 4 /* the version of this interface, which triad_runtime_version returns */
#define TRIAD_RUNTIME_API __attribute__((visibility("default")))

TRIAD_RUNTIME_API int32_t triad_runtime_version(void);

/* A timer owns a stream, and a graph once one has been captured. */
typedef struct triad_timer triad_timer;
/* own is for calls of a user's file: the stream waits for the default stream, so that work there which the file's own_calls.cuh does not know of
   ends a capture, and is in order without one; and what a capture forbids other threads is allowed. */
TRIAD_RUNTIME_API int triad_timer_open(triad_timer **out, void **stream, int32_t own);
TRIAD_RUNTIME_API void triad_timer_close(triad_timer *t);
/* Between begin and end, what is launched on the stream is captured and does not run. keep = 0 throws it away. A second capture replaces
   the first. nodes is how many pieces of work were captured: fewer than calls, and some ran beside the stream. kernels is how many of them are
   kernels; -1 where the driver does not tell. */
TRIAD_RUNTIME_API int triad_timer_begin(triad_timer *t);
TRIAD_RUNTIME_API int triad_timer_end(triad_timer *t, int32_t keep, int64_t *nodes, int64_t *kernels);
/* What is known of a kernel that was captured: its place in the grid, what it was compiled to, and how many of its blocks a multiprocessor
   holds at once. name is the mangled one, cut at its end where it is longer. */
typedef struct {
	char name[512];
	int32_t grid[3], block[3];
	int32_t registers, shared_bytes, dynamic_shared_bytes, local_bytes;
	int32_t blocks_per_multiprocessor, threads_per_multiprocessor; /* the latter: the most that a multiprocessor holds */
} triad_kernel_fact;
/* The different kernels of the last capture that was kept, at most `most`, in the order in which they were launched. */
TRIAD_RUNTIME_API int triad_timer_kernels(const triad_timer *t, triad_kernel_fact *out, int32_t most, int32_t *n);
/* Replays the graph without timing until ns have passed, once at least. */
TRIAD_RUNTIME_API int triad_timer_settle(triad_timer *t, int64_t ns);
/* Replays the graph n times, queued behind each other with an event between; ms[i] is from the end of replay i - 1 to that of replay i. */
TRIAD_RUNTIME_API int triad_timer_replay(triad_timer *t, int32_t n, float *ms);
/* For calls that are spread over devices 0 and 1: from here on the second device waits for the end of each replay, takes the time by its own
   clock, and the first goes on after that; ms[i] of a replay is the longer of both times. */
TRIAD_RUNTIME_API int triad_timer_spread(triad_timer *t);
/* What either clock said of the last replays together, in ms. */
TRIAD_RUNTIME_API int triad_timer_clocks(const triad_timer *t, float *first, float *second);
/* Without a graph: the time between start and stop of whatever is launched on the stream between them. stop waits for it. */
TRIAD_RUNTIME_API int triad_timer_start(triad_timer *t);
TRIAD_RUNTIME_API int triad_timer_stop(triad_timer *t, float *ms);
/* From here on start and stop give the sum of what the kernels take that the library of these calls launches between them, on any stream: before
   each the GPU is kept busy until it is queued with an event on each side. */
TRIAD_RUNTIME_API int triad_timer_watch(triad_timer *t, triad_own_calls_t *calls);
/* Has no line of the L2 cache persist, and no part of it set aside for such lines. */
TRIAD_RUNTIME_API int triad_timer_plain_cache(triad_timer *t);

/* Ceilings, asynchronous on a stream: sizes in bytes, addresses aligned to 16. read leaves one word at sink where what it read is a pattern
   that does not occur. memcpy is the driver's own. */
enum { TRIAD_CEILING_MEMCPY, TRIAD_CEILING_COPY, TRIAD_CEILING_READ, TRIAD_CEILING_WRITE };
TRIAD_RUNTIME_API int triad_ceiling(int32_t ceiling, void *to, const void *from, int64_t bytes, void *stream);

/* Memory that lies on two devices: whether devices 0 and 1 map memory and reach each other's; a range of addresses whose first part is device 0's
   memory, the rest device 1's, in whole pages of 2 MiB, which both reach; and its end. */
TRIAD_RUNTIME_API int triad_spread_can(int32_t *can);
TRIAD_RUNTIME_API int triad_spread_map(int64_t first, int64_t second, uint64_t *at);
TRIAD_RUNTIME_API int triad_spread_unmap(uint64_t at, int64_t bytes);

/* How many of the bytes at a and b differ. Waits. */
TRIAD_RUNTIME_API int triad_differing(const void *a, const void *b, int64_t bytes, int64_t *differing);

typedef struct {
	int64_t l2_bytes;
	int32_t multiprocessors, major, minor;
	double bytes_per_second, clock_mhz; /* highest that the memory's width and clock, and the multiprocessors' clock, allow; 0: not known */
} triad_physics;
TRIAD_RUNTIME_API int triad_physics_of(triad_physics *out);
#ifdef __cplusplus
}
#endif
#endif
