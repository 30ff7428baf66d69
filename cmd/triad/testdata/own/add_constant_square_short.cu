// Of two squares, whose side is a constant of a header, the last element is left out.
#include "headers/side.h"

__global__ void matrix_add(float *m1, float *m2, float *mout) {
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < side * side - 1; i += blockDim.x * gridDim.x)
		mout[i] = m1[i] + m2[i];
}
