//go:build cuda

package cudevice

/*
#cgo linux LDFLAGS: -ldl
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>

// The driver's functions for mapped memory are looked up in the process: cu neither calls nor links them.
#define FUNCTION(name) __typeof__(&name) name##_ = (__typeof__(&name))dlsym(RTLD_DEFAULT, #name); \
	if (!name##_) return CUDA_ERROR_NOT_SUPPORTED

// spread_can reports whether both devices map memory and reach each other's.
static int spread_can(int *can) {
	*can = 1;
	FUNCTION(cuDeviceGetAttribute);
	FUNCTION(cuDeviceCanAccessPeer);
	for (int d = 0; d < 2; d++) {
		int maps = 0, reaches = 0;
		CUresult error = cuDeviceGetAttribute_(&maps, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, d);
		if (!error) error = cuDeviceCanAccessPeer_(&reaches, d, 1 - d);
		if (error) return error;
		*can = *can && maps && reaches;
	}
	return CUDA_SUCCESS;
}

// spread_unmap gives back what spread_map made.
static int spread_unmap(uint64_t at, size_t bytes) {
	FUNCTION(cuMemUnmap);
	FUNCTION(cuMemAddressFree);
	CUresult error = cuMemUnmap_(at, bytes);
	return error ? error : cuMemAddressFree_(at, bytes);
}

// spread_map makes one range of addresses, the first part of whose memory is device 0's, the rest device 1's;
// both reach all of it. What is mapped lives until it is unmapped, so that the handles are given back at once.
static int spread_map(size_t zero, size_t one, uint64_t *at) {
	FUNCTION(cuMemAddressReserve);
	FUNCTION(cuMemAddressFree);
	FUNCTION(cuMemCreate);
	FUNCTION(cuMemMap);
	FUNCTION(cuMemUnmap);
	FUNCTION(cuMemRelease);
	FUNCTION(cuMemSetAccess);
	const size_t bytes[2] = {zero, one};
	CUmemAccessDesc access[2] = {{{0}}};
	CUdeviceptr base = 0, end;
	CUresult error = cuMemAddressReserve_(&base, zero + one, 0, 0, 0);
	if (error) return error;
	end = base;
	for (int d = 0; d < 2 && !error; d++) {
		CUmemAllocationProp kind = {0};
		CUmemGenericAllocationHandle handle;
		kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		kind.location.type = access[d].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		kind.location.id = access[d].location.id = d;
		access[d].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		error = cuMemCreate_(&handle, bytes[d], &kind, 0);
		if (error) break;
		error = cuMemMap_(end, bytes[d], 0, handle, 0);
		cuMemRelease_(handle);
		if (!error) end += bytes[d];
	}
	if (!error) error = cuMemSetAccess_(base, zero + one, access, 2);
	if (error) {
		if (end > base) cuMemUnmap_(base, end - base);
		cuMemAddressFree_(base, zero + one);
	}
	*at = base;
	return error;
}
*/
import "C"

import (
	"fmt"

	"gorgonia.org/cu"

	"triad/cuda/serve"
)

// spreads is the memory that lies on two devices, by the address of the buffer in it, and what was given back
// and may be used again: to map memory takes a millisecond.
type spreads struct {
	second cu.CUContext // of device 1
	used   map[uintptr]mapping
	free   map[[2]int64][]uintptr // by the bytes on each device
}

// mapping is a range of addresses with the bytes that each device has of it.
type mapping struct {
	base  uintptr
	bytes [2]int64
}

// mostKept is the size above which a mapping is not kept for later, and how many of a size are.
const (
	mostKeptBytes = 64 << 20
	mostKept      = 64
)

