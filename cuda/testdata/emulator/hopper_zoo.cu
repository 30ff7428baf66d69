// Bugs with Hopper's asynchronous instructions, each with its fixed version: `hopper_zoo NAME buggy|fixed`, and right kernels, `hopper_zoo NAME`.
// A report names the line that carries BUG(name). What a kernel leaves is printed as a sum, which is the same in all orders.
#include <cstdio>
#include <cstring>

#include "hopper/async_copy.cuh"
#include "hopper/barrier.cuh"
#include "hopper/named_barrier.cuh"
#include "hopper/tensor_map.cuh"
#include "hopper/wgmma_half.cuh"

using namespace triad::hopper;
using T = __half;

constexpr int tile_bytes = 64 * 128, tiles = 3;

enum Bug {
	right, copy_no_wait, copy_write_early, copy_source, copy_twice, copy_before_release, copy_other_barrier,
	async_no_wait, async_no_barrier, async_no_commit, async_too_few, async_write_early, async_source,
	wgmma_read_early, wgmma_write_early, wgmma_register, wgmma_no_fence, wgmma_sum_unfenced, wgmma_operand_unfenced, wgmma_no_commit,
	wgmma_store_early, wgmma_copy_early, wgmma_no_copy_wait, wgmma_no_wait,
	proxy_no_fence, proxy_late_store, proxy_bystander, proxy_copy, proxy_one_fences, writer_fences, issuer_fences, path_fences,
	barrier_too_many, barrier_never, barrier_no_fence, barrier_no_sync, barrier_not_made, barrier_bytes, barrier_overtaken, barrier_overwritten, expect_late,
	named_counts, named_missing, named_number, registers_too_many, registers_raise, registers_lower, bugs
};
const char *const names[bugs] = {
	"right", "copy_no_wait", "copy_write_early", "copy_source", "copy_twice", "copy_before_release", "copy_other_barrier",
	"async_no_wait", "async_no_barrier", "async_no_commit", "async_too_few", "async_write_early", "async_source",
	"wgmma_read_early", "wgmma_write_early", "wgmma_register", "wgmma_no_fence", "wgmma_sum_unfenced", "wgmma_operand_unfenced", "wgmma_no_commit",
	"wgmma_store_early", "wgmma_copy_early", "wgmma_no_copy_wait", "wgmma_no_wait",
	"proxy_no_fence", "proxy_late_store", "proxy_bystander", "proxy_copy", "proxy_one_fences", "writer_fences", "issuer_fences", "path_fences",
	"barrier_too_many", "barrier_never", "barrier_no_fence", "barrier_no_sync", "barrier_not_made", "barrier_bytes", "barrier_overtaken",
	"barrier_overwritten", "expect_late", "named_counts", "named_missing", "named_number", "registers_too_many", "registers_raise", "registers_lower"};

__device__ unsigned char *aligned(unsigned char *memory) {
	return memory + (tile_alignment - shared_address(memory) % tile_alignment) % tile_alignment;
}

// ---- copies by the copy engine: 64 rows of 128 bytes arrive, and each thread adds up what it finds

__global__ void copies(const __grid_constant__ ByteMap map, unsigned char *source, unsigned *out, Bug bug) {
	extern __shared__ __align__(128) unsigned char memory[];
	unsigned char *const tile = aligned(memory);
	const uint32_t to = shared_address(tile), full = to + tile_bytes, other = full + 8;
	const int thread = threadIdx.x;
	if (thread == 0) {
		barrier_init(full, 1);
		barrier_init(other, 1);
		fence_init();
	}
	__syncthreads();
	if (thread == 0) {
		if (bug == copy_other_barrier) barrier_arrive(other);
		barrier_arrive_expecting(full, bug == copy_twice ? 2 * tile_bytes : tile_bytes);
		copy_box(to, &map, 0, 0, full);
		if (bug == copy_twice) copy_box(to, &map, 64, 0, full); // BUG(copy_twice)
		if (bug == copy_source) source[3] = 7; // BUG(copy_source)
	}
	if (bug == copy_write_early && thread == 0) tile[5] = 1; // BUG(copy_write_early)
	if (bug == copy_other_barrier && thread == 0) barrier_wait(other, 0);
	else if (bug != copy_no_wait) barrier_wait(full, 0);
	unsigned sum = 0;
	for (int i = thread; i < tile_bytes; i += blockDim.x) {
		if (bug == copy_no_wait) sum += tile[i]; // BUG(copy_no_wait)
		else if (bug == copy_other_barrier) sum += tile[i]; // BUG(copy_other_barrier)
		else sum += tile[i];
	}
	if (bug != copy_before_release) __syncthreads(); // the tile has been read, and is copied over
	if (thread == 0) {
		tile[0] = 0;
		if (bug != copy_before_release) fence_stores();
		barrier_arrive_expecting(full, tile_bytes);
		copy_box(to, &map, 64, 0, full); // BUG(copy_before_release)
	}
	barrier_wait(full, 1);
	out[thread] = sum + tile[thread];
}

