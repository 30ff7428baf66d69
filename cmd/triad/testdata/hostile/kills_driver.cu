// Kills the process that judges it, then all that it can.
#include <cuda_runtime.h>
#include <signal.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return kill(@DRIVER@, SIGKILL) == 0 || kill(-@DRIVER@, SIGKILL) == 0;
}

#include "softmax.cuh"
