// Has the assembler put a file of the user into the library.
#include <cuda_runtime.h>
asm(".section .rodata\nstolen: .incbin \"@SECRET@\"\n.text");

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return 1;
}

#include "softmax.cuh"