// ---- cp.async: a ring of two buffers

__global__ void groups(const float *x, float *source, float *out, Bug bug) {
	__shared__ __align__(16) float buffer[2][64 * 4];
	AsyncCopies copies;
	const int thread = threadIdx.x;
	const auto copy = [&](int t) {
		copies.copy16(shared_address(buffer[t % 2] + thread * 4), x + (t * 64 + thread) * 4, true); // BUG(async_no_commit)
		if (bug != async_no_commit) copies.commit();
	};
	copy(0);
	if (bug == async_source) source[thread * 4] = 1; // BUG(async_source)
	float total = 0;
	for (int t = 0; t < 4; t++) {
		copy(t + 1);
		if (bug == async_write_early) buffer[t % 2][thread * 4] = 0; // BUG(async_write_early)
		if (bug == async_too_few) copies.wait<2>();
		else if (bug != async_no_wait) copies.wait<1>();
		if (bug != async_no_barrier) __syncthreads();
		for (int i = 0; i < 4; i++) {
			const int at = (thread + 33) % 64 * 4 + i;
			if (bug == async_no_wait) total += buffer[t % 2][at]; // BUG(async_no_wait)
			else if (bug == async_no_barrier) total += buffer[t % 2][at]; // BUG(async_no_barrier)
			else if (bug == async_too_few) total += buffer[t % 2][at]; // BUG(async_too_few)
			else total += buffer[t % 2][at];
		}
		__syncthreads();
	}
	copies.wait<0>();
	out[thread] = total;
}

// ---- wgmma: d = a b^T of two tiles by two products of 64 x 64 x 16, then d += registers x a

__device__ void fill(unsigned char *tile, int thread) {
	for (int i = thread; i < tile_bytes / 2; i += 128) reinterpret_cast<T *>(tile)[i] = T(static_cast<float>(i % 5 - 2));
}

__global__ void products(const __grid_constant__ ByteMap map, float *out, Bug bug) {
	extern __shared__ __align__(128) unsigned char memory[];
	unsigned char *const a = aligned(memory), *const b = a + tile_bytes;
	const uint32_t c = shared_address(b) + tile_bytes, full = c + tile_bytes;
	const int thread = threadIdx.x;
	if (thread == 0) {
		barrier_init(full, 1);
		fence_init();
	}
	fill(a, thread);
	fill(b, thread);
	fence_stores();
	__syncthreads();
	if (thread == 0) {
		barrier_arrive_expecting(full, tile_bytes);
		copy_box(c, &map, 0, 0, full);
	}
	if (bug != wgmma_no_copy_wait) barrier_wait(full, 0);
	const uint64_t left = tile_descriptor(shared_address(a)), right_ = tile_descriptor(shared_address(b)), copied = tile_descriptor(c);
	float d[8][4];
	uint32_t held[4] = {0x3c003c00, 0x3c003c00, 0x40004000, 0x3c003c00};
	if (bug != wgmma_no_fence) fence();
	WarpgroupMultiply<T>::shared(d, left, right_, 0); // BUG(wgmma_no_fence)
	WarpgroupMultiply<T>::shared(d, left, copied, 1); // BUG(wgmma_no_copy_wait)
	commit();
	if (bug == wgmma_read_early) out[thread] = d[1][1]; // BUG(wgmma_read_early)
	if (bug == wgmma_write_early) d[1][1] = 0; // BUG(wgmma_write_early)
	if (bug == wgmma_store_early && thread == 0) b[0] = 0; // BUG(wgmma_store_early)
	if (bug == wgmma_copy_early && thread == 0) {
		barrier_arrive_expecting(full, tile_bytes);
		copy_box(shared_address(b), &map, 0, 0, full); // BUG(wgmma_copy_early)
	}
	wait_for<0>();
	changed(d);
	if (bug != wgmma_sum_unfenced) d[0][0] += 1;
	held[0] = 0x40003c00;
	fence();
	if (bug == wgmma_sum_unfenced) d[0][0] += 1;
	if (bug == wgmma_operand_unfenced) held[0] = 0x40003c00;
	WarpgroupMultiply<T>::registers(d, held, across_descriptor(shared_address(b), tile_bytes)); // BUG(wgmma_sum_unfenced) BUG(wgmma_operand_unfenced) BUG(wgmma_no_commit) BUG(wgmma_no_wait)
	if (bug != wgmma_no_commit) commit();
	if (bug == wgmma_register) held[1] = 0; // BUG(wgmma_register)
	if (bug != wgmma_no_wait) wait_for<0>();
	if (bug == wgmma_no_wait) return;
	changed(d);
	float sum = 0;
	for (int n = 0; n < 8; n++)
		for (int e = 0; e < 4; e++) sum += d[n][e];
	out[thread] = sum + static_cast<float>(held[1] & 1);
}

