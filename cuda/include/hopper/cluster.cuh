// cluster.cuh: blocks that run beside each other on a GPU of compute capability 9.0, reach each other's shared memory and share a barrier.
//
//   cluster_arrive();                         // this block has started, and its shared memory is there
//   ...
//   cluster_wait();                           // so have the peers
//   store_to_peer(&slots[cluster_rank()], peer, value);
//   cluster_arrive();                         // what was stored before is seen by peers ...
//   cluster_wait();                           // ... once they have waited
//
// Every thread of the cluster arrives and waits, in turns. No block may end while a peer can still reach its shared memory.
// Source   PTX ISA 9.0, "barrier.cluster", "mapa", "st"; CUDA runtime API 13.0, cudaLaunchKernelEx
#ifndef TRIAD_HOPPER_CLUSTER_CUH
#define TRIAD_HOPPER_CLUSTER_CUH
#include <cuda_runtime.h>

#include "capability.cuh"
#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

#ifdef __CUEMU__
inline unsigned cluster_rank() { return cuemu_cluster_rank(); }
inline unsigned cluster_blocks() { return cuemu_cluster_size(); }
inline void cluster_arrive(CUEMU_HERE) { cuemu_cluster_arrive(file, line); }
inline void cluster_wait(CUEMU_HERE) { cuemu_cluster_wait(file, line); }
inline void store_to_peer(float2 *own, unsigned peer, float2 value, CUEMU_HERE) {
	*static_cast<float2 *>(cuemu_peer_shared(own, peer, file, line)) = value;
}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
// No launch comes here: needs_clusters refuses the call.
__device__ inline unsigned cluster_rank() { return 0; }
__device__ inline unsigned cluster_blocks() { return 1; }
__device__ inline void cluster_arrive() { __trap(); }
__device__ inline void cluster_wait() { __trap(); }
__device__ inline void store_to_peer(float2 *, unsigned, float2) { __trap(); }
#else
__device__ inline unsigned cluster_rank() {
	unsigned rank;
	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	return rank;
}

__device__ inline unsigned cluster_blocks() {
	unsigned blocks;
	asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
	return blocks;
}

__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// store_to_peer writes where a peer has what lies at `own` here.
__device__ inline void store_to_peer(float2 *own, unsigned peer, float2 value) {
	asm volatile("{\n"
	             ".reg .b32 there;\n"
	             "mapa.shared::cluster.u32 there, %0, %1;\n"
	             "st.shared::cluster.v2.f32 [there], {%2, %3};\n"
	             "}\n" ::"r"(shared_address(own)),
	             "r"(peer), "f"(value.x), "f"(value.y)
	             : "memory");
}
#endif

// needs_clusters: the call is refused where blocks cannot share a cluster. Code for them is compiled for 9.0 alone.
inline void needs_clusters(Check &check, const char *what) {
#ifdef __CUEMU__
	check.that(device_attribute(cudaDevAttrClusterLaunch) != 0, "%s needs clusters, which this device has not", what);
#else
	needs_capability(check, what, 90, false);
#endif
}

// launch_clusters starts a kernel on whole clusters of so many blocks, at most 8: 0, or CUDA's error code.
template <class... Parameters, class... Arguments>
int launch_clusters(void (*kernel)(Parameters...), unsigned clusters, unsigned blocks, int threads, size_t shared_bytes, cudaStream_t stream,
                    Arguments... arguments) {
	cudaLaunchAttribute size = {};
	size.id = cudaLaunchAttributeClusterDimension;
	size.val.clusterDim.x = blocks;
	size.val.clusterDim.y = size.val.clusterDim.z = 1;
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(clusters * blocks);
	config.blockDim = dim3(static_cast<unsigned>(threads));
	config.dynamicSmemBytes = shared_bytes;
	config.stream = stream;
	config.attrs = &size;
	config.numAttrs = 1;
	return static_cast<int>(cudaLaunchKernelEx(&config, kernel, arguments...));
}

} // namespace hopper
} // namespace triad
#endif
