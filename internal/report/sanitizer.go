package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// SanitizerLine is one tool's report on a run.
type SanitizerLine struct {
	Tool                                string
	Clean                               bool
	Part                                bool // the run was stopped before its plan was done
	Kernels, Calls, Processes, Cut, Bad int
	Findings                            []SanitizerFinding
	Never                               []string // implementations that no case reached
	// compiled kernels that ran under the tool; 0 where that is not known
	Watched int
	Missed  []string // that some case launches and that did not run
	Beyond  []string // that no case launches
}

// SanitizerFinding is a tool's finding in one place.
type SanitizerFinding struct {
	What, Kernel, Place string
	Count               int
}

// Sanitized writes a line for each tool, then its findings, and which kernels it never saw.
func Sanitized(w io.Writer, style Style, all []SanitizerLine) error {
	w = style.Wrap(w)
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
		compiled := ""
		if l.Watched > 0 {
			compiled = fmt.Sprintf("%d of %d", l.Watched, l.Watched+len(l.Missed)+len(l.Beyond))
		}
		rows = append(rows, []string{
			l.Tool, word, fmt.Sprint(l.Kernels), compiled, fmt.Sprint(l.Calls),
			fmt.Sprint(len(l.Findings)),
		})
		for _, f := range l.Findings {
			found = append(found, []string{
				l.Tool, f.Place, clean(f.What), fmt.Sprint(f.Count),
				clean(f.Kernel),
			})
		}
		notes.WriteString(sanitizerNotes(style, l))
		for _, name := range l.Never {
			if !never[name] {
				never[name] = true
				fmt.Fprintf(&notes, "Never called at this level: %s.\n", strings.TrimSuffix(clean(name), "."))
			}
		}
	}
	for _, l := range all {
		if len(l.Beyond) > 0 { // the same for every tool
			fmt.Fprintf(&notes, "No case launches %s: %s.\n", counted(len(l.Beyond), "compiled kernel"),
				kernelNames(l.Beyond))
			break
		}
	}
	if err := style.Table(w, "  ", columns("tool", "verdict", ">implementations", ">compiled kernels",
		">calls", ">findings"), rows); err != nil {
		return err
	}
	if len(found) > 0 {
		if err := write(w, "\n"); err != nil {
			return err
		}
		if err := style.Table(w, "  ", columns("tool", "where", "what", ">times", "kernel"),
			found); err != nil {
			return err
		}
	}
	if notes.Len() == 0 {
		return nil
	}
	return write(w, "\n"+notes.String())
}

// sanitizerNotes describes the gaps in one tool's run.
func sanitizerNotes(style Style, l SanitizerLine) string {
	var notes strings.Builder
	if l.Processes == 0 {
		fmt.Fprintf(&notes, "%s watched no worker to its end: nothing is proven.\n", l.Tool)
	}
	if l.Cut > 0 {
		fmt.Fprintf(&notes, "%s: the report of %s has no summary, the rest of it is lost.\n", l.Tool,
			counted(l.Cut, "worker"))
	}
	if l.Part {
		fmt.Fprintf(&notes, "%s: stopped before its plan was done.\n", l.Tool)
	}
	if l.Bad > 0 {
		fmt.Fprintf(&notes, "%s: %s bad under it: triad results list%s shows why.\n", l.Tool,
			counted(l.Bad, "record"), style.InDatabase)
	}
	if len(l.Missed) > 0 {
		fmt.Fprintf(&notes, "%s: %s did not run under it: %s.\n", l.Tool,
			counted(len(l.Missed), "compiled kernel"), kernelNames(l.Missed))
	}
	return notes.String()
}

// mostNamed limits the kernels that are named.
const mostNamed = 12

// kernelNames lists the readable parts of mangled names.
func kernelNames(mangled []string) string {
	var names []string
	for _, m := range mangled[:min(len(mangled), mostNamed)] {
		names = append(names, readable(clean(m)))
	}
	if more := len(mangled) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// hashedNamespace matches nvcc's mangling of the unnamed namespace: with the file's name and a hash.
var hashedNamespace = regexp.MustCompile(`^_ZN\d+_GLOBAL__N__[0-9a-f]+_\d+_\w+?_cu_[0-9a-f]{8}`)

// readable returns the part of a mangled name that distinguishes kernels of one library.
func readable(mangled string) string {
	name := strings.TrimLeft(strings.TrimPrefix(hashedNamespace.ReplaceAllString(mangled, ""), "_ZN"),
		"0123456789")
	if at := strings.Index(name, "EE"); at > 0 {
		// the end of the template's arguments: the function's follow
		name = name[:at]
	}
	return name
}
