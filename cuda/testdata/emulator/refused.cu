// A launcher that asks for more than the device has, and then another kernel's: the second launch is not told of the first's error.
#include <cstdio>

#include "element.cuh"

template <class T> __global__ void one(T *y) { y[threadIdx.x] = triad::from_float<T>(1); }

template <class T> int refused(const triad_call *) { return cudaFuncSetAttribute(one<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30); }

template <class T> int right(const triad_call *call) {
	one<T><<<1, 32>>>(static_cast<T *>(call->in[0].data));
	return triad::launched();
}

int main() {
	triad_tensor y = {};
	triad_call call = {};
	cudaMalloc(&y.data, 32 * sizeof(float));
	y.dtype = TRIAD_F16;
	call.in = &y;
	const int first = TRIAD_BY_DTYPE(refused)(&call), second = TRIAD_BY_DTYPE(right)(&call);
	const int third = TRIAD_BY_HALF(refused)(&call), fourth = TRIAD_BY_HALF(right)(&call);
	printf("%d %d %d %d\n", first, second, third, fourth);
	return 0;
}
