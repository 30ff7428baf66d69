//go:build cuda

package cudevice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"unsafe"

	"gorgonia.org/cu"

	"triad/cuda/build"
	"triad/cuda/serve"
	"triad/internal/backend"
	"triad/internal/cudaerror"
)

// Device is the first visible GPU, and the second for calls that are spread over two. Every method belongs to
// the thread that called Open.
type Device struct {
	libraries *build.GPULibraries
	info      Info
	context   cu.CUContext
	stream    cu.Stream
	watch     Watch
	guards    canaries
	second    cu.CUContext // of the second GPU
	spread    spreads
	alone     string // why no call is spread over two GPUs
}

var (
	_ serve.Clocked = (*Device)(nil)
	_ serve.Spread  = (*Device)(nil)
)

// Info describes a GPU.
type Info struct {
	Name         string
	MemoryBytes  int64
	Major, Minor int // the compute capability
	PCI          string
}

// Driver returns the version of CUDA that the driver supports, 13000 for 13.0.
func Driver() int { return cu.Version() }

// All lists the visible GPUs. It makes no context.
func All() ([]Info, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("count the GPUs: %w", named(err))
	}
	all := make([]Info, n)
	for i := range all {
		if all[i], err = inspect(i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func inspect(ordinal int) (Info, error) {
	var i Info
	d, err := cu.GetDevice(ordinal)
	if err == nil {
		i.Name, err = d.Name()
	}
	if err == nil {
		i.MemoryBytes, err = d.TotalMem()
	}
	if err == nil {
		i.Major, err = d.Attribute(cu.ComputeCapabilityMajor)
	}
	if err == nil {
		i.Minor, err = d.Attribute(cu.ComputeCapabilityMinor)
	}
	if err != nil {
		return i, fmt.Errorf("ask GPU %d what it is: %w", ordinal, named(err))
	}
	i.PCI = placeOf(d)
	return i, nil
}

// placeOf returns the PCI bus address of a GPU, in NVML's form; "" if the driver does not know it.
func placeOf(d cu.Device) string {
	var at [3]int
	for k, attribute := range []cu.DeviceAttribute{cu.PciDomainID, cu.PciBusID, cu.PciDeviceID} {
		var err error
		if at[k], err = d.Attribute(attribute); err != nil {
			return ""
		}
	}
	return fmt.Sprintf("%08X:%02X:%02X.0", at[0], at[1], at[2])
}

// Open takes the primary context of the first visible GPU, which the kernel libraries' runtime uses as well,
// and makes it current on the calling thread, which must be locked. With gpus = 2 it takes that of the second
// one, too.
func Open(libraries *build.GPULibraries, watch Watch, gpus int) (*Device, error) {
	info, err := inspect(0)
	if err != nil {
		return nil, err
	}
	d := &Device{libraries: libraries, info: info, watch: watch, guards: canaries{}}
	libraries.Major, libraries.Minor = info.Major, info.Minor
	gpu, err := cu.GetDevice(0)
	if err == nil {
		d.context, err = gpu.RetainPrimaryCtx()
	}
	if err == nil {
		err = cu.SetCurrentContext(d.context)
	}
	if err == nil {
		// Not "non blocking": a kernel that forgets the stream of its call and uses the default one stays in
		// order with the copies.
		d.stream, err = cu.MakeStream(cu.DefaultStream)
	}
	if err != nil {
		return nil, fmt.Errorf("use the GPU %s: %w", info.Name, named(err))
	}
	visible, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("count the GPUs: %w", named(err))
	}
	if d.alone = whyAlone(visible); gpus > 1 && visible > 1 {
		if d.alone, err = d.openSecond(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Unfilled reports whether outputs and workspaces are left as they were allocated.
func (d *Device) Unfilled() bool { return d.watch == "initcheck" }

// Name is "gpu".
func (d *Device) Name() string { return "gpu" }

// Versions names the GPU, its architecture and the driver.
func (d *Device) Versions() map[string]string {
	driver := Driver()
	v := map[string]string{
		"gpu": d.info.Name, "compute-capability": fmt.Sprintf("%d.%d", d.info.Major, d.info.Minor),
		"cuda-driver": fmt.Sprintf("%d.%d", driver/1000, driver%1000/10),
	}
	if release := DriverRelease(); release != "" {
		v["driver"] = release
	}
	return v
}

// DriverRelease returns the release of the NVIDIA driver, "580.95.05", "" if the kernel does not report it.
func DriverRelease() string {
	for _, file := range []string{"/sys/module/nvidia/version", "/proc/driver/nvidia/version"} {
		if text, err := os.ReadFile(file); err == nil {
			if release := releaseNumber.Find(text); release != nil {
				return string(release)
			}
		}
	}
	return ""
}

var releaseNumber = regexp.MustCompile(`\d{3}\.\d+(\.\d+)?`)

// Library returns the shipped library of a kernel file, or one that nvcc builds for this GPU.
func (d *Device) Library(ctx context.Context, file string) (build.Library, error) {
	return d.libraries.Kernels(ctx, file)
}

// Clock opens the runtime library from a file.
func (d *Device) Clock(library string) (serve.Clock, error) { return serve.OpenRuntime(library) }

// Alloc allocates memory with a canary on both sides, except under a tool.
func (d *Device) Alloc(name string, bytes int64) (serve.Buffer, error) {
	lead, guard := leadBytes(bytes), d.guardOf()
	if guard == 0 {
		lead = 0
	}
	var base cu.DevicePtr
	err := d.spread.withRoom(func() (err error) {
		switch base, err = cu.MemAlloc(max(1, lead+bytes+guard)); {
		case err == nil:
			return nil
		case code(err) == 2:
			return d.full(name, bytes)
		}
		return fmt.Errorf("allocate %s, %d bytes: %w", name, bytes, named(err))
	})
	if err != nil {
		return serve.Buffer{}, err
	}
	b := serve.Buffer{Name: name, Pointer: base.Uintptr() + uintptr(lead), Bytes: bytes}
	return b, d.guard(b, guard)
}

// guardOf returns the length of the canary on each side of a buffer: none under a tool.
func (d *Device) guardOf() int64 {
	if d.watch != "" {
		return 0
	}
	return guardBytes
}

// guard writes the canaries of a buffer.
func (d *Device) guard(b serve.Buffer, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	chosen := d.guards.take(b.Pointer)
	for _, at := range []uintptr{b.Pointer - uintptr(bytes), b.Pointer + uintptr(b.Bytes)} {
		if err := cu.MemsetD8(cu.DevicePtr(at), chosen, bytes); err != nil {
			return fmt.Errorf("guard %s: %w", b.Name, named(err))
		}
	}
	return nil
}

func (d *Device) full(name string, bytes int64) error {
	text := fmt.Sprintf("no room on the GPU for %s, %d bytes", name, bytes)
	if free, total, err := cu.MemInfo(); err == nil {
		text += fmt.Sprintf(": %d of %d bytes are free", free, total)
	}
	return &serve.OutOfMemory{Message: text}
}

// Free frees memory and returns a report if a guard changed.
func (d *Device) Free(b serve.Buffer) *backend.GuardReport {
	if d.watch != "" {
		// the next call notices a device that no longer responds
		_ = d.release(b, 0)
		return nil
	}
	before, after := make([]byte, guardBytes), make([]byte, guardBytes)
	errBefore := cu.MemcpyDtoH(unsafe.Pointer(&before[0]), cu.DevicePtr(b.Pointer-guardBytes), guardBytes)
	errAfter := cu.MemcpyDtoH(unsafe.Pointer(&after[0]), cu.DevicePtr(b.Pointer+uintptr(b.Bytes)), guardBytes)
	chosen := d.guards[b.Pointer]
	delete(d.guards, b.Pointer)
	if err := errors.Join(errBefore, errAfter, d.release(b, leadBytes(b.Bytes))); err != nil {
		return nil // the device no longer responds: the next call reports it
	}
	return guardReport(b, chosen, before, after)
}

// release gives back memory that begins lead bytes before a buffer, or is mapped.
func (d *Device) release(b serve.Buffer, lead int64) error {
	if m, spread := d.spread.used[b.Pointer]; spread {
		delete(d.spread.used, b.Pointer)
		return d.spread.giveBack(m)
	}
	return cu.MemFree(cu.DevicePtr(b.Pointer - uintptr(lead)))
}

// CopyIn copies host memory to the start of a buffer.
func (d *Device) CopyIn(to serve.Buffer, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return named(cu.MemcpyHtoD(cu.DevicePtr(to.Pointer), unsafe.Pointer(&from[0]), int64(len(from))))
}

// CopyOut copies the start of a buffer to host memory.
func (d *Device) CopyOut(to []byte, from serve.Buffer) error {
	if len(to) == 0 {
		return nil
	}
	return named(cu.MemcpyDtoH(unsafe.Pointer(&to[0]), cu.DevicePtr(from.Pointer), int64(len(to))))
}

// Copy copies a buffer to the start of another.
func (d *Device) Copy(to, from serve.Buffer) error {
	if from.Bytes == 0 {
		return nil
	}
	return named(cu.MemcpyDtoD(cu.DevicePtr(to.Pointer), cu.DevicePtr(from.Pointer), from.Bytes))
}

// fillChunk is the size of the part of a pattern that is made on the host; the rest is copied on the device,
// twice as much each time.
const fillChunk = 64 << 10

// Fill repeats a pattern to the end of a buffer.
func (d *Device) Fill(b serve.Buffer, pattern []byte) error {
	if b.Bytes == 0 || len(pattern) == 0 {
		return nil
	}
	chunk := make([]byte, min(int64(fillChunk/len(pattern)*len(pattern)), b.Bytes))
	for i := range chunk {
		chunk[i] = pattern[i%len(pattern)]
	}
	if err := d.CopyIn(b, chunk); err != nil {
		return err
	}
	for done := int64(len(chunk)); done < b.Bytes; {
		n := min(done, b.Bytes-done)
		if err := cu.MemcpyDtoD(cu.DevicePtr(b.Pointer+uintptr(done)), cu.DevicePtr(b.Pointer),
			n); err != nil {
			return named(err)
		}
		done += n
	}
	return nil
}

// Launch runs a kernel and waits for all work on the GPU, including what a kernel launched outside its
// stream.
func (d *Device) Launch(c *serve.Call, order string) (serve.Finding, error) {
	if order != "" {
		return serve.Finding{}, fmt.Errorf("schedule order %q: a GPU has none", order)
	}
	finding := c.Launch(uintptr(unsafe.Pointer(d.stream.C())))
	err := cu.Synchronize()
	if err == nil {
		err = d.synchronizeSecond()
	}
	if err != nil {
		return findingOf(code(err)), nil
	}
	return finding, nil
}

// Probe makes the GPU write and read a piece of memory.
func (d *Device) Probe() error {
	const bytes = 1 << 20
	b, err := d.Alloc("probe", bytes)
	if err != nil {
		return fmt.Errorf("probe the GPU: %w", err)
	}
	seen := make([]byte, bytes)
	err = named(cu.MemsetD32(cu.DevicePtr(b.Pointer), 0x01020304, bytes/4))
	if err == nil {
		err = d.CopyOut(seen, b)
	}
	if err != nil {
		return fmt.Errorf("probe the GPU: %w", err)
	}
	for i, v := range seen {
		if want := byte(4 - i%4); v != want {
			return fmt.Errorf("probe the GPU: byte %d reads %#x, want %#x", i, v, want)
		}
	}
	d.Free(b)
	return nil
}

// driverError is an error of the driver with its number.
type driverError struct{ code int }

func (e *driverError) Error() string { return describe(e.code) }

// named gives an error of cu, whose table lacks newer ones, the driver's number and words. An error after
// which nothing works is a *serve.DeviceLost.
func named(err error) error {
	if err == nil {
		return nil
	}
	n := code(err)
	if cudaerror.Sticky(n) {
		return &serve.DeviceLost{Message: "the GPU answers nothing any more: " + describe(n)}
	}
	return &driverError{n}
}

// code returns the number of an error of cu: its type is an unexported integer.
func code(err error) int {
	var mine *driverError
	if errors.As(err, &mine) {
		return mine.code
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return int(v.Int())
	}
	return 999
}
