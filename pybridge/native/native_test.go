package native

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
)

// second keeps the error of a function with a result.
func second(_ string, err error) error { return err }

// calls has every exported function once: the panics of a missing one are not tested.
var calls = map[string]func() error{
	"Provoke":   func() error { return Provoke("nothing") },
	"Operators": func() error { return second(Operators()) },
	"Operator":  func() error { return second(Operator("softmax")) },
	"Statuses":  func() error { return second(Statuses()) },
	"Contracts": func() error { return second(Contracts()) },
	"Expand": func() error {
		return second(Expand("softmax",
			`{"level": "quick", "dtypes": ["bf16"]}`))
	},
	"Case":   func() error { return second(Case("softmax", `{"dims": {"rows": 8, "cols": 1000}}`)) },
	"Decode": func() error { return Decode("bf16", 0, 0, 0) },
	"Encode": func() error { return Encode("bf16", 0, 0, 0) },
	"Summarize": func() error {
		x := []float64{
			1, 2,
			3,
		}
		return second(Summarize(uintptr(unsafe.Pointer(&x[0])), 3))
	},
	"CompareTable": func() error { return second(CompareTable("", "", 3, "", "")) },
	"Explain":      func() error { return second(Explain("")) },
	"ListTable":    func() error { return second(ListTable("")) },
	"Figures":      func() error { return second(Figures("")) },
}

func exported(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the files of the package: %d, %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// A panic in any exported function is an error with its text; the next call is as before.
func TestPanicsStayInside(t *testing.T) {
	names := exported(t)
	if len(names) != len(calls) {
		t.Errorf("%d exported functions %v, %d are called here", len(names), names, len(calls))
	}
	for _, name := range names {
		call := calls[name]
		if call == nil {
			t.Errorf("%s is not provoked", name)
			continue
		}
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := Provoke(name); err != nil {
			t.Fatal(err)
		}
		if err := call(); err == nil || !strings.HasPrefix(err.Error(), "internal: "+name+
			": panic: provoked in "+name) {
			t.Errorf("%s after a panic: %v", name, err)
		}
		if err := call(); err != nil {
			t.Errorf("%s after the panic is over: %v", name, err)
		}
	}
}

// Errors that a caller can correct begin with "usage: ".
func TestKinds(t *testing.T) {
	for want, err := range map[string]error{
		"usage: unknown operator":               second(Operator("softmx")),
		`usage: softmax: unknown dtype "fp8"`:   second(Expand("softmax", `{"dtypes": ["fp8"]}`)),
		`usage: softmax: read options: json: u`: second(Expand("softmax", `{"dtype": ["fp8"]}`)),
		`usage: softmax: unknown level "huge"`:  second(Expand("softmax", `{"level": "huge"}`)),
		`usage: softmax: unknown device "tpu"`:  second(Expand("softmax", `{"device": "tpu"}`)),
		"usage: softmax: dim rows has no value": second(Case("softmax", `{}`)),
		`usage: dtype "fp12": want one of`:      Decode("fp12", 1, 1, 1),
		"usage: fp32: 4 elements from address":  Decode("fp32", 0, 1, 4),
		"usage: fp32: -1 elements from address": Encode("fp32", 1, 1, -1),
		"usage: summarize 0 samples":            second(Summarize(0, 0)),
		"usage: summarize 2 samples: sample 1": func() error {
			x := []float64{
				1,
				0,
			}
			return second(Summarize(at(&x[0]), 2))
		}(),
		"usage: read record 1: ":                second(ListTable("{")),
		"internal: Decode: panic: runtime erro": Decode("fp32", 8, 8, 1), // an unmapped address
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: want %s...", err, want)
		}
	}
}

// Encoding and decoding go through addresses and round once.
func TestCodecs(t *testing.T) {
	values := []float64{1, -0.5, 1.0 / 3, math.Inf(1), 448}
	codes, back := make([]byte, 2*len(values)), make([]float64, len(values))
	if err := Encode("bf16", at(&values[0]), uintptr(unsafe.Pointer(&codes[0])), len(values)); err != nil {
		t.Fatal(err)
	}
	if err := Decode("bf16", uintptr(unsafe.Pointer(&codes[0])), at(&back[0]), len(values)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, -0.5, 0.333984375, math.Inf(1), 448} {
		if back[i] != want {
			t.Errorf("bf16 of %v = %v, want %v", values[i], back[i], want)
		}
	}
}

func at(x *float64) uintptr { return uintptr(unsafe.Pointer(x)) }

