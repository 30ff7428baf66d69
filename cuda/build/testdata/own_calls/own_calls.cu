// Calls as users' files make them, in and out of a capture, on the runtime of runtime.cc: own_calls_test.go has what is printed.
#include "own_calls.cuh"

#include <cstdlib>

extern "C" void fake_capture(int begin);

__global__ void kernel(float *) {}

static void plain() { // the form of most files
	kernel<<<1, 32>>>(nullptr);
	cudaDeviceSynchronize();
	kernel<<<2, 32>>>(nullptr);
	cudaStreamSynchronize(0);
}

static void scratch() {
	float *a = nullptr, *b = nullptr;
	cudaMalloc(&a, 512);
	cudaMemset(a, 0, 512);
	kernel<<<1, 32>>>(a);
	cudaMalloc(&b, 512);
	cudaMemcpy(b, a, 512, cudaMemcpyDeviceToDevice);
	cudaFree(a);
	cudaFree(b);
}

static void two_streams() { // nothing waits for them
	static cudaStream_t one = nullptr, other = nullptr;
	if (!one) cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
	if (!other) cudaStreamCreate(&other);
	kernel<<<1, 32, 0, one>>>(nullptr);
	kernel<<<2, 32>>>(nullptr);
	kernel<<<3, 32, 0, other>>>(nullptr);
	kernel<<<4, 32>>>(nullptr);
}

static void stream_of_the_call() { // made and destroyed in every call
	cudaStream_t s;
	cudaStreamCreate(&s);
	kernel<<<1, 32, 0, s>>>(nullptr);
	cudaStreamDestroy(s);
}

static void sizes_from_the_host() {
	static float *there = nullptr;
	if (!there) cudaMalloc(&there, 512);
	for (int i = 1; i <= 2; i++) {
		int n = i;
		cudaMemcpy(there, &n, sizeof n, cudaMemcpyHostToDevice);
		kernel<<<unsigned(i), 32>>>(there);
	}
}

static void result_to_the_host() {
	static float *there = nullptr;
	if (!there) cudaMalloc(&there, 512);
	float sum;
	kernel<<<1, 32>>>(there);
	cudaMemcpy(&sum, there, sizeof sum, cudaMemcpyDeviceToHost);
}

static void clock_of_its_own() {
	cudaEvent_t a, b;
	cudaEventCreate(&a);
	cudaEventCreate(&b);
	cudaEventRecord(a);
	kernel<<<1, 32>>>(nullptr);
	cudaEventRecord(b);
	cudaEventSynchronize(b);
	float ms;
	cudaEventElapsedTime(&ms, a, b);
}

static void stream_of_its_parameters() { // and scratch that is set on it
	static float *there = nullptr;
	if (!there) cudaMalloc(&there, 512);
	const cudaStream_t s = reinterpret_cast<cudaStream_t>(1000);
	cudaMemsetAsync(there, 0, 512, s);
	kernel<<<1, 32, 0, s>>>(there);
	kernel<<<2, 32>>>(there);
	cudaStreamSynchronize(s);
}

static void carve_out() {
	cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
	kernel<<<1, 32>>>(nullptr);
}

static void call(void (*function)(), bool captured) {
	const cudaStream_t stream = reinterpret_cast<cudaStream_t>(1000);
	if (captured) fake_capture(1);
	{
		const triad::triad_scope scope(stream);
		function();
	}
	if (captured) fake_capture(0);
	std::printf("end of the call\n");
}

int main(int count, char **arguments) {
	const bool all_calls = count < 3; // else those in a capture
	void (*const all[])() = {plain, scratch, two_streams, stream_of_the_call, sizes_from_the_host, result_to_the_host, clock_of_its_own, carve_out,
	                       stream_of_its_parameters};
	void (*const function)() = all[std::atoi(arguments[1])];
	if (all_calls) call(function, false);
	triad_own_calls.timed = 1;
	if (all_calls) call(function, false);
	const int64_t before = triad_own_calls.launches;
	for (int i = 0; i < 2; i++) std::printf("captured\n"), call(function, true);
	triad_own_calls.timed = 0;
	std::printf("afterwards\n");
	if (all_calls) call([] {}, false);
	std::printf("%ld launches, %ld allocations, %ld limits; %s\n", long(triad_own_calls.launches - before), long(triad_own_calls.allocations),
	            long(triad_own_calls.limits), triad_own_calls.uncaptured);
	std::fflush(stdout);
	std::_Exit(0);
}
