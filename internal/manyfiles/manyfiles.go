// Package manyfiles judges many added files independently, few at once, and prints a row for each.
package manyfiles

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"triad/internal/candidates"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/binding"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/worker"
)

// Run judges many files independently, few at once: a file is read, built, judged on every case and
// recorded, and its worker ends, before the next takes its place. Memory holds only a row for each function,
// however many files there are.
type Run struct {
	*runsetup.Setup
	O       *runsetup.Options
	Request run.Request
	refused op.Case // the case under which a file that was not understood is recorded
	gpu     *machine.GPU
	workers worker.Options
	Session *session.Files
	Began   time.Time

	mu sync.Mutex
	Rows
	Judged int      // files judged by this command
	Open   bool     // a file was left
	wrote  []string // the results of writing lines into files
	Why    string   // why a file was left; "": the run was stopped
	fault  error    // ended the run
}

// Compare is compare with a folder, a pattern or a list in --add.
func Compare(ctx context.Context, a *runsetup.Setup, request run.Request, o *runsetup.Options) error {
	if err := CheckFiles(o, &request); err != nil {
		return err
	}
	if err := o.ReadyForCI(); err != nil {
		return err
	}
	options, onGPU, err := a.WorkersAndGPU(ctx, o)
	if err != nil {
		return err
	}
	onGPU.Apply(&request.Options)
	plan, err := request.Operators[0].Spec.Expand(request.Options)
	if err != nil {
		return err
	}
	cases := slices.Clone(plan.Cases)
	for _, s := range plan.Skipped {
		cases = append(cases, s.Case)
	}
	if len(cases) == 0 {
		return console.Usage(
			"there is no case to judge a file on: ask for other sizes, dtypes or distributions")
	}
	if o.Own.Box, err = a.BoxOf(ctx, &o.Own, onGPU); err != nil {
		return err
	}
	store, err := a.OpenStore(ctx, o.DB)
	if err != nil {
		return err
	}
	defer store.Close()
	so := runsetup.SessionOptions{Options: o, GPU: onGPU}
	info := a.SessionInfo(ctx, runsetup.Canonical(FilesWords(o), request, &o.CaseFlags), request, &so)
	info.Added = AddedFiles(o)
	files, err := session.OpenFiles(ctx, store, info, o.Resume)
	if err != nil {
		return err
	}
	request.Seed, request.Shard = files.Seed(), run.Shard{}
	request.Options.Seed = request.Seed
	r := &Run{
		Setup: a, O: o, Request: request, refused: cases[0], gpu: onGPU, workers: options, Session: files,
		Began: time.Now(), Rows: RowsOf(o),
	}
	err = r.all(ctx)
	return r.End(store.Path(), err)
}

// CheckFiles rejects options that many files do not support, and keeps only the files of the shard.
func CheckFiles(o *runsetup.Options, request *run.Request) error {
	if _, err := o.Own.Options(request.Options); err != nil {
		return err
	}
	if err := o.Own.Check(request.Impls, len(request.Operators), false); err != nil {
		return err
	}
	if o.Against+o.Dump != "" || o.Explain || o.PlanOnly || o.Verbose || o.Strict || len(o.Sanitizers) > 0 {
		return console.Usage(
			"--add of a folder, a pattern or a list gives each file a verdict: --against, --dump, " +
				"--explain, --plan, --verbose, --strict and --sanitize look at one; name its file")
	}
	for _, impl := range request.Impls {
		if impl != ownkernels.Family && !strings.HasPrefix(impl, ownkernels.Family+"/") {
			return console.Usage(
				"--impl %s: where --add names a folder, a pattern or a list, its files alone are "+
					"judged: run the others by themselves", impl)
		}
	}
	if s := request.Shard; s.Of > 1 {
		var mine []string
		for i, text := range o.Own.Add {
			if i%s.Of == s.Index-1 {
				mine = append(mine, text)
			}
		}
		if len(mine) == 0 {
			return console.Usage("shard %d/%d has no file: there are %d; want at most so many shards",
				s.Index, s.Of,
				len(o.Own.Add))
		}
		o.Own.Add = mine
	}
	return nil
}

