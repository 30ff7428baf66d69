// Buckets of a hash table as linked lists, whose nodes threads allocate; another kernel adds up and gives back.
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Node {
	int value;
	Node *next;
};

__global__ void insert(const int *values, int n, unsigned long long *buckets, int count) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	Node *node = new Node;
	node->value = values[i];
	unsigned long long *head = buckets + values[i] % count, before = *(volatile unsigned long long *)head, seen;
	do {
		seen = before;
		node->next = (Node *)seen;
		__threadfence();
		before = atomicCAS(head, seen, (unsigned long long)node);
	} while (before != seen);
}

__global__ void drain(const unsigned long long *buckets, int count, int *sums) {
	int b = blockIdx.x * blockDim.x + threadIdx.x;
	if (b >= count) return;
	int sum = 0;
	for (Node *node = (Node *)buckets[b]; node;) {
		sum += node->value;
		Node *next = node->next;
		delete node;
		node = next;
	}
	sums[b] = sum;
}

int main() {
	const int n = 500, count = 37;
	std::vector<int> values(n), want(count), sums(count);
	for (int i = 0; i < n; i++) {
		values[i] = i * 7919 % 1000;
		want[values[i] % count] += values[i];
	}
	int *on_device, *of_buckets;
	unsigned long long *buckets;
	cudaMalloc(&on_device, n * sizeof(int));
	cudaMalloc(&of_buckets, count * sizeof(int));
	cudaMalloc(&buckets, count * sizeof(unsigned long long));
	cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
	cudaMemcpy(on_device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	cudaMemset(buckets, 0, count * sizeof(unsigned long long));
	insert<<<(n + 63) / 64, 64>>>(on_device, n, buckets, count);
	drain<<<1, 64>>>(buckets, count, of_buckets);
	cudaMemcpy(sums.data(), of_buckets, count * sizeof(int), cudaMemcpyDeviceToHost);
	cudaFree(on_device);
	cudaFree(of_buckets);
	cudaFree(buckets);
	puts(sums == want ? "right" : "wrong");
}
