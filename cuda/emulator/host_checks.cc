// What a program's host code does wrong, for `triad check`: host and device pointers mixed up, memory that a launch may still use, memory never
// given back. Device memory is out of the host's reach outside launches and copies; what a launch may still write, too, until the host waits.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuemu/check.h"
#include "cuemu/faults.h"
#include "cuemu/device_api.h"

namespace cuemu {

namespace {

const unsigned MOST_ALLOCATIONS = 4096;

enum Sort { DEVICE, MANAGED, PINNED };

// Allocation is memory of the program, with where it was asked for.
struct Allocation {
	char *data;
	size_t bytes;
	Sort sort;
	const char *file;
	int line;
	bool live, busy;                               // busy: an asynchronous copy or a launch may use it
	const char *freed_file;
	int freed_line;
	int rights;                                    // the host's, while it is busy
} allocations[MOST_ALLOCATIONS];
unsigned allocation_count;
size_t bytes_in_use;
cudaError_t sticky = cudaSuccess;
const char *busy_file;                         // what the host has not waited for
int busy_line;
const char *busy_what;

Allocation *allocation_of(const void *p) {
	const char *at = static_cast<const char *>(p);
	for (unsigned i = 0; i < allocation_count; i++)
		if (allocations[i].live && at >= allocations[i].data && at < allocations[i].data + (allocations[i].bytes ? allocations[i].bytes : 1))
			return &allocations[i];
	return nullptr;
}

// The card's memory: as much as half of this machine's, at most 16 GiB.
size_t device_bytes() {
	const size_t half = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE)), most = size_t(16) << 30;
	return half < most ? half : most;
}

// new_slot is a free place; where there is none, that of memory given back long ago.
Allocation &new_slot() {
	static unsigned oldest;
	if (allocation_count < MOST_ALLOCATIONS) return allocations[allocation_count++];
	for (unsigned i = 0; i < MOST_ALLOCATIONS && allocations[oldest].live; i++) oldest = (oldest + 1) % MOST_ALLOCATIONS;
	return allocations[oldest];
}

cudaError_t fail(cudaError_t error, const char *kind, const char *file, int line, const char *format, ...) __attribute__((format(printf, 5, 6)));
cudaError_t fail(cudaError_t error, const char *kind, const char *file, int line, const char *format, ...) {
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	Finding(kind).place("place", file, line).message("%s", text).write();
	set_last_error(error);
	return error;
}

void busy(Allocation &a, const char *file, int line, const char *what, int rights) {
	a.busy = true;
	busy_file = file;
	busy_line = line;
	busy_what = what;
	a.rights = rights;
	let_host_reach(a.data, rights);
}

}  // namespace

DeviceReach::DeviceReach() {
	for (unsigned i = 0; i < allocation_count; i++)
		if (allocations[i].live && allocations[i].busy) let_host_reach(allocations[i].data, PROT_READ | PROT_WRITE);
}

DeviceReach::~DeviceReach() {
	for (unsigned i = 0; i < allocation_count; i++)
		if (allocations[i].live && allocations[i].busy) let_host_reach(allocations[i].data, allocations[i].rights);
}

void set_sticky_error() { sticky = cudaErrorIllegalAddress; }

cudaError sticky_error() { return sticky; }

cudaError check_malloc(void **p, size_t bytes, bool managed, bool pinned, const char *file, int line) {
	if (sticky) return sticky;
	*p = nullptr;
	const size_t all = device_bytes();
	if (bytes > all || bytes_in_use > all - bytes)
		return fail(cudaErrorMemoryAllocation, "out-of-memory", file, line, "%zu bytes were asked for, with %zu in use: the emulated card has %zu",
		            bytes, bytes_in_use, all);
	*p = cuemu_alloc(pinned ? "pinned memory" : managed ? "managed memory" : "device memory", bytes, 0);
	if (!*p) return fail(cudaErrorMemoryAllocation, "out-of-memory", file, line, "%zu bytes: this machine has no more memory", bytes);
	bytes_in_use += bytes;
	Allocation &a = new_slot();
	a = {static_cast<char *>(*p), bytes, pinned ? PINNED : managed ? MANAGED : DEVICE, file, line, true, false, nullptr, 0, 0};
	shadow_buffer(a.data, bytes, file, line);
	if (a.sort != DEVICE) {
		set_initialised(a.data, bytes);             // the host may write it, and nothing tells when
		share_with_host(a.data);
		if (managed) memset(a.data, 0, bytes);      // as a driver gives it
	}
	return cudaSuccess;
}

