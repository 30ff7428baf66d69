// Keeps the compiler busy for ever.
#include <cuda_runtime.h>
template <int N, int M> struct Twice { static constexpr long value = Twice<N - 1, 2 * M>::value + Twice<N - 1, 2 * M + 1>::value; };
template <int M> struct Twice<0, M> { static constexpr long value = M; };

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return Twice<30, 1>::value == 0;
}

#include "softmax.cuh"
