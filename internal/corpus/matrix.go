package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where the matrix stands in the page.
const (
	begins = "<!-- begin: corpus -->\n"
	ends   = "<!-- end: corpus -->"
)

// writeMatrix puts the matrix of the rows into the page.
func writeMatrix(page, folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("%s holds no rows", folder)
	}
	var all []row
	for _, path := range paths {
		rows, err := readRows(path)
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, has := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !has || !closed {
		return errors.New(page + " has no place for the matrix")
	}
	return os.WriteFile(page, []byte(before+begins+matrix(all)+ends+after), 0o644)
}

// matrix returns a table for each device and half that has rows.
func matrix(all []row) string {
	var b strings.Builder
	for _, heldOut := range []bool{false, true} {
		for _, device := range []string{"gpu", "cpu"} {
			rows := slices.DeleteFunc(slices.Clone(all), func(r row) bool {
				return r.HeldOut != heldOut || r.Device != device
			})
			if len(rows) == 0 {
				continue
			}
			half := "The open half"
			if heldOut {
				half = "The held-out half"
			}
			fmt.Fprintf(&b, "| %s, on a %s: label | accused | passed without a kernel | passed | "+
				"not judged | not run |\n|---|--:|--:|--:|--:|--:|\n", half, strings.ToUpper(device))
			for _, label := range labels(rows) {
				fmt.Fprintf(&b, "| %s |", strings.ReplaceAll(label, "_", " "))
				for _, verdict := range []string{accused, withoutKernel, passed, notJudged, notRun} {
					fmt.Fprintf(&b, " %d |", count(rows, label, verdict))
				}
				b.WriteString("\n")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// labels returns the labels of rows: clean, hacks and bugs first.
func labels(rows []row) []string {
	first := []string{"clean", "reward_hack", "bug"}
	var others []string
	for _, r := range rows {
		if !slices.Contains(first, r.Label) && !slices.Contains(others, r.Label) {
			others = append(others, r.Label)
		}
	}
	slices.Sort(others)
	return append(first, others...)
}

// withoutKernel is the column of solutions that pass and have no kernel: a library computes their answers.
const withoutKernel = "without a kernel"

func (r row) column() string {
	if r.Verdict == passed && !r.Kernels {
		return withoutKernel
	}
	return r.Verdict
}

func count(rows []row, label, verdict string) int {
	n := 0
	for _, r := range rows {
		if r.Label == label && r.column() == verdict {
			n++
		}
	}
	return n
}
