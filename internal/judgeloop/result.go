package judgeloop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"triad/internal/harmless"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// Result is the result of a job: one line of JSON.
type Result struct {
	Line int             `json:"line,omitempty"` // of stdin, from 1
	ID   json.RawMessage `json:"id,omitempty"`
	// Right: at least one case is right and none is wrong
	Right   bool   `json:"right"`
	Verdict string `json:"verdict"` // a status; "" if nothing was judged
	Message string `json:"message"` // of the first wrong case, or why nothing was judged
	Error   bool   `json:"error"`   // the job could not be judged: the candidate is neither right nor wrong
	Problem string `json:"problem,omitempty"`
	Device  string `json:"device,omitempty"`
	Sandbox string `json:"sandbox,omitempty"` // "bubblewrap", or "none" with --no-sandbox
	Judge   string `json:"judge,omitempty"`   // version of the judge's constants
	Seed    uint64 `json:"seed"`
	Good    int    `json:"good"`
	Neutral int    `json:"neutral"`
	Bad     int    `json:"bad"`
	Stopped bool   `json:"stopped"` // further cases were not judged, since one is wrong
	Wrong   []Case `json:"wrong"`
	// Kernels lists what one call ran: kernels, and operations of torch; null if that is not known
	Kernels  []string `json:"kernels"`
	Unlisted string   `json:"kernels_unknown,omitempty"` // why Kernels is null or incomplete
	Seconds  float64  `json:"seconds"`
}

// Case is a case that is wrong, or that a neutral result rests on.
type Case struct {
	Pass    string `json:"pass"`
	DType   string `json:"dtype"`
	Case    string `json:"case"`
	Status  string `json:"status"`
	Output  string `json:"output,omitempty"`
	Gate    string `json:"gate,omitempty"`
	NWrong  int64  `json:"n_wrong,omitempty"`
	N       int64  `json:"n,omitempty"`
	Message string `json:"message"`
}

// mostWrong limits the cases that a result lists.
const mostWrong = 8

// Refused is the result of a job that cannot be judged.
func Refused(err error) *Result {
	return &Result{Error: true, Message: harmless.Line(err.Error()), Wrong: []Case{}}
}

// notASubmission is the result of a file that cannot be called as the problem's format asks.
func notASubmission(problem, why string) *Result {
	return &Result{
		Verdict: op.StatusBuildFail.String(), Message: harmless.Line(why), Problem: problem, Bad: 1,
		Judge: judge.Version, Wrong: []Case{},
	}
}

// ResultOf makes the result of what was judged.
func ResultOf(done Found, blind bool) *Result {
	r := &Result{Wrong: []Case{}, Judge: judge.Version, Stopped: done.Stopped}
	var first *record.Record // that decides
	for i := range done.Records {
		x := &done.Records[i]
		switch x.Status.Weight() {
		case op.Good:
			r.Good++
		case op.Bad:
			r.Bad++
			if len(r.Wrong) < mostWrong {
				r.Wrong = append(r.Wrong, caseOf(x, blind))
			}
		default:
			r.Neutral++
		}
		if first == nil || worse(x.Status, first.Status) {
			first = x
		}
		if x.Device != "" {
			r.Device = x.Device
		}
	}
	r.Right = r.Good > 0 && r.Bad == 0
	if first != nil {
		r.Verdict, r.Seed = first.Status.String(), first.Seed
		r.Message = caseOf(first, blind).Message
	}
	return r
}

// worse reports whether a status decides before another: bad, then good, then neutral.
func worse(a, b op.Status) bool {
	rank := []op.Weight{op.Bad, op.Good, op.Neutral}
	return slices.Index(rank, a.Weight()) < slices.Index(rank, b.Weight())
}

func caseOf(x *record.Record, blind bool) Case {
	c := Case{
		Pass: x.Case.Pass.String(), DType: x.Case.DType, Case: sizesOf(x.Case),
		Status: x.Status.String(), Message: harmless.Line(x.Message),
	}
	for _, o := range x.Outputs {
		if o.Status == x.Status {
			c.Output, c.Gate, c.N, c.NWrong = o.Name, o.Gate, o.N, o.NWrong
			break
		}
	}
	if blind {
		c.Message = blindMessage(x, c)
	}
	return c
}

// sizesOf describes a case without values.
func sizesOf(c op.Case) string {
	var words []string
	for _, d := range c.Dims {
		words = append(words, fmt.Sprintf("%s=%d", d.Name, d.Value))
	}
	return strings.Join(append(words, c.Distribution), " ")
}

// ofTheWorker lists the statuses whose sentence comes from the process that runs the candidate, which never
// sees the truth.
var ofTheWorker = []op.Status{
	op.StatusCrash, op.StatusHang, op.StatusOOM, op.StatusBuildFail, op.StatusOutOfBounds, op.StatusDivergent,
	op.StatusDeadlock, op.StatusUnsupported, op.StatusUnavailable, op.StatusSkipped,
}

// refusals describe in words the requirement of each gate.
var refusals = map[string]string{
	"G0": "an output is missing, incomplete or of another type, or the call changed what it may not change",
	"G1": "NaN or an infinity stands where a number belongs, or the other way round",
	"G2": "elements are farther from the truth than rounding explains",
	"G3": "elements differ on inputs where every sum is exact",
	"G4": "the errors of all elements together are larger than rounding explains",
	"G5": "the errors have a bias",
	"G6": "a relation between inputs and outputs does not hold",
	"G7": "a choice is not one of the right ones",
}

// blindMessage describes the fault without values or anything else computed from the truth.
func blindMessage(x *record.Record, c Case) string {
	switch {
	case slices.Contains(ofTheWorker, x.Status):
		return harmless.Line(x.Message)
	case x.Status.Weight() != op.Bad:
		return ""
	case x.Status == op.StatusRace:
		return c.Output + ": two calls with the same inputs gave different bits"
	case refusals[c.Gate] != "":
		return c.Output + ": " + refusals[c.Gate]
	}
	return "the answer is not accepted"
}
