package ownkernels

import (
	"context"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/worker"
)

// A compiler's message is placed in the user's file or attributed to the shim.
func TestPlaceMessage(t *testing.T) {
	f := &File{Name: "mine/a", Path: "/home/u/a.cu", shim: "/cache/own/0/a.triad.cu"}
	for _, c := range []struct{ message, log, want string }{
		{
			"the build failed", "/home/u/a.cu:9:3: error: 'x' was not declared\n",
			"/home/u/a.cu:9: 'x' was not declared",
		},
		{"ImportError: triad: a.py:3: NameError: y", "", "a.py:3: NameError: y"},
		{"a.triad.cu:40: cannot convert", "", "this line is in the code that triad wrote"},
		{"the linker failed", "", "the linker failed"},
	} {
		if got := f.placeMessage(c.message, c.log); !strings.Contains(got, c.want) {
			t.Errorf("%q with %q: %q, want it to say %q", c.message, c.log, got, c.want)
		}
	}
}

// A syntax error of a file is the file's, also where the shim's name ends like that of the file.
func TestSyntaxErrorOfTheFile(t *testing.T) {
	f := &File{Name: "mine/my_softmax", Path: "/home/u/my_softmax.py", shim: "/cache/own/0/softmax.py"}
	const message = "/home/u/my_softmax.py:5: IndentationError: expected an indented block"
	failed := backend.LoadFailure{Status: op.StatusBuildFail, Message: f.placeMessage(message, "")}
	if f.limit(t.Context(), &failed); failed.Status != op.StatusBuildFail || failed.Message != message {
		t.Errorf("%v: %s", failed.Status, failed.Message)
	}
}

// A file that triad's shim cannot call, or that uses unsupported parts of CUB, is not wrong; one that does
// not compile is.
func TestLimitOfTheShim(t *testing.T) {
	f := &File{Name: "mine/a", Path: "/home/u/a.cu", shim: "/cache/own/0/a.triad.cu"}
	const ofCUB = "/home/u/a.cu:9: no matching constructor for initialization of 'cub::WarpScan<float>'"
	for message, want := range map[string]op.Status{
		"a.triad.cu:40: '::solve' has not been declared": op.StatusUnsupported,
		"/home/u/a.cu:9: expected ';'":                   op.StatusBuildFail,
		ofCUB:                                            op.StatusUnsupported,
	} {
		failed := backend.LoadFailure{Status: op.StatusBuildFail, Message: f.placeMessage(message, "")}
		if f.limit(t.Context(), &failed); failed.Status != want {
			t.Errorf("%s: %v, want %v", message, failed.Status, want)
		}
	}
}

// A file that nvcc compiles is CUDA, whatever the emulator's compiler says of it. Without nvcc the emulator's
// compiler decides, and also in a sandbox, since nvcc would run outside of it.
func TestWhatNVCCCompiles(t *testing.T) {
	const message = "/home/u/a.cu:9: expected ';'"
	accepts := func(is bool) func(context.Context, string, []string) bool {
		return func(context.Context, string, []string) bool { return is }
	}
	confine := func(*worker.Adapter, bool, []string) {}
	for _, c := range []struct {
		workers Workers
		want    op.Status
	}{
		{Workers{}, op.StatusBuildFail},
		{Workers{Accepts: accepts(false)}, op.StatusBuildFail},
		{Workers{Accepts: accepts(true)}, op.StatusUnsupported},
		{Workers{Accepts: accepts(true), Confine: confine}, op.StatusBuildFail},
		{Workers{Accepts: accepts(true), GPU: true}, op.StatusBuildFail},
	} {
		f := &File{Name: "mine/a", Path: "/home/u/a.cu", interpretation: Interpretation{Workers: c.workers}}
		failed := backend.LoadFailure{Status: op.StatusBuildFail, Message: message}
		if f.limit(t.Context(), &failed); failed.Status != c.want ||
			!strings.Contains(failed.Message, message) {
			t.Errorf("%+v: %v %q, want %v", c.workers, failed.Status, failed.Message, c.want)
		}
	}
}

// A job with a name that no file has is an error of the harness, not an outcome.
func TestRunOfAnUnknownFile(t *testing.T) {
	b := &Backend{Files: []*File{{Name: "mine/a"}}}
	if _, err := b.Run(t.Context(),
		backend.Job{Implementation: backend.Implementation{Name: "mine/b"}}); err == nil {
		t.Error("run: no error")
	}
	job := backend.MeasureJob{Job: backend.Job{Implementation: backend.Implementation{Name: "mine/b"}}}
	if _, _, err := b.Measure(t.Context(), job); err == nil {
		t.Error("measure: no error")
	}
}
