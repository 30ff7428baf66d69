// A runtime of CUDA without a GPU for own_calls.cu. It keeps, of every stream and event, the work that it follows, and says in lines what it is asked
// for. What a capture forbids is said as FORBIDDEN.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace {
struct dim3 {
	unsigned x, y, z;
};
struct Attributes { // cudaPointerAttributes
	int type, device;
	void *on_device, *on_host;
};
std::map<intptr_t, std::set<std::string>> follows; // by stream or event
std::set<intptr_t> captured;                       // streams and events of the capture
int streams = 100, events = 200, blocks = 0;
dim3 grid_, block_;
size_t shared_;
intptr_t stream_;

void work(const std::string &what, intptr_t stream) {
	std::printf("%s on %s, after", what.c_str(), stream == 1000 ? "the call" : stream == 0 ? "the default stream" : std::to_string(stream).c_str());
	for (const std::string &other : follows[stream]) std::printf(" %s", other.c_str());
	std::printf("\n");
	follows[stream].insert(what);
	if (!captured.empty() && captured.count(stream) == 0) std::printf("FORBIDDEN: %s is not captured\n", what.c_str());
}
bool is_device(intptr_t p) { return p >= 1 << 20 && p < 2 << 20; }
int copy(intptr_t to, intptr_t from, size_t bytes, intptr_t stream) {
	if (is_device(to) && is_device(from)) return work("copy", stream), 0;
	if (captured.count(stream) == 1 && is_device(to)) return work("copy of " + std::to_string(*(const int *)from), stream), 0;
	std::printf("copy of %zu bytes to or from the host\n", bytes);
	return 0;
}
} // namespace

extern "C" {
void fake_capture(int begin) {
	if (!begin) {
		std::printf("the graph holds");
		for (const std::string &all : follows[1000]) std::printf(" %s", all.c_str());
		std::printf("\n");
	}
	captured.clear();
	if (begin) captured.insert(1000), follows.clear();
}
int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, intptr_t stream) {
	grid_ = grid, block_ = block, shared_ = shared, stream_ = stream;
	return 0;
}
int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, intptr_t *stream) {
	*grid = grid_, *block = block_, *shared = shared_, *stream = stream_;
	return 0;
}
int __cudaGetKernel(intptr_t *, const void *) { return 0; }
int __cudaLaunchKernel(intptr_t, dim3 grid, dim3, void **, size_t, intptr_t stream) { return work("kernel" + std::to_string(grid.x), stream), 0; }
int __cudaLaunchKernel_ptsz(intptr_t, dim3 grid, dim3, void **, size_t, intptr_t s) { return work("kernel" + std::to_string(grid.x), s), 0; }
int cudaGetLastError() { return 0; }
int cudaStreamIsCapturing(intptr_t s, int *status) { return *status = int(captured.count(s)), 0; }
int cudaStreamGetFlags(intptr_t, unsigned *) { return std::printf("FORBIDDEN: flags of a stream\n"), 901; } // as in CUDA 13.0
int cudaStreamCreateWithPriority(intptr_t *out, unsigned flags, int) { return *out = streams += 2, *out += flags, 0; }
int cudaStreamDestroy(intptr_t s) {
	std::printf("%sstream %ld is destroyed\n", captured.count(s) ? "FORBIDDEN: " : "", long(s));
	return 0;
}
int cudaEventCreateWithFlags(intptr_t *out, unsigned) { return *out = ++events, 0; }
int cudaEventCreate(intptr_t *out) { return *out = ++events, 0; }
int cudaEventRecord(intptr_t e, intptr_t s) {
	follows[e] = follows[s];
	if (captured.count(s)) captured.insert(e);
	return 0;
}
int cudaStreamWaitEvent(intptr_t s, intptr_t e, unsigned) {
	follows[s].insert(follows[e].begin(), follows[e].end());
	if (captured.count(e)) captured.insert(s);
	return 0;
}
static int waits(const char *what) { return std::printf("%s%s\n", captured.empty() ? "" : "FORBIDDEN: ", what), 0; }
int cudaDeviceSynchronize() { return waits("device synchronized"); }
int cudaStreamSynchronize(intptr_t s) { return captured.count(s) ? waits("stream synchronized") : 0; }
int cudaEventSynchronize(intptr_t) { return waits("event synchronized"); }
int cudaEventElapsedTime(float *ms, intptr_t, intptr_t) { return *ms = 7, waits("event asked for a time"); }
int cudaMalloc(intptr_t *out, size_t bytes) { return *out = (1 << 20) + 4096 * ++blocks, std::printf("%zu bytes allocated\n", bytes), 0; }
int cudaFree(intptr_t) { return waits("memory freed"); }
int cudaMemset(intptr_t, int, size_t) { return waits("memset waits"); }
int cudaMemsetAsync(intptr_t, int, size_t, intptr_t s) { return work("memset", s), 0; }
int cudaMemcpy(intptr_t to, intptr_t from, size_t bytes, int) { return copy(to, from, bytes, 0); }
int cudaMemcpyAsync(intptr_t to, intptr_t from, size_t bytes, int, intptr_t s) { return copy(to, from, bytes, s); }
int cudaPointerGetAttributes(Attributes *a, intptr_t p) { return a->type = is_device(p) ? 2 : 0, 0; }
int cudaDeviceSetLimit(int limit, size_t value) { return std::printf("limit %d becomes %zu\n", limit, value), 0; }
}
