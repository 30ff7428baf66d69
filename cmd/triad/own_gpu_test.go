package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"triad"
	"triad/cuda/build"
	"triad/cuda/serve"
	"triad/internal/backend"
	"triad/internal/machine"
	"triad/internal/need"
	"triad/internal/session"
)

// missingGPU is a GPU whose memory is the host's and which runs no kernel: libraries come from nvcc, launch
// functions are called, and CUDA's runtime, which finds no driver, rejects every launch. Faults before a
// kernel would begin are the same as on a GPU.
type missingGPU struct{ build.GPULibraries }

func (d *missingGPU) Name() string                { return "gpu" }
func (d *missingGPU) Versions() map[string]string { return nil }
func (d *missingGPU) Probe() error                { return nil }

func (d *missingGPU) Library(ctx context.Context, file string) (build.Library, error) {
	return d.Kernels(ctx, file)
}

func (d *missingGPU) Alloc(name string, bytes int64) (serve.Buffer, error) {
	memory, err := syscall.Mmap(-1, 0, int(bytes)+1, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return serve.Buffer{}, &serve.OutOfMemory{Message: err.Error()}
	}
	return serve.Buffer{Name: name, Pointer: uintptr(unsafe.Pointer(unsafe.SliceData(memory))), Bytes: bytes},
		nil
}

func (d *missingGPU) Free(serve.Buffer) *backend.GuardReport                { return nil }
func (d *missingGPU) CopyIn(serve.Buffer, []byte) error                     { return nil }
func (d *missingGPU) CopyOut([]byte, serve.Buffer) error                    { return nil }
func (d *missingGPU) Fill(serve.Buffer, []byte) error                       { return nil }
func (d *missingGPU) Launch(c *serve.Call, _ string) (serve.Finding, error) { return c.Launch(0), nil }

// serveMissingGPU is the worker of missingGPU, as triad starts it.
func serveMissingGPU() {
	d := &missingGPU{build.GPULibraries{
		Sources: triad.Files, Cache: os.Getenv("TRIAD_TEST_MISSING_GPU"),
		Major: 8,
	}}
	if err := serve.Catalog(context.Background(), d, "", os.NewFile(3, "connection"),
		os.NewFile(4, "memory")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// withoutGPU runs triad with --device gpu and that worker, and returns its output and exit code.
func withoutGPU(t *testing.T, args ...string) (string, session.ExitCode) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	script := `[ "$1" = --facts ] || { export TRIAD_TEST_MISSING_GPU="` + filepath.Join(cache, "triad",
		"cuda") + `"; exec triad-missing-gpu; }; ` + facts(8, 13000)
	a, said := gpuApp(t, script, map[string]string{
		"PATH": os.Getenv("PATH"), "XDG_CACHE_HOME": cache,
		"XDG_DATA_HOME": t.TempDir(),
	})
	code := a.execute(append(args, "--device", "gpu"))
	return said.String(), code
}

// nvccOnPath puts an nvcc on the PATH.
func nvccOnPath(t *testing.T) {
	t.Helper()
	var missing error
	for _, environment := range need.NVCCFolders(t) {
		nvcc, err := build.FindNVCC(t.Context(), environment)
		if err == nil {
			t.Setenv("PATH", filepath.Dir(nvcc.Path)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			return
		}
		missing = err
	}
	need.MissingSetUp(t, missing)
}

// TestRefusedLaunchesOnAGPU: a launch that CUDA refuses is reported on a GPU as in the emulator: with the
// same status, the same sentence and the line of the launch.
func TestRefusedLaunchesOnAGPU(t *testing.T) {
	nvccOnPath(t)
	file := filepath.Join(t.TempDir(), "static.cu")
	if err := os.WriteFile(file, []byte("__global__ void softmax(const float* x, float* y, int rows, int "+
		"cols) {\n  __shared__ float all[20000];\n"+
		"  all[threadIdx.x] = x[0];\n  __syncthreads();\n  y[0] = all[threadIdx.x ^ 1];\n}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, op, dims, status, says string }{
		{
			"softmax_block.cu", "softmax", "rows=0,cols=13", "UNSUPPORTED",
			"on empty tensors it launches 0 blocks, which CUDA refuses: return first where a size is 0",
		},
		{
			"swiglu_rounds_down.cu", "swiglu", "rows=1,cols=200", "FAIL",
			`CUDA refused the launch in line 5, so nothing was computed: the grid or the block is 0.*\(N ` +
				`\+ 255\) / 256`,
		},
		{
			"softmax_thread_a_column.cu", "softmax", "rows=2,cols=1025", "FAIL",
			`(?s)CUDA refused the launch in line 12, so nothing.*at most 1024 threads`,
		},
		{
			file, "softmax", "rows=2,cols=3", "BUILD_FAIL",
			"the kernel softmax declares 80000 bytes of static shared memory.*12288 floats",
		},
		// there is no driver
		{
			"softmax_thread_a_column.cu", "softmax", "rows=2,cols=1024", "CRASH",
			`the launch of mine/softmax_thread_a_column\.cu returned CUDA error (35|100)\b`,
		},
	} {
		if c.status == "CRASH" && machine.NvidiaDriver() {
			continue // it would begin
		}
		if !filepath.IsAbs(c.file) {
			c.file = filepath.Join("testdata", "own", c.file)
		}
		args := []string{"compare", c.op, "--impl", "mine", "--add", c.file, "--dims", c.dims, "--quick"}
		text, _ := withoutGPU(t, args...)
		line := statusOfAFile.FindStringSubmatch(text)
		if line == nil || line[1] != c.status || !regexp.MustCompile(c.says).MatchString(text) ||
			c.status != "BUILD_FAIL" && !strings.Contains(text, " gpu") {
			t.Errorf("%s, %s: want %s and %q in\n%s", c.file, c.dims, c.status, c.says, text)
		}
	}
}
