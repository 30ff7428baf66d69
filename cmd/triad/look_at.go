package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"triad/cmd/triad/look"
	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/fileversion"
	"triad/internal/firstlook"
	"triad/internal/kernelfile"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/ownfile/pyparser"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// lookOptions holds the flags of triad FILE and triad FOLDER.
type lookOptions struct {
	look.Options
	db string
}

// lookMachine gives package look what it needs of triad. It looks on the CPU: the emulator sees more than a
// GPU, and nothing has to be installed for it.
type lookMachine struct {
	*app
	o        lookOptions
	progress *session.Progress
	calls    *watchedCalls
	stems    map[string]string // of the files of this round
}

// lookAt is triad FILE and triad FOLDER.
func (a *app) lookAt(ctx context.Context, paths []string, o lookOptions) error {
	ctx, done := a.atFirstInterrupt(ctx)
	defer done()
	m := &lookMachine{app: a, o: o, progress: a.progress(), calls: a.watchedCalls()}
	environment, err := a.environment(environmentFlags{look: true}, false)
	if err != nil {
		return err
	}
	python := make(chan error, 1) // the one answer, which each file takes and puts back
	panics.Go(func() {
		_, err := environment.Find(ctx)
		python <- err
	}, a.broke)
	return look.Run(ctx, paths, o.Options, look.Machine{
		Out: a.out, Terminal: isTerminal(a.out), Color: m.color, Parse: pyparser.New(pyparser.OfPATH),
		Python: func(context.Context) error {
			err := <-python
			python <- err
			return err
		},
		Begin: func(paths []string) { m.stems = stemsOf(paths) },
		Check: m.check, Judge: m.judge, NotUnderstood: m.notUnderstood, Open: m.open, Show: m.show,
		Callable: func(path string) bool {
			solve, err := readSolve(path, &checkOptions{})
			return err == nil && solve != nil
		},
		Where: func(id string) string {
			return "-v prints all of it; triad results report " + id + a.inDatabase + " makes a page."
		},
		Changed: m.changed, State: stateOfFile, NewPage: a.newPage,
	})
}

// color colours a verdict on a terminal that shows colours.
func (m *lookMachine) color(v firstlook.Verdict, text string) string {
	colors := map[firstlook.Verdict]string{
		firstlook.Right: "32", firstlook.Clean: "32", firstlook.Wrong: "31", firstlook.GradientWrong: "31",
		firstlook.Unsure: "33",
	}
	if !m.style().Color || colors[v] == "" {
		return text
	}
	return "\x1b[" + colors[v] + "m" + text + "\x1b[0m"
}

func (m *lookMachine) show(done, all int) {
	if all == 0 {
		m.progress.Clear()
		return
	}
	m.progress.Preparing(fmt.Sprintf("%d of %d files", done, all))
}

// quiet returns triad with other streams.
func (m *lookMachine) quiet(to io.Writer) *app {
	quiet := *m.app
	quiet.out, quiet.err = to, to
	return &quiet
}

func (m *lookMachine) check(ctx context.Context, path string, to io.Writer) (*check.Report, error) {
	o := checkOptions{device: "cpu"}
	if err := o.deadlines(); err != nil {
		return nil, err
	}
	o.all = 15 * time.Second
	found, err := m.quiet(to).found(ctx, path, nil, nil, &o)
	if err == nil {
		err = check.Write(to, found, workingFolder())
	}
	return found, err
}

// options returns those of triad compare OP --add FILE --quick.
func (m *lookMachine) options(paths ...string) *compareOptions {
	o := &compareOptions{verb: "look", db: m.o.db, args: os.Args[min(1, len(os.Args)):]}
	o.pass, o.device, o.gpu, o.seed, o.quick = "both", "cpu", -1, strconv.Itoa(defaultSeed), true
	o.impls, o.ownFlags.add, o.look = []string{ownkernels.Family}, paths, true
	o.stems = m.stems
	return o
}

