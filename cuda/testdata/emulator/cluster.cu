// Clusters: bugs, each with its fixed twin, as in zoo.cu. `cluster NAME buggy|fixed` runs one kernel and prints a hash of its output; `cluster launch`
// asks for what CUDA refuses. A line that a tool must name carries the comment BUG(NAME).
#include <cooperative_groups.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace cg = cooperative_groups;

const int THREADS = 64, BLOCKS = 24, ROUNDS = 3, N = BLOCKS * THREADS;

__device__ int first_index() { return static_cast<int>(blockIdx.x * THREADS + threadIdx.x); }

// The value of the neighbour's thread, pushed to it: a block that has not started has no shared memory.
template <bool fixed> __global__ void no_start(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	if (fixed) cluster.sync();
	*cluster.map_shared_rank(s + threadIdx.x, (cluster.block_rank() + 1) % cluster.num_blocks()) = x[first_index()];   // BUG(no_start)
	cluster.sync();
	y[first_index()] = s[threadIdx.x];
}

// The same, fetched: the neighbour may be gone.
template <bool fixed> __global__ void no_end(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	s[threadIdx.x] = x[first_index()];
	cluster.sync();
	y[first_index()] = *cluster.map_shared_rank(s + threadIdx.x, (cluster.block_rank() + 1) % cluster.num_blocks());   // BUG(no_end)
	if (fixed) cluster.sync();
}

// The sum over the cluster, round after round. One buffer is overwritten while slow blocks still read the round before; two in turn will do.
template <bool fixed> __global__ void one_buffer(const float *x, float *y) {
	__shared__ float part[2][16];
	__shared__ float sum;
	auto cluster = cg::this_cluster();
	cluster.sync();
	float total = 0;
	for (int round = 0; round < ROUNDS; round++) {
		float *mine = part[fixed ? round % 2 : 0];
		float v = x[first_index()] * static_cast<float>(round + 1);
		for (int k = 16; k > 0; k /= 2) v += __shfl_xor_sync(0xffffffffu, v, k);
		if (threadIdx.x < cluster.num_blocks())
			*cluster.map_shared_rank(mine + cluster.block_rank(), threadIdx.x) = v;   // BUG(one_buffer)
		cluster.barrier_arrive();
		cluster.barrier_wait();
		if (threadIdx.x == 0) {
			sum = 0;
			for (unsigned b = 0; b < cluster.num_blocks(); b++) sum += mine[b];
		}
		__syncthreads();
		total += sum;
		__syncthreads();
	}
	y[first_index()] = total;
}

// Arriving is not enough: what the peers push may still be on its way.
template <bool fixed> __global__ void no_wait(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	cluster.sync();
	*cluster.map_shared_rank(s + threadIdx.x, (cluster.block_rank() + 1) % cluster.num_blocks()) = x[first_index()];
	cluster.barrier_arrive();
	if (fixed) cluster.barrier_wait();
	y[first_index()] = s[threadIdx.x];   // BUG(no_wait)
	if (!fixed) cluster.barrier_wait();
}

template <bool fixed> __global__ void twice(const float *x, float *y) {
	auto cluster = cg::this_cluster();
	cluster.barrier_arrive();
	if (fixed) cluster.barrier_wait();
	cluster.barrier_arrive();   // BUG(twice)
	cluster.barrier_wait();
	y[first_index()] = x[first_index()];
}

template <bool fixed> __global__ void not_arrived(const float *x, float *y) {
	auto cluster = cg::this_cluster();
	if (fixed) cluster.barrier_arrive();
	cluster.barrier_wait();   // BUG(not_arrived)
	y[first_index()] = x[first_index()];
}

// A block that waits for itself alone, while the others wait for it.
template <bool fixed> __global__ void stuck(const float *x, float *y) {
	auto cluster = cg::this_cluster();
	if (!fixed && cluster.block_rank() == 1 && threadIdx.x < 32) cluster.sync();
	__syncthreads();
	cluster.sync();   // BUG(stuck)
	y[first_index()] = x[first_index()];
}

template <bool fixed> __global__ void wrong_rank(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	s[threadIdx.x] = x[first_index()];
	cluster.sync();
	const unsigned rank = cluster.block_rank() + 1;
	y[first_index()] = *cluster.map_shared_rank(s + threadIdx.x, fixed ? rank % cluster.num_blocks() : rank);   // BUG(wrong_rank)
	cluster.sync();
}

template <bool fixed> __global__ void not_shared(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	s[threadIdx.x] = x[first_index()];
	cluster.sync();
	y[first_index()] = *cluster.map_shared_rank(fixed ? s + threadIdx.x : x + threadIdx.x, 0);   // BUG(not_shared)
	cluster.sync();
}

// ---- kernels that are right

// Threads that have left are not waited for, and the values of what is left of the cluster are known to all.
template <bool> __global__ void leavers(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	s[threadIdx.x] = 0;
	cluster.sync();
	if (threadIdx.x % 3 == cluster.block_rank() % 3 && threadIdx.x != 0) return;
	atomicAdd(cluster.map_shared_rank(s + threadIdx.x, 0), x[first_index()]);
	cluster.sync();
	y[first_index()] = *cluster.map_shared_rank(s + threadIdx.x, 0);
	cluster.sync();
}

// A flag in a peer's shared memory, passed from block to block by threads that spin.
template <bool> __global__ void relay(const float *x, float *y) {
	__shared__ int flag;
	auto cluster = cg::this_cluster();
	const unsigned rank = cluster.block_rank();
	if (threadIdx.x == 0) flag = rank == 0;
	cluster.sync();
	if (threadIdx.x == 0) {
		while (atomicAdd(&flag, 0) == 0) __nanosleep(20);
		if (rank + 1 < cluster.num_blocks()) atomicExch(cluster.map_shared_rank(&flag, rank + 1), 1);
	}
	__syncthreads();
	y[first_index()] = x[first_index()] + static_cast<float>(rank);
	cluster.sync();
}

