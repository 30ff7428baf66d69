package report

import (
	"fmt"
	"io"
	"strings"
)

// SanitizerLine is what one tool said of a run.
type SanitizerLine struct {
	Tool                                string
	Clean                               bool
	Part                                bool // the run was stopped before its plan was done
	Kernels, Calls, Processes, Cut, Bad int
	Findings                            []SanitizerFinding
	Never                               []string // kernels that no case reached
}

// SanitizerFinding is what a tool found in one place.
type SanitizerFinding struct {
	What, Kernel, Place string
	Count               int
}

// Sanitized writes a line for each tool, then what it found, and which kernels it never saw.
func Sanitized(w io.Writer, style Style, all []SanitizerLine) error {
	var rows, found [][]string
	var notes strings.Builder
	never := map[string]bool{}
	for _, l := range all {
		word := style.paint(bad, "FOUND")
		switch {
		case l.Clean:
			word = style.paint(good, "CLEAN")
		case len(l.Findings) == 0:
			word = style.paint(bad, "UNPROVEN")
		}
		rows = append(rows, []string{l.Tool, word, fmt.Sprint(l.Kernels), fmt.Sprint(l.Calls), fmt.Sprint(len(l.Findings))})
		for _, f := range l.Findings {
			found = append(found, []string{l.Tool, f.Place, clean(f.What), fmt.Sprint(f.Count), clean(f.Kernel)})
		}
		if l.Processes == 0 {
			fmt.Fprintf(&notes, "%s watched no worker to its end: nothing is proven.\n", l.Tool)
		}
		if l.Cut > 0 {
			fmt.Fprintf(&notes, "%s: the report of %s has no summary, the rest of it is lost.\n", l.Tool, counted(l.Cut, "worker"))
		}
		if l.Part {
			fmt.Fprintf(&notes, "%s: stopped before its plan was done.\n", l.Tool)
		}
		if l.Bad > 0 {
			fmt.Fprintf(&notes, "%s: %s bad under it: triad results list shows why.\n", l.Tool, counted(l.Bad, "record"))
		}
		for _, name := range l.Never {
			if !never[name] {
				never[name] = true
				fmt.Fprintf(&notes, "Never called at this level: %s.\n", strings.TrimSuffix(clean(name), "."))
			}
		}
	}
	if err := style.Table(w, "  ", columns("tool", "verdict", ">kernels", ">calls", ">findings"), rows); err != nil {
		return err
	}
	if len(found) > 0 {
		if err := write(w, "\n"); err != nil {
			return err
		}
		if err := style.Table(w, "  ", columns("tool", "where", "what", ">times", "kernel"), found); err != nil {
			return err
		}
	}
	if notes.Len() == 0 {
		return nil
	}
	return write(w, "\n"+notes.String())
}
