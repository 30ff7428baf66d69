package report

import (
	"fmt"
	"io"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// GitHub writes a line for each implementation and pass with a bad case, which GitHub Actions shows as an
// annotation: an error, or a warning if a file was not understood. It has the message of the first bad case
// and their number, and stands at the line of the kernel if that is known. strict counts known faults of
// libraries as bad.
func GitHub(w io.Writer, records []record.Record, added []string, strict bool) error {
	type group struct {
		first record.Record
		bad   int
		of    int
	}
	var order []string
	groups := map[string]*group{}
	for _, r := range records {
		key := r.Case.Op + " " + r.Case.Pass.String() + " " + r.Impl
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key], order = g, append(order, key)
		}
		g.of++
		if r.Status.Weight() == op.Bad || r.Status == op.StatusNotUnderstood ||
			strict && r.Status == op.StatusKnown {
			if g.bad++; g.bad == 1 {
				g.first = r
			}
		}
	}
	var text strings.Builder
	for _, key := range order {
		if g := groups[key]; g.bad > 0 {
			text.WriteString(annotation(g.first, added, g.bad, g.of))
		}
	}
	return write(w, text.String())
}

// annotation returns a workflow command of GitHub Actions.
func annotation(r record.Record, added []string, bad, of int) string {
	level := "error"
	if r.Status == op.StatusNotUnderstood {
		level = "warning"
	}
	place := ""
	if r.Where != nil && r.Where.File != "" {
		place = "file=" + property(clean(r.Where.File)) + ","
		if r.Where.Line > 0 {
			place += fmt.Sprintf("line=%d,", r.Where.Line)
		}
	}
	title := fmt.Sprintf("%s: %s %s %s", r.Status, r.Case.Op, r.Impl, r.Case.Pass)
	message := fmt.Sprintf("%s (%s, %s; bad in %d of %s)\nagain on the same bits: %s", clean(r.Message),
		clean(r.Case.DType), clean(caseWords(r.Case)), bad, counted(of, "case"),
		clean(record.Repeat(r, added)))
	return fmt.Sprintf("::%s %stitle=%s::%s\n", level, place, property(clean(title)), escaped(message))
}

// escaped escapes the text of a workflow command, which ends at a line feed.
func escaped(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property escapes a value before the text of a workflow command, which ends at a comma or colons.
func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escaped(text))
}
