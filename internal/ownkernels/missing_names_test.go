package ownkernels

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// A call is neutral if it uses a name whose line failed because something is not installed.
func TestCallOfWhatIsMissing(t *testing.T) {
	lines := strings.Split("def f(x):,    return x * SCALE,if __name__ == '__main__':,    SCALE = 2.0", ",")
	for said, want := range map[string]struct {
		status op.Status
		words  string
	}{
		"Missing: triad: /x.py:2: ModuleNotFoundError: No module named 'pycuda': " +
			"python -m pip install pycuda": {
			op.StatusUnavailable, "it imports pycuda, which is not in the Python that runs it",
		},
		`InterpreterError: Missing("triad: /x.py:2: ModuleNotFoundError: No module named 'pycuda'")`: {
			op.StatusUnavailable, "it imports pycuda",
		},
		"ModuleNotFoundError: No module named 'pycuda'": {op.StatusUnavailable, "it imports pycuda"},
		"Missing: triad: /x.py:5: TypeError: compile() got an unexpected keyword argument 'signature'": {
			op.StatusUnavailable, "/x.py:5: TypeError: compile() got an unexpected keyword argument",
		},
		"NameError: name 'SCALE' is not defined": {
			op.StatusUnavailable, "assign SCALE at the top of the file",
		},
		"NameError: name 'x' is not defined": {op.StatusCrash, "NameError"},
		"TypeError: triad: /x.py:5":          {op.StatusCrash, "TypeError"},
	} {
		o := backend.Outcome{Status: op.StatusCrash, Sentence: said}
		(&File{Path: "x.py", lines: lines, interpretation: parsing}).missesNames(&o)
		if o.Status != want.status || !strings.Contains(o.Sentence, want.words) {
			t.Errorf("%s: %v, %s, want %v, %s", said, o.Status, o.Sentence, want.status, want.words)
		}
	}
}
