package serve

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"triad/cuda/cudatest"
	"triad/internal/backend"
	"triad/internal/backend/backendtest"
	"triad/internal/op"
	driver "triad/internal/worker"
)

// TestWorkerConforms: the CUDA worker, on the emulator, keeps the promises of every backend.
func TestWorkerConforms(t *testing.T) {
	cudatest.NeedCompiler(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd() // the test's kernel file lies below it
	if err != nil {
		t.Fatal(err)
	}
	tensorOf := func(name string, optional bool) op.TensorType {
		return op.TensorType{Name: name, DType: op.FP32, Shape: []int64{8}, Optional: optional}
	}
	backendtest.Suite(t, backendtest.Subject{
		Operator: "scale", Family: "cuda",
		Names: map[backendtest.Behaviour]string{
			backendtest.Right: "cuda/right", backendtest.Declines: "cuda/declines",
			backendtest.Silent: "cuda/nothing", backendtest.Scribbles: "cuda/scribble",
			backendtest.Fails: "cuda/large", backendtest.Dies: "cuda/exit", backendtest.Hangs: "cuda/forever",
			backendtest.Full: "cuda/full",
		},
		Outputs: []op.TensorType{tensorOf("y", false), tensorOf("again", true)},
		Golden:  "testdata/worker/wire.txt",
		New: func(t *testing.T, call time.Duration, transcript io.Writer) backend.Backend {
			limits := driver.DefaultLimits
			limits.First, limits.FirstCPU, limits.CallLeast = call, call, call
			a := &driver.Adapter{
				BackendName: "cuda", FamilyNames: []string{"cuda"},
				Options: driver.Options{Limits: limits, Transcript: transcript},
				Slot:    func(string) string { return "" },
				Command: func(context.Context) (driver.Command, error) {
					return driver.Command{
						Path: self, Dir: here, Env: append(os.Environ(), "TRIAD_TEST_WORKER="+testCache),
					}, nil
				},
			}
			t.Cleanup(func() { a.Close() })
			return a
		},
	})
}