// A program's own memory that it registers: kernels reach it until it takes that back.
static const unsigned MOST_REGISTERED = 1024;
static void *registered[MOST_REGISTERED];

// place_of finds a pointer among those that are registered, or for nullptr a free place; MOST_REGISTERED: there is none.
static unsigned place_of(const void *p) {
	unsigned i = 0;
	while (i < MOST_REGISTERED && registered[i] != p) i++;
	return i;
}

cudaError check_register(void *p, size_t bytes, const char *file, int line) {
	if (sticky) return sticky;
	if (!p || bytes == 0) return fail(cudaErrorInvalidValue, "pointer-mixup", file, line, "there is no memory to register");
	if (allocation_of(p) || place_of(p) < MOST_REGISTERED)
		return fail(cudaErrorHostMemoryAlreadyRegistered, "pointer-mixup", file, line, "CUDA knows this memory already");
	const unsigned place = place_of(nullptr);
	if (place == MOST_REGISTERED) return fail(cudaErrorNotSupported, "out-of-memory", file, line, "the emulator registers %u pieces of memory at once", place);
	registered[place] = p;
	shadow_buffer(static_cast<char *>(p), bytes, file, line);
	set_initialised(p, bytes);
	return cudaSuccess;
}

cudaError check_unregister(void *p, const char *file, int line) {
	if (sticky) return sticky;
	const unsigned place = p ? place_of(p) : MOST_REGISTERED;
	if (place == MOST_REGISTERED) return fail(cudaErrorHostMemoryNotRegistered, "pointer-mixup", file, line, "this memory is not registered");
	registered[place] = nullptr;
	drop_buffer(static_cast<char *>(p), file, line);
	return cudaSuccess;
}

int sort_of_memory(const void *p) {
	const Allocation *a = allocation_of(p);
	if (!a) return p && place_of(p) < MOST_REGISTERED ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
	return a->sort == DEVICE ? cudaMemoryTypeDevice : a->sort == MANAGED ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
}

cudaError check_free(void *p, bool pinned, const char *file, int line) {
	if (sticky) return sticky;
	for (unsigned i = 0; i < allocation_count; i++) {
		Allocation &a = allocations[i];
		if (a.data != p) continue;
		const char *name = a.sort == PINNED ? "cudaFreeHost" : "cudaFree";
		if (!a.live) {
			Finding f("double-free");
			f.place("place", file, line).place("allocated", a.file, a.line).place("freed", a.freed_file, a.freed_line).write();
			set_last_error(cudaErrorInvalidValue);
			return cudaErrorInvalidValue;
		}
		if ((a.sort == PINNED) != pinned) return fail(cudaErrorInvalidValue, "bad-free", file, line, "this memory is given back by %s", name);
		a.live = false;
		a.freed_file = file;
		a.freed_line = line;
		bytes_in_use -= a.bytes;
		drop_buffer(a.data, file, line);
		retire(a.data);
		return cudaSuccess;
	}
	return fail(cudaErrorInvalidValue, "bad-free", file, line, allocation_of(p) ? "the pointer is inside an allocation, not at its start"
	                                                                             : "no cudaMalloc gave this pointer");
}

