package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
)

// ownMutants lists the mutants of an operator's file in testdata/mutants.
type ownMutants struct {
	Mutants []struct{ Name, Old, New string }
}

// TestOwnMutants: a mutant that is written as a user's own file ends FAIL, or with another bad status, or
// NOT_UNDERSTOOD: no other interpretation of it is taken. The file itself passes.
func TestOwnMutants(t *testing.T) {
	need.Tool(t, "g++")
	for name, mutants := range readPlanted[ownMutants](t, "mutants") {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "mutants", name+".cu"))
			if err != nil {
				t.Fatal(err)
			}
			folder := steadyFolder(t, "mutants-"+name)
			args := []string{"compare", name, "--impl", "mine", "--quick", "--device", "cpu", "--json"}
			add := func(stem, text string) {
				path := filepath.Join(folder, stem+".cu")
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--add", path)
			}
			add("right", string(text))
			asked := mutants.Mutants[:0:0]
			for _, m := range mutants.Mutants {
				t.Run(m.Name, func(t *testing.T) { // judged below, in one command
					need.Covers(t, name, slices.Concat(need.UserFiles, need.Judge, need.Emulator, []string{
						"cmd/triad/testdata/mutants/" + name + ".cu",
						"cmd/triad/testdata/mutants/" + name + ".toml",
					})...)
					asked = append(asked, m)
				})
			}
			for _, m := range asked {
				if strings.Count(string(text), m.Old) != 1 {
					t.Fatalf("%s: %q is not there once", m.Name, m.Old)
				}
				add(m.Name, strings.Replace(string(text), m.Old, m.New, 1))
			}
			out, _ := runTriad(t, args...)
			ends := worstOf(out)
			if w := ends["mine/right.cu"]; w != op.StatusPass {
				t.Errorf("right: %v, want PASS\n%s", w, out)
			}
			for _, m := range asked {
				w := ends["mine/"+m.Name+".cu"]
				if w.Weight() != op.Bad && w != op.StatusNotUnderstood || w == op.StatusUnknown ||
					w == op.StatusBuildFail {
					t.Errorf("%s ends %v", m.Name, w)
				}
				t.Logf("%-32s %v", m.Name, w)
			}
		})
	}
}

// worstOf returns the most urgent status of each implementation in lines of JSON: bad, then NOT_UNDERSTOOD,
// then good.
func worstOf(lines string) map[string]op.Status {
	rank := func(s op.Status) int {
		switch {
		case s == op.StatusUnknown:
			return 0
		case s.Weight() == op.Bad:
			return 4
		case s == op.StatusNotUnderstood:
			return 3
		case s.Weight() == op.Good:
			return 2
		}
		return 1
	}
	worst := map[string]op.Status{}
	scanner := bufio.NewScanner(strings.NewReader(lines))
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var r result
		if json.Unmarshal(scanner.Bytes(), &r) != nil || r.Impl == "" {
			continue
		}
		if rank(r.Status) > rank(worst[r.Impl]) {
			worst[r.Impl] = r.Status
		}
	}
	return worst
}
