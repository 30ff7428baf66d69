package pybridge

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"triad/internal/worker"
)

// On a GPU torch.compile has a process of its own, since compiling blocks it; on a CPU that would cost more
// than it gains. On a GPU Inductor compiles in our processes, of which there are many already.
func TestInductorStartsNoProcesses(t *testing.T) {
	for _, gpu := range []bool{true, false} {
		e := &Environment{GPU: gpu, Files: fstest.MapFS{"pybridge/worker/worker.py": {}, "triton/op.py": {}}}
		c, err := e.command(Interpreter{Path: "python"}, t.TempDir(), "worker/worker.py")
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(c.Env, "TORCHINDUCTOR_COMPILE_THREADS=1"); got != gpu {
			t.Errorf("GPU %v: %v", gpu, c.Env)
		}
	}
}

// A worker uses the second of several visible GPUs only where the run has it.
func TestWorkersAreToldHowManyGPUs(t *testing.T) {
	for _, c := range []struct {
		gpu  bool
		gpus int
		want string
	}{{false, 0, ""}, {true, 0, "TRIAD_GPUS=1"}, {true, 1, "TRIAD_GPUS=1"}, {true, 2, "TRIAD_GPUS=2"}} {
		e := &Environment{
			GPU: c.gpu, GPUs: c.gpus,
			Files: fstest.MapFS{"pybridge/worker/worker.py": {}, "triton/op.py": {}},
		}
		command, err := e.command(Interpreter{Path: "python"}, t.TempDir(), "worker/worker.py")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, v := range command.Env {
			if strings.HasPrefix(v, "TRIAD_GPUS=") {
				got += v
			}
		}
		if got != c.want {
			t.Errorf("GPU %v, %d: %q, want %q", c.gpu, c.gpus, got, c.want)
		}
	}
}

// Threads of torch that wait for each other cost more than small inputs gain, unless the user asks for them.
func TestTorchHasOneThreadOnACPU(t *testing.T) {
	for _, c := range []struct {
		gpu         bool
		asked, want string
	}{{false, "", "1"}, {false, "3", "3"}, {true, "", ""}, {true, "3", "3"}} {
		e := &Environment{
			GPU: c.gpu, Files: fstest.MapFS{"pybridge/worker/worker.py": {}, "triton/op.py": {}},
			Getenv: func(name string) string {
				if name == "OMP_NUM_THREADS" {
					return c.asked
				}
				return ""
			},
		}
		command, err := e.command(Interpreter{Path: "python"}, t.TempDir(), "worker/worker.py")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, v := range command.Env {
			if value, found := strings.CutPrefix(v, "OMP_NUM_THREADS="); found {
				got += value
			}
		}
		if got != c.want {
			t.Errorf("GPU %v, asked for %q: %q, want %q", c.gpu, c.asked, got, c.want)
		}
	}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		gpu                    bool
		implementation, expect string
	}{
		{true, "torch/compile", "torch/compile"},
		{true, "torch/compile_static", "torch/compile"},
		{true, "torch/eager", "torch"},
		{true, "triton/row", "triton"},
		{true, "", "torch"},
		{false, "torch/compile", "torch"},
		{false, "triton/row", "triton"},
	} {
		a := Backend(&Environment{GPU: c.gpu}, t.TempDir(), worker.Options{})
		if got := a.Slot(c.implementation); got != c.expect {
			t.Errorf("%q, GPU %v: runs in %q, want %q", c.implementation, c.gpu, got, c.expect)
		}
	}
}