namespace {

// side checks one end of a copy. device: what the kind says it is.
cudaError_t side(const void *p, size_t bytes, bool device, bool either, const char *word, const char *file, int line) {
	const Allocation *a = allocation_of(p);
	if (!a) {
		for (unsigned i = 0; i < allocation_count; i++) {
			const Allocation &f = allocations[i];
			if (f.live || p < f.data || p >= f.data + f.bytes) continue;
			Finding("use-after-free").place("place", file, line).place("allocated", f.file, f.line).place("freed", f.freed_file, f.freed_line)
			    .text("access", "copy").write();
			return cudaErrorInvalidValue;
		}
		if (!device || either || in_program(p)) return cudaSuccess;   // a __device__ variable is one of the program's
		return fail(cudaErrorInvalidValue, "pointer-mixup", file, line, "the %s of this copy is host memory, and the kind of the copy says device memory", word);
	}
	if (!device && !either && a->sort == DEVICE)
		return fail(cudaErrorInvalidValue, "pointer-mixup", file, line, "the %s of this copy is device memory, and the kind of the copy says host memory", word);
	const size_t offset = static_cast<size_t>(static_cast<const char *>(p) - a->data);
	if (bytes <= a->bytes - offset) return cudaSuccess;
	Finding f("out-of-bounds");
	f.place("place", file, line).text("access", "copy").text("memory", "device memory").number("byte", static_cast<long long>(a->bytes));
	f.number("memory_bytes", static_cast<long long>(a->bytes)).place("allocated", a->file, a->line);
	f.message("%zu bytes from byte %zu on are %s, and the memory has %zu", bytes, offset, strcmp(word, "source") == 0 ? "read" : "written", a->bytes).write();
	set_last_error(cudaErrorInvalidValue);
	return cudaErrorInvalidValue;
}

}  // namespace

cudaError check_copy(void *to, const void *from, size_t bytes, int kind, bool waits, const char *file, int line) {
	if (sticky) return sticky;
	if (bytes == 0) return cudaSuccess;
	const bool either = kind == cudaMemcpyDefault;
	const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
	const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
	if (cudaError_t e = side(to, bytes, to_device, either, "destination", file, line)) return e;
	if (cudaError_t e = side(from, bytes, from_device, either, "source", file, line)) return e;
	if (waits) check_synchronised();
	{
		DeviceMemory open;
		DeviceReach busy_too;
		memmove(to, from, bytes);
	}
	copy_initialised(to, from, bytes);
	if (waits) return cudaSuccess;
	Allocation *t = allocation_of(to), *f = allocation_of(from);
	if (t && t->sort == PINNED) busy(*t, file, line, "the copy", PROT_NONE);
	if (f && f->sort == PINNED) busy(*f, file, line, "the copy", PROT_READ);
	return cudaSuccess;
}

cudaError check_fill(void *to, int value, size_t bytes, const char *file, int line) {
	if (sticky) return sticky;
	if (bytes == 0) return cudaSuccess;
	if (cudaError_t e = side(to, bytes, true, false, "destination", file, line)) return e;
	{
		DeviceMemory open;
		DeviceReach busy_too;
		memset(to, value, bytes);
	}
	set_initialised(to, bytes);
	return cudaSuccess;
}

cudaError_t tell_no_symbol(const char *file, int line) {
	return fail(cudaErrorInvalidSymbol, "pointer-mixup", file, line, "this call wants a __constant__ or __device__ variable itself, and is given its address");
}

void launch_returns() {
	for (unsigned i = 0; i < allocation_count; i++)
		if (allocations[i].live && allocations[i].sort != DEVICE && !allocations[i].busy && allocations[i].sort == MANAGED)
			busy(allocations[i], current_launch.job.file, current_launch.job.line, "the kernel", PROT_NONE);
}

void check_synchronised() {
	for (unsigned i = 0; i < allocation_count; i++) {
		if (!allocations[i].busy) continue;
		allocations[i].busy = false;
		if (allocations[i].live) let_host_reach(allocations[i].data, PROT_READ | PROT_WRITE);
	}
}

void check_reset() {
	for (unsigned i = 0; i < allocation_count; i++) {
		Allocation &a = allocations[i];
		if (!a.live) continue;
		a.live = false;
		drop_buffer(a.data, a.file, a.line);
		retire(a.data);
	}
	bytes_in_use = 0;
}

namespace {

// meant: the host and a kernel use managed memory at the same time by atomic operations. The host's further accesses of it are let pass.
bool meant(Allocation &a) {
	if (!a.busy || a.sort != MANAGED) return false;
	a.busy = false;
	let_host_reach(a.data, PROT_READ | PROT_WRITE);
	return true;
}

}  // namespace

