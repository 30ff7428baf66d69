package record

import (
	"encoding/json"
	"slices"
	"time"

	"triad/internal/op"
)

// Record is one run: one implementation on one case, with its outcome and verdicts. The store sets ID and
// Session.
type Record struct {
	ID      string // ULID
	Session string // ULID of the invocation
	Case    op.Case
	DTypes  Members[op.DType] // of every input and output of the pass, in the order of the spec
	Seed    uint64
	Impl    string // "cuda/warp"
	Backend string // "cuda", "triton", "torch"
	Variant string // "warp"
	Device  string // "gpu", "emulator", "interpreter", "cpu"; "" if nothing ran
	GPU     string // its place on the bus, "00000000:1B:00.0"; "" if none ran it or it is not known
	Source  string // content hash of the implementation's sources; "" if it could not be loaded
	Flags   string // that say how a user's file is compiled and called, as they were typed; "" if none do

	Status   op.Status
	Contract string // the contract that the verdict was given under; "" if there is none
	Message  string // one sentence for every status but a plain PASS
	Outputs  []Verdict
	Where    *Where
	LogTail  string
	Build    *Build

	Launches  int
	Started   time.Time
	Wall      time.Duration // of the whole case in the harness, emulation included: never a kernel's time
	PeakBytes int64         // device memory; 0 if it is not known

	Timings []Timing // one a regime; the first is the one that tables show

	Explained []Explanation // what --explain shows; printed, not stored
	Diagnosis *Diagnosis    // of wrong runs of a user's file that were looked at closer; nil of others
}

// Explanation holds the details of one judged output that its verdict does not show.
type Explanation struct {
	Output    string     `json:"output"`
	Contract  string     `json:"contract"`
	Promise   string     `json:"promise"` // the contract in words
	Gate      string     `json:"gate"`
	Sentence  string     `json:"message"` // the verdict in words; "" for a plain PASS
	Pattern   string     `json:"pattern"`
	Worst     []Element  `json:"worst"` // the worst 16, worst first
	Relations []Relation `json:"relations"`
	// how many errors are at most half an ulp, 1, 2, 4 ... ulps; the last: larger
	ULPs []int64 `json:"ulps"`
}

// Verdict is the judge's verdict on one output. The zero value passes nothing: its status is UNKNOWN.
type Verdict struct {
	Name   string    `json:"name"`
	Status op.Status `json:"status"`
	// the gate that rejected ("G0", "G1", "G2"), else the last one that was passed
	Gate      string `json:"gate"`
	Message   string `json:"message"`    // why, in a sentence; "" for a plain PASS
	Pattern   string `json:"pattern"`    // what is regular about the wrong elements; "" if nothing is
	N         int64  `json:"n"`          // elements of the output
	NCompared int64  `json:"n_compared"` // elements that were compared; n if the output is judged completely
	// further elements, whose rows' sums under random signs were compared
	NCovered int64    `json:"n_covered"`
	NWrong   int64    `json:"n_wrong"`
	Worst    *Element `json:"worst"` // null if no element was compared
	// min over the elements of (T + half an ulp) / |y-R|; "inf" if all are equal to the truth, null if a gate
	// rejects
	ErrorMargin *Float `json:"headroom"`
	// largest distance from the truth in units in the last place of the output's dtype
	ULPMax  *Float `json:"ulp_max"`
	ULPMean *Float `json:"ulp_mean"`
	// largest distance from the truth R, and largest share that it is of |R| + 1e-8; null in verdicts from
	// before they were kept
	AbsoluteMax *Float `json:"absolute_max"`
	RelativeMax *Float `json:"relative_max"`
	Judge       string `json:"judge"` // version of the judge's constants

	// relations (gate G6) that the plan asks of this output
	RelationsPlanned int        `json:"relations_planned"`
	Relations        []Relation `json:"relations"` // those that were evaluated

	// null if no value was judged, and in verdicts from before they were kept
	Statistics *Statistics `json:"statistics"`
}

// Relation is the result of one relation that must hold for an output, or between the outputs of two calls:
// gate G6.
type Relation struct {
	Name      string  `json:"name"` // what holds, in words
	Holds     bool    `json:"holds"`
	N         int64   `json:"n"` // comparisons planned
	NCompared int64   `json:"n_compared"`
	NWrong    int64   `json:"n_wrong"`
	Message   string  `json:"message"` // why it does not hold, in a sentence; "" if it does
	Worst     *Broken `json:"worst"`   // the comparison furthest from holding; null if none failed
}

// Broken is a comparison that does not hold: the value found, and those that would have been accepted.
type Broken struct {
	Index []int64 `json:"index"` // of the output, or of one of its rows
	Got   Float   `json:"got"`
	Low   Float   `json:"low"`
	High  Float   `json:"high"`
}

// Element is one element of an output, its value and the accepted ones.
type Element struct {
	Index []int64 `json:"index"`
	Got   Float   `json:"got"`
	Want  Float   `json:"want"` // the fp64 truth
	Low   Float   `json:"low"`  // lowest and highest accepted
	High  Float   `json:"high"`
}

