package run

import (
	"context"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// onDevice is a fake backend whose implementations run on a device.
type onDevice struct {
	*fake
	device string
}

func (d onDevice) Load(ctx context.Context, o string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := d.fake.Load(ctx, o)
	for i := range reply.Implementations {
		reply.Implementations[i].Device = d.device
	}
	return reply, hello, err
}

// fakeTwins lists the implementations of the emulator, and for others the reason why it has none.
type fakeTwins struct {
	emulator onDevice
	why      map[string]string
}

func (t fakeTwins) Twin(_ context.Context, i backend.Implementation) (backend.Implementation,
	backend.Backend, string,
) {
	if t.emulator.ways[i.Name] == nil {
		return i, nil, t.why[i.Name]
	}
	i.Device = "emulator"
	return i, t.emulator, ""
}

// besideRun judges on ordinary data what is right on a GPU, and judges it in the emulator too.
func besideRun(t *testing.T, gpu, emulator map[string]way, why map[string]string, request Request) Result {
	t.Helper()
	has, _, err := fakes(gpu).Load(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	o, err := truth.Get(has.Implementations[0].Op)
	if err != nil {
		t.Fatal(err)
	}
	request.Operators, request.Seed, request.Single = []*truth.Operator{o}, 1, true
	request.Options.Passes, request.Options.DTypes = []op.Pass{op.Forward}, []string{"fp32"}
	request.Options.Distributions, request.Options.Layouts = []string{"normal"}, []string{"contiguous"}
	r := &Runner{
		Backends: []backend.Backend{onDevice{fakes(gpu), "gpu"}}, Recorder: &memory{}, Stop: t.Context(),
		Twins: fakeTwins{onDevice{fakes(emulator), "emulator"}, why},
	}
	result, err := r.Compare(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (r Result) twin(impl string) TwinVerdicts {
	for _, s := range r.TwinVerdicts {
		if s.Impl == impl {
			return s
		}
	}
	return TwinVerdicts{}
}

func of(r Result, impl string) (all []record.Record) {
	for _, x := range r.Records {
		if x.Impl == impl {
			all = append(all, x)
		}
	}
	return all
}

// TestEmulatorBesideAGPU: the emulator's finding is the verdict, and the row states both. What is wrong or
// declined on the GPU is not judged again; what the emulator cannot run keeps its verdict, and is counted
// with the reason.
func TestEmulatorBesideAGPU(t *testing.T) {
	declines := func(tensor.Tensor, int, int) ([]float64, *backend.Outcome) {
		return nil, &backend.Outcome{Status: op.StatusUnsupported, Sentence: "it has no such name"}
	}
	result := besideRun(t, map[string]way{
		"fake/races": right, "fake/right": right, "fake/wrong": zeros, "fake/declines": declines,
		"fake/unknown": right, "fake/missing": right, "fake/ours": right,
	}, map[string]way{
		"fake/races": racing, "fake/right": right, "fake/wrong": right, "fake/declines": right,
		"fake/unknown": declines,
	}, map[string]string{"fake/missing": "no g++"}, Request{Options: op.Options{
		Level: op.LevelQuick, Dims: map[string]int64{"rows": 3, "cols": 40},
	}})
	for impl, want := range map[string]struct {
		status       op.Status
		device, says string
		judged, left int
		why          string
	}{
		"fake/races":    {op.StatusRace, "emulator", "gpu PASS, emulator RACE: ", 1, 0, ""},
		"fake/right":    {op.StatusPass, "gpu", "", 1, 0, ""},
		"fake/wrong":    {op.StatusFail, "gpu", "", 0, 0, ""},
		"fake/declines": {op.StatusUnsupported, "gpu", "it has no such name", 0, 0, ""},
		"fake/unknown":  {op.StatusPass, "gpu", "", 0, 1, "it has no such name"},
		"fake/missing":  {op.StatusPass, "gpu", "", 0, 1, "no g++"},
		"fake/ours":     {op.StatusPass, "gpu", "", 0, 0, ""},
	} {
		seen := result.twin(impl)
		all := of(result, impl)
		if want.judged > 0 {
			want.judged = len(all)
		}
		if want.left > 0 {
			want.left = len(all)
		}
		for _, r := range all {
			if r.Status != want.status || r.Device != want.device ||
				!strings.HasPrefix(r.Message, want.says) {
				t.Errorf("%s: %v on %s %q, want %v", impl, r.Status, r.Device, r.Message, want.status)
			}
			for _, o := range r.Outputs {
				if want.status == op.StatusRace && !strings.HasPrefix(o.Message, want.says) {
					t.Errorf("%s: an output says %q", impl, o.Message)
				}
			}
		}
		if len(all) == 0 || seen.Judged != want.judged || seen.Left != want.left || seen.Why != want.why {
			t.Errorf("%s, %d cases: %+v", impl, len(all), seen)
		}
	}
	if races := result.twin("fake/races"); races.Wrong["RACE"] != races.Judged {
		t.Errorf("%+v", races)
	}
}

// TestEmulatorBesideAGPUIsBounded: the emulator judges only the quick cases, and within the time limit of
// added files.
func TestEmulatorBesideAGPUIsBounded(t *testing.T) {
	slow := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		time.Sleep(time.Millisecond)
		return right(x, launch, run)
	}
	ways := map[string]way{"fake/slow": slow}
	quick := besideRun(t, ways, ways, nil, Request{Options: op.Options{Level: op.LevelQuick}})
	full := besideRun(t, ways, ways, nil, Request{Options: op.Options{Level: op.LevelFull}})
	if q, f := quick.twin("fake/slow"), full.twin("fake/slow"); q.Judged != len(quick.Records) ||
		f.Judged != q.Judged || f.Left != 0 || len(full.Records) <= q.Judged {
		t.Errorf("%+v of %d quick cases, %+v of %d", q, len(quick.Records), f, len(full.Records))
	}
	short := besideRun(t, ways, ways, nil, Request{
		Options: op.Options{Level: op.LevelQuick}, CasesLimit: time.Nanosecond,
		Limited: func(string) bool { return false }, InFlight: 1,
	}).twin("fake/slow")
	if short.Judged == 0 || short.Left == 0 || !strings.HasPrefix(short.Why, "it took ") {
		t.Errorf("%+v", short)
	}
}
