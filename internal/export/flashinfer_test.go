package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// asTrace lists what in an object violates the rules that flashinfer_bench.data (commit 40e6ca7) states for a
// Trace.
func asTrace(t map[string]any) (broken []string) {
	say := func(format string, a ...any) { broken = append(broken, fmt.Sprintf(format, a...)) }
	text := func(of map[string]any, name string) {
		if s, is := of[name].(string); !is || s == "" {
			say("%s is %v: want a text that is not empty", name, of[name])
		}
	}
	object := func(of map[string]any, name string) map[string]any {
		o, is := of[name].(map[string]any)
		if !is {
			say("%s is %v: want an object", name, of[name])
		}
		return o
	}
	text(t, "definition")
	text(t, "solution")
	w := object(t, "workload")
	text(w, "uuid")
	for name, v := range object(w, "axes") {
		if n, is := v.(float64); !is || n < 0 || n != math.Trunc(n) {
			say("axis %s is %v: want an integer from 0", name, v)
		}
	}
	for name, v := range object(w, "inputs") {
		i, _ := v.(map[string]any)
		_, number := i["value"].(float64)
		_, truth := i["value"].(bool)
		if _, has := i["value"]; i["type"] != "random" && i["type"] != "scalar" ||
			has != (i["type"] == "scalar") || has && !number && !truth {
			say("input %s is %v", name, v)
		}
	}
	e := object(t, "evaluation")
	text(e, "timestamp")
	text(object(e, "environment"), "hardware")
	object(object(e, "environment"), "libs")
	if _, is := e["log"].(string); !is {
		say("log is %v", e["log"])
	}
	status, _ := e["status"].(string)
	if !slices.Contains([]string{
		"PASSED", "INCORRECT_SHAPE", "INCORRECT_NUMERICAL", "INCORRECT_DTYPE", "RUNTIME_ERROR",
		"COMPILE_ERROR", "TIMEOUT",
	}, status) {
		say("status %q", status)
	}
	if want := status == "PASSED" || status == "INCORRECT_NUMERICAL"; want != (e["correctness"] != nil) {
		say("%s has correctness %v", status, e["correctness"])
	}
	if want := status == "PASSED"; want != (e["performance"] != nil) {
		say("%s has performance %v", status, e["performance"])
	}
	return append(broken, figures(e)...)
}

// figures lists what in the numbers of an evaluation violates the rules.
func figures(e map[string]any) (broken []string) {
	for part, names := range map[string][]string{
		"correctness": {"max_relative_error", "max_absolute_error"},
		"performance": {"latency_ms", "reference_latency_ms", "speedup_factor"},
	} {
		o, there := e[part].(map[string]any)
		for _, name := range names {
			n, number := o[name].(float64)
			word, _ := o[name].(string)
			if there && !(number && n >= 0) &&
				(part != "correctness" || !slices.Contains([]string{"NaN", "Infinity"}, word)) {
				broken = append(broken, fmt.Sprintf("%s is %v", name, o[name]))
			}
		}
	}
	return broken
}

// traced returns records of every status, timed, and the reference.
func traced() []record.Record {
	base := records()[0]
	base.Outputs = []record.Verdict{
		{
			Name: "y", Status: op.StatusPass, AbsoluteMax: new(record.Float(0.25)),
			RelativeMax: new(record.Float(0.125)),
		},
		{
			Name: "z", Status: op.StatusPass, AbsoluteMax: new(record.Float(0.5)),
			RelativeMax: new(record.Float(0.0625)),
		},
	}
	base.Source, base.Device = "0123456789abcdef", "gpu"
	base.Case.Attrs = append(slices.Clone(base.Case.Attrs), op.Attr{Name: "causal", Number: 1, Text: "true"},
		op.Attr{Name: "form", Number: 1, Text: "tanh"})
	reference := base
	reference.Impl, reference.Timings = Reference, slices.Clone(base.Timings)
	reference.Timings[0].SamplesNS = []float64{210, 210, 210, 210}
	all := []record.Record{base, reference}
	for _, status := range op.Statuses() {
		r := base
		r.Status, r.Impl = status, "cuda/"+strings.ToLower(status.String())
		if status.Weight() != op.Good {
			r.Timings = nil
		}
		all = append(all, r)
	}
	untimed := base
	untimed.Impl, untimed.Timings = "cuda/untimed", nil
	old := base
	old.Impl, old.Status, old.Timings = "cuda/old", op.StatusFail, nil
	old.Outputs = []record.Verdict{{Name: "y", Status: op.StatusFail}}
	wild := old
	wild.Impl, wild.Outputs = "cuda/wild", []record.Verdict{{
		Name: "y", Status: op.StatusFail, AbsoluteMax: new(record.Float(math.Inf(1))),
		RelativeMax: new(record.Float(math.Inf(1))),
	}}
	return append(all, untimed, old, wild)
}

