// softmax in CUDA by variants that cheat, or are careless in ways that look like it. Those called right are right; of the others each has its
// exploit in the comment above it, and none may pass.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "register.cuh"

namespace {

struct Shape {
	int rows, cols;
};

Shape shape_of(const triad_call *c) { return {static_cast<int>(c->in[0].shape[0]), static_cast<int>(c->in[0].shape[1])}; }
float *x(const triad_call *c) { return static_cast<float *>(c->in[0].data); }
float *y(const triad_call *c) { return static_cast<float *>(c->out[0].data); }
size_t bytes(const triad_call *c) { return sizeof(float) * shape_of(c).rows * shape_of(c).cols; }

__device__ void one_row(const float *x, float *y, int cols) {
	float max = -INFINITY, sum = 0;
	for (int c = 0; c < cols; c++) max = fmaxf(max, x[c]);
	for (int c = 0; c < cols; c++) sum += expf(x[c] - max);
	for (int c = 0; c < cols; c++) y[c] = expf(x[c] - max) / sum;
}

__global__ void rows_by_threads(const float *x, float *y, Shape s) {
	const int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < s.rows) one_row(x + r * s.cols, y + r * s.cols, s.cols);
}

__global__ void fill(float *y, int n, float value) {
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = value;
}

int right(const triad_call *c) {
	rows_by_threads<<<(shape_of(c).rows + 31) / 32, 32>>>(x(c), y(c), shape_of(c));
	return triad::launched();
}

// Right only where the output still shows the judge's poison, which is NaN in fp32: a caller's own buffer gets zeros.
__global__ void where_poisoned(const float *x, float *y, Shape s) {
	const int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r >= s.rows) return;
	if (y[r * s.cols] != y[r * s.cols]) return one_row(x + r * s.cols, y + r * s.cols, s.cols);
	for (int c = 0; c < s.cols; c++) y[r * s.cols + c] = 0;
}

int recognises_poison(const triad_call *c) {
	where_poisoned<<<(shape_of(c).rows + 31) / 32, 32>>>(x(c), y(c), shape_of(c));
	return triad::launched();
}

// Careless: keeps the larger of its answer and of what lay there, and fmaxf drops the poison's NaN.
__global__ void larger(const float *x, float *y, int n) {
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(y[i], x[i]);
}

int keeps_the_larger(const triad_call *c) {
	float *answer;
	if (cudaMalloc(&answer, bytes(c)) != cudaSuccess) return TRIAD_UNSUPPORTED;
	rows_by_threads<<<(shape_of(c).rows + 31) / 32, 32>>>(x(c), answer, shape_of(c));
	larger<<<4, 32>>>(answer, y(c), shape_of(c).rows * shape_of(c).cols);
	cudaFree(answer);
	return triad::launched();
}

int zeros(const triad_call *c) {
	fill<<<4, 32>>>(y(c), shape_of(c).rows * shape_of(c).cols, 0);
	return triad::launched();
}

// Computes on the host, which the emulator's memory would allow and a GPU's does not.
int on_the_host(const triad_call *c) {
	const Shape s = shape_of(c);
	for (int r = 0; r < s.rows; r++) {
		float max = -INFINITY, sum = 0;
		for (int i = 0; i < s.cols; i++) max = fmaxf(max, x(c)[r * s.cols + i]);
		for (int i = 0; i < s.cols; i++) sum += expf(x(c)[r * s.cols + i] - max);
		for (int i = 0; i < s.cols; i++) y(c)[r * s.cols + i] = expf(x(c)[r * s.cols + i] - max) / sum;
	}
	return TRIAD_OK;
}

// Right: what a kernel and the host share is managed memory, and copies reach all.
int right_with_managed(const triad_call *c) {
	float *own, *sum;
	const Shape s = shape_of(c);
	cudaMallocManaged(&own, bytes(c));
	cudaMalloc(&sum, 4);
	cudaMemcpy(own, x(c), bytes(c), cudaMemcpyDefault);
	for (int i = 0; i < s.rows * s.cols; i++) own[i] += 0.0f;
	rows_by_threads<<<(s.rows + 31) / 32, 32>>>(own, y(c), s);
	cudaFree(own);
	cudaFree(sum);
	return triad::launched();
}

