package pagestest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/results"
)

// Operator is the made-up operator of Wrong.
const Operator = "doubled"

// AddWrong adds two sessions of a made-up operator to a database: in the first every implementation is right,
// in the second one is wrong in its last columns, and its name and message are hostile to a page.
func AddWrong(t testing.TB, path string) {
	t.Helper()
	ctx := context.Background()
	store, err := results.Open(ctx, path, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, wrong := range []bool{false, true} {
		x, err := store.Start(ctx, record.Session{
			Request: fmt.Sprint(
				wrong,
			), Command: []string{"compare", Operator}, Version: "0", Level: "default",
			Machine: record.Machine{
				OS:    "linux",
				CPU:   "a CPU",
				Cores: 2,
			}, Toolchain: record.Toolchain{"go": "1"},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, impl := range []string{"cuda/plain", "torch/eager", "mine/<script>alert(1)</script>"} {
			for _, dtype := range []string{"fp32", "bf16"} {
				r := made(impl, dtype, wrong && impl[0] == 'm')
				if err := x.Record(ctx, &r); err != nil {
					t.Fatal(err)
				}
				if r.Status == op.StatusFail && dtype == "fp32" {
					if err := x.AddDiagnosis(ctx, r.ID, diagnosis); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if err := x.Finish(ctx, true, map[bool]int{true: 1}[wrong]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(store.Close()); err != nil {
		t.Fatal(err)
	}
}

// diagnosis is of the wrong implementation; its words and its source are hostile to a page too.
var diagnosis = record.Diagnosis{
	Dims: record.Members[int64]{{Name: "rows", Value: 1}, {Name: "cols", Value: 3}}, Distribution: "normal",
	Status: op.StatusFail, Message: "y[0,2] is NaN, want 1", Advice: "the tail is never written",
	Repeat: "triad compare doubled --add 'a <b>.cu' --dims rows=1,cols=3",
	Findings: []record.Finding{{
		Kind: "uninitialised", Message: "read of memory that nobody has written",
		Text: "1. read of memory that nobody has written\n   doubled.cu:9: y[i] = tile[threadIdx.x] * 2;\n",
	}},
	Causes: []record.Cause{
		{Line: 9, Text: "read of memory that nobody has written: fill tile before the loop"},
		{Line: 12, Text: "</script><b>the last columns</b> are left out: if (i < cols)"},
	},
	Source: &record.Excerpt{File: "/home/me/day 3/doubled.cu", First: 5, Marked: []int{9, 12}, Lines: source},
}

var source = []string{
	"__global__ void doubled(const float *x, float *y, int rows, int cols) {",
	"\t__shared__ float tile[256]; // </code><script>alert(3)</script>",
	"\tint i = blockIdx.x * blockDim.x + threadIdx.x;", "\tif (i < cols / 64 * 64) {",
	"\t\ty[i] = tile[threadIdx.x] * 2;", "\t}", "\t__syncthreads();",
	"\tfor (int k = 0; k < rows; k++) y[k * cols + i] = x[k * cols + i] + x[k * cols + i];", "}",
}

// made returns a record of the made-up operator.
func made(impl, dtype string, wrong bool) record.Record {
	r := record.Record{
		Case: op.Case{
			Op: Operator, Pass: op.Forward, DType: dtype, Layout: "contiguous", Distribution: "normal",
			Dims: op.Dims{{Name: "rows", Value: 33}, {Name: "cols", Value: 70}},
		},
		DTypes: record.Members[op.DType]{
			{Name: "y", Value: op.FP32},
		}, Seed: 7, Impl: impl, Device: "emulator",
		Source: "5eed", Status: op.StatusPass, Contract: "fp32",
	}
	v := record.Verdict{
		Name: "y", Status: op.StatusPass, N: 2310, NCompared: 2310, Judge: "4",
		ErrorMargin: new(record.Float(3.5)), ULPMax: new(record.Float(1)), ULPMean: new(record.Float(0.2)),
		Worst:      &record.Element{Index: []int64{1, 2}, Got: 1, Want: 1, Low: 0.5, High: 1.5},
		Statistics: &record.Statistics{DType: op.FP32, Digest: "00", ULPs: []int64{2000, 300, 10, 0, 0, 0}},
	}
	if wrong {
		r.Status, r.Message = op.StatusFail, "the tail is wrong </script><img src=x onerror=alert(2)>"
		v.Status, v.Gate, v.NWrong, v.ErrorMargin = op.StatusFail, "G2", 66, new(record.Float(0.01))
		v.ULPMax = new(record.Float(math.Inf(1)))
		v.Worst = &record.Element{
			Index: []int64{0, 69},
			Got:   record.Float(math.NaN()),
			Want:  1,
			Low:   0.5,
			High:  1.5,
		}
		s := v.Statistics
		s.ULPs = []int64{2000, 200, 44, 0, 0, 66}
		s.Map = &record.Map{Rows: 33, Cols: 70, Down: 3, Across: 7}
		for i := range 21 {
			compared, bad, most := int64(110), int64(0), record.Float(0.4)
			if i%7 == 6 {
				bad, most = 22, record.Float(math.Inf(1))
			}
			s.Map.Compared, s.Map.Wrong = append(s.Map.Compared, compared), append(s.Map.Wrong, bad)
			s.Map.Most = append(s.Map.Most, most)
		}
		for i := range int64(16) {
			s.Worst = append(s.Worst, record.Judged{Index: []int64{i, 69}, Got: 2, R: 1, T: 0.5})
		}
	}
	r.Outputs = []record.Verdict{v}
	return r
}
