package advice

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// A thread far beyond a tensor ends the kernel on a GPU and is found by its address in the emulator: the
// advice is one.
func TestAdviceOfAnIllegalAddress(t *testing.T) {
	emulated := Facts{
		Status: op.StatusOutOfBounds, Message: "a write 4 bytes past the end of y",
		Multiple: 256, Of: "cols",
	}
	onGPU := Facts{
		Status: op.StatusCrash, Message: "the kernel ended with CUDA error 700, illegal address",
		Multiple: 256, Of: "cols",
	}
	if a, b := For(emulated), For(onGPU); a != b || !strings.Contains(a, "if (i < n)") {
		t.Errorf("in the emulator %q, on a GPU %q", a, b)
	}
	emulated.Multiple, onGPU.Multiple = 0, 0
	if a, b := For(emulated), For(onGPU); a != b || !strings.Contains(a, "if (i < n)") {
		t.Errorf("in the emulator %q, on a GPU %q", a, b)
	}
}

// Threads are no matter of a Python function.
func TestAdviceOfALimitInPython(t *testing.T) {
	f := Facts{
		Status: op.StatusCrash, Message: "ValueError: only up to 64 columns", UpTo: "cols", Last: 64,
		Python: true,
	}
	if got, want := For(f), "cols up to 64 are right, from 65 on it is wrong"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Python, f.Message = false, launchRefused
	if got := For(f); !strings.Contains(got, "64 threads are not enough") {
		t.Errorf("of a .cu: %q", got)
	}
}

// Where bits are compared nothing is near the truth, and no precision is to blame.
func TestAdviceWhereBitsAreCompared(t *testing.T) {
	f := Facts{Status: op.StatusFail, DType: "uint8", ULP: 35, Formula: "y = 255 - x", Layout: "x [n], y [n]"}
	if got := For(f); !strings.Contains(got, "Convert to float first") {
		t.Errorf("of rounded values: %q", got)
	}
	f.Exact = true
	if got := For(f); !strings.Contains(got, "Compare it with the formula, y = 255 - x") {
		t.Errorf("of bits: %q", got)
	}
}
