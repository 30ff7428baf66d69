package backend

import (
	"context"

	"triad/internal/op"
)

// A Candidate is one side of a timing: a call prepared in its worker, with device memory of its own until
// Finish. Only one candidate of a machine may run at a time, and Time returns when its last call has ended.
type Candidate interface {
	// Facts returns the findings of its preparation.
	Facts() PrepareReply
	// Time makes calls and returns their times. If the candidate fails, the Outcome has a status and the
	// candidate is over.
	Time(ctx context.Context, args TimeArgs) (TimeReply, Outcome, error)
	// Finish returns what the timed calls wrote into the first and the last set of outputs, lists the outputs
	// that are not bit-identical in all sets, and frees the memory.
	Finish(ctx context.Context) (outcome Outcome, differing []Differing, err error)
}

// MeasureJob selects what a candidate times: the call of a job, or a ceiling of the device.
type MeasureJob struct {
	Job            // Launches are ignored
	Ceiling string // one of the Ceiling names; "" for the call
	Cold    bool   // rotate over sets of inputs and outputs that do not fit into the L2 cache; else one set
	// GraphNS is the target total time of the calls captured in one graph, in ns.
	GraphNS int64
}

// The ceilings measure a device's peak rates. A backend without a ceiling answers UNSUPPORTED.
const (
	// the driver's own copy, in every worker the same routine: it compares their clocks
	CeilingMemcpy = "memcpy"
	CeilingCopy   = "copy" // reads and writes as many bytes
	CeilingRead   = "read"
	CeilingWrite  = "write"
	CeilingBF16   = "bf16" // a product of random square matrices
	CeilingFP8    = "fp8"
	CeilingFP32   = "fp32"
)

// MeasureStep is a step of a measure request: prepare, then time as often as wanted, then finish.
type MeasureStep string

// The steps.
const (
	StepPrepare MeasureStep = "prepare"
	StepTime    MeasureStep = "time"
	StepFinish  MeasureStep = "finish"
)

// MeasureArgs is one step of a candidate, which the driver has numbered.
type MeasureArgs struct {
	Step      MeasureStep  `json:"step"`
	Candidate int64        `json:"arm"`
	Prepare   *PrepareArgs `json:"prepare,omitempty"`
	Time      *TimeArgs    `json:"time,omitempty"`
	Finish    *FinishArgs  `json:"finish,omitempty"`
}

// PrepareArgs requests sets of inputs and outputs, a call for each, and a graph of calls. Run has no
// launches. Cold asks for R sets, at least two, so that the inputs of all of them together, and the outputs,
// take at least twice the L2 cache; and for up to EvenSets of a call that is not slow. Inputs of all sets
// hold the same bits. Outputs of the first set are poisoned with "a", the others' with "b", after what is
// captured has been tried and before it is timed.
type PrepareArgs struct {
	Run     *RunArgs `json:"run,omitempty"`
	Ceiling string   `json:"ruler,omitempty"`
	Cold    bool     `json:"cold,omitempty"`
	GraphNS int64    `json:"graph_ns"`
}

// The least rotation: as many bytes as this many times the L2 cache. The bytes of all sets are capped, and so
// is their number. Inputs, or outputs, that are less than one part in SmallPart of a call's bytes do not
// count: if a sum reads a gigabyte, the place of its one number does not matter.
const (
	RotatedL2    = 2
	SmallPart    = 64
	MostRotated  = 16 << 30
	MostSets     = 1024
	MostCaptured = 4096 // calls in one graph
)

// Where in memory a set lies changes the time of a call that is bound by memory: with two sets each, one of
// two equal candidates was 1 % slower, round after round. More sets, as many as take EvenL2 times the L2
// cache, even that out. A call that takes longer than SlowCallNS moves so much memory, or is so little bound
// by it, that two are enough, and more would cost it rounds.
const (
	EvenSets   = 8
	EvenL2     = 16
	SlowCallNS = 1_000_000
)

// Data of others in the L2 cache changes the time of a call: lines of an ordinary priority stay there for as
// long as those that come after are read and written as evict-first ones. A softmax that does so took 262 us
// in a process of its own and 275 us for good once 16 MiB had been copied there. So every cold measurement
// follows a copy of OthersL2 times the cache: it is timed as if among others, whatever it is timed with.
const OthersL2 = 2

// A call that takes CacheShare times as long as the slowest GPU memory needs for its inputs and outputs gains
// less than one part in CacheShare from finding them in the cache: two sets are enough. A replay goes through
// every set once, so all of them together take at most MostReplayNS.
const (
	CacheShare          = 1000
	SlowestMemory       = 100e9 // bytes per second
	MostReplayNS  int64 = 500_000_000
)

// Rotated returns the bytes of inputs or of outputs, whichever are fewer, that a rotation over one set moves.
// The smaller side is ignored if it is below one part in SmallPart of the total.
func Rotated(in, out int64) int64 {
	switch total := in + out; {
	case in*SmallPart < total:
		return out
	case out*SmallPart < total:
		return in
	}
	return min(in, out)
}

