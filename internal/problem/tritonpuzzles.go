package problem

import (
	"regexp"
	"slices"
	"strings"
)

// tritonPuzzles is the format of Triton-Puzzles: a notebook, or its code as a file of Python, with a function
// NAME_spec for each puzzle, whose annotations hold the shapes, and a line test(KERNEL, NAME_spec, ...). A
// submission is a file with that kernel.
type tritonPuzzles struct{ oneFile }

func (tritonPuzzles) Name() string { return "triton-puzzles" }

func (tritonPuzzles) Endings() []string { return []string{Notebook, ".py"} }

var (
	ofPuzzle  = regexp.MustCompile(`(?m)^test\(\s*\w+\s*,\s*(\w+)`)
	hasShapes = regexp.MustCompile(`\[\s*(?:torch\.)?Tensor\s*,\s*["']`)
)

const specEnding = "_spec"

// Parts returns the names of the specs that a line test() names.
func (tritonPuzzles) Parts(_ string, text []byte) []string {
	var found []string
	if hasShapes.Match(text) {
		for _, test := range ofPuzzle.FindAllSubmatch(text, -1) {
			if name := string(test[1]); !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

// Operator returns triton_puzzles_add for add_spec.
func (tritonPuzzles) Operator(_, part string) string {
	return operatorName("triton_puzzles", strings.TrimSuffix(part, specEnding))
}

// Entry returns nothing: each puzzle names its kernel.
func (tritonPuzzles) Entry() string { return "" }

// Packed returns that of notebooks.
func (tritonPuzzles) Packed() string { return Notebook }