// judge runs triad compare on one file.
func (m *lookMachine) judge(ctx context.Context, path string, guess operatorguess.Guess, to io.Writer) (
	trial look.Trial, err error,
) {
	defer panics.Caught(&err, func() string { return "looking at " + path })
	trial.Guess = guess
	o := m.options(path)
	request, err := o.request([]string{guess.Operator})
	if err != nil {
		return trial, err
	}
	options, err := m.workerOptions(&o.caseFlags)
	if err != nil {
		return trial, err
	}
	mine, refused, err := m.addOwn(ctx, &o.ownFlags, &request, nil, o.environmentFlags, options)
	var misread *op.UsageError
	switch {
	case ctx.Err() != nil:
		return trial, ctx.Err()
	case errors.As(err, &misread), isUsage(err):
		return m.misread(trial, request, path, err), nil
	case err != nil:
		return trial, err
	}
	defer mine.Close()
	m.quiet(to).tellMatched(mine, refused, false)
	runner := &run.Runner{Backends: []backend.Backend{mine}, Recorder: discard{}, Stop: ctx}
	result, err := runner.Compare(ctx, request)
	switch {
	case ctx.Err() != nil:
		return trial, ctx.Err()
	case errors.As(err, &misread):
		return m.misread(trial, request, path, err), nil
	case err != nil:
		return trial, err
	}
	for i := range result.Records {
		result.Records[i].ID = strconv.Itoa(i) // until it is recorded
	}
	all, err := m.smallestCases(ctx, mine, nil, request, result, o.ownFlags.words(), m.calls)
	if err != nil {
		return trial, err
	}
	trial = m.finish(trial, mine, result, all)
	trial.Tell = func() error {
		code := session.ExitNothing
		if trial.Wrong() {
			code = session.ExitBad
		} else if trial.Right() {
			code = session.ExitGood
		}
		s := report.Summary{Seed: request.Seed, Exit: int(code)}
		err := report.Compare(to, report.Style{InDatabase: m.inDatabase}, result.Records, nil, s)
		return errors.Join(err, m.quiet(to).tellSmallest(all))
	}
	return trial, nil
}

// misread is the trial of a file that cannot be read as the operator.
func (m *lookMachine) misread(t look.Trial, request run.Request, path string, why error) look.Trial {
	signature, said, more := strings.Cut(strings.TrimPrefix(why.Error(), "--add "+path+": "), "\n")
	t.Why = signature
	if at := regexp.MustCompile(`^line \d+: `).FindString(signature); at != "" && more {
		said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
		t.Why = at + said
	}
	r := m.neither(request, path, op.StatusNotUnderstood, why.Error())
	if r != nil {
		t.Records = []*record.Record{r}
	}
	return t
}

// finish collects the verdicts of a trial, their causes and the records.
func (m *lookMachine) finish(t look.Trial, mine *ownFiles, result run.Result, all []diagnosed) look.Trial {
	t.Diagnoses = map[int]record.Diagnosis{}
	for i := range result.Records {
		r := &result.Records[i]
		r.ID = ""
		t.Records = append(t.Records, r)
		addPass(&t.Judged, r)
	}
	for _, d := range all {
		i, err := strconv.Atoi(d.run)
		if err != nil {
			continue
		}
		t.Diagnoses[i] = d.diagnosis
		for p := range t.Passes {
			if t.Passes[p].Pass == result.Records[i].Case.Pass && len(mine.Files) > 0 {
				t.Passes[p].Causes = append(t.Passes[p].Causes, causesOf(d, mine.File(d.Record.Impl))...)
			}
		}
	}
	return t
}

// addPass counts a record with those of its pass.
func addPass(j *firstlook.Judged, r *record.Record) {
	var p *firstlook.Pass
	for i := range j.Passes {
		if j.Passes[i].Pass == r.Case.Pass {
			p = &j.Passes[i]
		}
	}
	if p == nil {
		j.Passes = append(j.Passes, firstlook.Pass{Pass: r.Case.Pass, DType: r.Case.DType})
		p = &j.Passes[len(j.Passes)-1]
	}
	p.Row.Add(r.Status, r.Message, r.ID)
	if r.Case.DType == p.DType {
		p.Main.Add(r.Status, r.Message, r.ID)
	}
	for _, v := range r.Outputs {
		if r.Case.DType == p.DType && r.Case.Distribution == "normal" && v.ULPMean != nil {
			p.Error = max(p.Error, float64(*v.ULPMean))
		}
	}
}

