package pybridge

import (
	"testing"

	"triad/internal/worker"
)

// On a GPU torch.compile has a process of its own, which its compiling blocks; on a CPU that would cost more than it gains.
func TestSlots(t *testing.T) {
	for _, c := range []struct {
		gpu                    bool
		implementation, expect string
	}{
		{true, "torch/compile", "torch/compile"}, {true, "torch/compile_static", "torch/compile"}, {true, "torch/eager", "torch"}, {true, "triton/row", "triton"},
		{true, "", "torch"}, {false, "torch/compile", "torch"}, {false, "triton/row", "triton"},
	} {
		a := Backend(&Environment{GPU: c.gpu}, t.TempDir(), worker.Options{})
		if got := a.Slot(c.implementation); got != c.expect {
			t.Errorf("%q, GPU %v: runs in %q, want %q", c.implementation, c.gpu, got, c.expect)
		}
	}
}
