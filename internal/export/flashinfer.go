package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// Reference is the implementation whose time a trace compares with: the operator's formula in torch.
const Reference = "torch/eager"

// flashInferStatus maps statuses to the words of FlashInfer-Bench.
var flashInferStatus = map[op.Status]string{
	op.StatusPass: "PASSED", op.StatusWarn: "PASSED",
	op.StatusFail: "INCORRECT_NUMERICAL", op.StatusKnown: "INCORRECT_NUMERICAL",
	op.StatusRace: "INCORRECT_NUMERICAL", op.StatusFlaky: "INCORRECT_NUMERICAL",
	op.StatusCrash: "RUNTIME_ERROR", op.StatusOOM: "RUNTIME_ERROR", op.StatusOutOfBounds: "RUNTIME_ERROR",
	op.StatusDivergent: "RUNTIME_ERROR", op.StatusDeadlock: "RUNTIME_ERROR",
	op.StatusHang: "TIMEOUT", op.StatusBuildFail: "COMPILE_ERROR",
}

// The objects of a trace, as flashinfer_bench.data describes them.
type (
	trace struct {
		Definition string     `json:"definition"`
		Workload   workload   `json:"workload"`
		Solution   string     `json:"solution"`
		Evaluation evaluation `json:"evaluation"`
	}
	workload struct {
		Axes   map[string]int64 `json:"axes"`
		Inputs map[string]input `json:"inputs"`
		UUID   string           `json:"uuid"`
	}
	input struct {
		Type  string `json:"type"`            // "random", or "scalar" with its value
		Value any    `json:"value,omitempty"` // a number or a boolean
	}
	evaluation struct {
		Status      string       `json:"status"`
		Environment environment  `json:"environment"`
		Timestamp   string       `json:"timestamp"`
		Log         string       `json:"log"`
		Correctness *correctness `json:"correctness"`
		Performance *performance `json:"performance"`
	}
	environment struct {
		Hardware string            `json:"hardware"`
		Libs     map[string]string `json:"libs"`
	}
	correctness struct {
		MaxRelativeError float          `json:"max_relative_error"`
		MaxAbsoluteError float          `json:"max_absolute_error"`
		Extra            map[string]any `json:"extra"`
	}
	performance struct {
		LatencyMS          float64 `json:"latency_ms"`
		ReferenceLatencyMS float64 `json:"reference_latency_ms"`
		SpeedupFactor      float64 `json:"speedup_factor"`
	}
)

// float is a number as pydantic writes it: a string if JSON cannot express it.
type float float64

// MarshalJSON writes the number.
func (f float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 0):
		return []byte(map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0]), nil
	default:
		return json.Marshal(v)
	}
}

