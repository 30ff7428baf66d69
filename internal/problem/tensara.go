package problem

import (
	"path/filepath"
	"regexp"
)

// tensara is the format of Tensara: a file def.py with a class of Problem, whose parameters are those of
// solution(). A submission is a file with that function.
type tensara struct{ oneFile }

func (tensara) Name() string { return "tensara" }

var (
	ofProblem    = regexp.MustCompile(`(?m)^class \w+\(Problem\)`)
	hasReference = regexp.MustCompile(`(?m)^\s+def reference_solution\s*\(`)
)

func (tensara) Parts(_ string, text []byte) []string {
	return whole(ofProblem.Match(text) && hasReference.Match(text))
}

// Operator returns tensara_leaky_relu for leaky-relu/def.py.
func (tensara) Operator(path, _ string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "tensara"
	}
	return operatorName("tensara", filepath.Base(filepath.Dir(absolute)))
}

func (tensara) Entry() string { return "solution" }