// Without a cluster in the launch, a block is one of its own.
template <bool> __global__ void alone(const float *x, float *y) {
	__shared__ float s[THREADS];
	auto cluster = cg::this_cluster();
	if (threadIdx.x / 2 == 5) return;
	s[threadIdx.x] = x[first_index()];
	cluster.sync();
	y[first_index()] = *cluster.map_shared_rank(s + (threadIdx.x ^ 1), cluster.block_rank()) + static_cast<float>(cluster.num_blocks());
	cluster.sync();
}

// Ranks and indices in three dimensions: 4 x 3 x 2 blocks in clusters of 2 x 1 x 2.
template <bool> __global__ void cube(const float *, float *y) {
	const unsigned block = blockIdx.x + 4 * (blockIdx.y + 3 * blockIdx.z), rank = blockIdx.x % 2 + 2 * (blockIdx.z % 2);
	__shared__ unsigned at;
	auto cluster = cg::this_cluster();
	if (threadIdx.x == 0) at = block;
	cluster.sync();
	const unsigned peer = rank ^ 3, expected = (blockIdx.x ^ 1) + 4 * (blockIdx.y + 3 * (blockIdx.z ^ 1));
	const bool right = cluster.block_rank() == rank && cluster.num_blocks() == 4 && *cluster.map_shared_rank(&at, peer) == expected;
	y[block * THREADS + threadIdx.x] = right ? 1.0f : NAN;
	cluster.sync();
}

// ---- launches

cudaError_t launch(void (*kernel)(const float *, float *), dim3 grid, dim3 cluster, const float *x, float *y) {
	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = cluster.x;
	attribute.val.clusterDim.y = cluster.y;
	attribute.val.clusterDim.z = cluster.z;
	cudaLaunchConfig_t config = {};
	config.gridDim = grid;
	config.blockDim = dim3(THREADS);
	config.attrs = &attribute;
	config.numAttrs = cluster.x == 0 ? 0 : 1;
	return cudaLaunchKernelEx(&config, kernel, x, y);   // BUG(launch)
}

typedef void (*Kernel)(const float *, float *);
#define CASE(name, grid, cluster) {#name, name<true>, name<false>, grid, cluster}
const struct {
	const char *name;
	Kernel fixed, buggy;
	dim3 grid, cluster;
} cases[] = {
    CASE(no_start, dim3(BLOCKS), dim3(4)),  CASE(no_end, dim3(BLOCKS), dim3(4)),      CASE(one_buffer, dim3(BLOCKS), dim3(8)),
    CASE(no_wait, dim3(BLOCKS), dim3(2)),   CASE(twice, dim3(BLOCKS), dim3(2)),       CASE(not_arrived, dim3(BLOCKS), dim3(2)),
    CASE(stuck, dim3(BLOCKS), dim3(3)),     CASE(wrong_rank, dim3(BLOCKS), dim3(2)),  CASE(not_shared, dim3(BLOCKS), dim3(2)),
    CASE(leavers, dim3(BLOCKS), dim3(3)),   CASE(relay, dim3(BLOCKS), dim3(8)),       CASE(alone, dim3(BLOCKS), dim3(0)),
    CASE(cube, dim3(4, 3, 2), dim3(2, 1, 2)),
};

// Sizes that CUDA refuses, one after the other.
int refused(const float *x, float *y) {
	for (const dim3 cluster : {dim3(5), dim3(2, 2), dim3(12), dim3(1, 0)})
		printf("%u,%u: %s\n", cluster.x, cluster.y, cudaGetErrorName(launch(leavers<true>, dim3(BLOCKS), cluster, x, y)));
	cudaFuncSetAttribute(leavers<true>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
	printf("12: %s\n", cudaGetErrorName(launch(leavers<true>, dim3(BLOCKS), dim3(12), x, y)));
	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	cudaLaunchConfig_t config = {};
	config.gridDim = config.blockDim = dim3(1);
	config.attrs = &attribute;
	config.numAttrs = 1;
	printf("other: %s\n", cudaGetErrorName(cudaLaunchKernelEx(&config, leavers<true>, x, y)));
	return 0;
}

int main(int argc, char **argv) {
	const std::string name = argc > 1 ? argv[1] : "", twin = argc > 2 ? argv[2] : "fixed";
	float *x, *y;
	if (cudaMalloc(&x, N * sizeof(float)) || cudaMalloc(&y, N * sizeof(float))) return 2;
	for (int i = 0; i < N; i++) x[i] = static_cast<float>((i * 37 + 11) % 64) * 0.125f;
	cudaMemset(y, 0, N * sizeof(float));
	if (name == "launch") return refused(x, y);
	for (const auto &c : cases) {
		if (name != c.name) continue;
		if (cudaError_t error = launch(twin == "buggy" ? c.buggy : c.fixed, c.grid, c.cluster, x, y)) return printf("%s\n", cudaGetErrorString(error)), 2;
		uint64_t hash = 14695981039346656037u;
		for (size_t i = 0; i < N * sizeof(float); i++) hash = (hash ^ reinterpret_cast<unsigned char *>(y)[i]) * 1099511628211u;
		int nans = 0;
		for (int i = 0; i < N; i++) nans += y[i] != y[i];
		printf("%016llx nans=%d\n", static_cast<unsigned long long>(hash), nans);
		cudaFree(x);
		cudaFree(y);
		return 0;
	}
	return fprintf(stderr, "no case %s\n", name.c_str()), 2;
}
