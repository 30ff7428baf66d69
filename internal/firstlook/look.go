// Package firstlook makes one line of everything that is known of a user's file: what `triad check` found,
// the verdicts on the passes of the operator that it seems to implement, and their causes. It runs nothing.
package firstlook

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/candidates"
	"triad/internal/check"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/record"
)

// Verdict is the word of a line. More is worse, as far as they are about a kernel.
type Verdict string

// The verdicts.
const (
	Right    Verdict = "RIGHT"
	Wrong    Verdict = "WRONG"
	Unsure   Verdict = "UNSURE" // it is neither known to be wrong nor to be right
	Clean    Verdict = "CLEAN"  // triad check found nothing, and no operator fits
	Unjudged Verdict = ""       // there is nothing to judge, or nothing to judge it with

	GradientWrong  Verdict = "RIGHT, gradient WRONG"
	GradientUnsure Verdict = "RIGHT, gradient UNSURE" // wrong as it was read, which rests on an assumption
)

// Line holds the words of a file's line.
type Line struct {
	File, Operator string
	Verdict        Verdict
	Text           string
	Seconds        float64 // 0: nothing was run
	Open           bool    // it has a kernel, or cannot be read, and nothing is known of it

	// Of a file that passed, for the comparison of files: whether it is Python, and the mean error of its
	// forward on ordinary numbers, in units in the last place of DType.
	Python bool
	Error  float64
	DType  string
}

// Cause explains a fault, with its line in the source.
type Cause = record.Cause

// Pass is the verdict on a pass of an operator.
type Pass struct {
	Pass   op.Pass
	Row    candidates.Row
	Main   candidates.Row // of DType alone
	Causes []Cause        // why it is wrong, the first one first
	Error  float64        // the mean error on ordinary numbers, in units in the last place of DType
	DType  string
}

// Judged holds the verdicts on a file as one operator.
type Judged struct {
	operatorguess.Guess
	Passes []Pass
	Why    string // it was not judged; "" if it was
}

// Accepted reports whether the pass is right, at least in its main dtype: that the function is meant for
// others too may be a guess.
func (p *Pass) Accepted() bool {
	return p.Row.Accepted() || p.Row.Bad == 0 && p.Main.Accepted()
}

// guessed returns the assumption under which the pass is wrong, such as a dtype in which it was not meant to
// work; "" if it is wrong nowhere.
func (p *Pass) guessed() string {
	_, assumed, is := strings.Cut(p.Row.Reason, "this was assumed: ")
	if p.Row.Accepted() || !is {
		return ""
	}
	assumed, _, _ = strings.Cut(assumed, ". ")
	return "wrong if " + assumed
}

// unsureGradient reports whether the pass is a gradient that no case shows to be right, and that is wrong
// under an assumption.
func (p *Pass) unsureGradient() bool {
	return p.Pass == op.Backward && !p.Accepted() && p.guessed() != ""
}

// Wrong reports whether a pass is wrong.
func (j *Judged) Wrong() bool {
	return slices.ContainsFunc(j.Passes, func(p Pass) bool { return p.Row.Bad > 0 })
}

// Right reports whether a pass is right and none is wrong.
func (j *Judged) Right() bool {
	return !j.Wrong() && slices.ContainsFunc(j.Passes, func(p Pass) bool { return p.Accepted() })
}

// Best returns the index of the operator that a file is: the first as which it is right, else the first as
// which it is wrong, else the first.
func Best(all []Judged) int {
	if i := slices.IndexFunc(all, func(j Judged) bool { return j.Right() }); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(all, func(j Judged) bool { return j.Wrong() }))
}

// File holds everything that is known of a file.
type File struct {
	Name    string // as it is printed
	Path    string
	Python  bool
	Checked *check.Report // of triad check; nil: it did not run
	Trouble string        // why it did not
	Launch  Cause         // a launch that may leave out elements; Line is 0 if there is none
	Judged  []Judged      // as the operators that were guessed
	Nearest string        // an operator, where none fits; "" if none is near
}

