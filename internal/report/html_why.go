package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/record"
)

// mostWhy limits the diagnoses that are shown in full.
const mostWhy = 12

// whySection shows why runs are wrong, for those with a diagnosis: the causes, the smallest wrong case, the
// source with its marked lines, and the command that repeats the case.
func (p Page) whySection() htmlSection {
	s := htmlSection{ID: "why", Title: "Why it is wrong"}
	all := diagnosed(p.Records)
	for _, r := range all[:min(len(all), mostWhy)] {
		s.Blocks = append(s.Blocks, whyBlocks(r)...)
	}
	if len(all) > mostWhy {
		s.Words = fmt.Sprintf("%d of %d diagnoses.", mostWhy, len(all))
	}
	return s
}

// diagnosed returns the wrong runs with a diagnosis.
func diagnosed(records []record.Record) []record.Record {
	return slices.DeleteFunc(badRecords(records), func(r record.Record) bool { return r.Diagnosis == nil })
}

// whyBlocks shows the diagnosis of a run.
func whyBlocks(r record.Record) []htmlBlock {
	d := *r.Diagnosis
	causes := causesOf(d)
	blocks := []htmlBlock{{Lead: clean(nameOf(r)) + ": " + causes[0]}}
	for _, c := range causes[1:] {
		blocks = append(blocks, htmlBlock{Words: "And " + c + "."})
	}
	blocks = append(blocks, htmlBlock{
		Words: fmt.Sprintf("The smallest case found that is wrong: %s. %v: %s", smallestCaseOf(d), d.Status,
			clean(d.Message)),
	})
	if d.Source != nil {
		blocks = append(blocks, htmlBlock{Source: sourceOf(*d.Source, d.Causes)})
	}
	blocks = append(blocks, htmlBlock{Words: "Run that case again:"}, htmlBlock{Code: clean(d.Repeat)})
	var text strings.Builder
	d.Repeat = ""
	_ = Diagnosis(&text, Style{}, d) // a Builder takes everything
	if all := unindented(text.String()); all != "" {
		blocks = append(blocks, htmlBlock{More: &htmlMore{
			Title: "All that is known of it", Blocks: []htmlBlock{{Text: all}},
		}})
	}
	return blocks
}

// unindented removes the spaces that all lines of a text begin with.
func unindented(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	least := len(text)
	for _, line := range lines {
		if own := strings.TrimLeft(line, " "); own != "" {
			least = min(least, len(line)-len(own))
		}
	}
	for i, line := range lines {
		lines[i] = line[min(least, len(line)):]
	}
	return strings.Join(lines, "\n")
}

// nameOf returns the implementation of a wrong run, with its pass where that is the backward.
func nameOf(r record.Record) string {
	name := strings.TrimPrefix(r.Impl, "mine/")
	if r.Diagnosis != nil && r.Diagnosis.Source != nil {
		name = filepath.Base(r.Diagnosis.Source.File)
	}
	if pass := r.Case.Pass.String(); pass != "forward" {
		name += " " + pass
	}
	return name
}

// causesOf returns the causes of a diagnosis in words, at least one. A diagnosis of an older version has its
// advice and its message alone.
func causesOf(d record.Diagnosis) []string {
	var all []string
	for _, c := range d.Causes {
		all = append(all, clean(c.String()))
	}
	if len(all) == 0 {
		for _, f := range d.Findings[:min(len(d.Findings), 1)] {
			all = append(all, clean(f.Message))
		}
	}
	if len(all) == 0 {
		first, _, _ := strings.Cut(cmp.Or(d.Advice, d.Message, d.Status.String()), ". ")
		all = append(all, clean(first))
	}
	return all
}

// sourceOf returns an excerpt with its marked lines and the cause of each.
func sourceOf(e record.Excerpt, causes []record.Cause) *htmlSource {
	s := &htmlSource{Name: clean(filepath.Base(e.File))}
	for i, line := range e.Lines {
		n := e.First + i
		words := strings.TrimRight(cleanLines(line, ""), "\n")
		l := htmlLine{Number: n, Words: words, Marked: slices.Contains(e.Marked, n)}
		for _, c := range causes {
			if l.Marked && c.Line == n && c.File == "" && l.Cause == "" {
				l.Cause = clean(c.Text)
			}
		}
		s.Lines = append(s.Lines, l)
	}
	return s
}

// whyAnswer explains the first wrong runs.
func (p Page) whyAnswer() []string {
	var all []string
	for _, r := range diagnosed(p.Records) {
		words := clean(nameOf(r)) + ": " + causesOf(*r.Diagnosis)[0] + "."
		if !slices.Contains(all, words) && len(all) < 3 {
			all = append(all, words)
		}
	}
	return all
}
