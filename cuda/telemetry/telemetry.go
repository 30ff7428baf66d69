// Package telemetry reads the clocks, power, temperature and throttle reasons of a GPU through NVML, which is
// loaded at run time: without a driver everything is unknown, and nothing fails. It only reads, and never
// sets a clock, limit or mode.
package telemetry

import (
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Reading is one reading of a GPU; values that cannot be read are 0.
type Reading struct {
	ClockMHz       float64 // of the multiprocessors
	MemoryClockMHz float64
	PowerW         float64
	TemperatureC   float64
	Throttle       uint64 // NVML's clock event reasons, a bit mask
}

// GPU is one GPU, or none. Several goroutines may read it.
type GPU struct {
	library nvml.Interface
	device  nvml.Device // nil: nothing is known
	now     func() time.Time

	mu   sync.Mutex
	slow Reading // the slow values, read at most twenty times a second
	at   time.Time
}

// slowly is the time for which a reading of power, temperature and reasons is reused.
const slowly = 50 * time.Millisecond

// Open finds a GPU by its PCI bus address or, if that is "", the one that workers see under a value of
// CUDA_VISIBLE_DEVICES, "" for all: they use the first. Without a driver, or if the GPU cannot be identified,
// the GPU reads as unknown.
func Open(pci, visible string) *GPU { return open(nvml.New(), pci, visible) }

func open(library nvml.Interface, pci, visible string) *GPU {
	g := &GPU{library: library, now: time.Now}
	if library.Init() != nvml.SUCCESS {
		g.library = nil
		return g
	}
	first, _, _ := strings.Cut(strings.TrimSpace(visible), ",")
	var device nvml.Device
	var code nvml.Return
	switch count, _ := library.DeviceGetCount(); {
	case pci != "":
		device, code = library.DeviceGetHandleByPciBusId(pci)
	case strings.HasPrefix(first, "GPU-"):
		device, code = library.DeviceGetHandleByUUID(first)
	case count == 1:
		device, code = library.DeviceGetHandleByIndex(0)
	default: // CUDA sorts GPUs by speed, NVML by bus: the number is ambiguous
		return g
	}
	if code == nvml.SUCCESS {
		g.device = device
	}
	return g
}

// Known reports whether there is anything to read.
func (g *GPU) Known() bool { return g.device != nil }

// Processes returns the numbers of the processes that compute on the GPU now, as its driver knows them. It is
// nil if that cannot be read.
func (g *GPU) Processes() []uint32 {
	if g.device == nil {
		return nil
	}
	all, code := g.device.GetComputeRunningProcesses()
	if code != nvml.SUCCESS {
		return nil
	}
	numbers := make([]uint32, len(all))
	for i, p := range all {
		numbers[i] = p.Pid
	}
	return numbers
}

// Read reads the GPU.
func (g *GPU) Read() Reading {
	if g.device == nil {
		return Reading{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); now.Sub(g.at) >= slowly {
		g.slow, g.at = g.readSlow(), now
	}
	r := g.slow
	if clock, code := g.device.GetClockInfo(nvml.CLOCK_SM); code == nvml.SUCCESS {
		r.ClockMHz = float64(clock)
	}
	return r
}

func (g *GPU) readSlow() Reading {
	var r Reading
	if clock, code := g.device.GetClockInfo(nvml.CLOCK_MEM); code == nvml.SUCCESS {
		r.MemoryClockMHz = float64(clock)
	}
	if milliwatts, code := g.device.GetPowerUsage(); code == nvml.SUCCESS {
		r.PowerW = float64(milliwatts) / 1e3
	}
	if degrees, code := g.device.GetTemperature(nvml.TEMPERATURE_GPU); code == nvml.SUCCESS {
		r.TemperatureC = float64(degrees)
	}
	if mask, code := g.device.GetCurrentClocksEventReasons(); code == nvml.SUCCESS {
		r.Throttle = mask
	}
	return r
}

// Close shuts NVML down.
func (g *GPU) Close() {
	if g.library != nil {
		g.library.Shutdown()
		g.library, g.device = nil, nil
	}
}
