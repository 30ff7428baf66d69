package kernelfile

import (
	"strings"
	"testing"

	"triad/internal/op"
)

// formCases are the functions of testdata/forms.toml, with what their shims must hold and must not.
type formCases struct {
	Forms []struct {
		Name, Operator, Pass, Text string
		Said                       string // the contract that the user says
		Has, Lacks                 []string
	}
}

func TestForms(t *testing.T) {
	for _, c := range readTable[formCases](t, "forms.toml").Forms {
		var pass op.Pass
		if err := pass.UnmarshalText([]byte(c.Pass)); err != nil {
			t.Fatal(err)
		}
		all, err := Bind(ReadCUDA(c.Text), Request{}, spec(t, c.Operator), []op.Pass{pass},
			Options{Contract: c.Said})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		shim := CUDAShim("mine.cu", "mine/mine", all)
		shim = shim[strings.Index(shim, "#include \"mine.cu\""):]
		for _, words := range c.Has {
			if !strings.Contains(shim, words) {
				t.Errorf("%s: no %q in\n%s", c.Name, words, shim)
			}
		}
		for _, words := range c.Lacks {
			if strings.Contains(shim, words) {
				t.Errorf("%s: %q in\n%s", c.Name, words, shim)
			}
		}
	}
}

// Several functions that fit are all named, so that each can be judged.
func TestSeveralFunctions(t *testing.T) {
	const text = `extern "C" void one(const float* x, float* y, int rows, int cols) {}
extern "C" void two(const float* x, float* y, int rows, int cols) {}
extern "C" void choose(int which, const float* x, float* y, int rows, int cols) {}
extern "C" void third_backward(const float* y, const float* dy, float* dx, int rows, int cols) {}`
	_, err := Bind(ReadCUDA(text), Request{}, rowsAndCols(t), []op.Pass{op.Forward, op.Backward}, Options{})
	several, ok := err.(*SeveralError)
	if !ok || strings.Join(several.Names, " ") != "one two third_backward" {
		t.Errorf("%v, want one, two and third_backward", err)
	}
}
