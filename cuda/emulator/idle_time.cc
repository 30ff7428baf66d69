// How long a launch stands still, by what its threads did and not by the clock alone.
#include "cuemu/idle_time.h"

#include <cstdio>
#include <cstring>

namespace cuemu {
namespace {

double processor_seconds(const Worker *w) {
	timespec t;
	if (!w || clock_gettime(w->processor_clock, &t)) return 0;
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// wants_processor says whether a thread would run if it could, or waits for memory that is on a disk. Where the system does not tell, it sleeps. One
// without a worker yet is being started.
bool wants_processor(const Worker *w) {
	if (!w) return true;
	char name[64], text[256];
	snprintf(name, sizeof name, "/proc/self/task/%d/stat", w->system_thread);
	FILE *f = fopen(name, "r");
	if (!f) return false;
	const size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	const char *state = strrchr(text, ')');   // the name before it may hold anything
	return state && (state[1] == ' ') && (state[2] == 'R' || state[2] == 'D');
}

}  // namespace

void IdleTime::moved() {
	computed = asleep = 0;
	for (unsigned i = 0; i < MAX_WORKERS; i++) computed += begun[i] = i < worker_count.load() ? processor_seconds(workers[i]) : 0;
}

double IdleTime::after(double seconds) {
	double longest = 0, sum = 0;
	const unsigned count = worker_count.load();
	for (unsigned i = 0; i < count; i++) {
		const double now = processor_seconds(workers[i]);
		sum += now;
		if (now - begun[i] > longest) longest = now - begun[i];
	}
	// Whoever polls computes a little again and again, and sleeps the rest of the time.
	double rest = (seconds < MOST_SECONDS ? seconds : MOST_SECONDS) - (sum > computed ? sum - computed : 0);
	for (unsigned i = 0; i < count && rest > 0; i++)
		if (wants_processor(workers[i])) rest = 0;
	if (rest > 0) asleep += rest;
	computed = sum;
	return longest > asleep ? longest : asleep;
}

}  // namespace cuemu
