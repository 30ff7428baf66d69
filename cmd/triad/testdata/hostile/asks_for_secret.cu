// Asks the compiler whether a file of the user is there.
#include <cuda_runtime.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
#if __has_include("@SECRET@")
    return 1;
#else
    return 0;
#endif
}

#include "softmax.cuh"
