package run

import (
	"context"
	"slices"
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

// Recorder keeps what a run finds. Plan comes first, with the versions of what takes part. Each Append is one
// transaction: what it has returned from is not lost.
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
	// what a resumed session has recorded, with its timings
	Before []record.Record
	// ask no relation between calls (G6): what a case gives is judged alone
	Single bool
	Keep   func(c op.Case, implementation string) bool // of what is planned only this is run; nil: all
	Shard  Shard                                       // of the plan only this part is run
	// Claim reports whether this run takes a case, by its key, where several runs share a plan: one of them
	// gets true, and gets it again; nil: it takes all
	Claim func(key string) (bool, error)
	// check the truth against the complex step, and launch a moderate case of each operator and dtype more
	// often
	Gradients bool
	// after so long no other case of an implementation that is limited is run; 0: all are
	CasesLimit time.Duration
	Limited    func(implementation string) bool
	OnlyPlan   bool // nothing is run after the plan: workers that run jobs side by side are not started
}

// A Dumper gets the tensors of every case that is run: its inputs and its truth under the default contract,
// then each implementation's outputs of the first launch. It may be called from several goroutines.
type Dumper interface {
	Case(c op.Case, inputs []tensor.Tensor, truth judge.Truth) error
	Outputs(c op.Case, implementation string, outputs []tensor.Tensor) error
}

// Runner runs requests. Backends are asked for every operator; those that are not here are recorded as
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
	// may be nil; called from several goroutines, one at a time
	Progress func(Progress)
	// Races finds the lines of a race that was seen as other bits; nil: none. May be nil; called from several
	// goroutines.
	Races func(ctx context.Context, b backend.Backend, job backend.Job) *Race
	Twins Twins // what runs on a GPU is judged in the emulator too, on the quick cases; may be nil
	// done: finish the cases that are running, start no others
	Stop context.Context
}

// Race holds two unordered accesses: the place of one, and both in words.
type Race struct {
	Where    backend.Where
	Sentence string
}

// Progress says how far a run is.
type Progress struct {
	Case, Cases int           // finished and planned cases
	Elapsed     time.Duration // since the first case began
	Text        string        // what goes on where no case runs yet: "building the kernels of softmax"
}

// Result holds the results of a run, in the order of the plan.
type Result struct {
	Records     []record.Record
	Differences []record.Difference
	Rulers      []record.Ruler
	Comparisons []record.Comparison // of what was timed
	// where Request.Gradients asks for it: the truth against the complex step, an operator each
	Steps       []Step
	Unavailable []string      // what was asked for by name and is not here: a sentence each
	Besides     []BesideSeen  // what the emulator said of what is right on a GPU
	Power       Power         // of the cases that were judged, by an interrupted session too
	Findings    []FindingSeen // documented findings that speak of cases of the run
	Interrupted bool          // the run ended before its plan was done
	Open        []string      // what this machine kept from being run, and why: a sentence each
	Versions    record.Toolchain
	Spent       []Spent // where the time of the run went, in order
}

// Spent is the time that one part of a run took.
type Spent struct {
	On   string // "loading"
	Time time.Duration
}

// spend adds the time since a part began to what the part took before.
func (r *Result) spend(on string, began time.Time) {
	if at := slices.IndexFunc(r.Spent, func(s Spent) bool { return s.On == on }); at >= 0 {
		r.Spent[at].Time += time.Since(began)
		return
	}
	r.Spent = append(r.Spent, Spent{on, time.Since(began)})
}
