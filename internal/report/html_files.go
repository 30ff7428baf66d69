package report

import (
	"fmt"
	"strings"
	"time"

	"triad/internal/record"
)

// LookedAt is the page of watched files: each is looked at again when it is saved.
type LookedAt struct {
	Files   []FileShown // in their order; a file that is not done has its name alone
	Working bool        // some are still being looked at
	Watched bool        // triad waits for the next save
	Compare string      // of files that are right as the same operator; "" if there are none
}

// FileShown is one of the files.
type FileShown struct {
	Name, Operator string
	Done           bool
	Verdict        string // "RIGHT"; "" if the file has no kernel
	Weight         string // "good", "neutral", "bad"
	Text           string
	Seconds        float64 // 0: nothing was run
	Source         string  // the text that was looked at; "" if it could not be read
	Causes         []record.Cause
	Wrong          []record.Record // of these, the map of errors that says most is shown
}

// htmlFile is one file of the page.
type htmlFile struct {
	Name, Operator, Verdict, Weight, Mark, Text, Seconds string

	Source *htmlSource // around the marked lines; nil if none is marked
	All    *htmlSource
	Figure *htmlFigure
}

// FilesDocument returns the page, which reloads itself when the state at address changes.
func FilesDocument(p LookedAt, address, state string, now time.Time) Document {
	d := document{
		Title: "Your kernels", Made: secondOf(now), Alone: true,
		Update: address, State: state,
	}
	bads, goods, done := 0, 0, 0
	section := htmlSection{ID: "files"}
	for _, f := range p.Files {
		section.Blocks = append(section.Blocks, htmlBlock{File: f.html()})
		if f.Done {
			done++
		}
		switch f.Weight {
		case "bad":
			bads++
		case "good":
			goods++
		}
	}
	switch {
	case bads > 0:
		d.Answer, d.Bad = []string{fmt.Sprintf("%s wrong, %d right.", counted(bads, "file"), goods)}, true
	case goods > 0 && goods == len(p.Files):
		d.Answer = []string{fmt.Sprintf("%s, all right.", counted(goods, "file"))}
	default:
		d.Answer = []string{fmt.Sprintf("%d of %s right.", goods, counted(len(p.Files), "file"))}
		d.Open = true
	}
	switch {
	case p.Working:
		d.Answer = append(d.Answer, fmt.Sprintf("Looking: %d of %s done.", done,
			counted(len(p.Files), "file")))
	case p.Watched:
		d.Answer = append(d.Answer, "Save a file, and it is looked at again: this page follows.")
	default:
		d.Answer = append(d.Answer, "triad has stopped watching.")
	}
	if p.Compare != "" {
		d.Answer = append(d.Answer, clean(p.Compare))
	}
	d.Sections = []htmlSection{section}
	return Document{d}
}

func (f FileShown) html() *htmlFile {
	h := &htmlFile{
		Name: clean(f.Name), Operator: clean(f.Operator), Verdict: clean(f.Verdict), Weight: f.Weight,
		Text: clean(f.Text), Mark: map[string]string{"good": "✓", "bad": "✗"}[f.Weight],
	}
	if !f.Done {
		h.Mark, h.Text = "…", "being looked at"
		return h
	}
	if f.Seconds > 0 {
		h.Seconds = fmt.Sprintf("%.1f s", f.Seconds)
	}
	if e := record.ExcerptOf(f.Name, f.Source, f.Causes); e != nil {
		h.Source = sourceOf(*e, f.Causes)
	}
	if lines := strings.Split(strings.TrimRight(f.Source, "\n"), "\n"); f.Source != "" {
		all := record.Excerpt{File: f.Name, First: 1, Lines: lines[:min(len(lines), mostSource)]}
		h.All = sourceOf(all, nil)
	}
	if figures := (Page{Records: f.Wrong}).mapFigures(); len(figures) > 0 {
		h.Figure = figures[0].html()
	}
	return h
}

// mostSource limits the lines of a file that a page shows.
const mostSource = 2000
