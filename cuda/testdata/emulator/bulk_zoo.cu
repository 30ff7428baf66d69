// Bugs with bytes in a row that the copy engine brings and adds, each with its fixed version: `bulk_zoo NAME buggy|fixed`. A report names the line that
// carries BUG(name). What the kernel leaves is printed as a sum, which is the same in all orders.
#include <cstdio>
#include <cstring>

#include "hopper/barrier.cuh"
#include "hopper/bulk_copy.cuh"

using namespace triad::hopper;

constexpr int threads = 64, rounds = 3, piece = threads * 4;

enum Bug { right, bytes_no_wait, bytes_odd, sums_no_fence, sums_no_barrier, sums_write_early, sums_no_commit, sums_no_wait, sums_other_waits, bugs };
const char *const names[bugs] = {"right",           "bytes_no_wait",    "bytes_odd",      "sums_no_fence",   "sums_no_barrier",
                                 "sums_write_early", "sums_no_commit", "sums_no_wait", "sums_other_waits"};

// Each round brings a piece of x, doubles it, and has it added to the sums.
__global__ void add(const float *x, float *sums, Bug bug) {
	extern __shared__ __align__(128) float memory[];
	float *const came = memory, *const goes = memory + threads;
	const uint32_t full = shared_address(memory + 2 * threads);
	const int thread = static_cast<int>(threadIdx.x);
	if (thread == 0) {
		barrier_init(full, 1);
		fence_init();
	}
	__syncthreads();
	for (int round = 0; round < rounds; round++) {
		if (thread == 0) {
			barrier_arrive_expecting(full, piece);
			copy_bytes(shared_address(came), x + round * threads + (bug == bytes_odd ? 1 : 0), piece, full); // BUG(bytes_odd)
		}
		if (bug != bytes_no_wait) barrier_wait(full, static_cast<uint32_t>(round % 2));
		const float value = came[thread]; // BUG(bytes_no_wait)
		goes[thread] = 2 * value; // BUG(sums_write_early)
		if (bug != sums_no_fence) fence_stores();
		if (bug != sums_no_barrier) __syncthreads();
		if (thread == 32) {
			if (bug == sums_no_barrier) add_to_sums(sums, shared_address(goes), piece); // BUG(sums_no_barrier)
			else if (bug == sums_no_commit) add_to_sums(sums, shared_address(goes), piece); // BUG(sums_no_commit)
			else if (bug == sums_no_wait) add_to_sums(sums, shared_address(goes), piece); // BUG(sums_no_wait)
			else if (bug == sums_other_waits) add_to_sums(sums, shared_address(goes), piece); // BUG(sums_other_waits)
			else add_to_sums(sums, shared_address(goes), piece); // BUG(sums_no_fence)
			if (bug != sums_no_commit) sums_commit();
			if (bug != sums_no_wait && bug != sums_other_waits && !(bug == sums_write_early && round == 0)) sums_wait_read<0>();
		}
		if (bug == sums_other_waits && thread == 0) sums_wait_read<0>();
		__syncthreads();
		if (bug == sums_no_wait || bug == sums_other_waits) break;
	}
}

int main(int count, char **words) {
	const bool buggy = count > 2 && strcmp(words[2], "buggy") == 0;
	int which = 0;
	while (which < bugs && (count < 2 || strcmp(names[which], words[1]) != 0)) which++;
	if (which == bugs) return printf("want NAME buggy|fixed\n"), 2;
	float *x, *sums;
	cudaMallocManaged(&x, (rounds * threads + 4) * sizeof(float));
	cudaMallocManaged(&sums, threads * sizeof(float));
	for (int i = 0; i < rounds * threads + 4; i++) x[i] = static_cast<float>(i % 23);
	for (int i = 0; i < threads; i++) sums[i] = 1;
	add<<<2, threads, 3 * piece>>>(x, sums, buggy ? static_cast<Bug>(which) : right);
	if (cudaDeviceSynchronize() != cudaSuccess) return 3;
	double total = 0;
	for (int i = 0; i < threads; i++) total += (i + 1) * sums[i];
	printf("sum=%.0f\n", total);
	return 0;
}