// CacheMatters reports whether a call that takes tookNS could gain from cache hits on its inputs and outputs,
// bytes in total.
func CacheMatters(tookNS float64, bytes int64) bool {
	return tookNS < CacheShare*float64(bytes)/SlowestMemory*1e9
}

// SetsOfSlow limits the sets of a call that takes tookNS.
func SetsOfSlow(sets int, tookNS, bytes int64) int {
	if !CacheMatters(float64(tookNS), bytes) {
		return min(sets, 2)
	}
	return min(sets, int(max(2, MostReplayNS/max(tookNS, 1))))
}

// PrepareReply describes what was prepared.
type PrepareReply struct {
	Status  op.Status `json:"status,omitempty"` // empty if the candidate can be timed
	Message string    `json:"message,omitempty"`
	Fatal   bool      `json:"fatal,omitempty"`
	// "graph"; if it cannot be captured "events", which includes the host's time, or "kernels": the time of
	// the kernels that it launches, one by one
	Mode       string `json:"mode"`
	ModeReason string `json:"mode_reason"` // why it cannot be captured
	Sets       int    `json:"sets"`        // R
	Calls      int    `json:"calls"`       // K, in one replay
	// the smaller of the inputs' and the outputs' bytes over all sets
	RotatedBytes int64   `json:"rotated_bytes"`
	EstimateNS   float64 `json:"estimate_ns"` // of one call
	PeakBytes    int64   `json:"peak_bytes"`  // device memory of the candidate
	Bytes        int64   `json:"bytes,omitempty"`
	FLOPs        int64   `json:"flops,omitempty"` // of a ceiling: what one call moves or computes
	// what a timed backward starts from, as record.Timing has it; "": saved tensors
	Backward string `json:"backward"`
	// a further remark on how it is timed, in a sentence
	Note   string        `json:"note"`
	Device DevicePhysics `json:"device"`
	// how many of them a call is spread over; 0: one
	Devices int `json:"devices,omitempty"`
	// that one call launches, if the backend knows
	Kernels []LaunchFact `json:"kernels,omitempty"`
}

// LaunchFact describes a launched kernel: its grid, its compiled resources, and how many of its blocks a
// multiprocessor holds at once.
type LaunchFact struct {
	Kernel             string `json:"kernel"` // mangled
	Grid               [3]int `json:"grid"`
	Block              [3]int `json:"block"`
	Registers          int    `json:"registers"` // of a thread
	SharedBytes        int    `json:"shared_bytes"`
	DynamicSharedBytes int    `json:"dynamic_shared_bytes"`
	// of a thread: spills, and arrays that are no registers
	LocalBytes              int `json:"local_bytes"`
	BlocksPerMultiprocessor int `json:"blocks_per_multiprocessor"`
	// threads that a multiprocessor holds at once, as a share of the most that it can
	Occupancy float64 `json:"occupancy"`
}

// DevicePhysics holds the widths and highest clocks of a device, read from it; 0: not known.
type DevicePhysics struct {
	L2Bytes         int64   `json:"l2_bytes"`
	Multiprocessors int     `json:"multiprocessors"`
	BytesPerSecond  float64 `json:"bytes_per_second"` // of its memory: width times clock
	ClockMHz        float64 `json:"clock_mhz"`        // highest of the multiprocessors
	Major           int     `json:"major"`            // compute capability
	Minor           int     `json:"minor"`
}

// TimeArgs requests samples: the mean time of a call in one replay each. SettleNS of untimed replays come
// first, then, if Others is set, a copy by the driver of OthersL2 times the L2 cache, then Discard.
type TimeArgs struct {
	SettleNS int64 `json:"settle_ns,omitempty"`
	Others   bool  `json:"others,omitempty"`
	Discard  int   `json:"discard,omitempty"`
	Samples  int   `json:"samples"`
}

// TimeReply holds the samples, in ns a call, in the order in which they were taken.
type TimeReply struct {
	Status    op.Status `json:"status,omitempty"`
	Message   string    `json:"message,omitempty"`
	Fatal     bool      `json:"fatal,omitempty"`
	SamplesNS []float64 `json:"samples_ns"`
}

// FinishArgs locates the outputs of the first and the last set. If there is only one set, its outputs are
// poisoned again with the second launch's poison and the graph is replayed once between the two. Without
// launches the candidate is dropped.
type FinishArgs struct {
	Launches []Launch `json:"launches,omitempty"`
}

// Differing is an output whose bits in some set are not those of the first.
type Differing struct {
	Output string   `json:"output"`
	Set    int      `json:"set"`    // the first such set
	Bytes  int64    `json:"bytes"`  // of the output that differ there
	Inputs []string `json:"inputs"` // of that set that are not the same bits either
}

// FinishReply is as for a run, with a launch for each that was asked for.
type FinishReply struct {
	RunReply
	Differing []Differing `json:"differing,omitempty"`
}
