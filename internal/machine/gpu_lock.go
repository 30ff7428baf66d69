package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/telemetry"
	"triad/internal/lockfile"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/timing"
)

// ProcessesOn lists the processes that compute on a GPU, or on both of two, before this command starts its
// workers: in a container the driver lists them by numbers that do not show their owners.
func (a *Workers) ProcessesOn(g *GPU) []uint32 {
	cards := a.cards(g)
	defer cards.close()
	return cards.processes()
}

// cards opens the telemetry of a GPU, and of the second one if calls are spread over two.
func (a *Workers) cards(g *GPU) cards {
	visible := cmp.Or(g.visible, a.Getenv("CUDA_VISIBLE_DEVICES"))
	all := cards{a.Telemetry(g.PCI, visible)}
	if g.second != nil {
		_, others, _ := strings.Cut(visible, ",")
		all = append(all, a.Telemetry(g.second.PCI, others))
	}
	return all
}

// OwnGPU takes the lock of the GPU, and of the second one if calls are spread over two, so that no two triads
// time at once, and gives the runner the telemetry of each. done releases all. others are the processes that
// computed there before this command's workers did.
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
		slices.Sort(places)             // two that want both do not wait for each other
		places = slices.Compact(places) // nor does one for itself, where the driver names no places
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
	all, where := a.cards(g), "this GPU"
	if len(all) > 1 {
		where = "these GPUs"
	}
	still := slices.DeleteFunc(all.processes(), func(n uint32) bool { return !slices.Contains(others, n) })
	if n := len(still); n > 0 {
		fmt.Fprintf(a.Err, "triad: other processes (%d) compute on %s, nvidia-smi shows them: what "+
			"is timed beside them says little\n", n, where)
	}
	r.Telemetry, r.Rest = all, a.Rest
	return func() { all.close(); unlock() }, nil
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

// cards adapts the telemetry of the GPUs that calls use, the first one first, to package timing.
type cards []Card

var _ timing.Several = cards(nil)

// Read reads the first GPU.
func (c cards) Read() timing.Reading { return read(c[0]) }

// ReadAll reads all GPUs, as timing.Several says. A clock that is not known is none.
func (c cards) ReadAll() timing.Reading {
	all := c.Read()
	for _, card := range c[1:] {
		r := read(card)
		if all.ClockMHz == 0 || r.ClockMHz > 0 && r.ClockMHz < all.ClockMHz {
			all.ClockMHz = r.ClockMHz
		}
		all.PowerW, all.TemperatureC = max(all.PowerW, r.PowerW), max(all.TemperatureC, r.TemperatureC)
		all.Throttle |= r.Throttle
	}
	return all
}

func read(c Card) timing.Reading {
	seen := c.Read()
	return timing.Reading{
		ClockMHz: seen.ClockMHz, PowerW: seen.PowerW, TemperatureC: seen.TemperatureC,
		Throttle: seen.Throttle,
	}
}

// processes lists what computes on any of the GPUs, each process once.
func (c cards) processes() (all []uint32) {
	for _, card := range c {
		all = append(all, card.Processes()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (c cards) close() {
	for _, card := range c {
		card.Close()
	}
}
