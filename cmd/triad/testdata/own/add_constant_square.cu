// All elements of two squares, whose side is a constant of a header, are added.
#include "headers/side.h"

__global__ void matrix_add(float *m1, float *m2, float *mout) {
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < side * side; i += blockDim.x * gridDim.x)
		mout[i] = m1[i] + m2[i];
}