// FilesWords identifies what is judged, to find an interrupted run.
func FilesWords(o *runsetup.Options) string {
	hash := sha256.Sum256([]byte(strings.Join(append(o.Own.Words(), o.ShardWords()...), "\x00")))
	return o.Verb + " files " + hex.EncodeToString(hash[:])
}

// AddedFiles returns the words of the session: each file with its name, then the words for all.
func AddedFiles(o *runsetup.Options) []string {
	words := o.Own.Words()
	for i, text := range o.Own.Add {
		words[i] = record.FileWord + NameOf(&o.Own, text) + "=" + words[i]
	}
	return words
}

// NameOf returns the name of a file's function, or the prefix of the names of all its functions.
func NameOf(f *added.Flags, text string) string {
	request, err := ownfile.ParseRequest(text)
	if err != nil {
		return ownkernels.Family + "/" + binding.Stems([]string{text})[0]
	}
	request.Stem = f.Stems[text]
	return request.Implementation()
}

// all judges every file that the session has not recorded, as many at once as there are cores.
func (r *Run) all(ctx context.Context) error {
	if err := r.before(); err != nil {
		return err
	}
	var group panics.Group
	next := make(chan int)
	progress := r.Progress()
	defer progress.Clear()
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				if err := r.one(ctx, i); err != nil {
					r.mu.Lock()
					r.fault = errors.Join(r.fault, err)
					r.mu.Unlock()
				}
			}
		})
	}
	for i := range r.O.Own.Add {
		if len(r.rows[i]) > 0 { // recorded before
			continue
		}
		if r.ended(ctx) {
			r.Open = true
			break
		}
		next <- i
		progress.Show(run.Progress{Case: i, Cases: len(r.O.Own.Add), Elapsed: time.Since(r.Began)})
	}
	close(next)
	return errors.Join(group.Wait(), r.fault)
}

// ended reports whether no further file may begin.
func (r *Run) ended(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Stop.Err() != nil || ctx.Err() != nil || r.fault != nil
}

// before fills in the rows that a resumed session has recorded.
func (r *Run) before() error {
	if !r.O.Resume {
		return nil
	}
	return r.Session.Outcomes(r.Take)
}

