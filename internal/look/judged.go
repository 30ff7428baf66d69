package look

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"triad/internal/check"
	"triad/internal/console"
	"triad/internal/fileversion"
	"triad/internal/firstlook"
	"triad/internal/machine"
	"triad/internal/manyfiles"
	"triad/internal/op"
	"triad/internal/operatorguess"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/pyparser"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/participants"
	"triad/internal/programcheck"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/shrink"
	"triad/internal/smallestcase"
	"triad/internal/standing"
	"triad/internal/watched"
)

// Looker is triad FILE and triad FOLDER. It looks on the CPU: the emulator sees more than a GPU, and nothing
// has to be installed for it.
type Looker struct {
	*runsetup.Setup
	Options
	stems map[string]string // of the files of this round
	calls *watched.Calls    // watches the smallest wrong cases of this round: they keep what they built
}

// New returns what looks at files.
func New(s *runsetup.Setup) *Looker {
	return &Looker{Setup: s}
}

// begin begins a round: nothing that the last one built of the files is used again.
func (a *Looker) begin(paths []string) {
	a.stems, a.calls = added.StemsOf(paths), smallestcase.Calls(a.Workers)
}

// At looks at files and folders.
func (a *Looker) At(ctx context.Context, paths []string) error {
	ctx, done := a.AtFirstInterrupt(ctx)
	defer done()
	if a.Page && a.Once {
		return console.Usage("--page follows the files while triad watches them: leave out --once")
	}
	progress := a.Progress()
	environment, err := a.Environment(machine.EnvironmentFlags{Look: true}, false)
	if err != nil {
		return err
	}
	python := make(chan error, 1) // the one answer, which each file takes and puts back
	panics.Go(func() {
		_, err := environment.Find(ctx)
		python <- err
	}, a.Broke)
	newPage := a.NewPage
	var page func(report.LookedAt)
	if a.Page {
		var tell func()
		if page, tell, err = a.livePage(ctx); err != nil {
			return err
		}
		tell()
		newPage = func() {
			a.NewPage()
			tell()
		}
	}
	return Run(ctx, paths, a.Options, Machine{
		Out: a.Out, Terminal: console.IsTerminal(a.Out), Columns: a.Style().Width,
		Color: a.color, Parse: pyparser.New(pyparser.OfPATH),
		Python: func(ctx context.Context) error {
			select {
			case err := <-python:
				python <- err
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Begin: a.begin,
		Check: a.check, Judge: a.judge, NotUnderstood: a.notUnderstood, Open: a.open,
		Show: func(done, all int) { show(progress, done, all) },
		Callable: func(path string) bool {
			solve, err := check.ReadSolve(path, nil)
			return err == nil && solve != nil && solve.Declared()
		},
		Where: func(id string) string {
			return "-v prints all of it; triad results report " + id + a.InDatabase + " makes a page."
		},
		Changed: a.changed, State: fileversion.State, NewPage: newPage, Page: page,
	})
}

// color colours a verdict on a terminal that shows colours.
func (a *Looker) color(v firstlook.Verdict, text string) string {
	colors := map[firstlook.Verdict]string{
		firstlook.Right: "32", firstlook.Clean: "32", firstlook.Wrong: "31", firstlook.GradientWrong: "31",
		firstlook.Unsure: "33", firstlook.GradientUnsure: "33",
	}
	if !a.Style().Color || colors[v] == "" {
		return text
	}
	return "\x1b[" + colors[v] + "m" + text + "\x1b[0m"
}

// show shows how far a look is.
func show(p *session.Progress, done, all int) {
	if all == 0 {
		p.Clear()
		return
	}
	p.Preparing(fmt.Sprintf("%d of %d files", done, all))
}

// mostChecked is the time after which a check of a program leaves out orders.
const mostChecked = 15 * time.Second

func (a *Looker) check(ctx context.Context, path string, to io.Writer) (*check.Report, error) {
	return programcheck.Program(ctx, a.Writing(to).Workers, path, mostChecked)
}

// optionsOf returns those of triad compare OP --add FILE --quick.
func (a *Looker) optionsOf(paths ...string) *runsetup.Options {
	o := &runsetup.Options{Verb: "look", DB: a.DB, Args: os.Args[min(1, len(os.Args)):]}
	o.Pass, o.Device, o.GPU, o.Seed, o.Quick = "both", "cpu", -1, strconv.Itoa(runsetup.DefaultSeed), true
	o.Impls, o.Own.Add, o.Look = []string{ownkernels.Family}, paths, true
	o.Own.Stems = a.stems
	return o
}

// judge runs triad compare on one file.
func (a *Looker) judge(ctx context.Context, path string, guess operatorguess.Guess, to io.Writer) (
	trial Trial, err error,
) {
	defer panics.Caught(&err, func() string { return "looking at " + path })
	trial.Guess = guess
	o := a.optionsOf(path)
	request, err := o.Request(a.Files, []string{guess.Operator})
	if err != nil {
		return trial, err
	}
	options, err := a.WorkerOptions(&o.CaseFlags)
	if err != nil {
		return trial, err
	}
	mine, refused, err := a.AddOwn(ctx, &o.Own, &request, nil, o.EnvironmentFlags, options)
	var misread *op.UsageError
	switch {
	case ctx.Err() != nil:
		return trial, ctx.Err()
	case errors.As(err, &misread), session.CodeOf(err) == session.ExitUsage:
		return a.misread(trial, request, path, err), nil
	case err != nil:
		return trial, err
	}
	defer mine.Close()
	a.Writing(to).TellMatched(mine, refused, false)
	result, err := run.Unrecorded(ctx, ctx, mine, request, false)
	switch {
	case ctx.Err() != nil:
		return trial, ctx.Err()
	case errors.As(err, &misread):
		return a.misread(trial, request, path, err), nil
	case err != nil:
		return trial, err
	}
	for i := range result.Records {
		result.Records[i].ID = strconv.Itoa(i) // until it is recorded
	}
	all, err := smallestcase.Find(ctx, smallestcase.Judged{
		Files: mine, Request: request, Result: result, Added: o.Own.Words(),
	}, a.calls)
	if err != nil {
		return trial, err
	}
	trial = a.finish(trial, result, all)
	trial.Versions = mine.Versions(ctx)
	maps.Copy(trial.Versions, result.Versions)
	if trial.Right() {
		trial.Places = a.places(ctx, mine, request, result)
	}
	trial.Tell = func() error { return a.printTrial(to, trial, request, result, all) }
	return trial, nil
}

// places returns where the kernels of a right file stand on the operator's ladder, a line a pass.
func (a *Looker) places(ctx context.Context, mine *participants.OwnFiles, r run.Request, result run.Result) (
	lines []string,
) {
	for _, p := range standing.Places(ctx, a.Workers, mine, r, result.Records) {
		if p.Known() {
			lines = append(lines, fmt.Sprintf("%s: %s", p.Pass, p.Line()))
		}
	}
	return lines
}

// printTrial prints all of a trial.
func (a *Looker) printTrial(to io.Writer, t Trial, r run.Request, result run.Result,
	all []shrink.Diagnosed,
) error {
	code := session.ExitNothing
	if t.Wrong() {
		code = session.ExitBad
	} else if t.Right() {
		code = session.ExitGood
	}
	style := report.Style{InDatabase: a.InDatabase}
	err := report.Compare(to, style, result.Records, nil, report.Summary{Seed: r.Seed, Exit: int(code)})
	return errors.Join(err, smallestcase.Print(to, style, all))
}

// placeInFile matches the place that begins a sentence about a file.
var placeInFile = regexp.MustCompile(`^line \d+: `)

// misread is the trial of a file that cannot be read as the operator.
func (a *Looker) misread(t Trial, request run.Request, path string, why error) Trial {
	signature, reason, more := strings.Cut(strings.TrimPrefix(why.Error(), "--add "+path+": "), "\n")
	t.Why = signature
	if at := placeInFile.FindString(signature); at != "" && more {
		reason, _, _ = strings.Cut(strings.TrimSpace(reason), "\n")
		t.Why = at + reason
	}
	r := a.neither(request, path, op.StatusNotUnderstood, why.Error())
	if r != nil {
		t.Records = []*record.Record{r}
	}
	return t
}

// finish collects the verdicts of a trial, their causes and the records.
func (a *Looker) finish(t Trial, result run.Result, all []shrink.Diagnosed) Trial {
	t.Diagnoses = map[int]record.Diagnosis{}
	for i := range result.Records {
		r := &result.Records[i]
		r.ID = ""
		t.Records = append(t.Records, r)
		addPass(&t.Judged, r)
	}
	for _, d := range all {
		i, err := strconv.Atoi(d.Run)
		if err != nil {
			continue
		}
		t.Diagnoses[i] = d.Diagnosis
		for p := range t.Passes {
			if t.Passes[p].Pass == result.Records[i].Case.Pass {
				t.Passes[p].Causes = append(t.Passes[p].Causes, d.Diagnosis.Causes...)
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

func (a *Looker) notUnderstood(path, operator, why string) *record.Record {
	request, err := a.optionsOf(path).Request(a.Files, []string{operator})
	if err != nil {
		return nil
	}
	return a.neither(request, path, op.StatusNotUnderstood, why)
}

// neither returns the record of a file that gets no verdict; nil if the operator has no case.
func (a *Looker) neither(r run.Request, path string, status op.Status, why string) *record.Record {
	plan, err := r.Operators[0].Spec.Expand(r.Options)
	if err != nil || len(plan.Cases) == 0 {
		return nil
	}
	name := manyfiles.NameOf(&a.optionsOf(path).Own, path)
	return &record.Record{
		Case: plan.Cases[0], Seed: r.Seed, Impl: name, Backend: ownkernels.Family,
		Variant: strings.TrimPrefix(name, ownkernels.Family+"/"), Status: status, Message: why,
	}
}

// open begins the session of a round.
func (a *Looker) open(ctx context.Context, paths []string) (*session.Files, func() error, error) {
	ctx = context.WithoutCancel(ctx)
	o := a.optionsOf(paths...)
	store, err := a.OpenStore(ctx, o.DB)
	if err != nil {
		return nil, nil, err
	}
	request := run.Request{Seed: runsetup.DefaultSeed, Options: op.Options{Level: op.LevelQuick}}
	hash := sha256.Sum256([]byte(strings.Join(paths, "\x00")))
	info := a.SessionInfo(ctx, "look files "+hex.EncodeToString(hash[:]), request,
		&runsetup.SessionOptions{Options: o})
	info.Added = manyfiles.AddedFiles(o)
	files, err := session.OpenFiles(ctx, store, info, false)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return files, store.Close, nil
}

// betweenLooks is the time between two readings of all watched files: there may be many.
const betweenLooks = 400 * time.Millisecond

// changed waits for a save.
func (a *Looker) changed(ctx context.Context, paths func() []string, seen map[string]string) bool {
	var before strings.Builder
	for _, path := range paths() {
		fmt.Fprintf(&before, "%s %x\n", path, seen[path])
	}
	var last string
	var at time.Time
	state := func() string { // a change is read again at once, so that a save is seen when it has settled
		if last == before.String() && time.Since(at) < betweenLooks {
			return last
		}
		var all strings.Builder
		for _, path := range paths() {
			fmt.Fprintf(&all, "%s %x\n", path, fileversion.State(path))
		}
		last, at = all.String(), time.Now()
		return last
	}
	return a.UntilSaved(ctx, before.String(), state)
}