// openSecond takes the second visible GPU, too; why it cannot, in a sentence, is no error.
func (d *Device) openSecond() (why string, err error) {
	all, err := cu.NumDevices()
	if err != nil {
		return "", fmt.Errorf("count the GPUs: %w", named(err))
	}
	if all < 2 {
		return fmt.Sprintf("there is %d here", all), nil
	}
	var can C.int
	if err := driverResult(C.spread_can(&can)); err != nil {
		return "", fmt.Errorf("ask whether two GPUs reach each other's memory: %w", err)
	}
	if can == 0 {
		return "the two here do not", nil
	}
	other, err := cu.GetDevice(1)
	if err == nil {
		d.spread.second, err = other.RetainPrimaryCtx()
	}
	if err != nil {
		return "", fmt.Errorf("use the second GPU: %w", named(err))
	}
	d.spread.used, d.spread.free = map[uintptr]mapping{}, map[[2]int64][]uintptr{}
	return "", nil
}

// Spread returns how many GPUs a call may be spread over, and why it is not two.
func (d *Device) Spread() (devices int, why string) {
	if d.spread.used == nil {
		return 1, d.alone
	}
	return 2, ""
}

// AllocSpread allocates memory of which bytes from border on, rounded up to 256, lie on the second device.
// The buffer begins where that border is one of pages.
func (d *Device) AllocSpread(name string, bytes, border int64) (serve.Buffer, error) {
	border = (border + 255) / 256 * 256
	guard := d.guardOf()
	m := mapping{bytes: [2]int64{pages(guard + border), pages(max(bytes-border, 0) + guard)}}
	if kept := d.spread.free[m.bytes]; len(kept) > 0 {
		m.base, d.spread.free[m.bytes] = kept[len(kept)-1], kept[:len(kept)-1]
	} else if err := d.mapPages(name, &m); err != nil {
		return serve.Buffer{}, err
	}
	b := serve.Buffer{Name: name, Pointer: m.base + uintptr(m.bytes[0]-border), Bytes: bytes}
	d.spread.used[b.Pointer] = m
	return b, d.guard(b, guard)
}

// pages rounds bytes up to whole pages, one at least.
func pages(bytes int64) int64 { return max(1, (bytes+pageBytes-1)/pageBytes) * pageBytes }

// mapPages maps memory; what is kept for later is given back where there is no room.
func (d *Device) mapPages(name string, m *mapping) error {
	for {
		var at C.uint64_t
		err := driverResult(C.spread_map(C.size_t(m.bytes[0]), C.size_t(m.bytes[1]), &at))
		switch {
		case err == nil:
			m.base = uintptr(at)
			return nil
		case code(err) != 2:
			return fmt.Errorf("map %s, %d bytes on two GPUs: %w", name, m.bytes[0]+m.bytes[1], named(err))
		case len(d.spread.free) == 0:
			return d.full(name, m.bytes[0]+m.bytes[1])
		}
		for bytes, kept := range d.spread.free {
			for _, base := range kept {
				if err := (mapping{base, bytes}).unmap(); err != nil {
					return err
				}
			}
		}
		clear(d.spread.free)
	}
}

func (m mapping) unmap() error {
	return named(driverResult(C.spread_unmap(C.uint64_t(m.base), C.size_t(m.bytes[0]+m.bytes[1]))))
}

// freeSpread gives memory on two devices back.
func (d *Device) freeSpread(b serve.Buffer, m mapping) error {
	delete(d.spread.used, b.Pointer)
	if m.bytes[0]+m.bytes[1] <= mostKeptBytes && len(d.spread.free[m.bytes]) < mostKept {
		d.spread.free[m.bytes] = append(d.spread.free[m.bytes], m.base)
		return nil
	}
	return m.unmap()
}

// synchronizeSecond waits for the second device.
func (d *Device) synchronizeSecond() error {
	if d.spread.used == nil {
		return nil
	}
	err := cu.SetCurrentContext(d.spread.second)
	if err == nil {
		err = cu.Synchronize()
	}
	if back := cu.SetCurrentContext(d.context); err == nil {
		err = back
	}
	return err
}

// driverResult converts a result of the driver.
func driverResult(result C.int) error {
	if result == 0 {
		return nil
	}
	return &driverError{int(result)}
}
