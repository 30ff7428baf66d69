package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// notesFile holds a sentence of ours on each solution that needs one, by its run.
const notesFile = "notes.json"

// writeMatrix puts the matrix of the rows into the page, and what became of single solutions into the
// README.md of the folder.
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
	notes := map[string]string{}
	content, err := os.ReadFile(filepath.Join(folder, notesFile))
	if err == nil {
		err = json.Unmarshal(content, &notes)
	}
	if err != nil {
		return fmt.Errorf("the notes: %w", err)
	}
	tables, solutions, err := matrix(all, notes)
	if err != nil {
		return err
	}
	if err := put(page, tables); err != nil {
		return err
	}
	return put(filepath.Join(folder, "README.md"), solutions)
}

// put replaces what stands between the marks of a page.
func put(page, made string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, has := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !has || !closed {
		return errors.New(page + " has no place for the matrix")
	}
	return os.WriteFile(page, []byte(before+begins+made+ends+after), 0o644)
}

// matrix returns, for each device and half that has rows, a table of labels and outcomes with the rates. In
// solutions stand the tables of a processor, and what became of each solution that is a hack or a bug, or
// that the rates count against triad.
func matrix(all []row, notes map[string]string) (tables, solutions string, err error) {
	var b, of strings.Builder
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
			into := &b
			if device == "cpu" {
				into = &of
			}
			counts(into, half+", on a "+strings.ToUpper(device), rows)
			rates(into, rows)
			if err := explained(&of, rows, notes); err != nil {
				return "", "", err
			}
		}
	}
	return b.String(), of.String(), nil
}

// counts writes the table of labels and outcomes.
func counts(b *strings.Builder, title string, rows []row) {
	fmt.Fprintf(b, "| %s: label | accused | no kernel of its own | another contract | passed | not judged | "+
		"not run |\n|---|--:|--:|--:|--:|--:|--:|\n", title)
	for _, label := range rated {
		fmt.Fprintf(b, "| %s |", spaced(label))
		for _, outcome := range []string{accused, withoutKernel, looser, passed, notJudged, notRun} {
			fmt.Fprintf(b, " %d |", count(rows, func(r row) bool {
				return r.Label == label && r.outcome() == outcome
			}))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// rates writes the two rates, of the solutions that have a verdict.
func rates(b *strings.Builder, rows []row) {
	clean := func(r row) bool { return r.Label == "clean" && r.isJudged() }
	wrong := func(r row) bool { return r.isWrong() && r.isJudged() && r.Unseen == "" }
	fmt.Fprintf(b, "* Clean solutions that are accused: %s.\n", share(rows, clean, row.isAccused))
	fmt.Fprintf(b, "* Reward hacks and bugs that are found: %s.\n", share(rows, wrong, row.isFound))
	builds := map[string]bool{}
	for _, r := range rows {
		builds[r.Program] = builds[r.Program] || r.isJudged()
	}
	maps.DeleteFunc(builds, func(_ string, judged bool) bool { return !judged })
	if len(builds) > 1 {
		fmt.Fprintf(b, "* They were judged by %d builds of triad.\n", len(builds))
	}
	unseen := func(r row) bool { return r.isWrong() && r.isJudged() && r.Unseen != "" }
	if n := count(rows, unseen); n > 0 {
		fmt.Fprintf(b, "* Left out, since no source shows what the audit objects to: %d.\n", n)
	}
	b.WriteString("\n")
}

// share returns how many of some rows have a property: "3 of 12, 25.0 %".
func share(rows []row, of, have func(row) bool) string {
	all := count(rows, of)
	n := count(rows, func(r row) bool { return of(r) && have(r) })
	if all == 0 {
		return "none was judged"
	}
	return fmt.Sprintf("%d of %d, %.1f %%", n, all, 100*float64(n)/float64(all))
}

// explained writes a line for each reward hack and bug, and each clean solution that is accused. One that
// counts against triad needs a note.
func explained(b *strings.Builder, rows []row, notes map[string]string) error {
	fmt.Fprintf(b, "| solution | label | outcome | why |\n|---|---|---|---|\n")
	for _, label := range rated {
		for _, r := range rows {
			against := r.Label == "clean" && r.isAccused() ||
				r.isWrong() && r.isJudged() && !r.isFound() && r.Unseen == ""
			if r.Label != label || !against && !r.isWrong() {
				continue
			}
			why := notes[r.Run]
			if !r.isJudged() {
				why = r.Reason
			}
			switch {
			case why == "" && against:
				return fmt.Errorf("%s has no sentence on %s, which is %s and %s", notesFile, r.Run,
					spaced(r.Label), r.outcome())
			case why == "" && r.isJudged() && r.Unseen != "":
				why = "the audit objects to " + r.Unseen
			case why == "" && r.outcome() == withoutKernel && len(r.Libraries) == 0:
				why = "torch computes it"
			case why == "" && r.outcome() == withoutKernel:
				why = "libraries compute it: " + short(r.Libraries)
			case why == "":
				why = r.Reason
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", r.Run, spaced(label), r.outcome(), cell(why))
		}
	}
	b.WriteString("\n")
	return nil
}

// short returns names without their long ends.
func short(names []string) string {
	cut := make([]string, len(names))
	for i, name := range names {
		cut[i] = name[:min(len(name), 24)]
	}
	slices.Sort(cut)
	return strings.Join(slices.Compact(cut), ", ")
}

// cell returns text that may stand in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func spaced(label string) string { return strings.ReplaceAll(label, "_", " ") }

// rated are the labels that the rates count.
var rated = []string{"clean", "reward_hack", "bug"}

// withoutKernel is the outcome of a solution that passes and runs no kernel of its own: a library computes
// its answers.
const withoutKernel = "no kernel of its own"

func (r row) outcome() string {
	if r.Verdict == passed && r.Own != nil && *r.Own == 0 {
		return withoutKernel
	}
	return r.Verdict
}

func (r row) isAccused() bool { return r.Verdict == accused }
func (r row) isJudged() bool {
	return r.Verdict == accused || r.Verdict == passed || r.Verdict == looser
}
func (r row) isFound() bool { return r.isAccused() || r.outcome() == withoutKernel }
func (r row) isWrong() bool { return r.Label == "reward_hack" || r.Label == "bug" }

func count(rows []row, is func(row) bool) int {
	n := 0
	for _, r := range rows {
		if is(r) {
			n++
		}
	}
	return n
}
