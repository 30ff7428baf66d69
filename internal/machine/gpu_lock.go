package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"triad/cuda/telemetry"
	"triad/internal/lockfile"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/timing"
)

// ProcessesOn lists the processes that compute on a GPU before this command starts its workers: in a
// container the driver lists them by numbers that do not show their owners.
func (a *Workers) ProcessesOn(g *GPU) []uint32 {
	card := a.card(g)
	defer card.Close()
	return card.Processes()
}

// card opens the telemetry of a GPU.
func (a *Workers) card(g *GPU) Card {
	return a.Telemetry(g.PCI, cmp.Or(g.visible, a.Getenv("CUDA_VISIBLE_DEVICES")))
}

// OwnGPU takes the lock of the GPU, and of the second one if calls are spread over two, so that no two triads
// time at once, and gives the runner its telemetry. done releases all. others are the processes that computed
// on it before this command's workers did.
func (a *Workers) OwnGPU(ctx context.Context, g *GPU, others []uint32, r *run.Runner) (done func(),
	err error,
) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	places := []string{g.PCI}
	if g.second != nil {
		places = append(places, g.second.PCI)
		slices.Sort(places) // two that want both do not wait for each other
	}
	var locks []func()
	unlock := func() {
		for _, done := range locks {
			done()
		}
	}
	for _, place := range places {
		done, err := a.lockGPU(ctx, filepath.Join(cache, "gpu-"+filepath.Base(place+".lock")))
		if err != nil {
			unlock()
			return nil, err
		}
		locks = append(locks, done)
	}
	card := a.card(g)
	still := slices.DeleteFunc(card.Processes(), func(n uint32) bool { return !slices.Contains(others, n) })
	if n := len(still); n > 0 {
		fmt.Fprintf(a.Err, "triad: other processes (%d) compute on this GPU, nvidia-smi shows them: what "+
			"is timed beside them says little\n", n)
	}
	r.Telemetry, r.Rest = reader{card}, a.Rest
	return func() { card.Close(); unlock() }, nil
}

// lockGPU waits until no other process times on the same GPU.
func (a *Workers) lockGPU(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, fmt.Errorf("lock the GPU: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.Stop, cancel)()
	unlock, err = lockfile.Acquire(ctx, name,
		func() { fmt.Fprintln(a.Err, "triad: another triad uses this GPU: waiting for it") })
	if errors.Is(err, context.Canceled) {
		return nil, session.Fail(session.ExitNothing,
			errors.New("interrupted while another triad used this GPU: nothing was run"))
	}
	return unlock, err
}

// Card reads a GPU's telemetry.
type Card interface {
	Processes() []uint32
	Read() telemetry.Reading
	Close()
}

// nvml returns the card of NVIDIA's management library.
func nvml(pci, visible string) Card { return telemetry.Open(pci, visible) }

// reader adapts a GPU's telemetry to package timing.
type reader struct{ card Card }

// Read reads the GPU's telemetry.
func (r reader) Read() timing.Reading {
	seen := r.card.Read()
	return timing.Reading{
		ClockMHz: seen.ClockMHz, PowerW: seen.PowerW, TemperatureC: seen.TemperatureC,
		Throttle: seen.Throttle,
	}
}
