/* own_calls.h: what the library of a user's file and the worker that times it tell each other: a library that includes own_calls.cuh exports one
   triad_own_calls under that name. Plain C. */
#ifndef TRIAD_OWN_CALLS_H
#define TRIAD_OWN_CALLS_H
#include <stdint.h>

typedef struct {
	int32_t size;         /* of this struct */
	int32_t timed;        /* set by the worker: how many candidates of a timing are open. Scratch memory is kept while there is one */
	int64_t launches;     /* kernels that calls have launched since the library was loaded */
	int64_t allocations;  /* cudaMalloc and cudaMallocAsync within calls, while timed */
	int64_t limits;       /* how often a carve-out of the L2 cache was asked for while timed; it was not made */
	char uncaptured[160]; /* the first thing that calls did which no graph can hold, "" for none; the worker clears it */
	/* Set by the worker where kernels are timed one by one: called before and after each launch, on its stream. */
	void (*before)(void *context, void *stream);
	void (*after)(void *context, void *stream);
	void *context;
} triad_own_calls_t;

#endif
