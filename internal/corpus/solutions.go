package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// solution is one published solution with what its audit says.
type solution struct {
	run     string // the id of its run
	label   string // the verdict of the audit
	unseen  string // what no source can show: "a timeout", "an edited grader"
	deck    string // hard, cuda, mini, mega, multi
	problem string // 01_fp8_gemm
	text    string
	card    string // that it was written for: h100
}

// heldOut reports whether a solution belongs to the half that is judged once, after the last change.
func (s *solution) heldOut() bool {
	digest := sha256.Sum256([]byte(s.run))
	return digest[len(digest)-1]&1 == 1
}

// The fields of an audit that are read: some audits are no YAML that a parser takes.
var (
	labelLine   = regexp.MustCompile(`(?m)^verdict:\s*["']?([a-z_]+)`)
	problemLine = regexp.MustCompile(`(?m)^problem:\s*["']?(\w+)`)
	solutionEnd = regexp.MustCompile(`^(.+?)[._]solution\.py(\.txt)?$`)
	problemEnd  = regexp.MustCompile(`_(\d\d_[a-z]\w*)$`)
	cardLine    = regexp.MustCompile(`(?m)^gpu:\s*["']?(\w+)`)
	timedOut    = regexp.MustCompile(`failure_reason\s*[=:]\s*\w*timeout`)
	graderLine  = regexp.MustCompile(`template_mutated\s*[=:]\s*true`)
)

// usualCard is the card of the decks without another one.
const usualCard = "rtxpro6000"

// solutions returns the audited solutions whose text is published, in the order of their runs.
func solutions(clone string) ([]*solution, error) {
	audits, err := filepath.Glob(filepath.Join(clone, "benchmarks", "*", "results", "annotations", "*.yaml"))
	if err != nil || len(audits) == 0 {
		return nil, fmt.Errorf("%s holds no audits, benchmarks/*/results/annotations/*.yaml: want a clone "+
			"of the repository of kernelbench.com", clone)
	}
	texts, err := published(clone)
	if err != nil {
		return nil, err
	}
	var all []*solution
	for _, path := range audits {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s := &solution{run: strings.TrimSuffix(filepath.Base(path), ".yaml")}
		at, label := texts[s.run], labelLine.FindSubmatch(text)
		if at == "" || label == nil {
			continue
		}
		own, err := os.ReadFile(at)
		if err != nil {
			return nil, err
		}
		s.text = string(own)
		switch {
		case graderLine.Match(text):
			s.unseen = "an edited grader"
		case timedOut.Match(text):
			s.unseen = "a timeout"
		}
		relative, _ := filepath.Rel(clone, path)
		s.label, s.deck = string(label[1]), strings.Split(relative, string(filepath.Separator))[1]
		if found := problemLine.FindSubmatch(text); found != nil {
			s.problem = string(found[1])
		} else if found := problemEnd.FindStringSubmatch(s.run); found != nil {
			s.problem = found[1]
		}
		if s.card = cardOf(clone, at); s.card == "" {
			s.card = usualCard
			if found := cardLine.FindSubmatch(text); found != nil {
				s.card = strings.ToLower(strings.ReplaceAll(string(found[1]), "_", ""))
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *solution) int { return strings.Compare(a.run, b.run) })
	return all, nil
}

// published returns the paths of the texts of solutions by the ids of their runs.
func published(clone string) (map[string]string, error) {
	found := map[string]string{}
	for _, folder := range []string{"public/runs", "public/data/mega/code"} {
		root := filepath.Join(clone, filepath.FromSlash(folder))
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name := solutionEnd.FindStringSubmatch(filepath.Base(path))
			if name != nil && found[name[1]] == "" {
				found[name[1]] = path
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the solutions: %w", err)
		}
	}
	return found, nil
}

// cardOf returns the card in whose folder of public/runs a text lies.
func cardOf(clone, path string) string {
	relative, err := filepath.Rel(filepath.Join(clone, "public", "runs"), path)
	if card, _, inside := strings.Cut(filepath.ToSlash(relative), "/"); err == nil && inside && card != ".." {
		return card
	}
	return ""
}

// problemFolder returns the folder of the problem of a solution: that of its card where there is one, else
// the first. Of several with the same reference and the same shapes it is the first, so that they are one
// problem.
func (s *solution) problemFolder(clone string) string {
	deck := filepath.Join(clone, "benchmarks", s.deck)
	found, _ := filepath.Glob(filepath.Join(deck, "problems*", s.problem))
	if len(found) == 0 {
		return ""
	}
	own := found[0]
	if at := filepath.Join(deck, "problems-"+s.card, s.problem); slices.Contains(found, at) {
		own = at
	}
	same := func(folder string) bool { return contents(folder) == contents(own) }
	return found[slices.IndexFunc(found, same)]
}

// contents returns what decides how a problem is judged.
func contents(problem string) string {
	var all []string
	for _, name := range []string{"reference.py", "shapes.py"} {
		text, err := os.ReadFile(filepath.Join(problem, name))
		if err != nil {
			text = []byte(problem) // it is like no other
		}
		all = append(all, hashOf(text))
	}
	return strings.Join(all, " ")
}

// sidecar is the head of a further file in the text of a solution.
var sidecar = regexp.MustCompile(`(?m)^# =+\n# =+ sidecar: (\S+) \([^\n]*\n# =+\n`)

// files returns the files that a published text holds, by name: the solution, and those that it loads, which
// follow it under heads of their own.
func files(text string) map[string]string {
	heads := sidecar.FindAllStringSubmatchIndex(text, -1)
	all, name, begin := map[string]string{}, solutionFile, 0
	for _, h := range heads {
		all[name] = text[begin:h[0]]
		name, begin = filepath.Base(text[h[2]:h[3]]), h[1]
	}
	all[name] = text[begin:]
	return all
}

// solutionFile is the name under which a solution is judged.
const solutionFile = "solution.py"

// compiles finds text that has torch or CUTLASS compile for a GPU.
var compiles = regexp.MustCompile(`\b(load_inline|cpp_extension|cutlass\.cute|nvrtc|NVRTC|cuda\.bindings)\b`)

func hashOf(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}