void host_atomic(const void *p) {
	if (Allocation *a = allocation_of(static_cast<const char *>(p))) meant(*a);
}

// host_fault: host code reached for memory that it cannot reach. It is reported, and the access made possible. An atomic operation on managed memory
// is meant for what a kernel does at the same time; from then on the host reaches that allocation, for its further accesses cannot be told apart.
bool host_fault(const char *address, bool writes, bool atomic, Pc pc) {
	Allocation *a = allocation_of(address);
	if (!a) {
		for (unsigned i = 0; i < allocation_count; i++) {
			const Allocation &f = allocations[i];
			if (address < f.data || address >= f.data + f.bytes) continue;
			Finding("use-after-free").place("place", pc).place("allocated", f.file, f.line).place("freed", f.freed_file, f.freed_line)
			    .text("access", writes ? "write" : "read").write();
		}
		return false;
	}
	if (a->sort != DEVICE && !a->busy) return false;
	if (atomic && meant(*a)) return true;
	Finding f(a->busy ? "not-waited-for" : "device-pointer-on-host");
	f.place("place", pc).text("access", writes ? "write" : "read").number("byte", address - a->data);
	f.number("memory_bytes", static_cast<long long>(a->bytes)).place("allocated", a->file, a->line);
	if (a->busy) f.place("other", busy_file, busy_line).text("other_access", busy_what);
	f.write();
	a->busy = false;
	share_with_host(a->data);
	let_host_reach(a->data, PROT_READ | PROT_WRITE);
	return true;
}

void tell_refused(const Job &job, cudaError error, size_t static_bytes) {
	const uint64_t threads = uint64_t(job.block.x) * job.block.y * job.block.z;
	Finding f("launch-refused");
	f.text("kernel", job.kernel ? job.kernel : "").place("place", job.file, job.line);
	if (threads > MAX_THREADS) f.message("%llu threads in a block, and a card takes 1024", static_cast<unsigned long long>(threads));
	else if (threads == 0) f.message("a block of (%u,%u,%u) threads has none", job.block.x, job.block.y, job.block.z);
	else if (job.block.z > 64) f.message("%u threads in z, and a card takes 64", job.block.z);
	else if (!job.grid.x || !job.grid.y || !job.grid.z) f.message("a grid of (%u,%u,%u) blocks has none", job.grid.x, job.grid.y, job.grid.z);
	else if (job.grid.y > 65535 || job.grid.z > 65535) f.message("%u blocks in y and %u in z, and a card takes 65535 in each", job.grid.y, job.grid.z);
	else if (static_bytes + job.shared_bytes > shared_limit())
		f.message("%zu bytes of shared memory, of them %zu dynamic, and a block may have %zu", static_bytes + job.shared_bytes, job.shared_bytes, shared_limit());
	else if (static_bytes)
		f.message("%zu bytes of dynamic shared memory and %zu of declarations: above %zu together it takes cudaFuncSetAttribute(kernel, "
		          "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first", job.shared_bytes, static_bytes, STATIC_LIMIT);
	else if (job.shared_bytes > STATIC_LIMIT)
		f.message("%zu bytes of dynamic shared memory: above %zu it takes cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first",
		          job.shared_bytes, STATIC_LIMIT);
	else if (error == cudaErrorCooperativeLaunchTooLarge)
		f.message("%llu blocks of %llu threads must be there at once, and the emulated card has room for %u: ask cudaOccupancyMaxActiveBlocksPerMultiprocessor",
		          uint64_t(job.grid.x) * job.grid.y * job.grid.z + 0ull, threads + 0ull, resident_blocks(threads));
	else f.message("%s", cudaGetErrorString(error));
	f.write();
}

void check_end() {
	for (unsigned i = 0; i < allocation_count; i++) {
		const Allocation &a = allocations[i];
		if (!a.live || sticky) continue;
		Finding("leak").place("place", a.file, a.line).number("memory_bytes", static_cast<long long>(a.bytes)).write();
	}
}

}  // namespace cuemu

// After the program's own destructors: what is not given back by now is lost.
__attribute__((destructor)) static void at_the_end() {
	if (cuemu::checking) cuemu::check_end();
}
