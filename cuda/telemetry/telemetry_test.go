package telemetry

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// card returns an NVML with some GPUs, which counts the readings of power.
func card(count int, powerReads *int) *mock.Interface {
	device := &mock.Device{
		GetClockInfoFunc: func(c nvml.ClockType) (uint32, nvml.Return) {
			return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 3201}[c], nvml.SUCCESS
		},
		GetPowerUsageFunc: func() (uint32, nvml.Return) {
			*powerReads++
			return 412_500,
				nvml.SUCCESS
		},
		GetTemperatureFunc: func(nvml.TemperatureSensors) (uint32,
			nvml.Return,
		) {
			return 0, nvml.ERROR_NOT_SUPPORTED
		},
		GetCurrentClocksEventReasonsFunc: func() (uint64, nvml.Return) { return 4, nvml.SUCCESS },
	}
	device.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo,
		nvml.Return,
	) {
		return make([]nvml.ProcessInfo, 2), nvml.SUCCESS
	}
	return &mock.Interface{
		DeviceGetHandleByPciBusIdFunc: func(pci string) (nvml.Device, nvml.Return) {
			if pci != "00000000:1B:00.0" {
				return nil, nvml.ERROR_NOT_FOUND
			}
			return device, nvml.SUCCESS
		},
		InitFunc:                   func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:               func() nvml.Return { return nvml.SUCCESS },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return count, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(int) (nvml.Device, nvml.Return) { return device, nvml.SUCCESS },
		DeviceGetHandleByUUIDFunc: func(uuid string) (nvml.Device, nvml.Return) {
			if uuid != "GPU-1" {
				return nil, nvml.ERROR_NOT_FOUND
			}
			return device, nvml.SUCCESS
		},
	}
}

func TestRead(t *testing.T) {
	reads := 0
	g := open(card(1, &reads), "", "")
	defer g.Close()
	clock := time.Unix(0, 0).Add(time.Hour)
	g.now = func() time.Time { return clock }
	want := Reading{ClockMHz: 1980, MemoryClockMHz: 3201, PowerW: 412.5, Throttle: 4}
	for range 3 {
		if got := g.Read(); got != want || !g.Known() {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	clock = clock.Add(slowly)
	if g.Read(); reads != 2 {
		t.Errorf("power was read %d times, want once in %v", reads, slowly)
	}
}

// A GPU that cannot be identified reads as unknown: no driver, one of several GPUs by its number, a UUID that
// is not present.
func TestUnknown(t *testing.T) {
	reads := 0
	absent := card(1, &reads)
	absent.InitFunc = func() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND }
	for name, g := range map[string]*GPU{"no driver": open(absent, "", ""), "two GPUs": open(card(2, &reads),
		"", "1"), "unknown": open(card(2, &reads), "", "GPU-2")} {
		if g.Known() || g.Read() != (Reading{}) || g.Processes() != nil {
			t.Errorf("%s: %+v", name, g.Read())
		}
		g.Close()
	}
	if !open(card(2, &reads), "", "GPU-1,GPU-2").Known() {
		t.Error("a UUID is not found among several GPUs")
	}
	if g := open(card(2, &reads), "00000000:1B:00.0", "1"); !g.Known() || len(g.Processes()) != 2 {
		t.Error("a place on the bus is not found among several GPUs")
	}
	Open("", "").Close() // the real NVML, which this machine may lack
}