// The interval of the median is the textbook's: of 10 samples the 2nd smallest and the 2nd largest hold it
// with 97.9 %.
func TestSummarize(t *testing.T) {
	samples := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	text, err := Summarize(at(&samples[0]), len(samples))
	if err != nil {
		t.Fatal(err)
	}
	var s summary
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if s.N != 10 || s.Median != 5.5 || s.Low != 2 || s.High != 9 || s.Least != 1 {
		t.Errorf("summary %+v", s)
	}
	if samples[0] != 10 {
		t.Error("the caller's samples were sorted")
	}
}

// An expanded case completes to the same key.
func TestExpandedCasesComplete(t *testing.T) {
	text, err := Expand("layernorm", `{"level": "quick", "dtypes": ["fp32"], "passes": ["backward"]}`)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Cases []struct {
			Case json.RawMessage `json:"case"`
			Key  string          `json:"key"`
		} `json:"cases"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || len(p.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(p.Cases), err)
	}
	for _, c := range p.Cases {
		again, err := Case("layernorm", string(c.Case))
		if err != nil || !strings.Contains(again, c.Key) {
			t.Errorf("%s: %.200s, %v: want key %s", c.Case, again, err, c.Key)
		}
	}
}

// The explanation in --json prints like the explanation itself.
func TestExplain(t *testing.T) {
	element := record.Element{
		Index: []int64{1, 2}, Got: record.Float(math.NaN()), Want: 0.1,
		Low: 0.0999, High: 0.1001,
	}
	relation := record.Relation{
		Name: "each row adds up to 1", N: 3, NCompared: 3, NWrong: 1,
		Worst: &record.Broken{Index: []int64{1}, Got: 2, Low: 0.9, High: 1.1},
	}
	c := op.Case{
		Op: "softmax", Pass: op.Forward, DType: "bf16", Dims: []op.Dim{{Name: "rows", Value: 3}},
		Distribution: "normal", Layout: "contiguous",
	}
	r := record.Record{
		Case: c, Impl: "cuda/naive", Status: op.StatusFail,
		Outputs: []record.Verdict{{Name: "y", Status: op.StatusFail, N: 9, NCompared: 9}},
		Explained: []record.Explanation{
			{
				Output: "y", Contract: "fp32", Promise: "sums in fp32", Gate: "G1",
				Sentence: "y[1, 2] is nan",
				Pattern:  "one row", Worst: []record.Element{element},
				Relations: []record.Relation{relation}, ULPs: []int64{6, 2, 1},
			},
		},
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	if err := report.Explain(&want, report.Style{}, []record.Record{r}); err != nil {
		t.Fatal(err)
	}
	got, err := Explain(string(line))
	if err != nil || got != want.String() || !strings.Contains(got, "G1 asks") {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, &want)
	}
}

// Records that went through JSON are drawn as they were before, times included.
func TestFigures(t *testing.T) {
	var lines strings.Builder
	var records []record.Record
	for _, cols := range []int64{64, 128} {
		r := record.Record{
			Case: op.Case{
				Op: "doubled", Pass: op.Forward, DType: "bf16", Distribution: "normal", Layout: "contiguous",
				Dims: []op.Dim{{Name: "rows", Value: 3}, {Name: "cols", Value: cols}},
			}, Impl: "cuda/naive", Device: "gpu", Status: op.StatusPass, Session: "s",
			Outputs: []record.Verdict{{
				Name: "y", Status: op.StatusPass, N: 9, NCompared: 9,
				Statistics: &record.Statistics{DType: op.BF16, ULPs: []int64{6, 2, 1}},
			}},
			Timings: []record.Timing{{
				Regime: "cold", Status: op.StatusPass, MedianNS: float64(cols), LowNS: 1, HighNS: 200,
				Bytes: 10,
			}},
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
		records = append(records, r)
	}
	text, err := Figures(lines.String())
	if err != nil {
		t.Fatal(err)
	}
	var got []figure
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	want := report.Figures(report.Page{Records: records})
	if len(got) != len(want) {
		t.Fatalf("%d drawings, want %d", len(got), len(want))
	}
	for i, f := range got {
		kinds[f.Kind] = true
		if f.SVG != want[i].Drawing.File() || !strings.HasPrefix(f.SVG, "<svg ") || f.Words == "" {
			t.Errorf("%s: %.300s", f.Title, f.SVG)
		}
	}
	if !kinds["errors"] || !kinds["times"] {
		t.Errorf("kinds %v, want errors and times", kinds)
	}
}
