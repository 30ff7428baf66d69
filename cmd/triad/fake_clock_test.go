package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"triad/cuda/serve"
	"triad/cuda/telemetry"
	"triad/internal/backend"
	"triad/internal/op"
)

// The fake GPU moves fakeBytesPerSecond, and could move twice as much. Each call costs fakeOverheadNS in
// addition, and its times vary by a share of fakeNoise. Its cache is small, so that cold sets are few.
const (
	fakeBytesPerSecond = 1e12
	fakeOverheadNS     = 2000
	fakeNoise          = 0.003
	fakeL2             = 4 << 10
)

// fakeClock derives times from what calls move, not from the emulator's speed: they are the same in every
// run.
type fakeClock struct{ gpu *fakeGPU }

func (c *fakeClock) Physics() (backend.DevicePhysics, error) {
	return backend.DevicePhysics{
		L2Bytes: fakeL2, Multiprocessors: 4, BytesPerSecond: 2 * fakeBytesPerSecond,
		ClockMHz: 1980, Major: 9,
	}, nil
}

func (c *fakeClock) Open(*serve.OwnCalls) (serve.Timer, error) {
	if c.gpu.behaves("timeless", "") {
		return nil, fmt.Errorf("open a timer: CUDA error 101")
	}
	c.gpu.opened++
	t := &fakeTimer{
		gpu: c.gpu, number: uintptr(c.gpu.opened), before: c.gpu.free,
		random: rand.New(rand.NewPCG(1, uint64(c.gpu.opened))), seen: map[*serve.Call]int{},
	}
	c.gpu.timers[t.number] = t
	return t, nil
}

func (c *fakeClock) Ceiling(_ string, to, _ serve.Buffer, stream uintptr) error {
	return c.gpu.timers[stream].take(fakeCall{ns: fakeOverheadNS +
		1.5*float64(to.Bytes)/fakeBytesPerSecond*1e9})
}

func (c *fakeClock) Differing(a, b serve.Buffer) (int64, error) {
	x, y := make([]byte, a.Bytes), make([]byte, b.Bytes)
	if err := c.gpu.CopyOut(x, a); err != nil {
		return 0, err
	}
	if err := c.gpu.CopyOut(y, b); err != nil {
		return 0, err
	}
	n := int64(0)
	for i := range x {
		if x[i] != y[i] {
			n++
		}
	}
	return n, nil
}

// fakeCall is one call of a graph.
type fakeCall struct {
	call   *serve.Call // nil: a ceiling's
	ns     float64     // the time of a ceiling
	slower float64     // how many times slower than the memory: different for each implementation
}

// fakeTimer is a stream with a graph. Captured calls do not run. A call runs in the emulator only once after
// memory was filled: later it would write the same bits again.
type fakeTimer struct {
	gpu       *fakeGPU
	number    uintptr
	before    int64 // free memory when it was opened: the rest belongs to its calls
	random    *rand.Rand
	capturing bool
	graph     []fakeCall
	seen      map[*serve.Call]int // its different calls, with the fill count at the last run of each
	ns        float64             // of what ran since Start
}

func (t *fakeTimer) Stream() uintptr            { return t.number }
func (t *fakeTimer) Spread() error              { return nil }
func (t *fakeTimer) Clocks() (float64, float64) { return 1000, 1010 }
func (t *fakeTimer) Close()                     { delete(t.gpu.timers, t.number) }

