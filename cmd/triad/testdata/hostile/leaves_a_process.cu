// Leaves a process behind that goes on when it has ended.
#include <cuda_runtime.h>
#include <stdlib.h>
#include <unistd.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) execl("/bin/sleep", "sleep", "@SLEEP@", (char*)nullptr);
        _exit(0);
    }
    return 0;
}

#include "softmax.cuh"