// Traces writes the records of a session as traces of FlashInfer-Bench, one JSON object a line, and returns
// their number. It leaves out passes without a time, which their traces need, and records that are neither
// right nor wrong. The time is the mean of the first usable regime; the reference is torch's in the same
// regime, 0 if it has none. inputs names the tensors that a run reads.
func Traces(
	w io.Writer, session record.Session, records []record.Record, inputs func(record.Record) []string,
) (written int, err error) {
	reference := map[string]float64{} // latencies of the reference, by case and regime
	for _, r := range records {
		if r.Impl == Reference {
			for _, t := range usable(r) {
				reference[r.Case.Key()+" "+t.Regime] = meanMS(t)
			}
		}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, r := range records {
		e, fits := evaluationOf(session, r, reference)
		if !fits {
			continue
		}
		if err := out.Encode(trace{
			Definition: definitionOf(r.Case), Workload: workloadOf(r, inputs(r)),
			Solution: solutionOf(r), Evaluation: e,
		}); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

// evaluationOf returns the evaluation of a record; none of one that a trace cannot express.
func evaluationOf(session record.Session, r record.Record, reference map[string]float64) (evaluation, bool) {
	status, known := flashInferStatus[r.Status]
	times := usable(r)
	if !known || status == "PASSED" && len(times) == 0 {
		return evaluation{}, false
	}
	hardware := session.Machine.CPU
	if r.Device == "gpu" {
		hardware = session.Machine.GPU
	}
	e := evaluation{
		Status: status, Timestamp: r.Started.UTC().Format(record.TimeFormat),
		Environment: environment{Hardware: cmp.Or(hardware, "unknown"), Libs: session.Toolchain},
		Log:         strings.TrimSpace(r.Message + "\n" + r.LogTail),
	}
	if e.Environment.Libs == nil {
		e.Environment.Libs = map[string]string{}
	}
	if status == "PASSED" || status == "INCORRECT_NUMERICAL" {
		e.Correctness = correctnessOf(r)
	}
	if status == "PASSED" {
		p := performance{LatencyMS: meanMS(times[0])}
		p.ReferenceLatencyMS = reference[r.Case.Key()+" "+times[0].Regime]
		if p.LatencyMS > 0 {
			p.SpeedupFactor = p.ReferenceLatencyMS / p.LatencyMS
		}
		e.Performance = &p
		e.Correctness.Extra["regime"], e.Correctness.Extra["median_ns"] = times[0].Regime, times[0].MedianNS
	}
	return e, true
}

// correctnessOf returns the largest errors of all outputs: NaN if the errors of a judged one are not known.
func correctnessOf(r record.Record) *correctness {
	c := &correctness{Extra: map[string]any{
		"triad_status": r.Status.String(), "triad_run": r.ID, "contract": r.Contract,
	}}
	judged := false
	for _, v := range r.Outputs {
		if v.Status == op.StatusMissing || v.Status == op.StatusEmptyOK {
			continue
		}
		judged = true
		c.MaxAbsoluteError = larger(c.MaxAbsoluteError, v.AbsoluteMax)
		c.MaxRelativeError = larger(c.MaxRelativeError, v.RelativeMax)
	}
	if !judged && r.Status.Weight() != op.Good {
		c.MaxAbsoluteError, c.MaxRelativeError = float(math.NaN()), float(math.NaN())
	}
	return c
}

// larger returns the larger of two numbers, NaN if one of them is not known.
func larger(a float, b *record.Float) float {
	if b == nil {
		return float(math.NaN())
	}
	return float(math.Max(float64(a), float64(*b)))
}

// usable returns the usable times of a record.
func usable(r record.Record) []record.Timing {
	return slices.DeleteFunc(slices.Clone(r.Timings), func(t record.Timing) bool {
		return t.Status != op.StatusPass || len(t.SamplesNS) == 0
	})
}

// meanMS returns the mean of the samples: FlashInfer-Bench compares means.
func meanMS(t record.Timing) float64 {
	sum := 0.0
	for _, ns := range t.SamplesNS {
		sum += ns
	}
	return sum / float64(len(t.SamplesNS)) / 1e6
}

// definitionOf names what a case computes, without its sizes: "softmax_forward_bf16", and attributes that are
// words.
func definitionOf(c op.Case) string {
	words := []string{c.Op, c.Pass.String(), c.DType}
	for _, a := range c.Attrs {
		if _, is := scalar(a); !is {
			words = append(words, a.Name+"-"+a.Text)
		}
	}
	return strings.Join(words, "_")
}

// scalar returns an attribute as a number or a boolean, and whether it is one.
func scalar(a op.Attr) (any, bool) {
	if a.Text == "true" || a.Text == "false" {
		return a.Text == "true", true
	}
	if n, err := strconv.ParseInt(a.Text, 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseFloat(a.Text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// workloadOf returns the sizes and inputs of a record. The data follow from case and seed, which name them.
func workloadOf(r record.Record, inputs []string) workload {
	w := workload{
		Axes: map[string]int64{}, Inputs: map[string]input{},
		UUID: fmt.Sprintf("%s-%d", r.Case.Key(), r.Seed),
	}
	for _, d := range r.Case.Dims {
		w.Axes[d.Name] = d.Value
	}
	for _, name := range inputs {
		w.Inputs[name] = input{Type: "random"}
	}
	for _, a := range r.Case.Attrs {
		if value, is := scalar(a); is {
			w.Inputs[a.Name] = input{Type: "scalar", Value: value}
		}
	}
	return w
}

// solutionOf names an implementation of one source.
func solutionOf(r record.Record) string {
	name := r.Case.Op + "_" + strings.ReplaceAll(r.Impl, "/", "_")
	if r.Source != "" {
		name += "_" + r.Source[:min(8, len(r.Source))]
	}
	return name
}
