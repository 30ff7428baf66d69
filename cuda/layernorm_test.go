package cuda

import (
	"testing"

	"triad/cuda/cudatest"
	"triad/internal/need"
)

// ringProgram compiles layernorm_ring.cu with the kernel changed by one edit, "" for none. The next call
// replaces the program.
func ringProgram(t *testing.T, e *emulated, file, from, to string) string {
	t.Helper()
	folder := editedKernels(t, "layernorm", file, from, to)
	return e.buildWithKernels(t, "layernorm_ring.cu", folder)
}

// TestLayernormRing: the rows of layernorm's backward that pass through a ring give the formula's bits over
// more turns than the ring has stages, also if groups and blocks have one row less than others; a missing
// wait, a slot that is refilled before it was read, and a row beyond the last one show.
func TestLayernormRing(t *testing.T) {
	t.Parallel()
	t.Run("right", func(t *testing.T) {
		need.Covers(t, "rows through a ring", cudatest.KernelInputs("layernorm")...)
		program := ringProgram(t, newEmulated(t, "g++", "-O1"), "row_ring.cuh", "", "")
		for _, order := range []string{"forward", "greedy:1"} {
			if out, status := runEmulated(t, order, program); status != 0 || out != "right\n" {
				t.Errorf("order %s: status %d\n%s", order, status, out)
			}
		}
	})
	const early = "a wait or a barrier left out"
	for _, planted := range []struct{ name, key, file, from, to string }{
		{
			"a wait for a turn less", early,
			"row_ring.cuh",
			"copies.template wait<Shape::Stages - 1>()",
			"copies.template wait<Shape::Stages>()",
		},
		{
			"a slot refilled before it was read", early,
			"backward.cuh",
			"\t\tring.wait();\n",
			"\t\tring.wait();\n\t\tring.ask(turn + Shape::Stages, stage);\n",
		},
		{"a row beyond the last one", "", "row_ring.cuh", "return turn < count", "return turn <= count"},
		{
			"sums of the groups without a barrier", early,
			"row_ring.cuh",
			"\t__syncthreads();\n\tfor (int i = threadIdx.x * 4;",
			"\tfor (int i = threadIdx.x * 4;",
		},
	} {
		t.Run(planted.name, func(t *testing.T) {
			need.Covers(t, planted.key, cudatest.KernelInputs("layernorm")...)
			program := ringProgram(t, newEmulated(t, "g++", "-O1"), planted.file, planted.from, planted.to)
			if out, status := runEmulated(t, "forward", program); status == 0 {
				t.Errorf("it does not show:\n%s", out)
			}
		})
	}
}
