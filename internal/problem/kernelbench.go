package problem

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"triad/internal/opfolder"
)

// kernelBench is the format of KernelBench: a file with class Model, get_inputs and get_init_inputs. A
// submission is a file with class ModelNew.
type kernelBench struct{}

func (kernelBench) Name() string { return "kernelbench" }

var (
	hasModel  = regexp.MustCompile(`(?m)^class Model\b`)
	hasInputs = regexp.MustCompile(`(?m)^def get_inputs\s*\(`)
)

func (kernelBench) Detect(path string, text []byte) bool {
	return filepath.Ext(path) == ".py" && hasModel.Match(text) && hasInputs.Match(text)
}

var level = regexp.MustCompile(`^level_?\d+$`)

// Operator returns kernelbench_level1_19_relu for level1/19_ReLU.py.
func (kernelBench) Operator(path string) string {
	words := []string{"kernelbench"}
	if absolute, err := filepath.Abs(path); err == nil {
		if folder := filepath.Base(filepath.Dir(absolute)); level.MatchString(folder) {
			words = append(words, folder)
		}
	}
	stem := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".py"))
	words = append(words, strings.FieldsFunc(stem, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})...)
	return strings.Join(words, "_")
}

func (kernelBench) Files(p Problem, source Source, d *Description) (map[string]string, error) {
	plan := map[string]any{}
	if err := json.Unmarshal(d.Plan, &plan); err != nil {
		return nil, fmt.Errorf("its description is incomplete: %w", err)
	}
	const file = "problem.py"
	plan["format"], plan["file"], plan["path"] = p.Format, file, source.Path
	plan["sha256"], plan["commit"], plan["weak"] = source.SHA256, source.Commit, d.Weak
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return nil, err
	}
	return map[string]string{
		p.Operator + ".toml": specOf(p, source, d),
		p.Operator + ".py":   fmt.Sprintf(referenceText, p.Operator, source.SHA256),
		file:                 string(source.Text),
		opfolder.ProblemFile: string(text) + "\n",
	}, nil
}

// referenceText is the operator file of an imported problem: the name, and the hash of the problem's file.
const referenceText = `"""%[1]s: an imported problem. problem.py is its file, of SHA-256
%[2]s; problem.json says how it is called.
"""

from pathlib import Path

from problem_kernelbench import Problem

PROBLEM = Problem(Path(__file__).parent)
reference = PROBLEM.reference
IMPLEMENTATIONS = PROBLEM.rows()
`

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// hashIn returns the hash of the file that a folder was imported from; "" if it was not imported.
func hashIn(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, opfolder.ProblemFile))
	if err != nil {
		return ""
	}
	var plan struct {
		SHA256 string `json:"sha256"`
	}
	if json.Unmarshal(text, &plan) != nil {
		return ""
	}
	return plan.SHA256
}
