package serve

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/op"
)

// clocked is the emulator with a clock set by the test: times are invented, and a captured call runs when it
// is replayed. A nil function behaves like a GPU.
type clocked struct {
	Device
	begin     func() error
	launch    func(call int) Finding // the number of the call, from 1
	differing func(a, b Buffer) (int64, error)
	calls     int
	copied    []int64 // bytes of the copies between others' buffers
	full      string  // the name of a buffer without room
	captured  []*Call
	capturing bool
	kernels   func(calls int) int64 // kernels in a graph of so many calls; nil: unknown
	watching  bool                  // kernels are timed one by one
	plain     int                   // number of calls of PlainCache
	refuses   error                 // the result of PlainCache
	// the calls on the stream run nothing
	unlaunched bool
}

var _ Clocked = (*clocked)(nil)

func (c *clocked) Library(ctx context.Context, file string) (build.Library, error) {
	if file == build.RuntimeName {
		return build.Library{Path: file}, nil
	}
	return c.Device.Library(ctx, file)
}

func (c *clocked) Alloc(name string, bytes int64) (Buffer, error) {
	if name == c.full {
		return Buffer{}, &OutOfMemory{Message: "no room for " + name}
	}
	return c.Device.Alloc(name, bytes)
}

func (c *clocked) Copy(to, from Buffer) error {
	bytes := make([]byte, from.Bytes)
	if err := c.CopyOut(bytes, from); err != nil {
		return err
	}
	return c.CopyIn(to, bytes)
}

// Launch ignores the schedule order, like a GPU.
func (c *clocked) Launch(call *Call, _ string) (Finding, error) {
	return c.Device.Launch(call, "forward")
}

func (c *clocked) Clock(string) (Clock, error) { return stream{c}, nil }

// stream is the only stream, with its clock.
type stream struct{ *clocked }

func (c stream) Physics() (backend.DevicePhysics, error) {
	return backend.DevicePhysics{L2Bytes: 64}, nil
}
func (c stream) Spread() error                          { return nil }
func (c stream) Clocks() (first, second float64)        { return 1, 1 }
func (c stream) Open(*OwnCalls) (Timer, error)          { return c, nil }
func (c stream) Stream() uintptr                        { return 1 }
func (c stream) Kernels() ([]backend.LaunchFact, error) { return nil, nil }
func (c stream) Settle(int64) error                     { return nil }
func (c stream) Start() error                           { return nil }
func (c stream) Stop() (float64, error)                 { return 1000, nil }
func (c stream) Close()                                 {}
func (c stream) WatchKernels() error                    { c.watching = true; return nil }
func (c stream) PlainCache() error                      { c.plain++; return c.refuses }

func (c stream) Ceiling(name string, to, from Buffer, _ uintptr) error {
	if name == backend.CeilingMemcpy && to.Pointer != from.Pointer {
		c.copied = append(c.copied, min(to.Bytes, from.Bytes))
	}
	return nil
}

func (c stream) Differing(a, b Buffer) (int64, error) {
	if c.differing != nil {
		return c.differing(a, b)
	}
	return 0, nil
}

func (c stream) Begin() error {
	c.capturing, c.captured = true, nil
	if c.begin != nil {
		c.capturing = false
		return c.begin()
	}
	return nil
}

func (c stream) Launch(call *Call) Finding {
	if c.calls++; c.launch != nil {
		if f := c.launch(c.calls); f.Status != op.StatusUnknown {
			return f
		}
	}
	if c.capturing {
		c.captured = append(c.captured, call)
		return Finding{}
	}
	if c.unlaunched {
		return Finding{}
	}
	f, _ := c.clocked.Launch(call, "")
	return f
}

func (c stream) End(bool) (int64, int64, error) {
	c.capturing = false
	if c.kernels == nil {
		return int64(len(c.captured)), -1, nil
	}
	return int64(len(c.captured)), c.kernels(len(c.captured)), nil
}

