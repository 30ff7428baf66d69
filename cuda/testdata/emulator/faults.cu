// Launch functions that go wrong, one symbol each, for a host that runs them with cuemu_run.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>

struct Call {
	float *x, *y;
	int n;
};

__global__ void copy(const float *x, float *y, int n, int ahead) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[i + ahead];   // BUG(read)
}

__global__ void store(float *y, int at) {
	if (threadIdx.x == 77) y[at] = 1;   // BUG(store)
}

__global__ void spin(volatile float *y) {
	while (blockIdx.x == 3 && *y != 12345.0f) {   // BUG(spin)
	}
}

// computes until its own thread has had so much time
__global__ void compute(long nanoseconds) {
	timespec t;
	do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000000000 + t.tv_nsec < nanoseconds);
}

__device__ __noinline__ float deep(float x, int n) {
	volatile float here[64];
	here[n % 64] = x;
	return n == 0 ? here[0] : deep(x + 1, n - 1) + here[n % 64];
}

__global__ void recurse(float *y, int n) {
	float v = deep(1, n);
	__syncthreads();
	y[threadIdx.x] = v;
}

__global__ void overrun() {
	extern __shared__ char s[];
	__shared__ char t[100];
	t[100 + threadIdx.x % 2] = 1;
	s[threadIdx.x] = 2;
	__syncthreads();
}

extern "C" {
int run_right(const void *p) {
	const Call *c = static_cast<const Call *>(p);
	copy<<<(c->n + 127) / 128, 128>>>(c->x, c->y, c->n, 0);
	return cudaGetLastError();
}
int run_read(const void *p) {
	const Call *c = static_cast<const Call *>(p);
	copy<<<(c->n + 127) / 128, 128>>>(c->x, c->y, c->n, 40);
	return cudaGetLastError();
}
int run_before(const void *p) {
	const Call *c = static_cast<const Call *>(p);
	copy<<<1, 1>>>(c->x, c->y, c->n, -3000);
	return cudaGetLastError();
}
int run_slack(const void *p) {
	const Call *c = static_cast<const Call *>(p);
	store<<<1, 128>>>(c->y, c->n);
	return cudaGetLastError();
}
int run_front(const void *p) {
	const Call *c = static_cast<const Call *>(p);
	store<<<1, 128>>>(c->y, -2);
	return cudaGetLastError();
}
int run_spin(const void *p) {
	spin<<<8, 32>>>(static_cast<const Call *>(p)->y);
	return cudaGetLastError();
}
// run_starved has the launching thread yield nearly all of its processor to another one: a block takes long by the clock, and little of its own time.
int run_starved(const void *) {
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
	std::atomic<bool> over{false};
	std::thread other([&] {
		sched_setaffinity(0, sizeof one, &one);
		while (!over) {
		}
	});
	sched_setaffinity(0, sizeof one, &one);
	setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
	compute<<<1, 1>>>(t.tv_sec * 1000000000 + t.tv_nsec + 40000000);
	over = true;
	other.join();
	return cudaGetLastError();
}
int run_asleep(const void *) {
	for (;;) pause();
}
int run_polling(const void *) {
	for (;;) usleep(5000);
}
int run_recurse(const void *p) {
	recurse<<<2, 64>>>(static_cast<const Call *>(p)->y, 100000);
	return cudaGetLastError();
}
int run_host(const void *p) {
	static_cast<const Call *>(p)->y[1 << 26] = 1;   // BUG(host)
	return 0;
}
int run_threads(const void *p) {
	store<<<1, 2000>>>(static_cast<const Call *>(p)->y, 0);
	return cudaGetLastError();
}
int run_shared(const void *p) {
	store<<<1, 128, 60000>>>(static_cast<const Call *>(p)->y, 0);
	return cudaGetLastError();
}
int run_throw(const void *) { throw std::runtime_error("no"); }
int run_overrun(const void *) {
	overrun<<<3, 64, 64>>>();
	return cudaGetLastError();
}
}
