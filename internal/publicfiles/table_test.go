package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/stats"
)

// tally counts the outcomes of the files of one batch with one extension.
type tally struct {
	batch, extension                          string
	files, callable, judged, passed           int
	open, declined, refused, late             int
	withOne                                   int // judged without a flag, or with the flags that were tried
	read, accusedFalsely, bugsMissed, another int
	seconds                                   []float64 // to a verdict
}

// add counts one file.
func (t *tally) add(f *public) {
	t.files++
	if f.given == noFunction {
		return
	}
	if f.expected == other {
		t.another++
		return
	}
	t.callable++
	switch {
	case judged(f.given):
		t.judged++
		if f.seconds > 0 {
			t.seconds = append(t.seconds, f.seconds)
		}
	case f.given == refused:
		t.refused++
	case f.given == noVerdict:
		t.late++
	case slices.Contains(statusesOf(f.given), op.StatusNotUnderstood):
		t.open++
	default:
		t.declined++
	}
	if judged(f.given) || judged(f.withFlags) {
		t.withOne++
	}
	if passed(f.given) {
		t.passed++
	}
	t.addReading(f)
}

// addReading counts the findings of reading the file.
func (t *tally) addReading(f *public) {
	if f.expected == "" {
		return
	}
	t.read++
	if f.expected == right && (accused(f.given) || accused(f.withFlags)) {
		t.accusedFalsely++
	}
	if f.expected == wrong && (missed(f.given) || missed(f.withFlags)) {
		t.bugsMissed++
	}
}

// tallies counts the files by batch and extension, in the order of the manifest. A file that was drawn and
// not measured yet is in none: the table would show it as one that triad declines.
func tallies(files []*public) (all []*tally) {
	for _, f := range files {
		if f.given == "" {
			continue
		}
		i := slices.IndexFunc(all, func(t *tally) bool {
			return t.batch == f.batch && t.extension == f.extension()
		})
		if i < 0 {
			i, all = len(all), append(all, &tally{batch: f.batch, extension: f.extension()})
		}
		all[i].add(f)
	}
	return all
}

// page returns the table of results/published/public-files.md.
func page(files []*public) string {
	var b strings.Builder
	b.WriteString("| batch | files | callable | judged | with a flag | PASS | NOT_UNDERSTOOD | " +
		"not here, declined | refused | no verdict | median s | read | accused falsely | bugs missed |\n" +
		"|---|" + strings.Repeat("--:|", 13) + "\n")
	for _, t := range tallies(files) {
		median := ""
		if len(t.seconds) > 0 {
			median = fmt.Sprintf("%.1f", stats.Median(t.seconds))
		}
		with := ""
		if t.withOne > t.judged {
			with = part(t.withOne, t.callable)
		}
		fmt.Fprintf(&b, "| %s `%s` | %d | %d | %s | %s | %d | %d | %d | %d | %d | %s | %d | %d | %d |\n",
			t.batch, t.extension, t.files, t.callable, part(t.judged, t.callable), with, t.passed, t.open,
			t.declined, t.refused, t.late, median, t.read, t.accusedFalsely, t.bugsMissed)
	}
	return b.String()
}

// part returns a number and its share of a whole, "3 (75 %)".
func part(n, whole int) string {
	if whole == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.0f %%)", n, 100*float64(n)/float64(whole))
}

// extension returns that of the file's name, ".cu".
func (f *public) extension() string { return path.Ext(f.path) }

// judged reports whether at least one function got a verdict.
func judged(given string) bool {
	return slices.ContainsFunc(statusesOf(given), func(s op.Status) bool {
		return s.Weight() != op.Neutral || s == op.StatusDifferentContract
	})
}

// accused reports whether a function of the file was called wrong.
func accused(given string) bool {
	return slices.ContainsFunc(statusesOf(given), func(s op.Status) bool { return s.Weight() == op.Bad })
}

// passed reports whether at least one function of the file passed and none was called wrong.
func passed(given string) bool {
	return !accused(given) && slices.ContainsFunc(statusesOf(given), func(s op.Status) bool {
		return s.Weight() == op.Good
	})
}

// missed reports whether a wrong file was accepted: at least one function passed, and none was left open,
// since that could be the wrong one.
func missed(given string) bool {
	return passed(given) && !slices.Contains(statusesOf(given), op.StatusNotUnderstood)
}
