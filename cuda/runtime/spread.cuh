// Memory that lies on two devices under one range of addresses. The driver maps it; its functions are looked up, as those in launches.cuh.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include "launches.cuh"
#include "runtime.h"

namespace triad {

struct mapping_functions {
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
	CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
	CUresult (*release)(CUmemGenericAllocationHandle);
	CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
	CUresult (*unmap)(CUdeviceptr, size_t);
	CUresult (*free)(CUdeviceptr, size_t);

	bool load() {
		return driver_function("cuMemAddressReserve", &reserve) && driver_function("cuMemCreate", &create) && driver_function("cuMemMap", &map) &&
		       driver_function("cuMemRelease", &release) && driver_function("cuMemSetAccess", &access) && driver_function("cuMemUnmap", &unmap) &&
		       driver_function("cuMemAddressFree", &free);
	}
};

} // namespace triad

extern "C" int triad_spread_can(int32_t *can) {
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice) = nullptr;
	triad::mapping_functions driver;
	*can = triad::driver_function("cuDeviceGetAttribute", &attribute) && driver.load();
	for (int device = 0; device < 2 && *can; device++) {
		int maps = 0, reaches = 0;
		if (attribute(&maps, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) != CUDA_SUCCESS) maps = 0;
		if (const cudaError_t error = cudaDeviceCanAccessPeer(&reaches, device, 1 - device)) return error;
		*can = maps && reaches;
	}
	return cudaSuccess;
}

// What is mapped lives until it is unmapped, so that handles are given back at once.
extern "C" int triad_spread_map(int64_t first, int64_t second, uint64_t *at) {
	triad::mapping_functions driver;
	if (!driver.load()) return cudaErrorNotSupported;
	const size_t bytes[2] = {size_t(first), size_t(second)}, all = bytes[0] + bytes[1];
	CUmemAccessDesc access[2] = {};
	CUdeviceptr base = 0;
	size_t mapped = 0;
	CUresult error = driver.reserve(&base, all, 0, 0, 0);
	if (error != CUDA_SUCCESS) return error;
	for (int device = 0; device < 2 && error == CUDA_SUCCESS; device++) {
		CUmemAllocationProp kind = {};
		CUmemGenericAllocationHandle handle;
		kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		kind.location.type = access[device].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		kind.location.id = access[device].location.id = device;
		access[device].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		error = driver.create(&handle, bytes[device], &kind, 0);
		if (error != CUDA_SUCCESS) break;
		error = driver.map(base + mapped, bytes[device], 0, handle, 0);
		driver.release(handle);
		if (error == CUDA_SUCCESS) mapped += bytes[device];
	}
	if (error == CUDA_SUCCESS) error = driver.access(base, all, access, 2);
	if (error != CUDA_SUCCESS) {
		if (mapped > 0) driver.unmap(base, mapped);
		driver.free(base, all);
	}
	*at = base;
	return error;
}

extern "C" int triad_spread_unmap(uint64_t at, int64_t bytes) {
	triad::mapping_functions driver;
	if (!driver.load()) return cudaErrorNotSupported;
	const CUresult error = driver.unmap(at, size_t(bytes));
	return error != CUDA_SUCCESS ? error : driver.free(at, size_t(bytes));
}
