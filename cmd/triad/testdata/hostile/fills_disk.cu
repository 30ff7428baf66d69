// Writes until nothing more fits.
#include <cuda_runtime.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    signal(SIGXFSZ, SIG_IGN);
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    FILE* f = fopen("/tmp/full", "w");
    long written = 0;
    while (f && written < 8192 && fwrite(block, sizeof block, 1, f) == 1) written++;
    if (f) fclose(f);
    remove("/tmp/full");
    return written >= 8192;
}

#include "softmax.cuh"
