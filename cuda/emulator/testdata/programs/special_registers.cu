// What inline PTX tells of the hardware, a barrier with a count, fields of bits, and a negative number in 64 bits.
#include <cstdio>

__global__ void ask(int *wrong, int *reversed, int multiprocessors) {
	__shared__ int s[48];
	unsigned smid, lane;
	long long minus;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	asm volatile("mov.u64 %0, %1;" : "=l"(minus) : "l"(-1ll));
	s[threadIdx.x] = threadIdx.x;
	asm volatile("bar.sync 0, 64;" ::: "memory");
	const int other = s[47 - threadIdx.x];
	asm volatile("bar.sync 1;" ::: "memory");
	reversed[blockIdx.x * 48 + threadIdx.x] = other;
	unsigned field, whole, placed;
	asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(0xabcdu), "r"(4), "r"(8));
	asm("bfe.u32 %0, %1, %2, %3;" : "=r"(whole) : "r"(0xabcdu), "r"(256), "r"(32));
	asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(placed) : "r"(0xfu), "r"(0u), "r"(8), "r"(4));
	const bool right = smid < static_cast<unsigned>(multiprocessors) && lane == threadIdx.x % 32 && minus == -1 && field == 0xbc && whole == 0xabcd &&
		placed == 0xf00;
	if (!right) atomicAdd(wrong, 1);
}

int main() {
	const int blocks = 9;
	cudaDeviceProp device;
	cudaGetDeviceProperties(&device, 0);
	int *wrong, *reversed;
	cudaMallocManaged(&wrong, sizeof(int));
	cudaMallocManaged(&reversed, blocks * 48 * sizeof(int));
	*wrong = 0;
	ask<<<blocks, 48>>>(wrong, reversed, device.multiProcessorCount);
	if (cudaDeviceSynchronize() != cudaSuccess) return 1;
	for (int i = 0; i < blocks * 48; i++) *wrong += reversed[i] != 47 - i % 48;
	puts(*wrong == 0 ? "right" : "wrong");
	cudaFree(wrong);
	cudaFree(reversed);
}
