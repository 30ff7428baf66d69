// malloc, free, new and delete of kernels, for `triad check`: the linker leads the program's calls here. What a
// kernel allocates lies in a heap of its own, in which no address is given out twice, and is device memory.
#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <new>

#include "cuemu/check.h"

namespace cuemu {

namespace {

const size_t ROOM = size_t(16) << 30, APART = 64;  // bytes of addresses, and between two allocations
size_t limit = size_t(8) << 20;                    // as CUDA has it where nobody sets cudaLimitMallocHeapSize
size_t in_use, reached;
char *heap;

struct Piece {
	size_t bytes;
	bool live;
};
std::map<void *, Piece> pieces;

bool in_kernel() { return checking && this_worker && this_worker->in_block; }

// allocate gives null where the heap is full, as on a GPU.
void *allocate(size_t bytes) {
	if (!heap) {
		void *p = mmap(nullptr, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED) return nullptr;
		heap = static_cast<char *>(p);
	}
	if (bytes > limit || in_use > limit - bytes || bytes + 2 * APART > ROOM - reached) return nullptr;
	char *data = heap + reached + APART;
	reached += (bytes + APART + 15) / 16 * 16;
	in_use += bytes;
	pieces[data] = {bytes, true};
	if (watching) shadow_buffer(data, bytes, nullptr, 0);
	return data;
}

bool in_heap(const void *p) { return heap && p >= heap && p < heap + reached + APART; }

// release takes back what a kernel allocated. The host may not: to it this is no memory of its own.
void release(void *p, Pc pc) {
	auto piece = pieces.find(p);
	if (piece == pieces.end() || !in_kernel()) {
		Finding("bad-free").place("place", pc).message("%s", !in_kernel() ? "a kernel allocated this memory, and a kernel gives it back"
		                                                : in_heap(p) ? "the pointer is inside an allocation, not at its start"
		                                                             : "no malloc or new of a kernel gave this pointer").write();
		return;
	}
	if (!piece->second.live) {
		Finding("double-free").place("place", pc).write();
		return;
	}
	piece->second.live = false;
	in_use -= piece->second.bytes;
	if (watching) drop_buffer(static_cast<char *>(p), nullptr, 0);
}

bool ours(void *p) { return p && (in_kernel() || in_heap(p)); }

}  // namespace

}  // namespace cuemu

using namespace cuemu;

#pragma GCC visibility push(default)
extern "C" {

void cuemu_set_heap(size_t bytes) { limit = bytes; }

#define HERE __builtin_return_address(0)
void *__wrap_malloc(size_t bytes) { return in_kernel() ? allocate(bytes) : malloc(bytes); }
void __wrap_free(void *p) { ours(p) ? release(p, HERE) : free(p); }
void *__wrap__Znwm(size_t bytes) { return in_kernel() ? allocate(bytes) : ::operator new(bytes); }
void *__wrap__Znam(size_t bytes) { return in_kernel() ? allocate(bytes) : ::operator new[](bytes); }
void __wrap__ZdlPv(void *p) { ours(p) ? release(p, HERE) : ::operator delete(p); }
void __wrap__ZdlPvm(void *p, size_t) { ours(p) ? release(p, HERE) : ::operator delete(p); }
void __wrap__ZdaPv(void *p) { ours(p) ? release(p, HERE) : ::operator delete[](p); }
void __wrap__ZdaPvm(void *p, size_t) { ours(p) ? release(p, HERE) : ::operator delete[](p); }

}  // extern "C"
#pragma GCC visibility pop
