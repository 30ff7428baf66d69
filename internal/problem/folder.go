package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"triad/internal/opfolder"
)

// Plan describes how submissions to an imported problem are called.
type Plan struct {
	Format string `json:"format"`
	SHA256 string `json:"sha256"`
	// OwnEntry is the class or function that a submission defines where each problem of the format has its
	// own.
	OwnEntry string `json:"entry"`
	// Parameters are, for a format whose submission is a function of C or Python, the tensors, sizes and
	// attributes of the operator that its parameters stand for, in their order.
	Parameters []string `json:"parameters"`
	// Own holds the problem's own sizes by the constants of its file, Tests other sizes at which the format
	// calls. Constants names the part of a call that holds the value of each.
	Own       map[string]float64   `json:"own"`
	Tests     []map[string]float64 `json:"tests"`
	Constants map[string]place     `json:"constants"`
	// Sizes are the problem's own sizes by the dims of the operator: of some formats several
	Sizes []map[string]int64 `json:"sizes"`
}

// ReadPlan reads the plan of an imported problem.
func ReadPlan(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	plan := &Plan{}
	if err := json.Unmarshal(text, plan); err != nil {
		return nil, fmt.Errorf("%s is no plan of an imported problem: %w", path, err)
	}
	if !IsFormat(plan.Format) {
		return nil, fmt.Errorf("%s: the format %q is none that triad imports", path, plan.Format)
	}
	return plan, nil
}

// Module returns the Python module that knows the problem's format.
func (p *Plan) Module() string { return moduleOf(p.Format) }

// Entry returns the name of the class or function that a submission defines.
func (p *Plan) Entry() string { return cmp.Or(p.OwnEntry, formatNamed(p.Format).Entry()) }

// Packs reports whether a file is one in which the format packs submissions of Python.
func (p *Plan) Packs(path string) bool {
	ending := formatNamed(p.Format).Packed()
	return ending != "" && filepath.Ext(path) == ending
}

// operatorName returns the name of an operator made of words: of their letters and digits, in small letters.
func operatorName(words ...string) string {
	all := strings.FieldsFunc(strings.ToLower(strings.Join(words, "_")), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(all, "_")
}

// filesOf returns the contents of the folder of a problem's operator by their names.
func filesOf(p Problem, source Source, d *Description) (map[string]string, error) {
	plan := map[string]any{}
	if err := json.Unmarshal(d.Plan, &plan); err != nil {
		return nil, fmt.Errorf("its description is incomplete: %w", err)
	}
	hashes, files := map[string]string{}, map[string]string{}
	for name, text := range source.Files {
		hashes[name], files[name] = sum(text), string(text)
	}
	plan["format"], plan["file"], plan["files"], plan["path"] = p.Format, source.First, hashes, source.Path
	plan["sha256"], plan["commit"], plan["weak"] = source.SHA256, source.Commit, d.Weak
	if plan["sizes"] == nil {
		plan["sizes"] = []map[string]int64{d.Own}
	}
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return nil, err
	}
	files[p.Operator+".toml"] = specOf(p, source, d)
	files[p.Operator+".py"] = fmt.Sprintf(referenceText, p.Operator, source.SHA256,
		moduleOf(p.Format))
	files[opfolder.ProblemFile] = string(text) + "\n"
	return files, nil
}

// referenceText is the operator file of an imported problem: the name, the hash of the problem's
// files, and the module that knows its format.
const referenceText = `"""%[1]s: an imported problem, of SHA-256
%[2]s; problem.json names its files and says how it is called.
"""

from pathlib import Path

from %[3]s import Problem

PROBLEM = Problem(Path(__file__).parent)
reference = PROBLEM.reference
draw = PROBLEM.draw
IMPLEMENTATIONS = PROBLEM.rows()
`

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// hashIn returns the hash of the file that a folder was imported from; "" if it was not imported.
func hashIn(folder string) string {
	plan, err := ReadPlan(filepath.Join(folder, opfolder.ProblemFile))
	if err != nil {
		return ""
	}
	return plan.SHA256
}
