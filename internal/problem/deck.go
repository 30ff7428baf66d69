package problem

import (
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/userfile"
)

// deck is the format of kernelbench.com's decks: a folder with reference.py in the form of a KernelBench
// problem, shapes.py and problem.yaml. A submission is a file with class Model.
type deck struct{ plain }

func (deck) Name() string { return "deck" }

// deckFiles are the files next to reference.py that make a problem one of a deck.
var deckFiles = []string{"shapes.py", "problem.yaml"}

// Endings returns that of Python.
func (deck) Endings() []string { return []string{".py"} }

func (deck) Parts(path string, text []byte) []string {
	missing := slices.ContainsFunc(deckFiles, func(name string) bool {
		return !userfile.IsRegular(filepath.Join(filepath.Dir(path), name))
	})
	return whole(filepath.Base(path) == "reference.py" && hasModel.Match(text) && !missing)
}

// Operator returns deck_hard_h100_01_fp8_gemm for hard/problems-h100/01_fp8_gemm/reference.py.
func (deck) Operator(path, _ string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "deck"
	}
	problem := filepath.Dir(absolute)
	words := []string{"deck", filepath.Base(problem)}
	if card, found := strings.CutPrefix(filepath.Base(filepath.Dir(problem)), "problems"); found {
		words = []string{"deck", filepath.Base(filepath.Dir(filepath.Dir(problem))), card, words[1]}
	}
	return operatorName(words...)
}

// Files returns the three files.
func (deck) Files(at string, _ []byte) (map[string]string, string) {
	const first = "problem.py"
	files := map[string]string{first: at}
	for _, name := range deckFiles {
		files[name] = filepath.Join(filepath.Dir(at), name)
	}
	return files, first
}

func (deck) Entry() string { return "Model" }