// written returns the traces of records by their solutions, and checks that each keeps the rules.
func written(t *testing.T, records []record.Record) map[string]map[string]any {
	t.Helper()
	var text bytes.Buffer
	session := record.Session{
		Machine:   record.Machine{GPU: "NVIDIA H200", CPU: "EPYC"},
		Toolchain: record.Toolchain{"torch": "2.11.0"},
	}
	n, err := Traces(&text, session, records, func(record.Record) []string { return []string{"x"} })
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for line := range strings.Lines(text.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, why := range asTrace(one) {
			t.Errorf("%s: %s", why, line)
		}
		found[one["solution"].(string)] = one
	}
	if n != len(found) {
		t.Errorf("%d traces are said to be written, %d are", n, len(found))
	}
	return found
}

func TestTraces(t *testing.T) {
	found := written(t, traced())
	at := func(solution string, path ...string) (v any) {
		v = found["doubled_"+solution+"_01234567"]
		for _, name := range path {
			o, _ := v.(map[string]any)
			v = o[name]
		}
		return v
	}
	for _, c := range []struct {
		solution, path string
		want           any
	}{
		{"cuda_warp", "definition", "doubled_forward_bf16_form-tanh"},
		{"cuda_warp", "workload axes rows", 8.0},
		{"cuda_warp", "workload inputs x type", "random"},
		{"cuda_warp", "workload inputs eps value", 1e-5},
		{"cuda_warp", "workload inputs causal value", true},
		{"cuda_warp", "evaluation status", "PASSED"},
		{"cuda_warp", "evaluation environment hardware", "NVIDIA H200"},
		{"cuda_warp", "evaluation environment libs torch", "2.11.0"},
		{"cuda_warp", "evaluation correctness max_absolute_error", 0.5},
		{"cuda_warp", "evaluation correctness max_relative_error", 0.125},
		{"cuda_warp", "evaluation performance latency_ms", 0.000105},
		{"cuda_warp", "evaluation performance reference_latency_ms", 0.00021},
		{"cuda_warp", "evaluation performance speedup_factor", 2.0},
		{"cuda_old", "evaluation correctness max_absolute_error", "NaN"},
		{"cuda_wild", "evaluation correctness max_relative_error", "Infinity"},
		{"cuda_crash", "evaluation status", "RUNTIME_ERROR"},
		{"cuda_hang", "evaluation status", "TIMEOUT"},
		{"cuda_build_fail", "evaluation status", "COMPILE_ERROR"},
		{"cuda_race", "evaluation status", "INCORRECT_NUMERICAL"},
		{"cuda_untimed", "definition", nil},
		{"cuda_unsupported", "definition", nil},
	} {
		if got := at(c.solution, strings.Fields(c.path)...); got != c.want {
			t.Errorf("%s, %s: %v, want %v", c.solution, c.path, got, c.want)
		}
	}
}

// TestRulesOfTracesBite: the rules detect violations.
func TestRulesOfTracesBite(t *testing.T) {
	var text bytes.Buffer
	one := traced()[:2]
	none := func(record.Record) []string { return nil }
	if _, err := Traces(&text, record.Session{}, one, none); err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(text.String(), "\n")
	for _, change := range [][2]string{
		{`"PASSED"`, `"RUNTIME_ERROR"`},
		{`"PASSED"`, `"PASS"`},
		{`"rows":8`, `"rows":-8`},
		{`"unknown"`, `""`},
		{`"max_absolute_error":0.5`, `"max_absolute_error":-0.5`},
		{`"speedup_factor":2`, `"speedup_factor":null`},
		{`"type":"scalar"`, `"type":"random"`},
	} {
		var changed map[string]any
		text := strings.Replace(line, change[0], change[1], 1)
		if err := json.Unmarshal([]byte(text), &changed); err != nil || text == line {
			t.Fatalf("%q: %v in %s", change, err, line)
		}
		if len(asTrace(changed)) == 0 {
			t.Errorf("%s in the place of %s breaks no rule", change[1], change[0])
		}
	}
}
