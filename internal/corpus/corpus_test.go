package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	wrote(t, filepath.Join(audits, "2026_b_02_max.yaml"), "a: b: c\nverdict: reward_hack\n")
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
	if a.problem != "01_sum" || a.label != "clean" || b.problem != "02_max" || b.label != "reward_hack" {
		t.Errorf("%+v, %+v", a, b)
	}
	if at := a.problemFolder(clone); filepath.Base(filepath.Dir(at)) != "problems-b200" {
		t.Errorf("the problem is %s: want that of the card", at)
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

// TestFiles: what a solution loads stands behind it under a head of its own.
func TestFiles(t *testing.T) {
	line := "# " + strings.Repeat("=", 66) + "\n"
	head := line + "# ===== sidecar: ../gemm.cu (9 bytes, loaded by solution.py) =====\n" + line
	found := files("import torch\n" + head + "int main;\n")
	if len(found) != 2 || found["solution.py"] != "import torch\n" || found["gemm.cu"] != "int main;\n" {
		t.Errorf("%q", found)
	}
}

// TestRow: a bad case decides, a good one counts otherwise, and no text of the solution is kept.
func TestRow(t *testing.T) {
	reference := `{"impl":"torch/problem","status":"FAIL"}`
	good := `{"impl":"mine/solution.py","status":"PASS","dims":{"m":3},"outputs":[{"judge":"15"}]}`
	bad := `{"impl":"mine/solution.py","status":"FAIL","dims":{"n":2,"m":3},"outputs":[{"status":"FAIL",` +
		`"name":"y","gate":"G2","n_wrong":1,"n_compared":6,"judge":"15",` +
		`"worst":{"index":[0,1],"got":2,"want":1,"low":0.5,"high":1.5}}]}`
	declined := `{"impl":"mine/solution.py","status":"UNSUPPORTED","dims":{"m":3},` +
		`"message":"it raises ValueError: their secret"}`
	for _, c := range []struct{ out, verdict, status, reason string }{
		{reference + "\n" + good, passed, "PASS", ""},
		{
			good + "\n" + bad, accused, "FAIL",
			"y[0 1] is 2, want 1, accepted 0.5 to 1.5; 1 of 6 elements are wrong (G2) at m=3,n=2",
		},
		{declined, notJudged, "UNSUPPORTED", "it raises ValueError at m=3"},
		{
			`{"impl":"mine/solution.py","status":"BUILD_FAIL","dims":{"m":3},` +
				`"message":"/home/me/solution.py:1: it defines no class Model"}`,
			accused, "BUILD_FAIL", "it defines no class Model at m=3",
		},
		{
			`{"impl":"mine/solution.py","status":"OUT_OF_BOUNDS","dims":{"m":3},` +
				`"message":"tl.load reads element 4 of their_ptr, which has 4"}`,
			accused, "OUT_OF_BOUNDS", "tl.load reads element 4 of a tensor, which has 4 at m=3",
		},
		{declined + "\n" + good, passed, "PASS", ""},
		{reference, notJudged, "", "triad said nothing of it"},
	} {
		var r row
		r.of(c.out)
		if r.Verdict != c.verdict || r.Status != c.status || r.Reason != c.reason {
			t.Errorf("%s:\n%+v", c.out, r)
		}
	}
}

// TestMatrix: each half has a table of its own, and what passes without a kernel a column.
func TestMatrix(t *testing.T) {
	text := matrix([]row{
		{Label: "clean", Verdict: passed, Kernels: true, Device: "cpu"},
		{Label: "reward_hack", Verdict: passed, Device: "cpu"},
		{Label: "reward_hack", Verdict: accused, Device: "cpu", HeldOut: true},
	})
	for _, want := range []string{
		"The open half, on a CPU", "| clean | 0 | 0 | 1 | 0 | 0 |",
		"| reward hack | 0 | 1 | 0 | 0 | 0 |", "The held-out half", "| reward hack | 1 | 0 | 0 | 0 | 0 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}
