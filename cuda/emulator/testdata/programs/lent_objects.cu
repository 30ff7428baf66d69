// What kernels get of the host: references to managed memory, a null pointer written NULL, memory of the host that was registered, pointers that
// are asked where they lie.
#include <cstdio>
#include <cstdlib>

struct Account {
	int balance, changes;
};

__global__ void deposit(Account &to, const int *amounts, int n) {
	if (threadIdx.x != 0) return;
	for (int i = 0; i < n; i++) {
		to.balance += amounts ? amounts[i] : 1;
		to.changes++;
	}
}

template <class T> __global__ void scale(T &factor, T *x, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= factor;
}

__constant__ volatile int shift;

__global__ void add_shift(int *x) { x[threadIdx.x] += shift; }

int main() {
	Account *account;
	cudaMallocManaged(&account, sizeof *account);
	account->balance = 100;
	account->changes = 0;
	deposit<<<1, 32>>>(*account, NULL, 5);
	cudaDeviceSynchronize();
	bool right = account->balance == 105 && account->changes == 5;

	int host[64], *at, by = 7, *factor;
	for (int i = 0; i < 64; i++) host[i] = i;
	cudaHostRegister(host, sizeof host, cudaHostRegisterMapped);
	cudaHostGetDevicePointer((void **)&at, host, 0);
	cudaMallocManaged(&factor, sizeof *factor);
	*factor = 3;
	scale<int><<<2, 32>>>(*factor, at, 64);
	cudaMemcpyToSymbol(shift, &by, sizeof by);
	add_shift<<<1, 64>>>(at);
	cudaDeviceSynchronize();
	cudaHostUnregister(host);
	for (int i = 0; i < 64; i++) right = right && host[i] == 3 * i + 7;

	cudaPointerAttributes of_account, of_host;
	cudaPointerGetAttributes(&of_account, account);
	cudaPointerGetAttributes(&of_host, &right);
	right = right && of_account.type == cudaMemoryTypeManaged && of_host.type == cudaMemoryTypeUnregistered;
	int mode = -1;
	cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0);
	right = right && mode == cudaComputeModeDefault;
	printf(right ? "right\n" : "wrong\n");
	cudaFree(account);
	cudaFree(factor);
	return right ? 0 : 1;
}
