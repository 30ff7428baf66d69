// Includes a device that never ends.
#include <cuda_runtime.h>
#include "/dev/zero"

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return 1;
}

#include "softmax.cuh"
