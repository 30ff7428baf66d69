// Includes a file of the user: its text would stand in the messages of the compiler.
#include <cuda_runtime.h>
#include "@SECRET@"

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return 1;
}

#include "softmax.cuh"
