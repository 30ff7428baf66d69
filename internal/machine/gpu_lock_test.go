package machine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"triad/cuda/gpuworker"
	"triad/cuda/telemetry"
	"triad/internal/console"
	"triad/internal/lockfile"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/timing"
)

// TestInterruptedWhileWaitingForTheGPU: an interrupt while triad waits for the GPU reports that nothing was
// run.
func TestInterruptedWhileWaitingForTheGPU(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gpu.lock")
	unlock, err := lockfile.Acquire(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	var said bytes.Buffer
	stop, interrupt := context.WithCancel(t.Context())
	a := &Workers{Console: &console.Console{Err: &said, Stop: stop}}
	interrupt()
	if _, err := a.lockGPU(t.Context(), name); session.CodeOf(err) != session.ExitNothing ||
		!strings.Contains(err.Error(), "nothing was run") {
		t.Errorf("exit %d, error %v", session.CodeOf(err), err)
	}
	if !strings.Contains(said.String(), "another triad uses this GPU") {
		t.Errorf("said %q", said.String())
	}
}

// aCard is the telemetry of one of several GPUs.
type aCard struct {
	processes []uint32
	reading   telemetry.Reading
	closed    int
}

func (c *aCard) Processes() []uint32     { return slices.Clone(c.processes) }
func (c *aCard) Read() telemetry.Reading { return c.reading }
func (c *aCard) Close()                  { c.closed++ }

// TestBothGPUsAreObserved: where calls are spread over two GPUs, processes on the second one are reported,
// too, each once, and a reading for such a call merges both; one for a call on one GPU is of the first alone.
func TestBothGPUsAreObserved(t *testing.T) {
	first := &aCard{processes: []uint32{7}, reading: telemetry.Reading{
		ClockMHz: 1980, PowerW: 300, TemperatureC: 50, Throttle: 1,
	}}
	second := &aCard{processes: []uint32{7, 8}, reading: telemetry.Reading{
		ClockMHz: 1200, PowerW: 200, TemperatureC: 60, Throttle: 4,
	}}
	var said bytes.Buffer
	cache, seen := t.TempDir(), []string{}
	a := &Workers{
		Console: &console.Console{Err: &said, Stop: t.Context(), Getenv: func(name string) string {
			return map[string]string{"XDG_CACHE_HOME": cache, "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}[name]
		}},
		Telemetry: func(pci, visible string) Card {
			seen = append(seen, pci+" "+visible)
			return map[string]*aCard{"0:1": first, "0:2": second}[pci]
		},
	}
	one := &GPU{GPU: gpuworker.GPU{PCI: "0:1"}}
	both := &GPU{GPU: one.GPU, second: &gpuworker.GPU{PCI: "0:2"}}
	if of := a.ProcessesOn(one); !slices.Equal(of, []uint32{7}) {
		t.Errorf("on one GPU: %v", of)
	}
	if of := a.ProcessesOn(both); !slices.Equal(of, []uint32{7, 8}) ||
		!slices.Equal(seen[1:], []string{"0:1 GPU-a,GPU-b", "0:2 GPU-b"}) {
		t.Errorf("on both: %v of %q", of, seen)
	}
	r := &run.Runner{}
	done, err := a.OwnGPU(t.Context(), both, []uint32{7, 8}, r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "other processes (2) compute on these GPUs") {
		t.Errorf("said %q", said.String())
	}
	all, several := r.Telemetry.(timing.Several)
	if !several {
		t.Fatalf("the telemetry is %T", r.Telemetry)
	}
	want := timing.Reading{ClockMHz: 1980, PowerW: 300, TemperatureC: 50, Throttle: 1}
	if got := all.Read(); got != want {
		t.Errorf("of one GPU: %+v", got)
	}
	want = timing.Reading{ClockMHz: 1200, PowerW: 300, TemperatureC: 60, Throttle: 5}
	if got := all.ReadAll(); got != want {
		t.Errorf("of both: %+v, want %+v", got, want)
	}
	second.reading.ClockMHz = 0 // not known
	if got := all.ReadAll(); got.ClockMHz != 1980 {
		t.Errorf("the lower clock is %v", got.ClockMHz)
	}
	done()
	if first.closed != 3 || second.closed != 2 {
		t.Errorf("closed %d and %d times, want 3 and 2", first.closed, second.closed)
	}
}

// TestGPUsWithoutPlaces: of two GPUs whose places the driver does not name, one lock is taken, once.
func TestGPUsWithoutPlaces(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cache := t.TempDir()
	a := &Workers{
		Console: &console.Console{Err: &bytes.Buffer{}, Stop: ctx, Getenv: func(name string) string {
			return map[string]string{"XDG_CACHE_HOME": cache}[name]
		}},
		Telemetry: func(string, string) Card { return &aCard{} },
	}
	done, err := a.OwnGPU(ctx, &GPU{second: &gpuworker.GPU{}}, nil, &run.Runner{})
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// TestSecondGPUIsTaken: where the second of two GPUs is not to be had, the first one is given back.
func TestSecondGPUIsTaken(t *testing.T) {
	cache := t.TempDir()
	stop, interrupt := context.WithCancel(t.Context())
	a := &Workers{
		Console: &console.Console{Err: &bytes.Buffer{}, Stop: stop, Getenv: func(name string) string {
			return map[string]string{"XDG_CACHE_HOME": cache}[name]
		}},
		Telemetry: func(string, string) Card { return &aCard{} },
	}
	folder, err := a.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockfile.Acquire(t.Context(), filepath.Join(folder, "gpu-b.lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	interrupt()
	two := &GPU{GPU: gpuworker.GPU{PCI: "a"}, second: &gpuworker.GPU{PCI: "b"}}
	if _, err := a.OwnGPU(t.Context(), two, nil, &run.Runner{}); session.CodeOf(err) != session.ExitNothing {
		t.Errorf("exit %d, error %v", session.CodeOf(err), err)
	}
	first, err := lockfile.Acquire(t.Context(), filepath.Join(folder, "gpu-a.lock"), func() {
		t.Error("the first GPU is still locked")
		unlock() // so that nothing waits
	})
	if err != nil {
		t.Fatal(err)
	}
	first()
}