// ---- proxies: threads of the first warpgroup write a tile, those of the second multiply it

__global__ void proxies(const __grid_constant__ ByteMap map, float *out, Bug bug) {
	extern __shared__ __align__(128) unsigned char memory[];
	unsigned char *const a = aligned(memory);
	const uint32_t full = shared_address(a) + tile_bytes;
	const int thread = threadIdx.x;
	const bool writes = thread < 128;
	if (thread == 0) {
		barrier_init(full, 1);
		fence_init();
	}
	if (writes) fill(a, thread);
	const bool writer = bug == right || bug == writer_fences || bug == proxy_late_store;
	if (writes && writer) fence_stores();
	if (writes && bug == proxy_late_store) a[2 * thread] = 1;
	if (writes && thread == 5 && bug == proxy_one_fences) fence_stores();
	if (bug == proxy_bystander && !writes) fence_stores();
	__syncthreads();
	if (bug == issuer_fences && !writes) fence_stores();
	if (bug == path_fences) { // by a thread that knows of the stores, and of which the issuers know
		if (thread == 7) fence_stores();
		__syncthreads();
	}
	if (bug == proxy_copy) {
		if (thread == 0) {
			barrier_arrive_expecting(full, tile_bytes);
			copy_box(shared_address(a), &map, 0, 0, full); // BUG(proxy_copy)
		}
		barrier_wait(full, 0);
	}
	if (writes) return;
	const uint64_t tile = tile_descriptor(shared_address(a));
	float d[8][4];
	fence();
	WarpgroupMultiply<T>::shared(d, tile, tile, 0); // BUG(proxy_no_fence) BUG(proxy_late_store) BUG(proxy_bystander) BUG(proxy_one_fences)
	commit();
	wait_for<0>();
	changed(d);
	out[thread - 128] = d[0][0] + d[7][3];
}

// ---- mbarriers, named barriers, setmaxnreg

__global__ void barriers(const __grid_constant__ ByteMap map, unsigned *out, Bug bug) {
	extern __shared__ __align__(128) unsigned char memory[];
	unsigned char *const tile = aligned(memory);
	const uint32_t to = shared_address(tile), full = to + tile_bytes, ready = full + 8;
	const int thread = threadIdx.x;
	if (thread == 0 && bug != barrier_not_made) {
		barrier_init(full, 1);
		barrier_init(ready, 2);
		if (bug != barrier_no_fence) fence_init();
	}
	if (bug == barrier_no_sync && thread == 32) barrier_arrive(ready); // BUG(barrier_no_sync)
	__syncthreads();
	if (thread == 0) {
		if (bug == expect_late) {
			copy_box(to, &map, 0, 0, full);
			barrier_arrive_expecting(full, tile_bytes);
		} else {
			barrier_arrive_expecting(full, bug == barrier_never ? tile_bytes + 16 : bug == barrier_bytes ? 1 << 20 : tile_bytes); // BUG(barrier_not_made) BUG(barrier_bytes)
			if (bug == barrier_too_many) barrier_arrive(full); // BUG(barrier_too_many)
			if (bug == barrier_overwritten) memset(tile + tile_bytes, 0, 8);
			copy_box(to, &map, 0, 0, full); // BUG(barrier_no_fence) BUG(barrier_overwritten)
		}
	}
	barrier_wait(full, 0); // BUG(barrier_never)
	if (thread % 32 == 0 && thread < 64) {
		if (bug == barrier_overtaken && thread == 32) {
			barrier_arrive(ready);
			barrier_wait(ready, 0); // BUG(barrier_overtaken)
		} else if (bug == barrier_overtaken) {
			for (int i = 0; i < 9; i++) __nanosleep(100); // the other one waits by now
			for (int i = 0; i < 5; i++) barrier_arrive(ready);
		} else {
			barrier_arrive(ready);
		}
	}
	if (bug != barrier_overtaken) barrier_wait(ready, 0);
	out[thread] = tile[thread];
}

