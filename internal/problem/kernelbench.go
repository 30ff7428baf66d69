package problem

import (
	"path/filepath"
	"regexp"
	"strings"
)

// kernelBench is the format of KernelBench: a file with class Model, get_inputs and get_init_inputs. A
// submission is a file with class ModelNew.
type kernelBench struct{ oneFile }

func (kernelBench) Name() string { return "kernelbench" }

var (
	hasModel  = regexp.MustCompile(`(?m)^class Model\b`)
	hasInputs = regexp.MustCompile(`(?m)^def get_inputs\s*\(`)
)

func (kernelBench) Parts(_ string, text []byte) []string {
	return whole(hasModel.Match(text) && hasInputs.Match(text) && !hasForwardFunction.Match(text))
}

var level = regexp.MustCompile(`^level_?\d+$`)

// Operator returns kernelbench_level1_19_relu for level1/19_ReLU.py.
func (kernelBench) Operator(path, _ string) string {
	words := []string{"kernelbench"}
	if absolute, err := filepath.Abs(path); err == nil {
		if folder := filepath.Base(filepath.Dir(absolute)); level.MatchString(folder) {
			words = append(words, folder)
		}
	}
	return operatorName(append(words, strings.TrimSuffix(filepath.Base(path), ".py"))...)
}

func (kernelBench) Entry() string { return "ModelNew" }
