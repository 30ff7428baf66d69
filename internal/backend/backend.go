package backend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Backend runs the implementations of operators: a port with an adapter for CUDA and one for Python. Its
// methods may be called from several goroutines.
type Backend interface {
	// Name returns the prefix under which the backend is requested if it is missing: "cuda", "python".
	Name() string
	// Families returns the first parts of the names of its implementations: "cuda"; "triton" and "torch".
	Families() []string
	// Load lists what the operator's sources hold; it may build them. It returns a *Unavailable if the
	// toolchain is missing.
	Load(ctx context.Context, operator string) (LoadReply, HelloReply, error)
	// Run executes one job. A kernel that fails is an Outcome; an error means that the harness failed.
	Run(ctx context.Context, job Job) (Outcome, error)
	// Measure prepares a call, or a ceiling, to be timed. If it cannot be, the candidate is nil and the
	// outcome has the reason. Only a GPU is timed.
	Measure(ctx context.Context, job MeasureJob) (Candidate, Outcome, error)
	// Close ends every worker. It reports those that could not be killed.
	Close() error
}

// As finds an optional capability in a backend, or in the backends that it wraps.
func As[T any](b Backend) (T, bool) {
	for {
		if found, ok := b.(T); ok {
			return found, true
		}
		around, ok := b.(interface{ Unwrap() Backend })
		if !ok {
			var none T
			return none, false
		}
		b = around.Unwrap()
	}
}

// Unavailable is the error of a backend whose toolchain is missing; Sentence says what is missing and how to
// get it.
type Unavailable struct{ Sentence string }

func (u *Unavailable) Error() string { return u.Sentence }

// UnusableCache returns the error for something needed that cannot be kept in a folder of the cache.
func UnusableCache(what, folder string, err error) error {
	return &Unavailable{Sentence: fmt.Sprintf("%s cannot be kept in %s (%v): set XDG_CACHE_HOME to a folder "+
		"that can be written", what, folder, err)}
}

// BuildFailure is the error of sources that do not compile or import as a whole.
type BuildFailure struct {
	Status        op.Status // of a worker that was lost while it loaded them; else BUILD_FAIL
	Sentence, Log string
}

func (b *BuildFailure) Error() string { return b.Sentence }

// Verdict returns the status of what could not be built.
func (b *BuildFailure) Verdict() op.Status {
	if b.Status == op.StatusUnknown {
		return op.StatusBuildFail
	}
	return b.Status
}

// HostTrouble is an error that this machine caused and no kernel: a process that was killed from outside, or
// a full disk. What it kept from running is neither right nor wrong, and stays open.
type HostTrouble struct{ Sentence, Log string }

func (h *HostTrouble) Error() string { return h.Sentence }

// Job is one case for one implementation.
type Job struct {
	Implementation Implementation
	DType          string
	Contract       string
	Attrs          []AttrRef
	Inputs         []tensor.Tensor
	Outputs        []op.TensorType
	Launches       []LaunchPlan
	// SizesAlone asks torch.compile for a function of these sizes alone, as for timed calls: the judged
	// function is then the timed one, and is compiled once.
	SizesAlone bool
	Words      []int64 // how a function of a user's CUDA file is called: see RunArgs
}

// Empty reports whether a job has nothing to write.
func (j *Job) Empty() bool {
	return !slices.ContainsFunc(j.Outputs, func(t op.TensorType) bool { return t.Elements() > 0 })
}

// LaunchPlan is one launch of a job; see Launch.
type LaunchPlan struct{ Poison, Order, Place string }

// Outcome is the result of a job. Status is empty (StatusUnknown) if every launch returned normally.
type Outcome struct {
	Status   op.Status
	Sentence string
	Where    *Where
	Log      string // the tail of what the worker printed
	Launches []LaunchOutcome
	Calls    []string // of an OrderRecorded launch, also of one that raised
	// those of autotuned kernels in the interpreter: see LaunchReply
	Configurations []string
	Traffic        *Traffic // of a launch in the interpreter: see LaunchReply
	Wall           time.Duration
	PeakBytes      int64
	Ended          bool // the worker ended with the job, or was ended: the next job waits for a new one
	Wedged         bool // the worker survived SIGKILL
	// of a job without an answer: the longest that one of as much work took before; 0: none came back
	Usual time.Duration
}

// Learned adds what a launch reported about the implementation, however it ended.
func (o *Outcome) Learned(l LaunchReply) {
	o.Calls = append(o.Calls, l.Calls...)
	if len(l.Configurations) > len(o.Configurations) {
		o.Configurations = l.Configurations
	}
	if l.Traffic != nil {
		o.Traffic = l.Traffic
	}
}

// ChangedItsMind turns a decline after an earlier launch of the same call into a failure: a call that was
// accepted once may not be declined later.
func (o *Outcome) ChangedItsMind() {
	if o.Status == op.StatusUnsupported {
		o.Status, o.Sentence = op.StatusFail,
			"it took this call once, and declines it when it is launched again: "+o.Sentence
	}
}

// LaunchOutcome is the result of one launch.
type LaunchOutcome struct {
	Plan    LaunchPlan
	Changed []string // inputs whose storage changed
	Guards  []GuardReport
	Fault   string // what else the call did that it must not do, in one clause
	Outputs []Output
}

// Output is the returned value of one declared output. Present is false if there was none.
type Output struct {
	OutputRef
	Tensor tensor.Tensor // contiguous, in the declared dtype and shape; its Data is the driver's own copy
}