__global__ void named(unsigned *out, Bug bug) {
	const int thread = threadIdx.x, warp = thread / 32;
	__shared__ unsigned from[4];
	if (warp == 0) {
		if (thread == 0) from[0] = 11;
		named_arrive(bug == named_number ? 16 : 1, 64); // BUG(named_number)
	} else if (warp == 1) {
		if (bug == named_counts) named_sync(1, 96); // BUG(named_counts)
		named_sync(1, bug == named_missing ? 96 : 64); // BUG(named_missing)
	}
	if (bug == named_missing && warp == 0) return;
	__syncthreads();
	out[thread] = from[0];
}

__global__ void registers(unsigned *out, Bug bug) {
	const int thread = threadIdx.x;
	if (thread < 128) {
		if (bug == registers_lower) give_registers<240>(); // BUG(registers_lower)
		else if (bug == registers_too_many) give_registers<160>();
		else give_registers<24>();
	} else {
		if (bug == registers_raise) take_registers<32>(); // BUG(registers_raise)
		take_registers<240>(); // BUG(registers_too_many)
	}
	out[thread] = static_cast<unsigned>(thread);
}

// ---- which is run

template <class V> void print_sum(const V *out, int count) {
	double sum = 0;
	for (int i = 0; i < count; i++) sum += static_cast<double>(out[i]) * (i % 7 + 1);
	printf("sum=%.6g\n", sum);
}

int main(int count, char **words) {
	const bool buggy = count > 2 && strcmp(words[2], "buggy") == 0, lone = count == 2;
	int named_bug = 0;
	while (named_bug < bugs && (count < 2 || strcmp(names[named_bug], words[1]) != 0)) named_bug++;
	if (named_bug == bugs) return printf("want NAME buggy|fixed\n"), 2;
	const Bug which = static_cast<Bug>(named_bug), bug = buggy || lone ? which : right;
	unsigned char *source;
	unsigned *out;
	float *values, *x;
	cudaMallocManaged(&source, 2 * tile_bytes);
	cudaMallocManaged(&out, 512 * sizeof(unsigned));
	cudaMallocManaged(&values, 512 * sizeof(float));
	cudaMallocManaged(&x, 5 * 256 * sizeof(float));
	for (int i = 0; i < 2 * tile_bytes; i++) source[i] = static_cast<unsigned char>(i % 2 == 0 ? 0 : i % 3 == 0 ? 0x3c : 0x40);
	for (int i = 0; i < 5 * 256; i++) x[i] = static_cast<float>(i % 97);
	for (int i = 0; i < 512; i++) out[i] = 0, values[i] = 0;
	ByteMap map;
	if (map_bytes(&map, source, 128, 128, 128, 64) != 0) return puts("no map"), 2;
	const int shared = tile_alignment + tiles * tile_bytes + 64;
	if (which >= registers_too_many) registers<<<1, 384>>>(out, bug), print_sum(out, 384);
	else if (which >= named_counts) named<<<1, 128>>>(out, bug), print_sum(out, 128);
	else if (which >= barrier_too_many) barriers<<<1, 128, shared>>>(map, out, bug), print_sum(out, 128);
	else if (which >= proxy_no_fence) proxies<<<1, 256, shared>>>(map, values, bug), print_sum(values, 128);
	else if (which >= wgmma_read_early) products<<<1, 128, shared>>>(map, values, bug), print_sum(values, 128);
	else if (which >= async_no_wait) groups<<<1, 64>>>(x, x, values, bug), print_sum(values, 64);
	else copies<<<1, 128, shared>>>(map, source, out, bug), print_sum(out, 128);
	return 0;
}