// causesOf lists the causes of a wrong pass, with the line that writes the result where none is known.
func causesOf(d diagnosed, file *ownkernels.File) []firstlook.Cause {
	brief := d.Brief()
	usual := firstlook.Usual{Cause: firstlook.Cause{Line: brief.Line, Text: brief.Text}, Exact: brief.Exact}
	causes := firstlook.CausesOf(d.diagnosis, file.Path, usual)
	_, function, several := strings.Cut(d.Record.Impl, ":") // the file has several functions
	for i := range causes {
		if several {
			causes[i].Text = function + ": " + causes[i].Text
		}
		if causes[i].Line > 0 {
			continue
		}
		var outputs []string
		for _, b := range file.Bindings {
			for _, arg := range b.Args {
				if arg.Role == kernelfile.Output && b.Pass == d.Record.Case.Pass {
					outputs = append(outputs, arg.Name)
				}
			}
		}
		causes[i].Line = firstlook.WrittenAt(file.Text(), file.IsPython(), d.Record.Case.Pass == op.Backward,
			outputs)
	}
	return causes
}

func (m *lookMachine) notUnderstood(path, operator, why string) *record.Record {
	request, err := m.options(path).request([]string{operator})
	if err != nil {
		return nil
	}
	return m.neither(request, path, op.StatusNotUnderstood, why)
}

// neither returns the record of a file that gets no verdict; nil if the operator has no case.
func (m *lookMachine) neither(r run.Request, path string, status op.Status, why string) *record.Record {
	plan, err := r.Operators[0].Spec.Expand(r.Options)
	if err != nil || len(plan.Cases) == 0 {
		return nil
	}
	name := m.options(path).nameOf(path)
	return &record.Record{
		Case: plan.Cases[0], Seed: r.Seed, Impl: name, Backend: ownkernels.Family,
		Variant: strings.TrimPrefix(name, ownkernels.Family+"/"), Status: status, Message: why,
	}
}

// open begins the session of a round.
func (m *lookMachine) open(ctx context.Context, paths []string) (*session.Files, func() error, error) {
	ctx = context.WithoutCancel(ctx)
	o := m.options(paths...)
	store, err := m.openStore(ctx, o.db)
	if err != nil {
		return nil, nil, err
	}
	request := run.Request{Seed: defaultSeed, Options: op.Options{Level: op.LevelQuick}}
	hash := sha256.Sum256([]byte(strings.Join(paths, "\x00")))
	info := m.sessionInfo(ctx, "look files "+hex.EncodeToString(hash[:]), request,
		&sessionOptions{compareOptions: o})
	info.Added = o.addedFiles()
	files, err := session.OpenFiles(ctx, store, info, false)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return files, store.Close, nil
}

// betweenLooks is the time between two readings of all watched files: there may be many.
const betweenLooks = 400 * time.Millisecond

// changed waits for a save.
func (m *lookMachine) changed(ctx context.Context, paths func() []string, seen map[string]string) bool {
	var last string
	var at time.Time
	state := func() string {
		if time.Since(at) < betweenLooks {
			return last
		}
		var all strings.Builder
		for _, path := range paths() {
			fmt.Fprintf(&all, "%s %x\n", path, stateOfFile(path))
		}
		last, at = all.String(), time.Now()
		return last
	}
	var before strings.Builder
	for _, path := range paths() {
		fmt.Fprintf(&before, "%s %x\n", path, seen[path])
	}
	return m.untilSaved(ctx, before.String(), state)
}

// stateOfFile returns a hash of a file and of what it includes; "" if it cannot be read.
func stateOfFile(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if _, err := os.Stat(full); err != nil {
		return ""
	}
	hash := sha256.New()
	fileversion.WriteContents(hash, full)
	return string(hash.Sum(nil))
}