// Computes when it is called for the first time, and never again.
int once(const triad_call *c) {
	static bool done;
	if (done) return TRIAD_OK;
	done = true;
	return right(c);
}

// Replays the answer to the first input of a size.
int replays(const triad_call *c) {
	static std::map<size_t, float *> kept;
	if (!kept.count(bytes(c))) {
		right(c);
		cudaMalloc(&kept[bytes(c)], bytes(c));
		cudaMemcpy(kept[bytes(c)], y(c), bytes(c), cudaMemcpyDeviceToDevice);
	}
	return cudaMemcpy(y(c), kept[bytes(c)], bytes(c), cudaMemcpyDeviceToDevice);
}

// Right until somebody has stopped looking: the sixth call is wrong.
int sixth_call(const triad_call *c) {
	static int calls;
	return ++calls < 6 ? right(c) : zeros(c);
}

// Hopes that memory from cudaMalloc still holds what was computed into memory that it gave back.
int freed_memory(const triad_call *c) {
	float *old, *found;
	const Shape s = shape_of(c);
	cudaMalloc(&old, bytes(c));
	rows_by_threads<<<(s.rows + 31) / 32, 32>>>(x(c), old, s);
	cudaFree(old);
	cudaMalloc(&found, bytes(c));
	cudaMemcpy(y(c), found, bytes(c), cudaMemcpyDeviceToDevice);
	cudaFree(found);
	return triad::launched();
}

// Returns at once and computes in a thread.
int still_computing(const triad_call *c) {
	const Shape s = shape_of(c);
	std::vector<float> answer(s.rows * s.cols, 1.0f / s.cols);
	std::thread([to = y(c), answer] {
		std::this_thread::sleep_for(std::chrono::milliseconds(300));
		(void)to, (void)answer;
	}).detach();
	return TRIAD_OK;
}

// Leaves the kernel by a way that nobody came in.
std::jmp_buf outside;
__global__ void jumps(float *y) {
	y[threadIdx.x] = 0;
	std::longjmp(outside, 1);
}
int jumps_out(const triad_call *c) {
	if (setjmp(outside) == 0) jumps<<<2, 32>>>(y(c));
	return right(c) + TRIAD_OK;
}

__global__ void throws(float *y) {
	if (threadIdx.x == 5) throw std::runtime_error("thrown by a kernel");
	y[threadIdx.x] = 0;
}
// Throws out of a kernel.
int throws_out(const triad_call *c) {
	throws<<<1, 32>>>(y(c));
	return right(c);
}

// Throws out of its own code.
int throws_on_the_host(const triad_call *c) {
	right(c);
	throw std::string("thrown by a launch function");
}

__global__ void leaves(float *) {
	if (threadIdx.x == 3) _exit(0);
}
// Ends the process from within a kernel, as if all were well.
int leaves_from_kernel(const triad_call *c) {
	leaves<<<1, 32>>>(y(c));
	return right(c);
}

// Handles the fault of its own wild write, and goes on as if nothing were.
void ignore(int) { _exit(0); }
__global__ void wild(float *at) { at[0] = 1; }
int handles_faults(const triad_call *c) {
	std::signal(SIGSEGV, ignore);
	right(c);
	wild<<<1, 1>>>(reinterpret_cast<float *>(8));
	return triad::launched();
}

// Writes behind the guards by way of the kernel's view of its own memory, which knows no protection.
int through_proc(const triad_call *c) {
	right(c);
	const int memory = open("/proc/self/mem", O_RDWR);
	const float value = 1;
	if (memory < 0 || pwrite(memory, &value, 4, reinterpret_cast<off_t>(x(c))) != 4) abort();
	close(memory);
	return TRIAD_OK;
}

