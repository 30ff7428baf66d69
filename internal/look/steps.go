package look

import (
	"cmp"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"triad/internal/advice"
	"triad/internal/catalog"
	"triad/internal/check"
	"triad/internal/firstlook"
	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/opfolder"
	"triad/internal/ownfile"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/userfile"
)

const (
	noKernel    = "no kernel in it"
	needsPython = "not judged: it needs a Python with torch and Triton"

	// mostTrials is the number of operators as which a file is judged, where several fit.
	mostTrials = 2
)

// lookAt takes the steps of a file. An error ends the look.
func (r *round) lookAt(e entry, details io.Writer, seen *evidence) (_ firstlook.Line, err error) {
	defer panics.Caught(&err, func() string { return "looking at " + e.path })
	none := func(text string, open bool) (firstlook.Line, error) {
		return firstlook.Line{Text: text, Open: open}, nil
	}
	if e.trouble != "" {
		return none(e.trouble, true)
	}
	if opfolder.Holds(e.path) {
		folder := filepath.Dir(e.path)
		if !opfolder.IsFolder(folder) {
			folder = "." + string(filepath.Separator) + folder
		}
		return none("part of an operator of your own: triad compare "+folder+" judges it", false)
	}
	content, err := userfile.Read(e.path)
	if err != nil {
		return none("cannot be read: "+reason(err), true)
	}
	text := string(content)
	seen.source = text
	request, err := ownfile.ParseRequest(e.path)
	if err != nil {
		return none("cannot be read: "+err.Error(), true)
	}
	request.Parse = r.Parse
	why, open := r.withoutKernel(text, request.IsPython())
	if why == "" && request.IsPython() && r.Python(r.ctx) != nil {
		why, open = needsPython, true
	}
	if r.ctx.Err() != nil { // it is not known whether there is a Python
		return firstlook.Line{}, r.ctx.Err()
	}
	if why != "" {
		return none(why, open)
	}
	f := firstlook.File{Name: e.name, Path: e.path, Python: request.IsPython()}
	read := ownfile.Read(request, text, nil)
	guesses := operatorguess.Of(read, request, text, specs())
	if len(guesses) > mostTrials && !guesses[0].By.Sure() {
		f.Nearest, guesses = guesses[0].Operator, nil
	}
	if len(guesses) > 0 && !guesses[0].Fits && read.Main { // a name like that of an operator
		f.Nearest, guesses = guesses[0].Operator, nil
	}
	if !f.Python && (read.Main || len(guesses) == 0 && r.Callable(e.path)) {
		f.Checked, err = r.Check(r.ctx, e.path, details)
		if err != nil {
			f.Trouble = cmp.Or(harmless.FirstLine(err.Error()), "no reason is known")
		}
		f.Launch.Line, f.Launch.Text = advice.LaunchDivision(text)
	}
	if r.ctx.Err() != nil {
		return firstlook.Line{}, r.ctx.Err()
	}
	return r.compare(e, &f, guesses, details, seen)
}

// compare judges a file as each operator that it may be, and records it as the one that it is.
func (r *round) compare(e entry, f *firstlook.File, guesses []operatorguess.Guess, details io.Writer,
	seen *evidence,
) (firstlook.Line, error) {
	var trials []Trial
	for _, g := range guesses[:min(len(guesses), mostTrials)] {
		t, err := r.Judge(r.ctx, e.path, g, details)
		if err != nil {
			return firstlook.Line{}, err
		}
		trials = append(trials, t)
		f.Judged = append(f.Judged, t.Judged)
	}
	if !f.Python && f.Checked == nil && len(trials) > 0 && trials[firstlook.Best(f.Judged)].Right() &&
		strings.Contains(seen.source, "__syncthreads") {
		// of a right kernel, its notes alone: the sizes that triad check chooses may not be meant
		if checked, err := r.Check(r.ctx, e.path, details); err == nil {
			f.Checked = &check.Report{Notes: checked.Notes}
		}
	}
	line := f.Line()
	line.Seconds = 1
	seen.causes = f.Causes()
	if len(trials) == 0 {
		return line, nil
	}
	t := trials[firstlook.Best(f.Judged)]
	seen.keepWrong(t.Records)
	if line.Verdict == firstlook.Right {
		seen.places = t.Places
	}
	if !t.Right() && !t.By.Sure() {
		t.Records, t.Diagnoses = nil, nil
		if n := r.NotUnderstood(e.path, t.Operator, line.Text); n != nil {
			t.Records = []*record.Record{n}
		}
	}
	err := r.record(t)
	if err == nil && r.Verbose && t.Tell != nil {
		err = t.Tell()
	}
	return line, err
}

// record stores what was found, in one transaction.
func (r *round) record(t Trial) error {
	if len(t.Records) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		var err error
		if r.files, r.close, err = r.Open(r.ctx, pathsOf(r.entries)); err != nil {
			return err
		}
	}
	if err := r.files.Record(t.Records); err != nil {
		return err
	}
	r.files.Uses(t.Versions)
	for i, d := range t.Diagnoses {
		if err := r.files.Diagnose(t.Records[i].ID, d); err != nil {
			return err
		}
	}
	return nil
}

var (
	kernels     = regexp.MustCompile(`\b__global__\b|<<<`) // it may launch those of a header
	cComments   = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	mayHaveIt   = regexp.MustCompile(`\btriton\b|\bautograd\.Function\b|\bload_inline\b`)
	syntaxPlace = regexp.MustCompile(`^line (\d+), column \d+: `)
)

// withoutKernel returns the reason why a file has no kernel to look at; "" if it has one. It runs nothing of
// a Python file.
func (r *round) withoutKernel(text string, python bool) (why string, open bool) {
	if !python {
		if kernels.MatchString(cComments.ReplaceAllString(text, "")) {
			return "", false
		}
		return noKernel, false
	}
	if !mayHaveIt.MatchString(text) {
		return noKernel, false
	}
	facts := r.Parse(text)
	switch {
	case facts.Error != "" && r.Python(r.ctx) != nil:
		return needsPython, true
	case facts.Error != "":
		return "cannot be parsed: " + harmless.FirstLine(facts.Error), true
	case hasKernel(facts):
		return "", false
	case facts.Syntax != "":
		return syntaxPlace.ReplaceAllString(facts.Syntax, "line $1: does not parse: "), true
	}
	return noKernel, false
}

// hasKernel reports whether a Python file has a kernel of Triton or CUDA, or a gradient of its own.
func hasKernel(facts *pyfacts.File) bool {
	for _, f := range facts.Functions {
		if f.Form == pyfacts.Kernel || f.Form == pyfacts.Applied || f.Kernels != "" || f.Autograd {
			return true
		}
	}
	return len(facts.Inline) > 0
}

func specs() []*op.Spec {
	var all []*op.Spec
	for _, o := range catalog.All() {
		all = append(all, o.Spec)
	}
	return all
}
