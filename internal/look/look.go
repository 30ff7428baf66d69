// Package look is `triad FILE` and `triad FOLDER`: it guesses which operator each file implements, runs triad
// check, compare and the gradients of each, and prints a line for each file.
package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"triad/internal/check"
	"triad/internal/firstlook"
	"triad/internal/harmless"
	"triad/internal/operatorguess"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/session"
)

// Options holds what a user may say of a look.
type Options struct {
	Once    bool   // do not watch
	Verbose bool   // print what each step says, too
	DB      string // the database; "": the user's own
	Page    bool   // show the files on a page, too
}

// Trial holds the results of a file as one operator.
type Trial struct {
	firstlook.Judged
	Records   []*record.Record
	Diagnoses map[int]record.Diagnosis // by the index of the record
	Places    []string                 // where it stands on the operator's ladder
	Versions  record.Toolchain         // of what judged it
	Tell      func() error             // prints all of it, once it is recorded; nil: there is no more to say
}

// Machine holds the parts of triad that a look needs.
type Machine struct {
	Out      io.Writer
	Terminal bool // someone reads Out: triad goes on to watch
	Columns  int  // of the terminal; 0: lines are not wrapped
	Color    func(v firstlook.Verdict, text string) string
	Parse    pyfacts.Parser
	Begin    func(paths []string)        // gets the files of a round before they are looked at
	Python   func(context.Context) error // nil if there is a Python with torch and Triton
	// Check runs triad check on a program, and prints what that prints.
	Check func(ctx context.Context, path string, to io.Writer) (*check.Report, error)
	// Callable reports whether triad check can run a file that has no main(), by a function that is meant for
	// callers.
	Callable func(path string) bool
	// Judge compares a file with an operator's truth; an error ends the look.
	Judge func(ctx context.Context, path string, guess operatorguess.Guess, to io.Writer) (Trial, error)
	// NotUnderstood is the record of a file that is wrong as an operator that it may not be.
	NotUnderstood func(path, operator, why string) *record.Record
	Open          func(ctx context.Context, paths []string) (*session.Files, func() error, error)
	Where         func(id string) string // the sentence that says where everything is recorded
	Show          func(done, all int)    // shows how far it is; 0 of 0 clears that
	// Changed waits until one of the files, or what they include, is saved, or a file is added.
	Changed func(ctx context.Context, paths func() []string, seen map[string]string) bool
	State   func(path string) string // of a file and what it includes
	NewPage func()
	Page    func(report.LookedAt) // shows the files on a page; nil: there is none
}

// look is one command.
type look struct {
	Machine
	Options
	lines map[string]looked // by path
}

// looked is the line of a file, with what its steps printed, and the state of the file then.
type looked struct {
	firstlook.Line
	details, state string
	evidence
}

// Run looks at files until the last line is printed, or on a terminal until Ctrl-C.
func Run(ctx context.Context, paths []string, o Options, m Machine) error {
	l := &look{Machine: m, Options: o, lines: map[string]looked{}}
	for {
		entries, err := list(paths)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return session.Fail(session.ExitNothing, fmt.Errorf("no .cu and no .py file is in %s",
				strings.Join(paths, ", ")))
		}
		last := l.round(ctx, entries)
		if !l.watches() || ctx.Err() != nil {
			return last
		}
		var printed *session.Failure
		if last != nil && (!errors.As(last, &printed) || printed.Err != nil) {
			return last
		}
		fmt.Fprintln(m.Out, "\nWaiting for the next save; Ctrl-C ends.")
		if !l.wait(ctx, paths) {
			return last
		}
		m.NewPage()
	}
}

// wait waits for a save.
func (l *look) wait(ctx context.Context, paths []string) bool {
	seen := map[string]string{}
	for path, line := range l.lines {
		seen[path] = line.state
	}
	return l.Changed(ctx, func() []string {
		entries, err := list(paths)
		if err != nil {
			return nil
		}
		return pathsOf(entries)
	}, seen)
}

func pathsOf(entries []entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.path)
	}
	return all
}

// round looks at each file that changed, and prints the lines of all.
func (l *look) round(ctx context.Context, entries []entry) error {
	r := &round{
		look: l, ctx: ctx, entries: entries, done: make([]bool, len(entries)),
		lines: make([]looked, len(entries)),
	}
	for _, e := range entries {
		r.width = max(r.width, len([]rune(harmless.Line(e.name))))
	}
	r.show(true)
	l.Begin(pathsOf(entries))
	r.print() // the first file may take a minute, where the emulator is built for it
	err := r.all()
	r.show(false)
	return r.end(err)
}

