package check

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"triad/internal/harmless"
	"triad/internal/userfile"
)

// around is the number of source lines shown before and after the one that is meant.
const around = 2

// Write prints the report: each finding with its lines, what it means and how to fix it. allCounts prints the
// counts of every line, however many kernels there are.
func Write(w io.Writer, r *Report, folder string, allCounts bool) error {
	p := printer{folder: folder, sources: map[string][]string{}}
	for i := range r.Findings {
		p.finding(i+1, &r.Findings[i], len(r.Orders))
	}
	p.explained(r.Counts, allCounts)
	for _, note := range r.Notes {
		p.line("%s", note)
	}
	p.summary(r)
	_, err := io.WriteString(w, p.text.String())
	return err
}

// Text formats a finding as Write prints it, with its number.
func (f *Finding) Text(number int, folder string) string {
	p := printer{folder: folder, sources: map[string][]string{}}
	p.finding(number, f, 0)
	return strings.TrimSuffix(p.text.String(), "\n")
}

// Explained returns the meaning of a finding and its remedy.
func (f *Finding) Explained() (meaning, mending string) { return f.about().means, f.about().mend }

// printer builds the text of a report.
type printer struct {
	text    strings.Builder
	folder  string              // names of files are relative to it
	sources map[string][]string // the lines of files, read when they are drawn
}

func (p *printer) line(format string, a ...any) { fmt.Fprintf(&p.text, format+"\n", a...) }

func (p *printer) finding(number int, f *Finding, orders int) {
	p.line("%d. %s", number, p.folded(f.Sentence(), "\n   "))
	what := f.Access
	if what == "" {
		what = "here"
	} else if f.Bytes > 0 {
		what = fmt.Sprintf("%s of %d bytes", f.Access, f.Bytes)
	}
	p.side(f.Place, what, f.Thread, f.Block)
	p.side(f.Other, otherWord(f), f.OtherThread, f.OtherBlock)
	if f.Kernel != "" {
		text := "   in kernel " + f.Kernel
		if f.Launched.known() {
			text += ", launched at " + p.at(f.Launched)
		}
		p.line("%s", text)
	}
	if f.Call != "" {
		p.line("   in the call %s", f.Call)
	}
	if f.Sanitizer != "" {
		p.line("   reported by %s: %s", sanitizerNames[f.Sanitizer], f.Check)
	}
	p.memory(f)
	if value := f.valueText(); value != "" {
		p.line("   the value there was %s", value)
	}
	if n := len(f.Orders); n > 0 && n < orders && f.Kind != OrderDependent {
		p.line("   seen in order %s, not in the other %d", strings.Join(f.Orders, ", "), orders-n)
	}
	p.drawn(f)
	a := f.about()
	p.line("   meaning  %s", p.folded(a.means, underMeaning))
	p.line("   fix      %s", p.folded(a.mend, underMeaning))
	p.line("")
}

// otherWord names the second side of a finding; only the emulator knows which came first.
func otherWord(f *Finding) string {
	switch {
	case f.OtherAccess != "" && (f.Kind == NotWaitedFor || f.Sanitizer == "racecheck"):
		return f.OtherAccess
	case f.OtherAccess != "":
		return f.OtherAccess + " before"
	}
	return "and here"
}

func (p *printer) side(at *Place, what string, thread, block *[3]int) {
	if !at.known() {
		return
	}
	text := fmt.Sprintf("   %s: %s", p.at(at), what)
	if thread != nil {
		text += " by thread " + index(thread)
	}
	if block != nil {
		text += " of block " + index(block)
	}
	p.line("%s", text)
}

func (p *printer) memory(f *Finding) {
	if f.MemoryBytes > 0 && (f.Message != "" || f.Kind == Race) {
		p.line("   %s", f.where())
	}
	for _, side := range []struct {
		at   *Place
		text string
	}{{f.Declared, "declared"}, {f.Allocated, "allocated"}, {f.Freed, "given back"}} {
		if side.at.known() {
			p.line("   %s at %s", side.text, p.at(side.at))
		}
	}
}

