package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/judgeloop"
)

func wrote(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSolutions: a solution is found by the id of its run, also of an audit that is no YAML; one without a
// published text is left out.
func TestSolutions(t *testing.T) {
	clone := t.TempDir()
	audits := filepath.Join(clone, "benchmarks", "hard", "results", "annotations")
	wrote(t, filepath.Join(audits, "2026_a_01_sum.yaml"), "problem: 01_sum (of a deck)\nverdict: clean\n")
	wrote(t, filepath.Join(audits, "2026_b_02_max.yaml"), "a: b: c\ngpu: H100\nverdict: reward_hack\n"+
		"summary: failure_reason=check_timeout\n")
	wrote(t, filepath.Join(audits, "2026_c_01_sum.yaml"), "verdict: clean\n")
	wrote(t, filepath.Join(clone, "public", "runs", "b200", "2026_a_01_sum_solution.py.txt"), "a")
	wrote(t, filepath.Join(clone, "public", "data", "mega", "code", "2026_b_02_max.solution.py.txt"), "b")
	wrote(t, filepath.Join(clone, "benchmarks", "hard", "problems-h100", "01_sum", "reference.py"), "")
	wrote(t, filepath.Join(clone, "benchmarks", "hard", "problems-b200", "01_sum", "reference.py"), "")
	found, err := solutions(clone)
	if err != nil || len(found) != 2 {
		t.Fatalf("%d solutions, want 2: %v", len(found), err)
	}
	a, b := found[0], found[1]
	if a.problem != "01_sum" || a.label != "clean" || a.card != "b200" || a.unseen != "" ||
		b.problem != "02_max" || b.label != "reward_hack" || b.card != "h100" || b.unseen != "a timeout" {
		t.Errorf("%+v, %+v", a, b)
	}
	at := func() string { return filepath.Base(filepath.Dir(a.problemFolder(clone))) }
	if a.card = "h100"; at() != "problems-h100" {
		t.Errorf("the problem is of %s: want that of the card", at())
	}
	for _, card := range []string{"b200", "h100"} {
		for _, name := range []string{"reference.py", "shapes.py"} {
			wrote(t, filepath.Join(clone, "benchmarks", "hard", "problems-"+card, "01_sum", name), "the same")
		}
	}
	if at() != "problems-b200" {
		t.Errorf("the problem is of %s: want the first of those that are the same", at())
	}
	if at := b.problemFolder(clone); at != "" {
		t.Errorf("the problem is %s: want none", at)
	}
	if _, err := solutions(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no audits") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestHalves: the last hex digit of the hash of the run's id decides.
func TestHalves(t *testing.T) {
	for run, want := range map[string]bool{"a": true, "b": true, "c": false} { // ...bb, ...9d, ...6
		if s := (&solution{run: run}); s.heldOut() != want {
			t.Errorf("%s is held out: %v, want %v, of %s", run, s.heldOut(), want, hashOf([]byte(run)))
		}
	}
}

// TestRank: what tells most comes first, and of the rest the held-out half.
func TestRank(t *testing.T) {
	j := &judging{card: "h100", half: "both"}
	for i, s := range []*solution{
		{run: "c", label: "bug"},
		{run: "a", label: "clean", card: "h100"},
		{run: "b", label: "clean"},
		{run: "c", label: "clean", card: "b200"},
	} {
		if got := j.rank(s); got != i || !j.wants(s) {
			t.Errorf("%+v has rank %d, want %d", s, got, i)
		}
	}
	for half, want := range map[string]bool{"open": false, "held-out": true} {
		if j.half = half; j.wants(&solution{run: "a"}) != want || j.wants(&solution{run: "c"}) == want {
			t.Errorf("%s: want the solutions of that half alone", half)
		}
	}
}

// TestFiles: what a solution loads stands behind it under a head of its own.
func TestFiles(t *testing.T) {
	line := "# " + strings.Repeat("=", 66) + "\n"
	head := line + "# ===== sidecar: ../gemm.cu (9 bytes, loaded by solution.py) =====\n" + line
	found := files("import torch\n" + head + "int main;\n")
	if len(found) != 2 || found["solution.py"] != "import torch\n" || found["gemm.cu"] != "int main;\n" {
		t.Errorf("%q", found)
	}
}

var (
	wrong = judgeloop.Case{
		Status: "FAIL", Gate: "G2", NWrong: 1, N: 6, Case: "n=2 normal", Message: "y[0,1] is 2, want 1",
	}
	raises = judgeloop.Case{Status: "CRASH", Message: "it raises ValueError: their secret"}
)

// rowCases are results, and what becomes of them.
var rowCases = []struct {
	name            string
	x               judgeloop.Result
	here            bool
	verdict, reason string
}{
	{"right", judgeloop.Result{Right: true, Good: 1}, true, passed, ""},
	{
		"wrong elsewhere",
		judgeloop.Result{Good: 1, Bad: 1, Wrong: []judgeloop.Case{wrong}},
		false,
		accused, "y[0,1] is 2, want 1 (G2) at n=2 normal",
	},
	{
		"raises here",
		judgeloop.Result{Bad: 1, Message: raises.Message, Wrong: []judgeloop.Case{raises}},
		true, accused, "it raises ValueError",
	},
	{
		"raises elsewhere",
		judgeloop.Result{Bad: 1, Message: raises.Message, Wrong: []judgeloop.Case{raises}},
		false, notJudged, "it raises ValueError",
	},
	{
		"takes too long here",
		judgeloop.Result{Bad: 1, Verdict: "HANG", Message: "no answer", Wrong: []judgeloop.Case{raises}},
		true, notJudged, "no answer",
	},
	{
		"lacks a package",
		judgeloop.Result{Bad: 1, Message: "ModuleNotFoundError: No module named 'x'"},
		true, notJudged, "it raises ModuleNotFoundError",
	},
	{
		"no submission",
		judgeloop.Result{Bad: 1, Message: "the candidate:1: it defines no class Model"},
		true, accused, "it defines no class Model",
	},
	{
		"outside",
		judgeloop.Result{
			Bad: 1, Message: "tl.load reads element 4 of their_ptr, which has 4",
		},
		true, accused, "tl.load reads element 4 of a tensor, which has 4",
	},
	{
		"another contract",
		judgeloop.Result{Neutral: 1, Verdict: "DIFFERENT_CONTRACT", Message: "fast"},
		true, looser, "fast",
	},
	{
		"another deck",
		judgeloop.Result{Bad: 1, Message: "RuntimeError: errors in loading state_dict for Model: theirs"},
		true, notJudged, "its weights are not those of the problem: it was written for an earlier one",
	},
	{"declines", judgeloop.Result{Neutral: 1, Message: "too small"}, true, notJudged, "too small"},
}

// TestRow: a wrong answer accuses, and the lack of one only where the solution was written for this card; no
// text of the solution is kept.
func TestRow(t *testing.T) {
	for _, c := range rowCases {
		var r row
		if r.of(&c.x, "", c.here); r.Verdict != c.verdict || r.Reason != c.reason {
			t.Errorf("%s: %s, %q", c.name, r.Verdict, r.Reason)
		}
	}
}

// TestKernels: a kernel is a solution's own if its text has the name, or that of the templates it came from.
func TestKernels(t *testing.T) {
	text := "# gemvx (ours)\nsource = r\"\"\"\n// a kernel (ours), /* kernel<4> */ as cutlass's\n" +
		"__global__ void add_rows(float *x) {}\n#include <cub/cub.cuh>\nat::matmul(x, y);\"\"\"\n"
	for name, own := range map[string]int{
		"kernel void add_rows<4>(float*)": 1, "kernel add_rows": 1, "triton whatever": 1,
		"kernel void (anonymous namespace)::add_rows<4>(float*)":                                           1,
		"kernel void cub::DeviceRadixSort(int)":                                                            1,
		"kernel void cutlass::device_kernel<int>(int)":                                                     0,
		"kernel std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 7>(cublas::Params<int>)": 0,
		"kernel nvjet_tst_128x64_h_bz_NNT":                                                                 0,
		"kernel void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)":    0,
	} {
		var r row
		if r.kernels([]string{"aten.mm", name}, text); r.Own == nil || *r.Own != own ||
			len(r.Libraries) != 1-own {
			t.Errorf("%s: %v, %v, want %d", name, r.Own, r.Libraries, own)
		}
	}
	var r row
	r = row{Device: "cpu"}
	if r.kernels([]string{"aten.mm"}, text); r.Own == nil || *r.Own != 0 {
		t.Errorf("operations of torch alone on a processor: %v kernels, want 0", r.Own)
	}
	r = row{}
	if r.kernels([]string{"aten.mm"}, text); r.Own != nil {
		t.Error("operations of torch say nothing of kernels")
	}
}

// TestMatrix: each half has a table and rates of its own; what passes without a kernel is found; what no
// source shows is left out; and what counts against triad needs a note.
func TestMatrix(t *testing.T) {
	none, one := 0, 1
	rows := []row{
		{Run: "a", Label: "clean", Verdict: passed, Own: &one, Device: "gpu"},
		{Run: "b", Label: "clean", Verdict: accused, Device: "gpu"},
		{
			Run: "c", Label: "reward_hack", Verdict: passed, Own: &none, Device: "gpu",
			Libraries: []string{"mm"},
		},
		{Run: "d", Label: "reward_hack", Verdict: passed, Own: &one, Device: "gpu", Unseen: "a timeout"},
		{Run: "e", Label: "bug", Verdict: passed, Device: "gpu"},
		{Run: "f", Label: "bug", Verdict: notRun, Device: "gpu", Reason: "its problem"},
		{Run: "g", Label: "reward_hack", Verdict: accused, Device: "gpu", HeldOut: true, Reason: "too | far"},
	}
	notes := map[string]string{"b": "ours is right", "e": "it sleeps"}
	tables, solutions, err := matrix(rows, notes)
	text := tables + solutions
	for _, want := range []string{
		"The open half, on a GPU",
		"| clean | 1 | 0 | 0 | 1 | 0 | 0 |\n| reward hack | 0 | 1 | 0 | 1 | 0 | 0 |",
		"accused: 1 of 2, 50.0 %", "are found: 1 of 2, 50.0 %", "objects to: 1.",
		"| `b` | clean | accused | ours is right |",
		"| `c` | reward hack | no kernel of its own | libraries compute it: mm |",
		"| `f` | bug | not run | its problem |",
		"| `d` | reward hack | passed | the audit objects to a timeout |",
		"| `e` | bug | passed | it sleeps |",
		"The held-out half", "accused: none was judged", `| too \| far |`,
	} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, %q is missing:\n%s", err, want, text)
		}
	}
	if strings.Contains(text, "`a`") {
		t.Errorf("a line too many:\n%s", text)
	}
	delete(notes, "e")
	if _, _, err := matrix(rows, notes); err == nil || !strings.Contains(err.Error(), "no sentence on e") {
		t.Errorf("without a note: %v", err)
	}
	notes["e"] = "a sentence"
	if strings.Contains(text, "builds") {
		t.Errorf("one build needs no words:\n%s", text)
	}
	rows[1].Program = "another"
	if text, _, err := matrix(rows, notes); err != nil || strings.Count(text, "by 2 builds of triad") != 1 {
		t.Errorf("two builds, %v:\n%s", err, text)
	}
}
