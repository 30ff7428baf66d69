package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/timing"
	"triad/internal/truth"
	_ "triad/internal/truth/all" // whoever judges needs the truths of all operators
)

// Recorder stores the results of a run. Plan comes first, with the versions of what takes part. Each Append
// is one transaction: once it has returned, its results are not lost.
type Recorder interface {
	Plan(items []record.Item, versions record.Toolchain) error
	// Done reports whether an item of the plan was recorded before, by the session that is being resumed.
	Done(item record.Item) bool
	Append(r *record.Record) error
	AppendDifferences(d []record.Difference) error
}

// Request holds a user's request, operators and cases already chosen.
type Request struct {
	Operators []*truth.Operator
	Options   op.Options // dtypes, passes, dims, attributes, level, ...
	Impls     []string   // prefixes of implementation names; empty: all
	Seed      uint64
	InFlight  int          // cases worked on at once; 0: two
	Explain   bool         // keep what --explain shows
	Timing    *timing.Plan // how what passed on a GPU is timed; nil: it is not
	// Before holds the records of the session that is resumed, with their timings
	Before []record.Record
	// Single evaluates no relation between calls (G6): each call is judged alone
	Single bool
	Keep   func(c op.Case, implementation string) bool // of the plan only this is run; nil: all
	Shard  Shard                                       // of the plan only this part is run
	// Claim reports whether this run takes a case of an operator, by its key, where several runs share a
	// plan: one of them gets true, and gets it again; nil: it takes all
	Claim func(operator, key string) (bool, error)
	// Gradients checks the truth against the complex step, and launches a moderate case of each operator and
	// dtype more often
	Gradients bool
	// CasesLimit limits the time of all cases of an implementation that is Limited: no more are run after it;
	// 0: no limit
	CasesLimit time.Duration
	Limited    func(implementation string) bool
	OnlyPlan   bool // nothing is run after the plan: workers that run jobs side by side are not started
}

// OperatorOfFiles returns the operator that users' files are judged on, the only one of the request: one of
// the catalog without its implied dims, or a user's own as it is.
func (r *Request) OperatorOfFiles(own bool) *truth.Operator {
	if !own {
		r.Operators = []*truth.Operator{r.Operators[0].WithoutImplied()}
	}
	return r.Operators[0]
}

// A Dumper gets the tensors of every case that is run: its inputs and its truth under the default contract,
// then each implementation's outputs of the first launch. It may be called from several goroutines.
type Dumper interface {
	Case(c op.Case, inputs []tensor.Tensor, truth judge.Truth) error
	Outputs(c op.Case, implementation string, outputs []tensor.Tensor) error
}

// Runner runs requests. Backends are asked for every operator; those that are missing are recorded as
// UNAVAILABLE.
type Runner struct {
	Backends  []backend.Backend
	Recorder  Recorder
	Dumper    Dumper                                     // may be nil
	Timings   timing.Recorder                            // nil where nothing is timed
	Telemetry timing.Telemetry                           // may be nil
	GPU       string                                     // which one, for records; "" where there is none
	HostBytes int64                                      // of memory that this process may take; 0: not known
	Rest      func(ctx context.Context, d time.Duration) // nil: really waits
	// Progress may be nil; it is called from several goroutines, one at a time
	Progress func(Progress)
	// Races finds the lines of a race that showed as different bits; nil: none. It may be nil, and is called
	// from several goroutines.
	Races func(ctx context.Context, b backend.Backend, job backend.Job) *Race
	Twins Twins // judge what runs on a GPU in the emulator too, on the quick cases; may be nil
	// Stop, when done, ends the run after the cases under way
	Stop context.Context
	// Loading, if not nil, is called when building and loading begin, which Stop ends at once, and its result
	// when they are over
	Loading func() (over func())
}

// Race holds two unordered accesses: the place of one, and both in words.
type Race struct {
	Where    backend.Where
	Sentence string
}

// Progress counts the cases of a run that are done.
type Progress struct {
	Case, Cases int           // finished and planned cases
	Elapsed     time.Duration // since the first case began
	Text        string        // what is going on before the first case: "building the kernels of softmax"
}

// Result holds the results of a run, in the order of the plan.
type Result struct {
	Records     []record.Record
	Differences []record.Difference
	Ceilings    []record.Ceiling
	Comparisons []record.Comparison // of what was timed
	// Steps compares the truth with the complex step, once for each operator; only with Request.Gradients
	Steps        []Step
	Unavailable  []string       // what was asked for by name and is missing: a sentence each
	Smaller      []string       // which timed points are smaller than the spec has them: a sentence each
	TwinVerdicts []TwinVerdicts // the emulator's verdicts on what is right on a GPU
	Power        Power          // of the judged cases, including those of an interrupted session
	Findings     []FindingSeen  // documented findings that cover cases of the run
	Interrupted  bool           // the run ended before its plan was done
	Open         []string       // what this machine kept from running, and why: a sentence each
	Versions     record.Toolchain
	Spent        []Spent // how long the parts of the run took, in order
}

// Spent is the time that one part of a run took.
type Spent struct {
	On   string // "loading"
	Time time.Duration
}

// spend adds the time since a part began to the part's time.
func (r *Result) spend(on string, began time.Time) {
	if at := slices.IndexFunc(r.Spent, func(s Spent) bool { return s.On == on }); at >= 0 {
		r.Spent[at].Time += time.Since(began)
		return
	}
	r.Spent = append(r.Spent, Spent{on, time.Since(began)})
}

func (r *Runner) progress(p Progress) {
	if r.Progress != nil {
		r.Progress(p)
	}
}

// names returns the names of the operators of a request.
func names(r Request) string {
	var all []string
	for _, o := range r.Operators {
		all = append(all, o.Spec.Name)
	}
	return strings.Join(all, ", ")
}

// describe names a case in errors.
func describe(c op.Case) string {
	var dims []string
	for _, d := range c.Dims {
		dims = append(dims, fmt.Sprintf("%s=%d", d.Name, d.Value))
	}
	return fmt.Sprintf("%s %v %s %s %s", c.Op, c.Pass, c.DType, strings.Join(dims, ","), c.Distribution)
}

// ErrStopped is the error of a plan that was stopped while the implementations were built or loaded.
var ErrStopped = errors.New("stopped before anything was run")

// whileLoading returns a context for building and loading, which the first request to stop ends too: there is
// nothing in it to finish. Workers that still load in the background after done go on with the run.
func (r *Runner) whileLoading(ctx context.Context) (loading context.Context, done func()) {
	stop, over := r.Stop, func() {}
	if stop == nil {
		stop = context.Background()
	}
	if r.Loading != nil {
		over = r.Loading()
	}
	loading, cancel := context.WithCancelCause(ctx)
	undo := context.AfterFunc(stop, func() { cancel(ErrStopped) })
	return loading, func() {
		undo()
		over()
	}
}
