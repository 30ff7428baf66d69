package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

var update = flag.Bool("update", false, "accept what is written as the golden files")

// golden compares text with testdata/name; on a mismatch it leaves name.got next to it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err == nil && string(want) == got {
		os.Remove(path + ".got")
		return
	}
	if err := os.WriteFile(path+".got", []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s differs from %s.got (accept with -update):\n%s", path, path, got)
}

func num(v float64) *record.Float { return new(record.Float(v)) }

// softmax returns a record of one case; its ID is made from a number.
func softmax(id int, impl, dtype string, cols int64, status op.Status) record.Record {
	backend, variant, _ := strings.Cut(impl, "/")
	r := record.Record{
		ID:      "01KA0000000000000000000000"[:24] + string(rune('0'+id/10)) + string(rune('0'+id%10)),
		Session: "01KA0000000000000000000000",
		Case: op.Case{
			Op: "softmax", Pass: op.Forward, DType: dtype, Dims: op.Dims{
				{Name: "rows", Value: 33},
				{Name: "cols", Value: cols},
			},
			Layout: "contiguous", Distribution: "normal",
		},
		Seed: 1, Impl: impl, Backend: backend, Variant: variant, Device: "emulator", Source: "5eed",
		Status: status, Contract: "fp32",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Wall: 12 * time.Millisecond, Launches: 4,
		Outputs: []record.Verdict{{
			Name: "y", Status: status, Gate: "G2", N: 33 * cols, NCompared: 33 * cols,
			ErrorMargin: num(3.14159),
			ULPMax:      num(0.5123),
			ULPMean:     num(0.2), Judge: "1", Worst: &record.Element{
				Index: []int64{1, 2}, Got: 0.25, Want: 0.25,
				Low: 0.2499999, High: 0.2500001,
			},
		}},
	}
	if status.Weight() == op.Neutral && status != op.StatusDifferentContract {
		r.Outputs = nil
	}
	return r
}

func wrong(r record.Record) record.Record {
	r.Message = "y is wrong"
	r.Outputs[0].NWrong, r.Outputs[0].ErrorMargin, r.Outputs[0].ULPMax = 17, nil, num(math.Inf(1))
	r.Outputs[0].Worst = &record.Element{
		Index: []int64{3, 999}, Got: record.Float(math.NaN()),
		Want: 0.00233333, Low: 0.0023333327, High: 0.0023333339,
	}
	return r
}

// comparison returns records with a line of every kind.
func comparison() ([]record.Record, []record.Difference) {
	unsupported := softmax(2, "cuda/vec", "fp32", 7, op.StatusUnsupported)
	unsupported.Message = "cols 7 is not a multiple of 4"
	eager := softmax(5, "torch/eager", "bf16", 1000, op.StatusDifferentContract)
	eager.Contract, eager.Device = "eager", "cpu"
	race := softmax(6, "cuda/online", "bf16", 1000, op.StatusRace)
	race.Message, race.Outputs = "other bits in another schedule order", nil
	race.Where = &record.Where{
		Kernel: "softmax_online", Block: &[3]int{2, 0, 0}, Thread: &[3]int{31, 0, 0},
		File: "softmax.cu", Line: 88,
	}
	records := []record.Record{
		softmax(0, "cuda/vec", "fp32", 1000, op.StatusPass), softmax(1, "cuda/vec", "fp32", 1024,
			op.StatusPass), unsupported, eager, race,
		softmax(7, "cuda/naive", "bf16", 1000, op.StatusPass), softmax(8, "cuda/naive", "fp32", 1000,
			op.StatusWarn),
	}
	for i, cols := range []int64{1024, 7, 1000} {
		records = append(records, wrong(softmax(10+i, "cuda/online", "fp32", cols, op.StatusFail)))
	}
	for i, dtype := range []string{"fp32", "bf16"} {
		for j, impl := range []string{"triton/row", "torch/compile"} {
			gone := softmax(20+2*i+j, impl, dtype, 1000, op.StatusUnavailable)
			gone.Device, gone.Message = "", "no Python with torch: run `triad setup`, or set TRIAD_PYTHON"
			records = append(records, gone)
		}
	}
	for i, impl := range []string{"cuda/block", "cuda/warp"} {
		broken := softmax(30+i, impl, "fp32", 1000, op.StatusBuildFail)
		broken.Outputs, broken.Message = nil, "softmax.cu:12: error: expected ';'"
		records = append(records, broken)
	}
	differ := func(dtype, a, b string, different int64, ulp float64) record.Difference {
		return record.Difference{
			Op: "softmax", Pass: op.Forward, DType: dtype, Output: "y", A: a, B: b,
			N: 33000, Bitwise: different == 0, NDifferent: different, ULPMax: num(ulp),
		}
	}
	return records, []record.Difference{
		differ("bf16", "cuda/naive", "torch/eager", 120, 2), differ("fp32", "cuda/naive", "cuda/vec", 0, 0),
		differ("fp32", "cuda/naive", "cuda/online", 17, math.Inf(1)),
		differ("fp32", "cuda/online", "cuda/vec", 17, math.Inf(1)),
	}
}