// Line returns the line of a file: its worst result, the source line first.
func (f *File) Line() Line {
	l := Line{File: f.Name, Python: f.Python}
	found := f.found()
	if len(f.Judged) == 0 {
		return f.withoutOperator(l, found)
	}
	j := &f.Judged[Best(f.Judged)]
	l.Operator = j.Operator
	bad := slices.IndexFunc(j.Passes, func(p Pass) bool { return p.Row.Bad > 0 })
	switch {
	case bad < 0 && len(found) > 0:
		l.Verdict, l.Text = Wrong, join(found)
	case bad >= 0 && j.By.Sure():
		l.Verdict, l.Text = Wrong, f.wrong(j, bad, found)
		if p := j.Passes[bad]; p.Pass == op.Backward && len(found) == 0 && forwardRight(j) {
			l.Verdict = GradientWrong
		}
	case bad >= 0 && len(found) > 0:
		l.Verdict, l.Text = Wrong, join(found)
	case bad >= 0:
		l.Verdict, l.Open = Unsure, true
		l.Text = "wrong if it is meant for " + j.Operator + ": " + f.wrong(j, bad, nil)
	case j.Right():
		l.Verdict, l.Text = Right, strings.Join(append([]string{j.praise()}, f.remarks()...), "; ")
		l.Error, l.DType = j.Passes[0].Error, j.Passes[0].DType
		if slices.ContainsFunc(j.Passes, func(p Pass) bool { return p.unsureGradient() }) {
			l.Verdict = GradientUnsure
		}
	case !j.By.Sure():
		f.Nearest, l.Operator = j.Operator, ""
		return f.withoutOperator(l, found)
	case f.Checked != nil && f.Checked.Whole():
		l.Verdict, l.Open = Clean, true
		l.Text = "triad check finds nothing; the results were not judged: " + j.why()
	default:
		l.Verdict, l.Open, l.Text = Unsure, true, j.why()
	}
	return l
}

// failed reports whether the program says that it failed, by its exit status.
func (f *File) failed() bool {
	return f.Checked != nil && slices.ContainsFunc(f.Checked.Findings, func(x check.Finding) bool {
		return x.Kind == check.ExitStatus
	})
}

// remarks lists the remarks on a right kernel: barriers that threads never come to, and a failure of the
// program around it.
func (f *File) remarks() (words []string) {
	if f.Checked != nil {
		for _, c := range skippedBarriers(f.Checked.Notes) {
			words = append(words, "but "+c.String()+", which CUDA leaves undefined")
		}
	}
	if !f.failed() {
		return words
	}
	words = append(words, "but main() failed: look at what it printed")
	if f.Launch.Line > 0 {
		words = append(words, f.Launch.String())
	}
	return words
}

// Causes lists why a file is wrong: what triad check found, and the causes of each wrong pass of the operator
// that it is.
func (f *File) Causes() []Cause {
	all := f.found()
	if len(f.Judged) == 0 {
		return all
	}
	if f.Launch.Line > 0 && f.failed() {
		all = append(all, f.Launch)
	}
	for _, p := range f.Judged[Best(f.Judged)].Passes {
		for _, c := range p.Causes {
			repeated := slices.ContainsFunc(all, func(other Cause) bool { return repeats(c, other) })
			if p.Row.Bad > 0 && !repeated {
				all = append(all, c)
			}
		}
	}
	return all
}

// Bad reports whether a line counts as wrong.
func (l *Line) Bad() bool { return l.Verdict == Wrong || l.Verdict == GradientWrong }

// Good reports whether a line counts as right.
func (l *Line) Good() bool {
	return l.Verdict == Right || l.Verdict == GradientUnsure || l.Verdict == Clean
}

// Count counts lines; those of files without a kernel count as none of these.
type Count struct{ Bad, Good, Open int }

// CountOf counts lines.
func CountOf(all []Line) (c Count) {
	for _, l := range all {
		switch {
		case l.Bad():
			c.Bad++
		case l.Open:
			c.Open++
		case l.Good():
			c.Good++
		}
	}
	return c
}

// forwardRight reports whether the forward passes.
func forwardRight(j *Judged) bool {
	return slices.ContainsFunc(j.Passes, func(p Pass) bool {
		return p.Pass == op.Forward && p.Accepted()
	})
}

// withoutOperator is the line of a file that no operator fits.
func (f *File) withoutOperator(l Line, found []Cause) Line {
	none := "no operator fits"
	if f.Nearest != "" {
		none += " (the nearest is " + f.Nearest + ")"
	}
	switch {
	case len(found) > 0:
		l.Verdict, l.Text = Wrong, join(found)
	case f.Checked != nil && f.Checked.Whole():
		l.Verdict, l.Text = Clean, "triad check finds nothing; "+none
	case f.Trouble != "":
		l.Verdict, l.Open, l.Text = Unsure, true, none+", and triad check cannot run it: "+f.Trouble
	default:
		l.Verdict, l.Open, l.Text = Unsure, true,
			none+": triad new makes one; with a main() triad check would run it"
	}
	return l
}

// wrong joins the first finding of triad check and the causes of a pass that say something else.
func (f *File) wrong(j *Judged, bad int, found []Cause) string {
	all := slices.Clone(found)
	for _, c := range j.Passes[bad].Causes {
		if !slices.ContainsFunc(found, func(other Cause) bool { return repeats(c, other) }) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return f.inLine(cmp.Or(j.Passes[bad].Row.Reason, j.Passes[bad].Row.Verdict.String()))
	}
	return join(all)
}

// inLine puts the line first in a message that begins with a place in the file, as those of compilers do.
func (f *File) inLine(message string) string {
	place := regexp.MustCompile(`^\S*` + regexp.QuoteMeta(filepath.Base(f.Path)) + `:(\d+):(?:\d+:)?\s*`)
	return place.ReplaceAllString(message, "line $1: ")
}

