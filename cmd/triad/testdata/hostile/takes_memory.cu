// Takes all memory.
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    const size_t bytes = size_t(1) << 28;
    while (void* p = malloc(bytes)) memset(p, 1, bytes);
    return 1;
}

#include "softmax.cuh"
