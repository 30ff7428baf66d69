package kernelfile

import (
	"strings"
	"testing"
)

// A Python file that only runs the code of another file names that file.
func TestWhereTheFunctionIs(t *testing.T) {
	s := rowsAndCols(t)
	for text, want := range map[string]string{
		"lib = load(name='x', sources=['src/softmax.cu'])\n":      "judge that, with --add src/softmax.cu",
		"from softmax_kernel import solve\nif 1:\n    solve(1)\n": "takes solve from softmax_kernel.py",
		"import torch\nx = torch.ones(3)\n":                       "def solve(x)",
	} {
		r := Request{Path: "mine.py", Parse: parsed}
		_, err := Bind(r.Read(text, nil), r, s, s.Passes(), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