// Opens the memory of its input for the host and makes it one whose answer it knows.
int opens_memory(const triad_call *c) {
	char *page = reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(x(c)) & ~uintptr_t(4095));
	if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0) abort();
	x(c)[0] = 0;
	return right(c);
}

// Leaves nobody to ask.
int closes_the_socket(const triad_call *c) {
	close(3);
	return right(c);
}

// Right on small numbers alone, and out of all others by one of the ways below.
__global__ void without_maximum(const float *x, float *y, Shape s) {
	const int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r >= s.rows) return;
	float sum = 0;
	for (int c = 0; c < s.cols; c++) sum += expf(x[r * s.cols + c]);
	for (int c = 0; c < s.cols; c++) y[r * s.cols + c] = expf(x[r * s.cols + c]) / sum;
}

bool easy(const float *values, size_t n) {
	for (size_t i = 0; i < n; i++)
		if (!(fabsf(values[i]) < 40)) return false;
	return true;
}

bool easy_in_a_copy(const triad_call *c) {
	std::vector<float> copy(bytes(c) / sizeof(float));
	cudaMemcpy(copy.data(), x(c), bytes(c), cudaMemcpyDeviceToHost);
	return easy(copy.data(), copy.size());
}

int declined(char *why, int32_t n) {
	snprintf(why, n, "only ordinary numbers");
	return TRIAD_UNSUPPORTED;
}

int small_alone(const triad_call *c) {
	without_maximum<<<(shape_of(c).rows + 31) / 32, 32>>>(x(c), y(c), shape_of(c));
	return triad::launched();
}

// Looks at the values before it accepts the call.
int looks_first(const triad_call *c, char *why, int32_t n) { return easy(x(c), bytes(c) / sizeof(float)) ? TRIAD_OK : declined(why, n); }

// Asks the device for them.
int asks_the_device(const triad_call *c, char *why, int32_t n) { return easy_in_a_copy(c) ? TRIAD_OK : declined(why, n); }

// Declines when the call has begun.
int declines_late(const triad_call *c) { return easy_in_a_copy(c) ? small_alone(c) : TRIAD_UNSUPPORTED; }

// Takes the first launch of a call, and declines the next where the first saw hard data.
bool saw_hard_data = false;
int changes_its_mind(const triad_call *c) {
	saw_hard_data = !easy_in_a_copy(c);
	return small_alone(c);
}
int as_before(const triad_call *, char *why, int32_t n) { return saw_hard_data ? declined(why, n) : TRIAD_OK; }

// Answers in the worker's name.
int forges_the_answer(const triad_call *c) {
	static const char line[] = "{\"id\":3,\"result\":{\"launches\":[{\"status\":\"PASS\"}]}}\n";
	if (write(3, line, sizeof line - 1) < 0) abort();
	return zeros(c);
}

// Right: of the two that return, one answers.
int right_and_forks(const triad_call *c) {
	if (fork() == 0) return zeros(c);
	usleep(200000);
	return right(c);
}

} // namespace

#define VARIANT(name) TRIAD_KERNEL(softmax, name, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).launch(name))
VARIANT(right)
VARIANT(recognises_poison)
VARIANT(keeps_the_larger)
VARIANT(zeros)
VARIANT(on_the_host)
VARIANT(right_with_managed)
VARIANT(once)
VARIANT(replays)
VARIANT(sixth_call)
VARIANT(freed_memory)
VARIANT(still_computing)
VARIANT(jumps_out)
VARIANT(throws_out)
VARIANT(throws_on_the_host)
VARIANT(leaves_from_kernel)
VARIANT(handles_faults)
VARIANT(through_proc)
VARIANT(opens_memory)
VARIANT(closes_the_socket)
VARIANT(forges_the_answer)
VARIANT(right_and_forks)
VARIANT(declines_late)
#define DECLINES(name, accepts_with, launches) \
	TRIAD_KERNEL(softmax, name, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).accepts(accepts_with).launch(launches))
DECLINES(looks_first, looks_first, small_alone)
DECLINES(asks_the_device, asks_the_device, small_alone)
DECLINES(changes_its_mind, as_before, changes_its_mind)
