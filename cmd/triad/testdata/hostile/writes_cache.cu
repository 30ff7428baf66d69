// Writes into the cache, from which others are run.
#include <cuda_runtime.h>
#include <stdio.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    FILE* f = fopen("@CACHE@/cuda/planted", "w");
    if (f) fclose(f);
    return 0; // it may write there: the folder is its own
}

#include "softmax.cuh"
