// A host of the emulator without Go: `host EMULATOR KERNELS` opens both libraries as the worker does, runs every launch function of faults.cu and
// prints the reports, one a line. A thread of its own faults during launches, and must reach the handler that was there before.
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "host.h"

struct Call {
	float *x, *y;
	int n;
};
typedef int (*Launch)(const void *);

static thread_local sigjmp_buf back;
static std::atomic<long> own_faults{0};
static std::atomic<bool> stop{false};

static void own_handler(int, siginfo_t *, void *) {
	own_faults++;
	siglongjmp(back, 1);
}

static void *fault_for_ever(void *) {
	while (!stop) {
		if (!sigsetjmp(back, 1)) *static_cast<volatile int *>(nullptr) = 1;
		usleep(200);
	}
	return nullptr;
}

template <class F> static F symbol(void *library, const char *name) {
	void *p = dlsym(library, name);
	if (!p) fprintf(stderr, "%s\n", dlerror()), exit(2);
	return reinterpret_cast<F>(p);
}

int main(int, char **argv) {
	void *emulator = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL), *kernels = emulator ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : nullptr;
	if (!kernels) return fprintf(stderr, "%s\n", dlerror()), 2;
	auto alloc = symbol<decltype(&cuemu_alloc)>(emulator, "cuemu_alloc");
	auto release = symbol<decltype(&cuemu_free)>(emulator, "cuemu_free");
	auto fill = symbol<decltype(&cuemu_fill)>(emulator, "cuemu_fill");
	auto check = symbol<decltype(&cuemu_check)>(emulator, "cuemu_check");
	auto run = symbol<decltype(&cuemu_run)>(emulator, "cuemu_run");
	auto set_order = symbol<decltype(&cuemu_set_order)>(emulator, "cuemu_set_order");
	symbol<decltype(&cuemu_set_watchdog)>(emulator, "cuemu_set_watchdog")(0.5);

	for (const char *order : {"forward", "random:7", "random", "random:x", "forward:1", "sideways", "greedy:3"}) printf("order %s %d\n", order, set_order(order));
	for (size_t misalign = 0; misalign < 16; misalign += 4) {
		char *p = static_cast<char *>(alloc("m", 100, misalign));
		printf("misalign %zu %zu\n", misalign, static_cast<size_t>(reinterpret_cast<uintptr_t>(p)) % 16);
		release(p);
	}
	struct sigaction action = {}, now;
	action.sa_sigaction = own_handler;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGSEGV, &action, nullptr);
	pthread_t thread;
	pthread_create(&thread, nullptr, fault_for_ever, nullptr);

	const char *names[] = {"right", "read", "before", "slack", "front", "host", "threads", "shared", "throw", "overrun", "recurse", "spin", "right", "starved", "asleep", "polling"};
	for (const char *name : names) {
		Call call = {static_cast<float *>(alloc("x", 4000, 0)), static_cast<float *>(alloc("y", 3996, 4)), 999};
		float two = 2, three = 3;
		fill(call.x, 4000, &two, 4);
		fill(call.y, 3996, &three, 4);
		char entry[64];
		snprintf(entry, sizeof entry, "run_%s", name);
		cuemu_report r;
		int kind = run(symbol<Launch>(kernels, entry), &call, &r);
		int64_t before, after, changed = check(call.y, &before, &after);
		int twos = 0;
		for (int i = 0; i < call.n; i++) twos += call.y[i] == 2;
		printf("%s kind=%d code=%d kernel=%s place=%d block=%u thread=%u access=%d buffer=%s distance=%lld changed=%lld before=%lld after=%lld twos=%d pc=%s:%llx | %s\n", name,
		       kind, r.code, r.kernel, r.has_place, r.block[0], r.thread[0], r.access, r.buffer, static_cast<long long>(r.distance),
		       static_cast<long long>(changed), static_cast<long long>(before), static_cast<long long>(after), twos, r.pc_module,
		       static_cast<unsigned long long>(r.pc_offset), r.message);
		sigaction(SIGSEGV, nullptr, &now);
		if (now.sa_sigaction != own_handler) printf("%s left its handler in place\n", name);
		release(call.x);
		release(call.y);
	}
	stop = true;
	pthread_join(thread, nullptr);
	printf("own faults %s\n", own_faults > 10 ? "handled" : "missed");
}
