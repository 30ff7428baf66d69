package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"triad/internal/need"
)

// checkNames compares the tests and cases of the tested packages with the list of all: every tier names each
// case, run or left out. It returns those that disappeared without a reason in the document. A test that
// needs a GPU may be missing.
func (r *report) checkNames(o options) (lost []string, err error) {
	if o.names == "" {
		return nil, nil
	}
	onGPU := map[test]bool{}
	for _, s := range r.skipped {
		onGPU[s.test] = need.IsGPU(s.reason)
	}
	var here []string
	for t := range r.ended {
		unittests := strings.Contains(t.name, ".py/") // named here only if they are skipped
		if !onGPU[t] && !unittests {
			here = append(here, t.String())
		}
	}
	slices.Sort(here)
	if o.write {
		return nil, writeNames(o.names, here)
	}
	all, err := readNames(o.names)
	if err != nil {
		return nil, err
	}
	reasons, err := os.ReadFile(o.reasons)
	if err != nil {
		return nil, fmt.Errorf("read the reasons: %w", err)
	}
	for _, name := range all {
		pkg, _, _ := strings.Cut(name, " ")
		how, tested := r.packages[pkg]
		if _, there := slices.BinarySearch(here, name); there || !tested || how == "fail" ||
			r.leftOut(name) || hasReason(string(reasons), name) {
			continue
		}
		lost = append(lost, name)
		r.print("gone: " + name + "\n")
	}
	added := 0
	for _, name := range here {
		if _, there := slices.BinarySearch(all, name); !there {
			added++
		}
	}
	if added > 0 {
		r.print(fmt.Sprintf("%d tests and cases are new: make test-names adds them to %s\n", added, o.names))
	}
	return lost, nil
}

// leftOut reports whether a test or case that this one is part of was skipped: its cases then have no names.
func (r *report) leftOut(name string) bool {
	pkg, rest, _ := strings.Cut(name, " ")
	for cut := strings.LastIndexByte(rest, '/'); cut > 0; cut = strings.LastIndexByte(rest[:cut], '/') {
		if r.ended[test{pkg, rest[:cut]}] == "skip" {
			return true
		}
	}
	return false
}

// hasReason reports whether the document names a test, or one that it is part of, in backticks.
func hasReason(document, name string) bool {
	for {
		if strings.Contains(document, "`"+name+"`") {
			return true
		}
		cut := strings.LastIndexByte(name, '/')
		if cut <= strings.IndexByte(name, ' ') {
			return false
		}
		name = name[:cut]
	}
}

// readNames reads a tree of packages, tests and cases, each level indented by one more tab. Every line is a
// test or a case, except those of packages and those that end in a slash: the name of a subtest may hold
// slashes, and the part before a slash is no test.
func readNames(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the names: %w", err)
	}
	var names, parts []string
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		name := strings.TrimLeft(strings.TrimSuffix(line, "\n"), "\t")
		depth := strings.Count(line[:len(line)-len(strings.TrimLeft(line, "\t"))], "\t")
		if depth > len(parts) || name == "" {
			return nil, fmt.Errorf("%s:%d: %d tabs before %q, want at most %d", path, n, depth, name,
				len(parts))
		}
		part, isFolder := strings.CutSuffix(name, "/")
		parts = append(parts[:depth], part)
		if depth > 0 && !isFolder {
			names = append(names, parts[0]+" "+strings.Join(parts[1:], "/"))
		}
	}
	slices.Sort(names)
	return names, nil
}

func writeNames(path string, names []string) error {
	var tree strings.Builder
	var parts []string
	split := func(name string) []string {
		pkg, rest, _ := strings.Cut(name, " ")
		return append([]string{pkg}, strings.Split(rest, "/")...)
	}
	all := make([][]string, len(names))
	for i, name := range names {
		all[i] = split(name)
	}
	slices.SortFunc(all, slices.Compare)
	for _, name := range all {
		same := 0
		for same < len(parts) && same < len(name)-1 && parts[same] == name[same] {
			same++
		}
		for depth := same; depth < len(name); depth++ {
			line := strings.Repeat("\t", depth) + name[depth]
			if depth > 0 && depth < len(name)-1 { // a test would have been written before its cases
				line += "/"
			}
			tree.WriteString(line + "\n")
		}
		parts = name
	}
	return os.WriteFile(path, []byte(tree.String()), 0o644)
}
