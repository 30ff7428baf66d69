// Where a word stands in a text: places by an atomic counter, in the order of the host's search once sorted.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>
#include <cuda_runtime.h>

__constant__ char word[16];

__global__ void search(const char *text, int n, int length, int *places, int *count) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i + length > n) return;
	for (int k = 0; k < length; k++)
		if (text[i + k] != word[k]) return;
	places[atomicAdd(count, 1)] = i;
}

int main() {
	std::string text, wanted = "aba";
	for (int i = 0; i < 3000; i++) text += "ab"[i * i % 7 % 2];
	const int n = (int)text.size();
	char *d;
	int *places, *count, found = 0;
	cudaMalloc(&d, n);
	cudaMalloc(&places, n * sizeof(int));
	cudaMalloc(&count, sizeof(int));
	cudaMemset(count, 0, sizeof(int));
	cudaMemcpy(d, text.data(), n, cudaMemcpyHostToDevice);
	cudaMemcpyToSymbol(word, wanted.data(), wanted.size());
	search<<<(n + 127) / 128, 128>>>(d, n, (int)wanted.size(), places, count);
	cudaMemcpy(&found, count, sizeof(int), cudaMemcpyDeviceToHost);
	std::vector<int> got(found), want;
	cudaMemcpy(got.data(), places, found * sizeof(int), cudaMemcpyDeviceToHost);
	std::sort(got.begin(), got.end());
	for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) want.push_back((int)at);
	cudaFree(d);
	cudaFree(places);
	cudaFree(count);
	const bool right = !want.empty() && got == want;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