// round is one look at all files.
type round struct {
	*look
	ctx     context.Context
	entries []entry
	width   int // of the names

	mu      sync.Mutex
	lines   []looked // of the entries
	done    []bool
	printed int
	files   *session.Files // nil: nothing was recorded
	close   func() error
	fault   error
}

// all looks at the files, as many at once as there are cores, and prints each line in its turn.
func (r *round) all() error {
	var group panics.Group
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				r.one(i)
			}
		})
	}
	for i := range r.entries {
		if r.ended() {
			break
		}
		next <- i
	}
	close(next)
	err := group.Wait()
	r.Show(0, 0)
	return errors.Join(err, r.fault)
}

func (r *round) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ctx.Err() != nil || r.fault != nil
}

// one looks at a file, and prints what is complete.
func (r *round) one(i int) {
	e := r.entries[i]
	state := r.State(e.path)
	known, is := r.known(e.path)
	if !is || known.state != state || state == "" {
		began := time.Now()
		var details bytes.Buffer
		var seen evidence
		line, err := r.lookAt(e, &details, &seen)
		if err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.ctx.Err() == nil {
				r.fault = errors.Join(r.fault, err)
			}
			return
		}
		line.File, line.Text = harmless.Line(e.name), harmless.Line(line.Text)
		if line.Seconds > 0 {
			line.Seconds = time.Since(began).Seconds()
		}
		known = looked{line, details.String(), state, seen}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines[i], r.done[i], r.look.lines[e.path] = known, true, known
	r.print()
	r.show(true)
}

func (r *round) known(path string) (looked, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, is := r.look.lines[path]
	return known, is
}

// print prints the lines up to the first file that is not done.
func (r *round) print() {
	r.Show(0, 0)
	for ; r.printed < len(r.done) && r.done[r.printed]; r.printed++ {
		r.printOne(r.printed)
	}
	done := 0
	for _, is := range r.done {
		if is {
			done++
		}
	}
	if done < len(r.done) {
		r.Show(done, len(r.done))
	}
}

func (r *round) printOne(i int) {
	fmt.Fprintln(r.Out, r.lines[i].Format(r.width, r.Columns, r.Color))
	for _, place := range r.lines[i].places {
		fmt.Fprintln(r.paragraphs(), "    "+place)
	}
	if r.Verbose && r.lines[i].details != "" {
		fmt.Fprintln(r.Out, "\n"+r.lines[i].details)
	}
}

// paragraphs returns a writer that wraps lines at the width of the terminal.
func (r *round) paragraphs() io.Writer { return report.Style{Width: r.Columns}.Wrap(r.Out) }

// end prints what concerns all files, ends the session, and returns the exit code as an error.
func (r *round) end(why error) error {
	var all []firstlook.Line
	for i, line := range r.lines {
		if !r.done[i] {
			continue
		}
		if i > r.printed { // one before it was stopped
			r.printOne(i)
		}
		all = append(all, line.Line)
	}
	count := firstlook.CountOf(all)
	left := len(r.entries) - len(all)
	code := session.ExitGood
	switch {
	case why != nil:
		code = session.CodeOf(why)
	case count.Bad > 0:
		code = session.ExitBad
	case left+count.Open > 0 || count.Good == 0:
		code = session.ExitNothing
	}
	if text := firstlook.Compared(all); text != "" {
		fmt.Fprintln(r.paragraphs(), text)
	}
	without := func(l firstlook.Line) bool { return strings.HasPrefix(l.Text, needsPython) }
	if slices.ContainsFunc(all, without) {
		fmt.Fprintln(r.Out, "Python files need torch and Triton: triad setup")
	}
	switch {
	case why != nil:
	case left > 0:
		fmt.Fprintf(r.Out, "Stopped: %d of %d files were not looked at.\n", left, len(r.entries))
	case count == firstlook.Count{}: // notes alone
		fmt.Fprintln(r.Out, "No file has a kernel.")
	}
	if r.files != nil {
		if !r.Verbose && count.Bad+count.Open > 0 {
			fmt.Fprintln(r.paragraphs(), r.Where(r.files.ID()))
		}
		err := r.files.Finish(why == nil && left == 0, code, why)
		why = errors.Join(why, err, r.close())
	}
	if code == session.ExitGood && why == nil {
		return nil
	}
	return session.Fail(code, why)
}
