// Includes a link, beside it, to a file of the user.
#include <cuda_runtime.h>
#if __has_include("link.cuh")
#include "link.cuh"
#define STOLEN 1
#else
#define STOLEN 0
#endif

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return STOLEN;
}

#include "softmax.cuh"
