package problem

import (
	"path/filepath"
	"regexp"
	"slices"
)

// leetGPU is the format of LeetGPU: a file challenge.py with class Challenge, which names the parameters of
// solve(). A submission is a file with that function.
type leetGPU struct{ oneFile }

func (leetGPU) Name() string { return "leetgpu" }

var (
	hasChallenge = regexp.MustCompile(`(?m)^class Challenge\b`)
	hasSignature = regexp.MustCompile(`(?m)^\s+def get_solve_signature\s*\(`)
)

func (leetGPU) Parts(_ string, text []byte) []string {
	return whole(hasChallenge.Match(text) && hasSignature.Match(text))
}

// Operator returns leetgpu_medium_5_softmax for medium/5_softmax/challenge.py.
func (leetGPU) Operator(path, _ string) string {
	words := []string{"leetgpu"}
	if absolute, err := filepath.Abs(path); err == nil {
		folder := filepath.Dir(absolute)
		level := filepath.Base(filepath.Dir(folder))
		if slices.Contains([]string{"easy", "medium", "hard"}, level) {
			words = append(words, level)
		}
		words = append(words, filepath.Base(folder))
	}
	return operatorName(words...)
}

func (leetGPU) Entry() string { return "solve" }
