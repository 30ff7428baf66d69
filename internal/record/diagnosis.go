package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/op"
)

// Diagnosis explains why a run of a user's file is wrong: the smallest case found that is wrong too, what
// usually causes such a fault, and what the emulator reports of that case when it watches every access.
type Diagnosis struct {
	Dims         Members[int64] `json:"dims"` // of the smallest case found
	Distribution string         `json:"distribution"`
	Status       op.Status      `json:"status"`
	Message      string         `json:"message"`
	Advice       string         `json:"advice"`   // "" if nothing is known
	Repeat       string         `json:"repeat"`   // the command that runs the smallest case again
	Findings     []Finding      `json:"findings"` // of the emulator
	Notes        []string       `json:"notes"`    // its other remarks
	Causes       []Cause        `json:"causes"`   // in half a line each, the most important first
	Source       *Excerpt       `json:"source"`   // around the lines of the causes; null if none has one
}

// Cause explains a fault, with its line in the source; 0 if unknown.
type Cause struct {
	File string `json:"file"` // "" for the user's file itself
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (c Cause) String() string {
	switch {
	case c.Line == 0:
		return c.Text
	case c.File != "":
		return fmt.Sprintf("%s:%d: %s", filepath.Base(c.File), c.Line, c.Text)
	}
	return fmt.Sprintf("line %d: %s", c.Line, c.Text)
}

// Excerpt is a part of a user's file as it was judged.
type Excerpt struct {
	File   string   `json:"file"`
	First  int      `json:"first"` // the number of its first line
	Lines  []string `json:"lines"`
	Marked []int    `json:"marked"` // the numbers of the lines that causes name
}

// An excerpt shows so many lines around a marked one, and so many bytes of a line.
const (
	linesAround  = 8
	mostOfALine  = 240
	mostExcerpts = 60 // lines
)

// ExcerptOf returns the part of a text around the lines that causes name in it: around the first one, and as
// far as the others lie near it. It is nil if none names a line.
func ExcerptOf(path, text string, causes []Cause) *Excerpt {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var marked []int
	for _, c := range causes {
		if c.File == "" && c.Line > 0 && c.Line <= len(lines) && !slices.Contains(marked, c.Line) {
			marked = append(marked, c.Line)
		}
	}
	if len(marked) == 0 {
		return nil
	}
	e := Excerpt{File: path, Marked: marked[:1]}
	low, high := marked[0], marked[0]
	for _, n := range marked[1:] {
		if max(high, n)-min(low, n)+2*linesAround < mostExcerpts {
			low, high = min(low, n), max(high, n)
			e.Marked = append(e.Marked, n)
		}
	}
	slices.Sort(e.Marked)
	e.First = max(1, low-linesAround)
	for _, line := range lines[e.First-1 : min(len(lines), high+linesAround)] {
		if line = strings.TrimRight(line, "\r"); len(line) > mostOfALine {
			line = strings.ToValidUTF8(line[:mostOfALine], "") + " ..."
		}
		e.Lines = append(e.Lines, line)
	}
	return &e
}

// Finding is one thing that the emulator saw in a watched run.
type Finding struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Where   *Where `json:"where"` // null if no line is known
	Other   *Where `json:"other"` // the second access of a race; null if there is none
	Meaning string `json:"meaning"`
	Mending string `json:"mending"`
	Text    string `json:"text"` // all of it, with the lines of the source, as `triad check` prints it
	Happens string `json:"-"`    // what happens, in half a line
	Remedy  string `json:"-"`    // what mends it, in half a line; "" if that is not known
}

// filled returns a copy whose empty lists are not null.
func (d *Diagnosis) filled() *Diagnosis {
	if d == nil {
		return nil
	}
	all := *d
	all.Findings, all.Notes = append([]Finding{}, d.Findings...), append([]string{}, d.Notes...)
	all.Causes = append([]Cause{}, d.Causes...)
	return &all
}
