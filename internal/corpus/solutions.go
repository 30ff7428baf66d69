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
	deck    string // hard, cuda, mini, mega, multi
	problem string // 01_fp8_gemm
	path    string // of its text
	card    string // the card in the name of its folder, "" for none
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
)

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
		s.path = texts[s.run]
		label := labelLine.FindSubmatch(text)
		if s.path == "" || label == nil {
			continue
		}
		relative, _ := filepath.Rel(clone, path)
		s.label, s.deck = string(label[1]), strings.Split(relative, string(filepath.Separator))[1]
		if found := problemLine.FindSubmatch(text); found != nil {
			s.problem = string(found[1])
		} else if found := problemEnd.FindStringSubmatch(s.run); found != nil {
			s.problem = found[1]
		}
		s.card = cardOf(clone, s.path)
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

// problemFolder returns the folder of the problem of a solution: that of its card where there is one, else of
// an H100, else the first.
func (s *solution) problemFolder(clone string) string {
	deck := filepath.Join(clone, "benchmarks", s.deck)
	found, _ := filepath.Glob(filepath.Join(deck, "problems*", s.problem))
	for _, card := range []string{s.card, "h100"} {
		if at := filepath.Join(deck, "problems-"+card, s.problem); card != "" && slices.Contains(found, at) {
			return at
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
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

// kernels finds the definition of a kernel of Triton's.
var kernels = regexp.MustCompile(`@(triton\.)?(jit|autotune)\b|@triton\.`)

func hashOf(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}
