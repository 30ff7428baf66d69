#include "register.cuh"

#define ON(n) <<<1, n>>>

__global__ void nothing() {}

int launch(const triad_call *call) {
	nothing ON(32)();
	return triad::launched();
}
