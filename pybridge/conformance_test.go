package pybridge

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"triad"
	"triad/internal/backend"
	"triad/internal/backend/backendtest"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/worker"
)

// TestWorkerConforms: the Python worker keeps the promises of every backend. Its operator file is
// testdata/scale.py.
func TestWorkerConforms(t *testing.T) {
	e := &Environment{Files: withOperator(t, "scale"), DataDir: need.DataDir(t), Offline: true}
	if _, err := e.Find(t.Context()); err != nil {
		need.MissingSetUp(t, err)
	}
	cache := t.TempDir()
	// TestForkedWorkerConforms asks the same program all promises.
	conforms(t, []string{"pybridge"}, func(o worker.Options) *worker.Adapter { return Backend(e, cache, o) })
}

// withOperator returns the embedded files with one more operator file, that in testdata.
func withOperator(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	names, err := pythonFiles(triad.Files)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, n := range slices.Concat(names, []string{"requirements.txt"}) {
		text, err := triad.Files.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files[n] = &fstest.MapFile{Data: text}
	}
	text, err := os.ReadFile(filepath.Join("testdata", name+".py"))
	if err != nil {
		t.Fatal(err)
	}
	files["triton/"+name+".py"] = &fstest.MapFile{Data: text}
	return files
}

// conforms runs the suite of every backend on an adapter of testdata/scale.py. elsewhere is that of
// backendtest.Subject.
func conforms(t *testing.T, elsewhere []string, start func(worker.Options) *worker.Adapter) {
	t.Helper()
	backendtest.Suite(t, backendtest.Subject{
		Operator: "scale", Family: "torch",
		Names: map[backendtest.Behaviour]string{
			backendtest.Right: "torch/right", backendtest.Declines: "torch/declines",
			backendtest.Silent: "torch/silent", backendtest.Scribbles: "torch/scribbles",
			backendtest.Fails: "torch/raises", backendtest.Dies: "torch/exits",
			backendtest.Hangs: "torch/hangs", backendtest.Full: "torch/full",
		},
		Outputs: []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{8}}},
		Golden:  "testdata/wire.txt", OwnMemory: true, Elsewhere: elsewhere,
		New: func(t *testing.T, call time.Duration, transcript io.Writer) backend.Backend {
			limits := worker.DefaultLimits
			limits.First, limits.FirstCPU, limits.CallLeast = call, call, call
			a := start(worker.Options{Limits: limits, Transcript: transcript})
			t.Cleanup(func() { a.Close() })
			return a
		},
	})
}
