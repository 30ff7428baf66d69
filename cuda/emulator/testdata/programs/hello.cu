// Kernels that print: their lines come in the order in which threads run, and that is no mistake.
#include <cstdio>

__global__ void hello(int count) {
	if (threadIdx.x % 16 == 0 && count > 0) printf("right\n");
}

int main() {
	hello<<<1, 16>>>(1);
	cudaDeviceSynchronize();
}
