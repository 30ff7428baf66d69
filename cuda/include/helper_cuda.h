// What NVIDIA's samples include for checks of errors, as far as files with kernels use it.
#pragma once
#include <cstdio>
#include <cstdlib>

#define checkCudaErrors(call)                                                                                            \
	do {                                                                                                             \
		const cudaError_t status_of_call = (call);                                                               \
		if (status_of_call != cudaSuccess) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_of_call));          \
			exit(EXIT_FAILURE);                                                                              \
		}                                                                                                        \
	} while (0)
#define getLastCudaError(message) checkCudaErrors(cudaGetLastError())