// drawn prints the lines around the two sides of a finding.
func (p *printer) drawn(f *Finding) {
	var shown []*Place
	for _, at := range []*Place{f.Place, f.Other} {
		if at.known() && (len(shown) == 0 || *shown[0] != *at) {
			shown = append(shown, at)
		}
	}
	if len(shown) == 2 && shown[0].File == shown[1].File && distance(shown[0], shown[1]) <= 2*around+1 {
		p.lines(shown[0].File, min(shown[0].Line, shown[1].Line), max(shown[0].Line, shown[1].Line),
			shown[0].Line, shown[1].Line)
		return
	}
	for _, at := range shown {
		p.lines(at.File, at.Line, at.Line, at.Line)
	}
}

func distance(a, b *Place) int { return max(a.Line-b.Line, b.Line-a.Line) }

// lines prints lines from..to of a file with those around; marked ones carry a sign.
func (p *printer) lines(file string, from, to int, marked ...int) {
	source := p.source(file)
	for n := max(1, from-around); n <= min(len(source), to+around); n++ {
		sign := " "
		for _, m := range marked {
			if m == n {
				sign = ">"
			}
		}
		text := strings.TrimRight(strings.ReplaceAll(source[n-1], "\t", "    "), " \r")
		p.line("   %s %4d | %s", sign, n, text)
	}
}

func (p *printer) source(file string) []string {
	if lines, read := p.sources[file]; read {
		return lines
	}
	text, err := userfile.Read(file)
	if err == nil {
		p.sources[file] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	} else {
		p.sources[file] = nil // it was moved, or #line names no source: the report omits it
	}
	return p.sources[file]
}

func (p *printer) at(place *Place) string {
	file := harmless.Line(Relative(p.folder, place.File)) // #line may name it anything
	return fmt.Sprintf("%s:%d", file, place.Line)
}

// Relative returns the name of a file as people type it in a folder.
func Relative(folder, file string) string {
	if short, err := filepath.Rel(folder, file); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return file
}

func (p *printer) summary(r *Report) {
	found := "Nothing was found"
	if n := len(r.Findings); n > 0 {
		found = fmt.Sprintf("%d finding%s", n, map[bool]string{true: "", false: "s"}[n == 1])
	}
	under := ""
	if len(r.Sanitizers) > 0 {
		var names []string
		for _, name := range r.Sanitizers {
			names = append(names, sanitizerNames[name])
			if name == "address" {
				names = append(names, sanitizerNames["undefined"])
			}
		}
		under = "; and under " + strings.Join(names, ", ")
		if len(r.Orders) == 0 {
			p.line("%s, on the GPU under %s.", found, strings.Join(names, ", "))
			p.unfinished(r)
			return
		}
	}
	if len(r.Orders) > 0 {
		p.line(
			"%s, in %d schedule order%s: %s%s.",
			found,
			len(r.Orders),
			map[bool]string{true: "", false: "s"}[len(r.Orders) == 1],
			strings.Join(r.Orders, ", "),
			under,
		)
	} else {
		p.line("%s.", found)
	}
	p.unfinished(r)
	if len(r.Skipped) > 0 {
		p.line("Left out for want of time: %s (--limit all=DURATION).", strings.Join(r.Skipped, ", "))
	}
}

// unfinished reports what did not see the end of the program.
func (p *printer) unfinished(r *Report) {
	switch {
	case len(r.Unfinished) == 0:
	case len(r.Findings) == 0 && !r.Whole():
		p.line("It did not run to its end (%s): whether it is right is not known.",
			strings.Join(r.Unfinished, ", "))
	default:
		p.line("It did not run to its end in: %s.", strings.Join(r.Unfinished, ", "))
	}
}

const underMeaning = "\n            "

// folded wraps a text at about a hundred columns. Files of the folder are named as people type them.
func (p *printer) folded(text, indent string) string {
	const width = 100
	if len(p.folder) > 1 {
		text = strings.ReplaceAll(text, p.folder+"/", "")
	}
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		if i > 0 && column+1+len(word) > width {
			out.WriteString(indent)
			column = 0
		} else if i > 0 {
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
