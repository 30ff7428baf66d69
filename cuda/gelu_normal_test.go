package cuda

import (
	"strings"
	"testing"

	"triad/internal/need"
)

// TestNormalDistribution: normal.cuh is as accurate as GELU and its gradient require, at every exponent of
// fp32.
func TestNormalDistribution(t *testing.T) {
	need.Covers(t, "", append(need.Operator("gelu"), "cuda/include", "cuda/testdata/emulator/normal.cu")...)
	program := newEmulated(t, "g++", "-O1").buildWithKernels(t, "normal.cu")
	out, status := runEmulated(t, "forward", program)
	if status != 0 || !strings.HasPrefix(out, "ok ") {
		t.Errorf("status %d: %s", status, out)
	}
	t.Log("shares of the error bounds that are used, value and gradient: ", out)
	if out, status := runEmulated(t, "forward", program, "wrong"); status != 1 ||
		!strings.HasPrefix(out, "wrong ") {
		t.Errorf("a spoilt function is accepted: status %d: %s", status, out)
	}
}
