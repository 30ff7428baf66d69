// The host looks at a counter in managed memory, and sets it, while a kernel counts: atomic loads and stores, which to a processor are no others.
#include <atomic>
#include <cstdio>
#include <cuda/atomic>

__global__ void count(int *counter) { cuda::atomic_ref<int, cuda::thread_scope_system>(*counter).fetch_add(1); }

int meanwhile(int way, int *counter) {
	cuda::atomic_ref<int, cuda::thread_scope_system> shared(*counter);
	switch (way) {
	case 0: return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
	case 1: return __atomic_store_n(counter, 1000, __ATOMIC_RELEASE), 1000;
	case 2: return reinterpret_cast<std::atomic<int> *>(counter)->load(std::memory_order_relaxed);
	case 3: return shared.load();
	case 4: return shared.store(1000, cuda::memory_order_release), 1000;
	case 5: return shared.fetch_add(64) + 64;
	default: return __sync_fetch_and_add(counter, 64) + 64;
	}
}

int main() {
	int *counter;
	cudaMallocManaged(&counter, sizeof(int));
	bool right = true;
	for (int way = 0; way < 7; way++) {
		*counter = 0;
		count<<<2, 32>>>(counter);
		int seen = meanwhile(way, counter);
		cudaDeviceSynchronize();
		right = right && (way == 1 || way == 4 ? seen == 1000 && *counter >= 1000 && *counter <= 1064 : *counter == (way >= 5 ? 128 : 64) && seen <= 128);
	}
	printf(right ? "right\n" : "wrong\n");
	cudaFree(counter);
	return right ? 0 : 1;
}
