// Run-length encoding: heads of runs, their numbers by a scan in shared memory, lengths from the places of heads.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

const int N = 512;

__global__ void encode(const char *text, char *letters, int *lengths, int *runs, int n) {
	__shared__ int number[N], start[N + 1];
	const int t = threadIdx.x;
	const bool head = t < n && (t == 0 || text[t] != text[t - 1]);
	number[t] = head;
	__syncthreads();
	for (int k = 1; k < N; k *= 2) {
		const int add = t >= k ? number[t - k] : 0;
		__syncthreads();
		number[t] += add;
		__syncthreads();
	}
	const int all = number[N - 1];
	if (head) start[number[t] - 1] = t;
	if (t == 0) start[all] = n, *runs = all;
	__syncthreads();
	if (t < all) {
		letters[t] = text[start[t]];
		lengths[t] = start[t + 1] - start[t];
	}
}

int main() {
	const int n = 500;
	std::vector<char> text(n), letters(N), back;
	for (int i = 0; i < n; i++) text[i] = (char)('a' + i * i / 3000 % 5);
	std::vector<int> lengths(N);
	char *dt, *dl;
	int *dn, *dr, runs;
	cudaMalloc(&dt, n);
	cudaMalloc(&dl, N);
	cudaMalloc(&dn, N * sizeof(int));
	cudaMalloc(&dr, sizeof(int));
	cudaMemcpy(dt, text.data(), n, cudaMemcpyHostToDevice);
	encode<<<1, N>>>(dt, dl, dn, dr, n);
	cudaMemcpy(&runs, dr, sizeof(int), cudaMemcpyDeviceToHost);
	cudaMemcpy(letters.data(), dl, runs, cudaMemcpyDeviceToHost);
	cudaMemcpy(lengths.data(), dn, runs * sizeof(int), cudaMemcpyDeviceToHost);
	for (int i = 0; i < runs; i++) back.insert(back.end(), lengths[i], letters[i]);
	for (void *p : {(void *)dt, (void *)dl, (void *)dn, (void *)dr}) cudaFree(p);
	const bool right = back == text && runs < n / 2;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
