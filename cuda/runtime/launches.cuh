// What the driver knows of the kernels in a captured graph. Kernels of other libraries are not known to this one's runtime: the driver is asked.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "runtime.h"

namespace triad {

// A function of the driver by its name; null where the driver has none.
template <class Function>
bool driver_function(const char *name, Function *out) {
	void *found = nullptr;
	cudaDriverEntryPointQueryResult result;
	*out = nullptr;
	if (cudaGetDriverEntryPointByVersion(name, &found, 12030, cudaEnableDefault, &result) != cudaSuccess || result != cudaDriverEntryPointSuccess) {
		cudaGetLastError();
		return false;
	}
	std::memcpy(out, &found, sizeof found);
	return found != nullptr;
}

struct driver_functions {
	CUresult (*node_type)(CUgraphNode, CUgraphNodeType *);
	CUresult (*node_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2 *);
	CUresult (*function_of)(CUfunction *, CUkernel);
	CUresult (*function_name)(const char **, CUfunction);
	CUresult (*attribute)(int *, CUfunction_attribute, CUfunction);
	CUresult (*occupancy)(int *, CUfunction, int, size_t);

	bool load() {
		return driver_function("cuGraphNodeGetType", &node_type) && driver_function("cuGraphKernelNodeGetParams", &node_params) &&
		       driver_function("cuKernelGetFunction", &function_of) && driver_function("cuFuncGetName", &function_name) &&
		       driver_function("cuFuncGetAttribute", &attribute) &&
		       driver_function("cuOccupancyMaxActiveBlocksPerMultiprocessor", &occupancy);
	}

	// What is known of a node; false where it is no kernel or the driver does not tell.
	bool describe(CUgraphNode node, triad_kernel_fact *out) const {
		CUgraphNodeType type;
		CUDA_KERNEL_NODE_PARAMS_v2 p;
		std::memset(&p, 0, sizeof p);
		std::memset(out, 0, sizeof *out);
		if (node_type(node, &type) != CUDA_SUCCESS || type != CU_GRAPH_NODE_TYPE_KERNEL || node_params(node, &p) != CUDA_SUCCESS) return false;
		CUfunction function = p.func;
		if (!function && (!p.kern || function_of(&function, p.kern) != CUDA_SUCCESS)) return false;
		const char *name = nullptr;
		if (function_name(&name, function) != CUDA_SUCCESS || !name) return false;
		std::strncpy(out->name, name, sizeof out->name - 1);
		const unsigned grid[3] = {p.gridDimX, p.gridDimY, p.gridDimZ}, block[3] = {p.blockDimX, p.blockDimY, p.blockDimZ};
		for (int i = 0; i < 3; i++) out->grid[i] = int32_t(grid[i]), out->block[i] = int32_t(block[i]);
		out->dynamic_shared_bytes = int32_t(p.sharedMemBytes);
		attribute(&out->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
		attribute(&out->shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
		attribute(&out->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
		occupancy(&out->blocks_per_multiprocessor, function, int(block[0] * block[1] * block[2]), p.sharedMemBytes);
		return true;
	}
};

// How many kernels a graph holds, those of graphs within it among them; -1 where it cannot be told.
inline int64_t count_kernels(cudaGraph_t graph) {
	size_t count = 0;
	if (cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess) return cudaGetLastError(), -1;
	std::vector<cudaGraphNode_t> nodes(count);
	if (count > 0 && cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return cudaGetLastError(), -1;
	int64_t kernels = 0;
	for (cudaGraphNode_t node : nodes) {
		cudaGraphNodeType type;
		if (cudaGraphNodeGetType(node, &type) != cudaSuccess) return cudaGetLastError(), -1;
		kernels += type == cudaGraphNodeTypeKernel;
		cudaGraph_t within = nullptr;
		if (type != cudaGraphNodeTypeGraph) continue;
		const int64_t more = cudaGraphChildGraphNodeGetGraph(node, &within) == cudaSuccess ? count_kernels(within) : -1;
		if (more < 0) return -1;
		kernels += more;
	}
	return kernels;
}

// The different kernels of a graph of count nodes. A fact is no reason to fail: what the driver does not tell is left out.
inline std::vector<triad_kernel_fact> kernels_of(cudaGraph_t graph, size_t count) {
	const size_t looked_at = 64; // calls repeat
	std::vector<triad_kernel_fact> all;
	driver_functions driver;
	int device = 0, threads = 0;
	count = count < looked_at ? count : looked_at;
	std::vector<cudaGraphNode_t> nodes(count);
	if (!count || !driver.load() || cudaGetDevice(&device) != cudaSuccess ||
	    cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device) != cudaSuccess ||
	    cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) {
		cudaGetLastError();
		return all;
	}
	for (size_t i = 0; i < count; i++) {
		triad_kernel_fact k;
		if (!driver.describe(reinterpret_cast<CUgraphNode>(nodes[i]), &k)) continue;
		k.threads_per_multiprocessor = threads;
		bool known = false;
		for (const triad_kernel_fact &o : all) known = known || !std::memcmp(&o, &k, sizeof k);
		if (!known) all.push_back(k);
	}
	return all;
}

} // namespace triad
