// What a program does that runs to be observed (cuemu/observed.h): CUEMU_OBSERVED is a descriptor, which gets one JSON object a line for each
// allocation, copy, fill and launch. Copies and launches do nothing else, and memory is only reserved. The program ends after MOST_LINES of them: it may
// wait for the result of a kernel that does not run.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "cuemu/check.h"
#include "cuemu/observed.h"

namespace cuemu {

namespace {

const int MOST_LINES = 400;

int descriptor() {
	const char *text = getenv("CUEMU_OBSERVED");
	return text ? atoi(text) : -1;
}
const int to = descriptor();

struct Reserved {
	uintptr_t from;
	size_t bytes;
};
std::mutex &lock = *new std::mutex;
std::vector<Reserved> &reserved = *new std::vector<Reserved>;
int lines = 0;

std::string format(const char *form, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char *form, ...) {
	char text[256];
	va_list values;
	va_start(values, form);
	vsnprintf(text, sizeof text, form, values);
	va_end(values);
	return text;
}

std::string quoted(const char *text) {
	std::string all = "\"";
	for (; text && *text; text++) {
		if (*text == '"' || *text == '\\') all += '\\';
		all += *text < ' ' ? ' ' : *text;
	}
	return all + "\"";
}

// The allocation that an address lies in; -1 of other memory.
int memory_of(const void *p) {
	const uintptr_t at = reinterpret_cast<uintptr_t>(p);
	for (size_t i = 0; i < reserved.size(); i++)
		if (at - reserved[i].from <= reserved[i].bytes) return static_cast<int>(i);
	return -1;
}

std::string place(const void *p) {
	const int i = memory_of(p);
	const size_t offset = i < 0 ? 0 : reinterpret_cast<uintptr_t>(p) - reserved[static_cast<size_t>(i)].from;
	return format("{\"memory\":%d,\"offset\":%zu}", i, offset);
}

void line(std::string text) {
	text += "\n";
	if (write(to, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ++lines == MOST_LINES) _exit(0);
}

}  // namespace

bool observing = to >= 0;

void *observe_memory(size_t bytes, bool managed) {
	std::lock_guard<std::mutex> guard(lock);
	void *p = mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) return nullptr;
	reserved.push_back({reinterpret_cast<uintptr_t>(p), bytes});
	line(format("{\"memory\":{\"bytes\":%zu,\"managed\":%s}}", bytes, managed ? "true" : "false"));
	return p;
}

bool observe_copy(void *to, const void *from, size_t bytes) {
	std::lock_guard<std::mutex> guard(lock);
	const bool device = memory_of(to) >= 0 || memory_of(from) >= 0;
	if (device) line("{\"copy\":{\"to\":" + place(to) + ",\"from\":" + place(from) + format(",\"bytes\":%zu}}", bytes));
	return device;
}

void observe_fill(void *to, int value, size_t bytes) {
	std::lock_guard<std::mutex> guard(lock);
	line("{\"fill\":{\"to\":" + place(to) + format(",\"value\":%d,\"bytes\":%zu}}", value, bytes));
}

void observe_shared(int bytes) {
	std::lock_guard<std::mutex> guard(lock);
	line(format("{\"shared\":%d}", bytes));
}

}  // namespace cuemu

using namespace cuemu;

extern "C" CUEMU_API void cuemu_observed_launch(const Job *job, const Observed *arguments, size_t many) {
	std::lock_guard<std::mutex> guard(lock);
	std::string text = "{\"launch\":{\"kernel\":" + quoted(job->kernel) + ",";
	text += format("\"line\":%d,\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared\":%zu,\"arguments\":[", job->line, job->grid.x, job->grid.y, job->grid.z,
	               job->block.x, job->block.y, job->block.z, job->shared_bytes);
	for (size_t i = 0; i < many; i++) {
		const Observed &a = arguments[i];
		text += format("%s{\"kind\":\"%c\",\"constant\":%s,\"bytes\":%u,", i ? "," : "", a.kind, a.constant ? "true" : "false", a.bytes);
		if (a.kind == 'p') text += "\"place\":" + place(reinterpret_cast<const void *>(static_cast<uintptr_t>(a.whole))) + "}";
		else text += format("\"whole\":%lld,\"real\":\"%.9g\"}", static_cast<long long>(a.whole), a.real);
	}
	line(text + "]}}");
}