func (c stream) Replay(n int) ([]float64, error) {
	if c.unlaunched {
		return slices.Repeat([]float64{1000}, n), nil
	}
	for _, call := range c.captured {
		if f, err := c.clocked.Launch(call, ""); err != nil || f.Status != op.StatusUnknown {
			return nil, errors.Join(err, &DeviceLost{Message: f.Message})
		}
	}
	return slices.Repeat([]float64{1000}, n), nil
}

// candidateOn prepares a variant of scale on a device with a clock.
func candidateOn(t *testing.T, c *clocked, variant string, n int) (*worker, backend.PrepareReply) {
	t.Helper()
	c.Device = NewEmulator(testSources(), testCache)
	w := startWorkerOn(t, c)
	w.load("scale")
	args := w.scale(variant, n, []string{"y"}, backend.Launch{Poison: "a"})
	var prepared backend.PrepareReply
	w.must(preparing(&backend.PrepareArgs{Run: &args, Cold: true, GraphNS: 1}), &prepared)
	return w, prepared
}

// timed prepares a variant of scale on a device with a clock, and times and finishes it if possible.
func timed(t *testing.T, c *clocked, variant string, n int) (backend.PrepareReply, backend.TimeReply,
	backend.FinishReply,
) {
	t.Helper()
	w, prepared := candidateOn(t, c, variant, n)
	var times backend.TimeReply
	var finished backend.FinishReply
	if prepared.Status != op.StatusUnknown {
		return prepared, times, finished
	}
	w.must(timing(), &times)
	if times.Status != op.StatusUnknown {
		return prepared, times, finished
	}
	both := []backend.Launch{{Poison: "a"}, {Poison: "b"}}
	outputs := w.scale(variant, n, []string{"y"}, both...).Launches
	finish := backend.MeasureArgs{Step: backend.StepFinish, Finish: &backend.FinishArgs{Launches: outputs}}
	w.must(measuring(finish), &finished)
	return prepared, times, finished
}

func measuring(args backend.MeasureArgs) backend.Request {
	args.Candidate = 1
	return backend.Request{Do: backend.DoMeasure, Measure: &args}
}

func preparing(args *backend.PrepareArgs) backend.Request {
	return measuring(backend.MeasureArgs{Step: backend.StepPrepare, Prepare: args})
}

func timing() backend.Request {
	return measuring(backend.MeasureArgs{Step: backend.StepTime, Time: &backend.TimeArgs{Samples: 2}})
}

// A correct candidate is timed and returns what its calls wrote.
func TestCandidate(t *testing.T) {
	prepared, times, finished := timed(t, &clocked{}, "right", 8)
	if prepared.Mode != "graph" || prepared.Sets < 2 || len(times.SamplesNS) != 2 {
		t.Errorf("%+v\n%+v", prepared, times)
	}
	if len(finished.Launches) != 2 || len(finished.Differing) > 0 {
		t.Errorf("%+v", finished)
	}
}

// A measurement with Others begins with a copy of twice the L2 cache, in buffers that are made once.
func TestMeasurementAmongOthers(t *testing.T) {
	c := &clocked{}
	w, _ := candidateOn(t, c, "right", 8)
	w.must(timing(), &backend.TimeReply{})
	if len(c.copied) > 0 {
		t.Errorf("copies of %d bytes, and nobody asked for one", c.copied)
	}
	measurement := backend.MeasureArgs{
		Step: backend.StepTime,
		Time: &backend.TimeArgs{Samples: 2, Others: true},
	}
	for range 2 {
		var times backend.TimeReply
		w.must(measuring(measurement), &times)
		if len(times.SamplesNS) != 2 {
			t.Errorf("%+v", times)
		}
	}
	if want := []int64{128, 128}; !slices.Equal(c.copied, want) {
		t.Errorf("copies of %d bytes, want %d", c.copied, want)
	}
}

// A GPU without room for that copy reports it.
func TestNoRoomForOthers(t *testing.T) {
	w, _ := candidateOn(t, &clocked{full: "others"}, "right", 8)
	var times backend.TimeReply
	measurement := backend.MeasureArgs{
		Step: backend.StepTime,
		Time: &backend.TimeArgs{Samples: 2, Others: true},
	}
	w.must(measuring(measurement), &times)
	if times.Status != op.StatusOOM || times.Message != "no room for others" {
		t.Errorf("%+v", times)
	}
}

