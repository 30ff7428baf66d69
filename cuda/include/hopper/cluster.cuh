// cluster.cuh: blocks that run beside each other on a GPU of compute capability 9.0 and send values to each other's shared memory.
//
//   if (threadIdx.x == 0) inbox.expect(bytes);      // what will be sent to this block, its own part included
//   cluster_arrive();                               // this block has started, and its inbox is there
//   ...
//   cluster_wait();                                 // so have the peers
//   send_to_peer(&slots[rank], &inbox, peer, value);
//   inbox.wait();                                   // until so many bytes have come; then slots can be read
//
// Every thread of the cluster arrives once and waits once. A block that is sent to may not end before all of it has come: it waits for its
// inbox. One that has sent may: the values were in registers.
// Source   PTX ISA 9.0, "barrier.cluster", "mapa", "st.async", "mbarrier"; CUDA runtime API 13.0, cudaLaunchKernelEx
#ifndef TRIAD_HOPPER_CLUSTER_CUH
#define TRIAD_HOPPER_CLUSTER_CUH
#include <cuda_runtime.h>

#include "capability.cuh"
#include "hopper/shared_address.cuh"
#ifndef __CUEMU__
#include "hopper/barrier.cuh"
#endif

namespace triad {
namespace hopper {

#ifdef __CUEMU__
inline unsigned cluster_rank() { return cuemu_cluster_rank(); }
inline unsigned cluster_blocks() { return cuemu_cluster_size(); }
inline void cluster_arrive(CUEMU_HERE) { cuemu_cluster_arrive(file, line); }
inline void cluster_wait(CUEMU_HERE) { cuemu_cluster_wait(file, line); }

// Inbox counts the bytes that are still to come: who sends some releases them, who waits for the last acquires all.
struct Inbox {
	uint64_t missing;

	void expect(uint32_t bytes) { __atomic_store_n(&missing, bytes, __ATOMIC_RELAXED); }
	void wait() {
		while (__atomic_load_n(&missing, __ATOMIC_ACQUIRE) != 0) __nanosleep(0);
	}
};

inline void send_to_peer(float2 *own, Inbox *inbox, unsigned peer, float2 value, CUEMU_HERE) {
	*static_cast<float2 *>(cuemu_peer_shared(own, peer, file, line)) = value;
	__atomic_fetch_sub(&static_cast<Inbox *>(cuemu_peer_shared(inbox, peer, file, line))->missing, sizeof value, __ATOMIC_ACQ_REL);
}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
// No launch comes here: the limit `clusters` refuses the call.
struct Inbox {
	uint64_t barrier;

	__device__ void expect(uint32_t) { __trap(); }
	__device__ void wait() { __trap(); }
};
__device__ inline unsigned cluster_rank() { return 0; }
__device__ inline unsigned cluster_blocks() { return 1; }
__device__ inline void cluster_arrive() { __trap(); }
__device__ inline void cluster_wait() { __trap(); }
__device__ inline void send_to_peer(float2 *, Inbox *, unsigned, float2) { __trap(); }
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

// Relaxed: nothing but the inbox must be seen by peers, and expect has a fence for it.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// Inbox, in shared memory: an mbarrier with one phase.
struct Inbox {
	uint64_t barrier;

	// expect is called by one thread, before it arrives. bytes: less than 2^20.
	__device__ void expect(uint32_t bytes) {
		const uint32_t at = shared_address(&barrier);
		barrier_init(at, 1);
		fence_init();
		barrier_arrive_expecting(at, bytes);
	}
	__device__ void wait() { barrier_wait(shared_address(&barrier), 0); }
};

// send_to_peer writes where a peer has what lies at `own` here, and counts it in the peer's inbox.
__device__ inline void send_to_peer(float2 *own, Inbox *inbox, unsigned peer, float2 value) {
	asm volatile("{\n"
	             ".reg .b32 there, counted;\n"
	             "mapa.shared::cluster.u32 there, %0, %2;\n"
	             "mapa.shared::cluster.u32 counted, %1, %2;\n"
	             "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [there], {%3, %4}, [counted];\n"
	             "}\n" ::"r"(shared_address(own)),
	             "r"(shared_address(&inbox->barrier)), "r"(peer), "r"(__float_as_uint(value.x)), "r"(__float_as_uint(value.y))
	             : "memory");
}
#endif

// clusters: the call is refused where blocks cannot share a cluster. Code for them is compiled for 9.0 alone.
inline Limit clusters(const char *what) {
	Limit limit = capability(what, 90, false);
#ifdef __CUEMU__
	limit.keeps = [](Check &check, const triad_call *, const Limit &l) {
		check.that(device_attribute(cudaDevAttrClusterLaunch) != 0, "%s needs clusters, which this device has not", l.name());
	};
#endif
	return limit;
}

constexpr unsigned portable_blocks = 8, most_blocks = 16; // of a cluster: on every GPU that has clusters, and on those of 9.0

// launch_clusters starts a kernel on whole clusters of so many blocks, at most most_blocks: 0, or CUDA's error code.
template <class... Parameters, class... Arguments>
int launch_clusters(void (*kernel)(Parameters...), unsigned clusters, unsigned blocks, int threads, size_t shared_bytes, cudaStream_t stream,
                    Arguments... arguments) {
	if (blocks > portable_blocks)
		if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)) return error;
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
