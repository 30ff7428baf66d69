package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/cuda/rewrite"
)

// ringProgram compiles layernorm_ring.cu with the kernel changed by one edit, "" for none. The next one replaces it.
func ringProgram(t *testing.T, e *emulated, from, to string) string {
	t.Helper()
	const header = "layernorm_backward.cuh"
	text, err := os.ReadFile(filepath.Join("include", header))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s does not contain %q", header, from)
	}
	rewritten, err := rewrite.Source(header, []byte(strings.Replace(string(text), from, to, 1)))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, header), rewritten.Text, 0o644); err != nil {
		t.Fatal(err)
	}
	return e.buildWithKernels(t, "layernorm_ring.cu", folder)
}

// TestLayernormRing: the rows of layernorm's backward that come through a ring give the formula's bits over more turns than the ring has stages,
// with groups and blocks that have a row less than others; a wait for a turn less, a slot that is refilled before it was read, and a row beyond
// the last one show.
func TestLayernormRing(t *testing.T) {
	t.Parallel()
	e := newEmulated(t, "g++", "-O1")
	program := ringProgram(t, e, "", "")
	for _, order := range []string{"forward", "greedy:1"} {
		if out, status := runEmulated(t, order, program); status != 0 || out != "right\n" {
			t.Errorf("order %s: status %d\n%s", order, status, out)
		}
	}
	for name, edit := range map[string][2]string{
		"a wait for a turn less":               {"copies.template wait<Shape::Stages - 1>()", "copies.template wait<Shape::Stages>()"},
		"a slot refilled before it was read":   {"\t\tring.wait();\n", "\t\tring.wait();\n\t\tring.ask(turn + Shape::Stages, stage);\n"},
		"a row beyond the last one":            {"return turn < count", "return turn <= count"},
		"sums of the groups without a barrier": {"\t__syncthreads();\n\tfor (int i = threadIdx.x * 4;", "\tfor (int i = threadIdx.x * 4;"},
	} {
		if out, status := runEmulated(t, "forward", ringProgram(t, e, edit[0], edit[1])); status == 0 {
			t.Errorf("%s does not show:\n%s", name, out)
		}
	}
}
