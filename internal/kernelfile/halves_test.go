package kernelfile

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// A file of Python that rounds halves away from zero is not held to an operator that rounds them to even; one
// that uses torch.round is.
func TestHalvesThatAreRoundedAway(t *testing.T) {
	s := spec(t, "int8_gemm")
	const head = "import torch\ndef solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, M: int, N: int, K: int, " +
		"scale_A: float, scale_B: float, scale_C: float, zero_point_A: int, zero_point_B: int, zero_point_C: int):\n    "
	for line, away := range map[string]bool{
		"x = tl.where(y >= 0, tl.floor(y + 0.5), tl.ceil(y - 0.5))": true,
		"x = tl.floor(y * scale + float(0.5))":                      true,
		"x = libdevice.round(y)":                                    true,
		"x = torch.round(y)":                                        false,
		"x = torch.floor(y)  # + 0.5":                               false,
	} {
		bindings, err := Bind(ReadPython(head+line+"\n"), Request{Path: "mine.py"}, s, []op.Pass{op.Forward}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if doubt := bindings[0].otherHalves(); strings.Contains(doubt, "--distribution normal") != away {
			t.Errorf("%s: doubt %q, want one: %v", line, doubt, away)
		}
	}
}