// Where is the place in a kernel that a finding points to; what is not known is empty.
type Where struct {
	Kernel string  `json:"kernel,omitempty"`
	Block  *[3]int `json:"block,omitempty"`
	Thread *[3]int `json:"thread,omitempty"`
	File   string  `json:"file,omitempty"`
	Line   int     `json:"line,omitempty"`
}

// Build holds the build facts of the library that contains the implementation.
type Build struct {
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags"`
	Seconds  float64  `json:"seconds"` // 0 if the cache had it
	Cached   bool     `json:"cached"`
	Kernels  []Kernel `json:"kernels,omitempty"`
}

// Kernel holds the numbers that ptxas reported for one kernel.
type Kernel struct {
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	Registers   int    `json:"registers"`
	SharedBytes int    `json:"shared_bytes"`
	SpillBytes  int    `json:"spill_bytes"`
}

// object is the JSON form of a Record; docs/json.md describes it field by field, and a test compares the two.
type object struct {
	ID           string            `json:"id"`
	Session      string            `json:"session"`
	Op           string            `json:"op"`
	Pass         op.Pass           `json:"pass"`
	DType        string            `json:"dtype"`
	DTypes       Members[op.DType] `json:"dtypes"`
	Dims         Members[int64]    `json:"dims"`
	Attributes   Members[string]   `json:"attributes"`
	Layout       string            `json:"layout"`
	Distribution string            `json:"distribution"`
	Upstream     *string           `json:"upstream"`
	Saved        *string           `json:"saved"`
	CaseKey      string            `json:"case"`
	Seed         uint64            `json:"seed"`
	Impl         string            `json:"impl"`
	Backend      string            `json:"backend"`
	Variant      string            `json:"variant"`
	Device       string            `json:"device"`
	GPU          string            `json:"gpu,omitempty"`
	Source       string            `json:"source"`
	Flags        string            `json:"flags"`
	Status       op.Status         `json:"status"`
	Contract     string            `json:"contract"`
	Message      string            `json:"message"`
	Outputs      []Verdict         `json:"outputs"`
	Where        *Where            `json:"where"`
	LogTail      string            `json:"log_tail"`
	Build        *Build            `json:"build"`
	Launches     int               `json:"launches"`
	Started      string            `json:"started"`
	WallNS       int64             `json:"harness_wall_ns"`
	PeakBytes    int64             `json:"peak_memory_bytes"`
	Timing       *Timing           `json:"timing"`
	Timings      []Timing          `json:"timings,omitempty"`
	Explained    []Explanation     `json:"explained,omitempty"`
	Diagnosis    *Diagnosis        `json:"diagnosis,omitempty"`
}

// MarshalJSON writes the object that docs/json.md describes.
func (r Record) MarshalJSON() ([]byte, error) {
	o := object{
		ID: r.ID, Session: r.Session, Op: r.Case.Op, Pass: r.Case.Pass, DType: r.Case.DType, DTypes: r.DTypes,
		Dims: DimMembers(r.Case.Dims), Attributes: AttrMembers(r.Case.Attrs), Layout: r.Case.Layout,
		Distribution: r.Case.Distribution,
		Upstream:     orNull(r.Case.Upstream), Saved: orNull(r.Case.Saved), CaseKey: r.Case.Key(),
		Seed: r.Seed,
		Impl: r.Impl, Backend: r.Backend, Variant: r.Variant, Device: r.Device, GPU: r.GPU,
		Source: r.Source, Flags: r.Flags,
		Status: r.Status, Contract: r.Contract, Message: r.Message, Outputs: r.Outputs, Where: r.Where,
		LogTail: r.LogTail, Build: r.Build,
		Launches: r.Launches, WallNS: r.Wall.Nanoseconds(), PeakBytes: r.PeakBytes,
		Explained: explainedJSON(r.Explained), Diagnosis: r.Diagnosis.filled(),
	}
	o.Outputs = slices.Clone(o.Outputs)
	for i := range o.Outputs {
		o.Outputs[i].Relations = append([]Relation{}, o.Outputs[i].Relations...)
		o.Outputs[i].Statistics = o.Outputs[i].Statistics.filled()
	}
	if o.Outputs == nil {
		o.Outputs = []Verdict{}
	}
	if len(r.Timings) > 0 {
		o.Timing, o.Timings = &r.Timings[0], r.Timings[1:]
	}
	if !r.Started.IsZero() {
		o.Started = r.Started.UTC().Format(TimeFormat)
	}
	return json.Marshal(o)
}

// explainedJSON returns a copy whose empty lists are not null.
func explainedJSON(all []Explanation) []Explanation {
	all = slices.Clone(all)
	for i := range all {
		e := &all[i]
		e.Worst, e.Relations, e.ULPs = append([]Element{}, e.Worst...), append([]Relation{}, e.Relations...),
			append([]int64{}, e.ULPs...)
	}
	return all
}

// TimeFormat is the layout of a time in JSON and in the store's tables: UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
