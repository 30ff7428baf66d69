package opfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/op"
)

// TestOperatorOfAnExpression: a torch expression makes an operator that opens, with what a spec may leave out
// filled in; an expression that is none is refused with a sentence.
func TestOperatorOfAnExpression(t *testing.T) {
	for _, c := range []struct {
		expression string
		reduces    bool
		tensors    string
		bytes      string
	}{
		{"torch.sigmoid(x)", false, "x", "(rows) * (cols) * size_x + (rows) * (cols) * size_y"},
		{
			"F.gelu(a, approximate='tanh') * gate ** 2 if True else a", false, "a gate",
			"(rows) * (cols) * size_a + (rows) * (cols) * size_gate + (rows) * (cols) * size_y",
		},
		{"x.abs().mean(dim=-1)", true, "x", "(rows) * (cols) * size_x + (rows) * size_y"},
		{"torch.maximum(y, math.pi * x)", false, "y x", "(rows) * (cols) * size_y + (rows) * (cols) * " +
			"size_x + " +
			"(rows) * (cols) * size_z"},
	} {
		folder := filepath.Join(t.TempDir(), "mine")
		if err := CreateFrom(folder, Formula{c.expression, c.reduces}); err != nil {
			t.Fatal(err)
		}
		f, err := Open(folder)
		if err != nil {
			t.Fatalf("%s: %v", c.expression, err)
		}
		var names []string
		for _, input := range f.Spec.InputSpecs {
			names = append(names, input.Name)
		}
		if got := strings.Join(names, " "); got != c.tensors || f.Spec.Costs.Forward.Bytes != c.bytes {
			t.Errorf("%s: tensors %s, bytes %s", c.expression, got, f.Spec.Costs.Forward.Bytes)
		}
		plan, err := f.Spec.Expand(op.Options{Device: "cpu", Level: op.LevelQuick})
		if err != nil || len(plan.Cases) < 20 {
			t.Errorf("%s: %d cases, %v", c.expression, len(plan.Cases), err)
		}
		text, err := os.ReadFile(f.Python)
		if err != nil || !strings.Contains(string(text), "\n    return "+c.expression+"\n") {
			t.Errorf("%s: %v\n%s", c.expression, err, text)
		}
	}
}

// TestNoOperatorOfIt: an expression that cannot be the truth of an operator is refused with a sentence, and
// no folder is made.
func TestNoOperatorOfIt(t *testing.T) {
	for expression, want := range map[string]string{
		"":                       "want one expression of torch",
		"torch.zeros(3)":         "it has no tensor",
		"sigmoid(x)":             "write torch.sigmoid or F.sigmoid",
		"x; import os":           "want one expression",
		"(lambda v: v)(x)":       "lambda is not for a formula",
		"torch.mm(A, B)":         `tensor "A": want a name of lower-case letters`,
		"torch.sum(max, dim=-1)": `tensor "max"`,
		"torch.sigmoid(x":        "it is no expression of Python: '(' was never closed",
		"y = torch.sigmoid(x)":   "it is no expression of Python",
		"abs(x)) + (x":           "abs() is not known",
		"x.abs()) + (x":          "unmatched ')'",
	} {
		folder := filepath.Join(t.TempDir(), "mine")
		if err := CreateFrom(folder, Formula{Expression: expression}); err == nil || !strings.Contains(
			err.Error(),
			want) {
			t.Errorf("%q: %v, want %q", expression, err, want)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%q left a folder", expression)
		}
	}
}