// repeats reports whether two causes are one: at one line, or one of them has none and is less exact.
func repeats(c, other Cause) bool {
	return c.Text == other.Text || c.Line != 0 && c.Line == other.Line && c.File == other.File
}

// mostCauses is the number of causes in a line.
const mostCauses = 2

func join(all []Cause) string {
	var words []string
	for _, c := range all[:min(len(all), mostCauses)] {
		words = append(words, c.String())
	}
	return strings.Join(words, "; and ")
}

// ofProgram lists the kinds of findings that are about the program around a kernel: they count where nothing
// else is known of the file.
var ofProgram = []check.Kind{check.Leak, check.ExitStatus, check.NeverEnds, check.OrderDependent}

// found lists what triad check found, the first of each line.
func (f *File) found() (all []Cause) {
	if f.Checked == nil {
		return nil
	}
	for _, x := range f.Checked.Findings {
		if len(f.Judged) > 0 && slices.Contains(ofProgram, x.Kind) {
			continue
		}
		c := Cause{Text: withRemedy(x.Brief())}
		if x.Place != nil && x.Place.Line > 0 {
			c.Line = x.Place.Line
			if filepath.Base(x.Place.File) != filepath.Base(f.Path) {
				c.File = x.Place.File
			}
		}
		if !slices.ContainsFunc(all, func(other Cause) bool { return repeats(c, other) }) {
			all = append(all, c)
		}
	}
	return all
}

// praise describes the extent to which a file is right.
func (j *Judged) praise() string {
	var words []string
	good := 0
	for _, p := range j.Passes {
		good += p.Row.Good
		if p.Accepted() && p.Pass == op.Backward {
			words = append(words, "gradient RIGHT")
		}
	}
	if p := j.Passes[0]; p.DType != "" {
		words = append(words, fmt.Sprintf("mean error %.2g ulp in %s", p.Error, p.DType))
	}
	for _, p := range j.Passes {
		text := p.guessed()
		if p.unsureGradient() {
			text = "its gradient is " + text
		}
		if text != "" && !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	cases := "1 case"
	if good != 1 {
		cases = fmt.Sprintf("%d cases", good)
	}
	return strings.Join(append([]string{cases}, words...), ", ")
}

// why explains a missing verdict.
func (j *Judged) why() string {
	if j.Why != "" {
		return j.Why
	}
	for _, p := range j.Passes {
		if p.Row.Reason == "" {
			continue
		}
		words, _, more := strings.Cut(p.Row.Reason, ". If it is meant") // the line to write is long
		if more {
			words += " (-v says what to write if not)"
		}
		return words
	}
	return "no case could be judged"
}

// Usual holds the usual cause of a failure.
type Usual struct {
	Cause
	Exact bool // it follows from what was run, and says more than a finding's own remedy
}

// CausesOf lists the causes that a diagnosis gives: what the emulator found in watched runs, and what usually
// causes the rest. path is that of the file.
func CausesOf(d record.Diagnosis, path string, usual Usual) []Cause {
	if len(d.Findings) == 0 {
		if usual.Text == "" {
			return nil
		}
		return []Cause{usual.Cause}
	}
	mend := d.Findings[0].Remedy
	if usual.Exact && usual.Line == 0 || mend == "" {
		mend = usual.Text
	}
	all := []Cause{placed(d.Findings[0], path, mend)}
	for _, x := range d.Findings[1:] { // one of the same kind is usually a consequence
		if c := placed(x, path, x.Remedy); x.Kind != d.Findings[0].Kind && !repeats(c, all[0]) {
			all = append(all, c)
		}
	}
	if usual.Line > 0 && usual.Line != all[0].Line {
		all = append(all, usual.Cause)
	}
	return append(all, skippedBarriers(d.Notes)...)
}

// skippedBarriers returns the barriers that threads never come to, of the notes of triad check.
func skippedBarriers(notes []string) (all []Cause) {
	for _, note := range notes {
		if m := skipsBarrier.FindStringSubmatch(note); m != nil {
			line, _ := strconv.Atoi(m[1])
			all = append(all, Cause{Line: line, Text: "not all threads reach this __syncthreads()"})
		}
	}
	return all
}

// skipsBarrier matches the note of a barrier that threads never come to. Alone it is no finding.
var skipsBarrier = regexp.MustCompile(`:(\d+), kernel \S+: threads end and never come to this barrier`)

// placed returns a finding as a cause.
func placed(x record.Finding, path, mend string) Cause {
	c := Cause{Text: withRemedy(x.Happens, mend)}
	if x.Where != nil {
		c.Line = x.Where.Line
		if filepath.Base(x.Where.File) != filepath.Base(path) {
			c.File = x.Where.File
		}
	}
	return c
}

func withRemedy(what, mend string) string {
	if mend == "" {
		return what
	}
	return what + ": " + mend
}
