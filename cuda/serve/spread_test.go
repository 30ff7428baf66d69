package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"triad"
	"triad/cuda/build"
	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/op"
)

// pairOf is an emulator that says how many devices it is, and keeps where memory goes over to the second one.
type pairOf struct {
	Device
	devices int
	borders []string
}

func (p *pairOf) Spread() (int, string) { return p.devices, "this is a test" }

func (p *pairOf) AllocSpread(name string, bytes, border int64) (Buffer, error) {
	p.borders = append(p.borders, fmt.Sprintf("%s %d of %d", name, border, bytes))
	return p.Alloc(name, bytes)
}

// spreadFile returns the first kernel file with kernels that are spread over two devices.
func spreadFile(t *testing.T) string {
	t.Helper()
	for _, name := range cudatest.KernelsBySize(t) {
		text, err := fs.ReadFile(triad.Files, build.KernelFile(name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), ".devices(2)") {
			return name
		}
	}
	t.Fatal("no kernel is spread over two devices")
	return ""
}

// A kernel that needs two devices is there where the worker has them, and is UNAVAILABLE, with a sentence,
// where it has one; the others are there in any case.
func TestKernelsOfTwoDevices(t *testing.T) {
	cudatest.NeedCompiler(t)
	for _, devices := range []int{1, 2} {
		device := &pairOf{Device: NewEmulator(triad.Files, testCache), devices: devices}
		s := &server{
			device: device, specs: catalogSpec, loaded: map[string]backend.LoadReply{},
			kernels: map[string][]*kernel{},
		}
		reply, err := s.load(t.Context(), spreadFile(t))
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, i := range reply.Implementations {
			there[i.Name] = true
		}
		if !there["cuda/naive"] || there["cuda/peer_stores"] != (devices == 2) {
			t.Errorf("%d devices have %v", devices, there)
		}
		if devices == 2 {
			continue
		}
		if len(reply.Failed) != 2 || reply.Failed[0].Status != op.StatusUnavailable || !strings.HasSuffix(
			reply.Failed[0].Message, " needs 2 GPUs that reach each other's memory: this is a test") {
			t.Errorf("one device lacks %+v", reply.Failed)
		}
	}
}

// Of a kernel that is spread over two devices the first half of the first dim, one longer where it is odd,
// lies on the first one, and half of the workspace; memory of the others is not divided.
func TestMemoryOnTwoDevices(t *testing.T) {
	device := &pairOf{Device: NewEmulator(triad.Files, testCache), devices: 2}
	if _, err := device.Library(t.Context(), spreadFile(t)); err != nil {
		cudatest.NeedCompiler(t)
		t.Fatal(err)
	}
	for _, devices := range []int{1, 2} {
		l := &launching{server: &server{device: device}, kernel: &kernel{devices: devices}}
		for _, shape := range [][]int64{{5, 8}, {2, 3}, {1, 4}, {0, 4}, {}} {
			bytes := int64(4)
			for _, n := range shape {
				bytes *= n
			}
			if _, err := l.alloc("x", bytes, placesOf(backend.TensorRef{Shape: shape})); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.alloc("workspace", 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	want := "[x 96 of 160 x 12 of 24 x 16 of 16 x 0 of 0 x 4 of 4 workspace 500 of 1000]"
	if got := fmt.Sprint(device.borders); got != want {
		t.Errorf("the borders are %s, want %s", got, want)
	}
}

// The copy before a measurement of a call on two devices goes through the caches of both.
func TestOthersOnTwoDevices(t *testing.T) {
	c := &clocked{Device: NewEmulator(triad.Files, testCache)}
	device := &pairOf{Device: c, devices: 2}
	if _, err := device.Library(t.Context(), spreadFile(t)); err != nil {
		cudatest.NeedCompiler(t)
		t.Fatal(err)
	}
	s := &server{device: device}
	for _, devices := range []int{1, 2, 1, 2} {
		a := &candidate{server: s, clock: stream{c}, timer: stream{c}}
		a.facts.Devices, a.facts.Device.L2Bytes = devices, 512
		if err := a.others(); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(c.copied, device.borders); got !=
		"[1024 2048 1024 2048] [others 1024 of 2048 others 1024 of 2048]" {
		t.Errorf("copies and borders: %s", got)
	}
}

// A call on two devices that cannot be captured is not timed: events are on the clock of one of them.
func TestEventsDoNotTimeTwoDevices(t *testing.T) {
	refused := func() error { return errors.New("CUDA error 901") }
	a := &candidate{server: &server{}, timer: stream{&clocked{begin: refused}}}
	a.facts.Devices, a.facts.Sets = 2, 2
	f, err := a.capture(0)
	if err != nil || f.Status != op.StatusUnsupported || f.Message != "it cannot be timed on 2 GPUs, whose "+
		"clocks only a graph of its calls reads: CUDA error 901" {
		t.Errorf("%v: %q, %v", f.Status, f.Message, err)
	}
}