// one judges a file and records the results. An error ends the run.
func (r *Run) one(ctx context.Context, i int) error {
	began := time.Now()
	records, err := r.judgeFile(ctx, r.O.Own.Add[i])
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return err
	}
	if len(records) == 0 { // it was stopped
		r.Open = true
		return nil
	}
	if err := r.Session.Record(records); err != nil {
		return err
	}
	for _, x := range records {
		r.row(i, x.Impl).Add(x.Status, x.Message, x.ID)
	}
	r.Judged++
	for _, row := range r.rows[i] {
		row.Seconds = time.Since(began).Seconds()
		if r.O.JSON {
			if err := report.FileJSON(r.Out, row, r.Session.ID()); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeFile reads, builds and runs one file; it returns no records if it was stopped. A fault of the file is
// a record, and so is an internal error: the others are judged.
func (r *Run) judgeFile(ctx context.Context, text string) (records []*record.Record, err error) {
	defer func() {
		if fault := panics.In(err); fault != nil {
			fmt.Fprintf(r.Err, "triad: %s: %v\n", text, fault.WithStack())
			records, err = r.neither(text, op.StatusUnavailable, fmt.Errorf("an internal error of triad: %w",
				err)), nil
		}
	}()
	defer panics.Caught(&err, func() string { return "judging " + text })
	flags := r.O.Own
	flags.Add = []string{text}
	request := r.Request
	mine, refused, err := r.AddOwn(ctx, &flags, &request, r.gpu, r.O.EnvironmentFlags, r.workers)
	var u *op.UsageError
	switch {
	case err != nil && (r.Stop.Err() != nil || ctx.Err() != nil):
		return nil, nil
	case errors.As(err, &u), isUsage(err):
		return r.neither(text, op.StatusNotUnderstood, err), nil
	case err != nil:
		return nil, err
	}
	defer mine.Close()
	for _, why := range refused {
		records = append(records, r.neither(text, op.StatusNotUnderstood, why)...)
	}
	result, err := run.Unrecorded(ctx, r.Stop, mine, request, false)
	switch {
	case result.Interrupted && panics.In(err) == nil:
		r.keptFrom(text, result.Open)
		return nil, nil
	case errors.As(err, &u):
		return append(records, r.neither(text, op.StatusUnsupported, err)...), nil
	case err != nil:
		return nil, err
	}
	r.Session.Uses(result.Versions)
	for i := range result.Records {
		records = append(records, &result.Records[i])
	}
	if flags.Write {
		sentences := mine.WriteLines()
		r.mu.Lock()
		r.wrote = append(r.wrote, sentences...)
		r.mu.Unlock()
	}
	if len(records) == 0 {
		records = r.neither(text, op.StatusUnsupported, errors.New("no case that was asked for is one that "+
			"it takes"))
	}
	return records, nil
}

// keptFrom notes why this machine kept a file from being judged, if it did.
func (r *Run) keptFrom(text string, why []string) {
	if len(why) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Why = fmt.Sprintf("This machine kept %s from being judged: %s", text, strings.Join(why, "; "))
}

// isUsage reports whether the user can correct an error.
func isUsage(err error) bool {
	var f *session.Failure
	return errors.As(err, &f) && f.Code == session.ExitUsage
}

// neither returns the record of a file that gets no verdict.
func (r *Run) neither(text string, status op.Status, why error) []*record.Record {
	lines := strings.Split(why.Error(), "\n")
	var words []string
	for i, line := range lines { // the place, the mistake, and the line that corrects it
		if i < 2 || i == len(lines)-1 {
			words = append(words, strings.TrimSpace(line))
		}
	}
	name := NameOf(&r.O.Own, text)
	return []*record.Record{{
		Case: r.refused, Seed: r.Request.Seed, Impl: name, Backend: ownkernels.Family,
		Variant: strings.TrimPrefix(name, ownkernels.Family+"/"), Status: status,
		Message: strings.Join(words, " "),
	}}
}

// End prints the table, writes the output for CI systems, and ends the session.
func (r *Run) End(database string, why error) error {
	rows := r.InOrder()
	count := candidates.CountOf(rows)
	code, reason := session.ExitGood, ""
	if n := len(r.O.Own.Add); r.Open {
		reason = fmt.Sprintf("%s, with %d of %d files left: the same command with --resume judges them.",
			cmp.Or(r.Why, "The run was stopped"), n-r.Done(), n)
	}
	switch {
	case why != nil:
		code, reason = session.CodeOf(why), why.Error()
	case count.Bad > 0:
		code = session.ExitBad
	case r.Open || count.Open > 0 || count.Accepted == 0:
		code = session.ExitNothing
	}
	err := r.Session.Finish(why == nil && !r.Open, code, why)
	if !r.O.JSON {
		err = errors.Join(err, report.Files(r.Out, r.Style(), rows, report.FilesSummary{
			Session: r.Session.ID(), Database: database, Seed: r.Session.Seed(), Exit: int(code),
			Reason: reason, Files: r.Judged, Seconds: time.Since(r.Began).Seconds(),
		}))
	}
	r.TellWritten(r.wrote, r.O.JSON)
	err = errors.Join(err, r.printFilesCI(rows))
	return session.Ending{Code: code, Err: why}.Failure(err)
}

// printFilesCI writes the output that the flags for CI systems request: for each function the run that
// decides.
func (r *Run) printFilesCI(rows []*candidates.Row) error {
	if r.O.JUnit == "" && !r.O.GitHub {
		return nil
	}
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.Run)
	}
	records, err := r.Session.Runs(ids)
	if err != nil {
		return err
	}
	return r.WriteCI(r.O, run.Result{Records: records}, r.Session.Added())
}
