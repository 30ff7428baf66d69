package cuda

import "testing"

// TestRefusedRequest: CUDA's refusal of one kernel's launcher is not reported for the next kernel's launch.
func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1")
	if out, status := runEmulated(t, "forward", e.buildWithKernels(t, "refused.cu")); status != 0 ||
		out != "1 0 1 0\n" {
		t.Errorf("status %d, %q: want an error, a launch, an error, a launch", status, out)
	}
}