func TestComparison(t *testing.T) {
	records, differences := comparison()
	summary := Summary{
		Database: "/home/me/.local/share/triad/results.db",
		Session:  "01KA0000000000000000000000", Seed: 1, Exit: 1,
	}
	for name, style := range map[string]Style{"compare": {}, "compare-terminal": {Color: true, Width: 110}} {
		for _, details := range []bool{false, true} {
			summary.Details = details
			var out bytes.Buffer
			if err := Compare(&out, style, records, differences, summary); err != nil {
				t.Fatal(err)
			}
			golden(t, map[bool]string{false: name + ".txt", true: name + "-verbose.txt"}[details],
				out.String())
		}
	}
}

func TestNothingRanIsReported(t *testing.T) {
	var out bytes.Buffer
	if err := Compare(&out, Style{}, nil, nil, Summary{Exit: 3, Reason: "no g++ and no Python"}); err != nil {
		t.Fatal(err)
	}
	if want := "0 runs: 0 good, 0 not taken, 0 cannot tell, 0 bad. Exit 3: nothing was proven right or " +
		"wrong: no g++ and no " +
		"Python\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestIncompleteIsReported: if something passed, exit 3 does not say that nothing was proven.
func TestIncompleteIsReported(t *testing.T) {
	var out bytes.Buffer
	good := []record.Record{{Status: op.StatusPass}}
	if err := totals(&out, Style{}, good, Summary{Exit: 3, Reason: "no Python"}); err != nil {
		t.Fatal(err)
	}
	want := "1 run: 1 good, 0 not taken, 0 cannot tell, 0 bad. Exit 3: what was asked for is not " +
		"complete: no Python\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestColourIsForTerminalsAlone(t *testing.T) {
	records, differences := comparison()
	var out bytes.Buffer
	if err := Compare(&out, Style{}, records, differences, Summary{Exit: 1, Details: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a pipe got escape sequences")
	}
}

func TestWhatAKernelPrintsCannotSteerTheTerminal(t *testing.T) {
	r := softmax(1, "cuda/evil", "fp32", 7, op.StatusCrash)
	r.Outputs, r.Message, r.LogTail = nil, "died \x1b[2J\x07 of\nit", "\x1b]0;title\x07\nsecond\tline"
	var out bytes.Buffer
	if err := Compare(&out, Style{}, []record.Record{r}, nil, Summary{Exit: 1}); err != nil {
		t.Fatal(err)
	}
	if err := Show(&out, Style{}, record.Run{Record: r}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07") {
		t.Errorf("control characters came through: %q", out.String())
	}
}

// badRun returns a run that failed, with all that is recorded of it.
func badRun() record.Run {
	bad := wrong(softmax(12, "cuda/online", "fp32", 1000, op.StatusFail))
	bad.DTypes = record.Members[op.DType]{{Name: "x", Value: op.FP32}, {Name: "y", Value: op.FP32}}
	bad.Build, bad.LogTail = &record.Build{Compiler: "g++ 12.2.0", Flags: []string{"-O2"}, Seconds: 2.5},
		"warning: something\n"
	return record.Run{
		Record: bad, Session: record.Session{
			ID: bad.Session, Command: []string{"compare", "softmax"}, Version: "0.1.0", Commit: "abc123",
			Machine: record.Machine{
				OS: "linux", Kernel: "6.1", Arch: "amd64", CPU: "EPYC", Cores: 2,
				MemoryBytes: 23 << 30,
			}, Toolchain: record.Toolchain{"g++": "12.2.0", "go": "1.26"},
		},
		Differences: []record.Difference{{
			Op: "softmax", Output: "y", A: "cuda/naive", B: "cuda/online", N: 33000, NDifferent: 17,
			ULPMax: num(math.Inf(1)),
			Worst:  &record.Disparity{Index: []int64{3, 999}, A: 0.00233333, B: record.Float(math.NaN())},
		}},
	}
}

func TestResults(t *testing.T) {
	records, _ := comparison()
	run := badRun()
	for name, print := range map[string]func(*bytes.Buffer) error{
		"list.txt":  func(out *bytes.Buffer) error { return List(out, Style{}, records[:4], 12) },
		"empty.txt": func(out *bytes.Buffer) error { return List(out, Style{}, nil, 0) },
		"show.txt":  func(out *bytes.Buffer) error { return Show(out, Style{}, run) },
		"rows.txt": func(out *bytes.Buffer) error {
			return Rows(out, Style{}, []string{"op", "n", "x"},
				[][]any{
					{"softmax", int64(3), 0.5},
					{"rope", int64(12), nil},
					{[]byte{1, 255}, int64(1), math.Inf(1)},
				}, "cut after 3 rows")
		},
		"ops.txt": func(out *bytes.Buffer) error {
			return Operators(out, Style{},
				[]Operator{{
					Name: "softmax", Summary: "softmax over the last dimension",
					Passes: []string{"forward", "backward"}, DTypes: []string{"fp32", "bf16"},
				}})
		},
		"op.txt": func(out *bytes.Buffer) error {
			return ShowOperator(out, Style{}, OperatorDetail{
				Operator: Operator{Name: "layernorm"}, Source: "Ba et al. 2016",
				Attributes: []Attribute{{"eps", "a number", "1e-05"}},
				Signatures: []PassDetail{{
					Pass: "forward", Formula: "y = (x - mean) * rstd * weight + bias",
					Tensors: []TensorDeclared{
						{"x", "in", "dtype", "[rows, cols]"},
						{"rstd", "out, optional", "fp32", "[rows]"},
					}, Allowed: []ContractDeclared{{"fp32", true, ""}},
				}},
				Unasked: []Unasked{
					{"forward", []string{"fp32", "bf16"}, "always contiguous: weight, bias", true},
					{"forward", []string{"bf16"}, "x never holds NaN", false},
				},
				Declarations: []ImplementationDetail{
					{"cuda/vec", "forward", []string{"fp32"}, "fp32", "emulator", "cols is a multiple of 4"},
				},
			})
		},
		"doctor.txt": func(out *bytes.Buffer) error {
			return Doctor(out, Style{},
				[]Finding{
					{"g++", "ok", "12.2.0, /usr/bin/g++", ""},
					{"Python", "missing", "no interpreter with torch", "run `triad setup`"},
				})
		},
	} {
		var out bytes.Buffer
		if err := print(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}

func TestFiguresHaveThreeDigits(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  string
	}{
		{3.14159, "3.14"},
		{0.5, "0.5"},
		{0, "0"},
		{1234567, "1.23e+06"},
		{123456, "123456"},
		{0.00001, "1e-05"},
		{math.Inf(1), "inf"},
		{math.NaN(), "NaN"},
		{99.96, "100"},
	} {
		if got := figure(num(c.value)); got != c.want {
			t.Errorf("%v is shown as %s, want %s", c.value, got, c.want)
		}
	}
}

// TestSetsOfEqualsHoldForEveryTwo: equality of implementations is not transitive: in each set that is named,
// every two are equal.
func TestSetsOfEqualsHoldForEveryTwo(t *testing.T) {
	pairs := []pair{
		{a: "cuda/block", b: "torch/compile", equal: true},
		{a: "cuda/block", b: "cuda/naive"},
		{a: "cuda/naive", b: "torch/compile", equal: true},
		{a: "cuda/block", b: "cuda/warp", equal: true},
		{a: "cuda/naive", b: "cuda/warp"},
		{a: "cuda/warp", b: "torch/compile", equal: true},
	}
	if got, want := equalGroups(pairs), "cuda/block = torch/compile = cuda/warp"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestARejectionByG0KeepsItsWords: what G0 rejects was never compared: the line says why, and makes up no
// numbers.
func TestARejectionByG0KeepsItsWords(t *testing.T) {
	v := record.Verdict{
		Name: "y", Status: op.StatusFail, Gate: "G0", NWrong: 21,
		Message: "y[0, 0] was never written; 21 of 21 elements still show the poison",
		Worst:   &record.Element{Index: []int64{0, 0}},
	}
	if got := verdictWords(v); got != v.Message {
		t.Errorf("got %q, want %q", got, v.Message)
	}
	v.Message = "launch 1 changed its inputs"
	if got, want := verdictWords(v), "y: launch 1 changed its inputs"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWordsOfAWrongElement: a wrong element is described as the judge's own sentence describes it, and one
// element is no several.
func TestWordsOfAWrongElement(t *testing.T) {
	v := record.Verdict{
		Name: "y", Status: op.StatusFail, Gate: "G2", NWrong: 1, NCompared: 1,
		Worst: &record.Element{Index: []int64{1, 2}, Got: 3, Want: 2, Low: 1.5, High: 2.5},
	}
	want := "y[1,2] is 3, want 2, accepted is 1.5 to 2.5; 1 of 1 element is wrong (G2)"
	if got := verdictWords(v); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestALineShowsWhatMustBeSeen: the line of a table shows bad before good before neutral, whatever the order
// of the records.
func TestALineShowsWhatMustBeSeen(t *testing.T) {
	for _, c := range []struct {
		statuses []op.Status
		want     op.Status
	}{
		{[]op.Status{op.StatusPass, op.StatusFail, op.StatusPass}, op.StatusFail},
		{[]op.Status{op.StatusUnsupported, op.StatusPass}, op.StatusPass},
		{[]op.Status{op.StatusPass, op.StatusWarn}, op.StatusWarn},
		{[]op.Status{op.StatusEmptyOK, op.StatusDifferentContract}, op.StatusDifferentContract},
		{[]op.Status{op.StatusPass, op.StatusPass, op.StatusDifferentContract}, op.StatusDifferentContract},
		{[]op.Status{op.StatusPass, op.StatusUnknown}, op.StatusUnknown},
		{[]op.Status{op.StatusInconclusive, op.StatusCrash}, op.StatusCrash},
		{[]op.Status{op.StatusHang, op.StatusFail, op.StatusFail}, op.StatusFail},
	} {
		var g group
		for _, s := range c.statuses {
			g.records = append(g.records, record.Record{Status: s})
		}
		if got := g.status(); got != c.want {
			t.Errorf("%v shows %s, want %s", c.statuses, got, c.want)
		}
	}
}

// TestASampleIsReported: what Freivalds' sums reject keeps the sentence that names the row; an output that
// was judged by sample says how much of it was compared.
func TestASampleIsReported(t *testing.T) {
	v := record.Verdict{
		Name: "c", Status: op.StatusFail, Gate: "G6",
		Message: "row 7 of c, outside of the sample, is wrong by Freivalds: ...", N: 400, NCompared: 90,
		NWrong: 1,
		Worst:  &record.Element{Index: []int64{7, 3}, Got: 1, Want: 2, Low: 2, High: 2},
	}
	var b strings.Builder
	if err := outputs(&b, Style{}, []record.Verdict{v}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"row 7 of c, outside of the sample",
		"c was judged by sample: 22.5 % of its elements were compared one by one",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, b.String())
		}
	}
	v.NCompared = v.N
	if words := sampleWords(v); words != "" {
		t.Errorf("of an output that was compared as a whole it says %q", words)
	}
}

// TestHintsNameTheDatabase: commands that read what was recorded name the database of the flag.
func TestHintsNameTheDatabase(t *testing.T) {
	var out bytes.Buffer
	r := record.Record{ID: "01X", Status: op.StatusFail, Message: "wrong", Impl: "mine/x"}
	if err := Bad(&out, Style{InDatabase: " --db my.db"}, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "triad results show 01X --db my.db\n") {
		t.Error(out.String())
	}
}