// Preparing neither a call nor a ceiling is an error of the harness.
func TestCandidateOfNothing(t *testing.T) {
	w := startWorkerOn(t, &clocked{Device: NewEmulator(testSources(), testCache)})
	err := w.call(preparing(&backend.PrepareArgs{}), &backend.PrepareReply{})
	if err == nil || !strings.Contains(err.Error(), "neither a run nor a ceiling is given") {
		t.Errorf("%v", err)
	}
}

// A kernel that declines a call also declines to be timed with it.
func TestCandidateThatDeclines(t *testing.T) {
	prepared, _, _ := timed(t, &clocked{}, "right", 1500)
	if prepared.Status != op.StatusUnsupported || prepared.Message != "1500 elements, want at most 1024" {
		t.Errorf("%v %q", prepared.Status, prepared.Message)
	}
}

// A stream that cannot be captured is timed between events, with the reason.
func TestCandidateOnAStreamThatCannotBeCaptured(t *testing.T) {
	refuses := func() error { return errors.New("CUDA error 901") }
	prepared, times, _ := timed(t, &clocked{begin: refuses}, "right", 8)
	if prepared.Mode != "events" || prepared.ModeReason != "CUDA error 901" || len(times.SamplesNS) != 2 {
		t.Errorf("%+v\n%+v", prepared, times)
	}
}

// A call that fails when it is launched again lost the device.
func TestCandidateThatFailsWhenItIsTimed(t *testing.T) {
	c := &clocked{begin: func() error { return errors.New("CUDA error 901") }}
	c.launch = func(call int) Finding {
		if call <= 10*backend.MostSets {
			return Finding{}
		}
		return Finding{Status: op.StatusCrash, Message: "CUDA error 719"}
	}
	c.Device = NewEmulator(testSources(), testCache)
	w := startWorkerOn(t, c)
	w.load("scale")
	args := w.scale("right", 8, []string{"y"}, backend.Launch{Poison: "a"})
	var prepared backend.PrepareReply
	w.must(preparing(&backend.PrepareArgs{Run: &args, GraphNS: 1}), &prepared)
	c.calls = 10 * backend.MostSets
	var times backend.TimeReply
	w.must(timing(), &times)
	if times.Status != op.StatusCrash || times.Message != "CUDA error 719" || !times.Fatal {
		t.Errorf("%+v\n%+v", prepared, times)
	}
}

// For each output, the first set with different bits is reported, with the inputs that changed.
func TestCandidateWhoseSetsDiffer(t *testing.T) {
	letters := func(a, _ Buffer) (int64, error) { return int64(len(a.Name)), nil }
	_, _, finished := timed(t, &clocked{differing: letters}, "right", 8)
	if len(finished.Differing) != 1 {
		t.Fatalf("%+v", finished)
	}
	d := finished.Differing[0]
	if d.Output != "y" || d.Set != 1 || d.Bytes != 1 || !slices.Equal(d.Inputs, []string{"x"}) {
		t.Errorf("%+v", d)
	}
}

// A device that is lost during the comparison of the sets counts as a crash of the call.
func TestCandidateWhoseDeviceIsLostAtItsEnd(t *testing.T) {
	lost := func(Buffer, Buffer) (int64, error) { return 0, &DeviceLost{Message: "CUDA error 700"} }
	_, _, finished := timed(t, &clocked{differing: lost}, "right", 8)
	if !finished.Fatal || len(finished.Launches) != 1 {
		t.Fatalf("%+v", finished)
	}
	if l := finished.Launches[0]; l.Status != op.StatusCrash || l.Message != "CUDA error 700" {
		t.Errorf("%+v", l)
	}
}

// Writes of timed calls outside of their outputs are found when their memory is freed.
func TestCandidateThatWritesOutOfBounds(t *testing.T) {
	prepared, _, finished := timed(t, &clocked{}, "beyond", 7)
	if !finished.Fatal || len(finished.Launches) == 0 || finished.Launches[0].Status != op.StatusOutOfBounds {
		t.Errorf("%+v\n%+v", prepared, finished)
	}
}
