package gpuworker

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad"
	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/worker"
)

//go:embed testdata/faults.cu
var faults []byte

// gpuFolder returns the folder that TRIAD_TEST_GPU names (made by "triad setup --gpu"), the worker in it and
// the first GPU. Without a GPU the test is skipped.
func gpuFolder(t *testing.T) (folder, path string, g GPU) {
	t.Helper()
	folder = os.Getenv("TRIAD_TEST_GPU")
	if folder == "" {
		need.GPU(t, "TRIAD_TEST_GPU does not name a folder that triad setup --gpu made")
	}
	path = filepath.Join(folder, Binary)
	facts, err := Ask(t.Context(), path, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return folder, path, facts.GPUs[0]
}

// gpuAdapter runs the worker on a GPU, with the faulty kernels in place of those of softmax.
func gpuAdapter(t *testing.T) *worker.Adapter {
	t.Helper()
	folder, path, g := gpuFolder(t)
	limits := worker.DefaultLimits
	limits.First, limits.CallLeast = 10*time.Second, 2*time.Second
	return kernelsOf(t, path, disguised(t, folder, g, "faults.cu", faults), limits)
}

// disguised builds kernels by nvcc and ships them as softmax.
func disguised(t *testing.T, folder string, g GPU, name string, source []byte) string {
	t.Helper()
	compiler, err := build.FindNVCC(t.Context(), "")
	if err != nil {
		need.GPU(t, err.Error())
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, source, 0o644); err != nil {
		t.Fatal(err)
	}
	b := build.GPUBuilder{
		Sources: triad.Files, Cache: t.TempDir(), Compiler: compiler,
		Architectures: []string{fmt.Sprintf("sm_%d%d", g.Major, g.Minor)},
	}
	library, err := b.Kernels(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(library.Path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "kernels", "softmax.json"))
	var s map[string]any
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	s["sha256"] = fmt.Sprintf("%x", sha256.Sum256(binary))
	if text, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	kernels := t.TempDir()
	for name, content := range map[string][]byte{"softmax.so": binary, "softmax.json": text} {
		if err := os.WriteFile(filepath.Join(kernels, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return kernels
}

// gpuFaults lists faulty kernels, and the expected outcomes.
var gpuFaults = []struct {
	name   string
	status op.Status
	says   string
}{
	{"wild", op.StatusCrash, "700, illegal address"},
	{"misaligned", op.StatusCrash, "716, misaligned address"},
	{"trap", op.StatusCrash, "CUDA error 7"},
	{"forever", op.StatusHang, "no answer to run"},
	{"beyond", op.StatusOutOfBounds, "4 bytes past the end of y"},
	{"before", op.StatusOutOfBounds, "8 bytes before the start of y"},
	{"too_many_threads", op.StatusCrash, "returned CUDA error"},
	{"greedy", op.StatusOOM, "no room on the GPU for workspace"},
}

// Every way in which a kernel can fail on a GPU is an outcome with a sentence, and right after it a correct
// kernel finds a working worker.
func TestFaultsOnGPU(t *testing.T) {
	a := gpuAdapter(t)
	reply, hello, err := a.Load(t.Context(), "softmax")
	if err != nil || len(reply.Failed) > 0 || len(reply.Implementations) == 0 {
		t.Fatalf("load: %+v, %v", reply, err)
	}
	if hello.Device != "gpu" || hello.Versions["gpu"] == "" || hello.Versions["cuda-driver"] == "" {
		t.Errorf("hello %+v", hello)
	}
	run := func(t *testing.T, name string) backend.Outcome {
		t.Helper()
		x := tensor.New("x", op.FP32, []int64{33, 1})
		i := backend.Implementation{Name: "cuda/" + name, Op: "softmax", Pass: op.Forward, Contract: "fp32"}
		outcome, err := a.Run(t.Context(), backend.Job{
			Implementation: i, DType: "fp32", Contract: "fp32", Inputs: []tensor.Tensor{x},
			Outputs:  []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{33, 1}}},
			Launches: []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	innocent := func(t *testing.T, name string) {
		t.Helper()
		outcome := run(t, name)
		if outcome.Status != op.StatusUnknown || len(outcome.Launches) != 2 {
			t.Fatalf("%s: %v %s", name, outcome.Status, outcome.Sentence)
		}
		for _, l := range outcome.Launches {
			for _, v := range tensor.Decode(op.FP32, l.Outputs[0].Tensor.Data) {
				if v != 1 {
					t.Fatalf("%s: y = %v", name, v)
				}
			}
		}
	}
	innocent(t, "right")
	innocent(t, "default_stream")
	for _, c := range gpuFaults {
		t.Run(c.name, func(t *testing.T) {
			outcome := run(t, c.name)
			if outcome.Status != c.status || !strings.Contains(outcome.Sentence, c.says) {
				t.Errorf("%v %q, want %v and %q", outcome.Status, outcome.Sentence, c.status, c.says)
			}
			innocent(t, "right")
		})
	}
	silentFaults(t, run)
}

// silentFaults checks kernels whose faults cause no CUDA error.
func silentFaults(t *testing.T, run func(t *testing.T, name string) backend.Outcome) {
	t.Run("unwritten", func(t *testing.T) {
		outcome := run(t, "unwritten")
		if outcome.Status != op.StatusUnknown {
			t.Fatalf("%v %s", outcome.Status, outcome.Sentence)
		}
		for i, want := range []uint32{0x7FA5A5A5, 0xFFDBDBDB} {
			data := outcome.Launches[i].Outputs[0].Tensor.Data
			if got := binary.LittleEndian.Uint32(data[128:]); got != want {
				t.Errorf("launch %d: the last element reads %#x, want the poison %#x", i, got, want)
			}
		}
	})
	t.Run("scribbles", func(t *testing.T) {
		if outcome := run(t, "scribbles"); len(outcome.Launches) != 2 ||
			len(outcome.Launches[0].Changed) != 1 {
			t.Errorf("an input that was written to is not seen: %+v", outcome)
		}
	})
}
