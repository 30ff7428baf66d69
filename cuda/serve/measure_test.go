package serve

import (
	"os"
	"strings"
	"testing"

	"triad/cuda/build"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/op"
)

// All inputs together, and all outputs together, take at least twice the L2 cache. The numbers are the same
// as in pybridge/tests/test_measure.py.
func TestRotation(t *testing.T) {
	const l2 = 60 << 20
	for _, c := range []struct {
		in, out int64
		want    int
	}{
		{8 << 20, 8 << 20, 15},
		{128 << 20, 128 << 20, 2},
		{256 << 20, 8 << 20, 15},
		{1 << 30, 8 << 20, 2},
		{16 << 20, 24 << 10, 8},
		{7 << 30, 7 << 30, 2},
		{1000, 1000, 1024},
		{8 << 20, 0, 15},
		{0, 0, 2},
		{6 << 30, 1 << 20, 2},
	} {
		if got := rotation(true, l2, c.in, c.out); got != c.want {
			t.Errorf("%d bytes in, %d out: %d sets, want %d", c.in, c.out, got, c.want)
		}
		if got := rotation(false, l2, c.in, c.out); got != 1 {
			t.Errorf("warm: %d sets", got)
		}
	}
}

// A call of large tensors cycles through more sets than the cache requires, so that no single place in memory
// decides. The numbers are the same as in pybridge/tests/test_measure.py.
func TestEvened(t *testing.T) {
	const l2 = 60 << 20
	for _, c := range []struct {
		least   int
		in, out int64
		want    int
	}{
		{2, 64 << 20, 64 << 20, 7},
		{2, 192 << 20, 64 << 20, 3},
		{2, 1 << 30, 1 << 30, 2},
		{15, 8 << 20, 8 << 20, 15},
		{4, 32 << 20, 32 << 20, 8},
	} {
		if got := evened(c.least, l2, c.in, c.out); got != c.want {
			t.Errorf("%d sets, %d bytes in, %d out: %d, want %d", c.least, c.in, c.out, got, c.want)
		}
	}
}

// A call that is slow for its size gets few sets: 240 sets of a naive attention of 80 ms took longer than a
// first call may. The numbers are the same as in pybridge/tests/test_measure.py.
func TestSlowCallsGetFewerSets(t *testing.T) {
	for _, c := range []struct {
		sets          int
		tookNS, bytes int64
		want          int
	}{
		{240, 80_000_000, 2 << 20, 2},
		{240, 1_000_000, 2 << 20, 240},
		{1024, 60_000_000, 1 << 30, 8},
		{15, 9_000_000_000, 1 << 30, 2},
		{1, 80_000_000, 2 << 20, 1},
		{2, 0, 0, 2},
	} {
		if got := backend.SetsOfSlow(c.sets, c.tookNS, c.bytes); got != c.want {
			t.Errorf("%d sets, %d ns, %d bytes: %d, want %d", c.sets, c.tookNS, c.bytes, got, c.want)
		}
	}
}

// The emulator has no clock, and says so; a step of an unprepared candidate is an error of the harness.
func TestEmulatorIsNotTimed(t *testing.T) {
	s := &server{device: NewEmulator(os.DirFS("../.."), t.TempDir())}
	reply, _, err := s.measure(t.Context(), backend.MeasureArgs{
		Step: backend.StepPrepare, Candidate: 1,
		Prepare: &backend.PrepareArgs{Ceiling: backend.CeilingCopy},
	})
	if got, ok := reply.(backend.PrepareReply); err != nil || !ok || got.Status != op.StatusUnavailable ||
		!strings.Contains(got.Message, "only a GPU is timed") {
		t.Errorf("%v %+v", err, reply)
	}
	for _, args := range []backend.MeasureArgs{
		{Step: backend.StepTime, Candidate: 1, Time: &backend.TimeArgs{Samples: 1}},
		{Step: backend.StepFinish, Candidate: 1, Finish: &backend.FinishArgs{}},
		{Step: "guess"},
		{Step: backend.StepTime},
	} {
		if _, _, err := s.measure(t.Context(), args); err == nil {
			t.Errorf("step %q without a candidate: no error", args.Step)
		}
	}
}

// The runtime library compiles for the shipped architectures, and has every function that a clock needs.
func TestRuntimeCompiles(t *testing.T) {
	b := build.GPUBuilder{
		Sources: os.DirFS("../.."), Cache: t.TempDir(), Compiler: cudatest.NeedNVCC(t),
		Architectures: build.ShippedArchitectures,
	}
	library, err := b.Kernels(t.Context(), build.RuntimeName)
	if err != nil {
		t.Fatal(err)
	}
	if len(library.Facts.Kernels) < 8 {
		t.Errorf("ptxas tells of %d kernels, want four for each of two architectures",
			len(library.Facts.Kernels))
	}
	for _, k := range library.Facts.Kernels {
		if k.SpillBytes > 0 {
			t.Errorf("%s for %s spills %d bytes", k.Kernel, k.Arch, k.SpillBytes)
		}
	}
	if clock, err := OpenRuntime(library.Path); err != nil {
		t.Errorf("open it: %v", err)
	} else if _, err := clock.Physics(); err == nil {
		t.Log("there is a GPU here")
	}
	if mapper, err := OpenMapper(library.Path); err != nil {
		t.Errorf("open its memory on two GPUs: %v", err)
	} else if can, err := mapper.Can(); err == nil && can {
		t.Log("there are two GPUs here")
	}
	if _, err := OpenMapper(library.Path + ".not"); err == nil {
		t.Error("a library that is not there is opened")
	}
}
