package cuda

import "testing"

// ringProgram compiles layernorm_ring.cu with the kernel changed by one edit, "" for none. The next one
// replaces it.
func ringProgram(t *testing.T, e *emulated, file, from, to string) string {
	t.Helper()
	folder := editedKernels(t, "layernorm", file, from, to)
	return e.buildWithKernels(t, "layernorm_ring.cu", folder)
}

// TestLayernormRing: the rows of layernorm's backward that come through a ring give the formula's bits over
// more turns than the ring has stages, with groups and blocks that have a row less than others; a wait for a
// turn less, a slot that is refilled before it was read, and a row beyond the last one show.
func TestLayernormRing(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1")
	program := ringProgram(t, e, "row_ring.cuh", "", "")
	for _, order := range []string{"forward", "greedy:1"} {
		if out, status := runEmulated(t, order, program); status != 0 || out != "right\n" {
			t.Errorf("order %s: status %d\n%s", order, status, out)
		}
	}
	for name, edit := range map[string][3]string{
		"a wait for a turn less": {
			"row_ring.cuh",
			"copies.template wait<Shape::Stages - 1>()",
			"copies.template wait<Shape::Stages>()",
		},
		"a slot refilled before it was read": {
			"backward.cuh",
			"\t\tring.wait();\n",
			"\t\tring.wait();\n\t\tring.ask(turn + Shape::Stages, stage);\n",
		},
		"a row beyond the last one": {"row_ring.cuh", "return turn < count", "return turn <= count"},
		"sums of the groups without a barrier": {
			"row_ring.cuh",
			"\t__syncthreads();\n\tfor (int i = threadIdx.x * 4;",
			"\tfor (int i = threadIdx.x * 4;",
		},
	} {
		program := ringProgram(t, e, edit[0], edit[1], edit[2])
		if out, status := runEmulated(t, "forward", program); status == 0 {
			t.Errorf("%s does not show:\n%s", name, out)
		}
	}
}