// Launch captures or runs a call.
func (t *fakeTimer) Launch(c *serve.Call) serve.Finding {
	name := c.Implementation()
	if t.capturing && t.gpu.behaves("refuses", name) {
		return serve.Finding{Status: op.StatusCrash, Message: "the launch of " + name +
			" returned CUDA error 900, operation not permitted when stream is capturing"}
	}
	if t.gpu.behaves("hangs", name) {
		time.Sleep(time.Hour)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	if _, known := t.seen[c]; !known {
		t.seen[c] = -1
	}
	if err := t.take(fakeCall{call: c, slower: 1 + float64(h.Sum32()%8)/4}); err != nil {
		return serve.Finding{Status: op.StatusCrash, Message: err.Error(), Dirty: true}
	}
	return serve.Finding{}
}

// take captures or runs one call.
func (t *fakeTimer) take(c fakeCall) error {
	if t.capturing {
		t.graph = append(t.graph, c)
		return nil
	}
	t.ns += t.costs(c)
	if c.call == nil || t.seen[c.call] == t.gpu.filled {
		return nil // it would write the same bits again
	}
	t.seen[c.call] = t.gpu.filled
	if f, err := t.gpu.Launch(c.call, ""); err != nil || f.Status != op.StatusUnknown {
		return &serve.DeviceLost{Message: f.Message}
	}
	return nil
}

// costs returns the time of a call. The memory taken since the timer was opened is divided equally among the
// different calls.
func (t *fakeTimer) costs(c fakeCall) float64 {
	if c.call == nil {
		return c.ns
	}
	return (fakeOverheadNS +
		float64(t.before-t.gpu.free)/float64(len(t.seen))/fakeBytesPerSecond*1e9) * c.slower
}

func (t *fakeTimer) Begin() error {
	t.capturing, t.graph = true, nil
	return nil
}

func (t *fakeTimer) End(keep bool) (int64, int64, error) {
	t.capturing = false
	nodes := int64(len(t.graph))
	if len(t.graph) > 0 && t.graph[0].call != nil &&
		t.gpu.behaves("wanders", t.graph[0].call.Implementation()) {
		nodes = 0 // the work was queued outside the stream
	}
	if !keep {
		t.graph = nil
	}
	return nodes, -1, nil
}

func (t *fakeTimer) Kernels() ([]backend.LaunchFact, error) {
	return []backend.LaunchFact{{
		Kernel: "fake_" + t.graph[0].call.Implementation(), Grid: [3]int{4, 1, 1}, Block: [3]int{256, 1, 1},
		Registers:               32,
		BlocksPerMultiprocessor: 8, Occupancy: 1,
	}}, nil
}

func (t *fakeTimer) Settle(int64) error {
	_, err := t.Replay(1)
	return err
}

// Replay returns the times of n replays of the whole graph.
func (t *fakeTimer) Replay(n int) ([]float64, error) {
	t.ns = 0
	for _, c := range t.graph {
		if c.call != nil && t.gpu.behaves("loses", c.call.Implementation()) {
			return nil, &serve.DeviceLost{Message: "replay: CUDA error 719, launch failure"}
		}
		if err := t.take(c); err != nil {
			return nil, err
		}
	}
	whole := t.ns
	samples := make([]float64, n)
	for i := range samples {
		samples[i] = t.noisy(whole)
	}
	return samples, nil
}

func (t *fakeTimer) noisy(ns float64) float64 { return ns * math.Exp(fakeNoise*t.random.NormFloat64()) }

func (t *fakeTimer) Start() error {
	t.ns = 0
	return nil
}

func (t *fakeTimer) WatchKernels() error { return nil }
func (t *fakeTimer) PlainCache() error   { return nil }

func (t *fakeTimer) Stop() (float64, error) { return t.noisy(t.ns), nil }

// fakeCard is the telemetry of the fake GPU: its clock is constant, or drops now and then.
type fakeCard struct {
	throttles, shared bool
	workers           func() int // this command's own processes on it; nil: none
	reads             int
}

func (c *fakeCard) Processes() (numbers []uint32) {
	if c.shared {
		numbers = []uint32{100, 101}
	}
	if c.workers != nil {
		for i := range c.workers() {
			numbers = append(numbers, uint32(200+i))
		}
	}
	return numbers
}

func (c *fakeCard) Read() telemetry.Reading {
	r := telemetry.Reading{ClockMHz: 1980, PowerW: 500, TemperatureC: 40}
	if c.reads++; c.throttles && c.reads%3 == 0 {
		r.ClockMHz, r.Throttle = 900, 0x8
	}
	return r
}

func (c *fakeCard) Close() {}
