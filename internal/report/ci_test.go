package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// ofAllKinds returns records that are good, bad, neutral and known, with text that is special in XML and to
// GitHub.
func ofAllKinds() []record.Record {
	good := softmax(1, "cuda/warp", "fp32", 100, op.StatusPass)
	bad := softmax(2, "cuda/naive", "fp32", 100, op.StatusFail)
	bad.Message, bad.LogTail = "y[0] is <wrong> & 100 %,\nby far: \x00", "a ]]> b\n\x1b[31m"
	bad.Where = &record.Where{Kernel: "k", File: "my,kernels/a:b.cu", Line: 7}
	again := softmax(3, "cuda/naive", "bf16", 100, op.StatusCrash)
	neutral := softmax(4, "cuda/naive", "fp16", 100, op.StatusUnsupported)
	known := softmax(5, "torch/eager", "fp32", 100, op.StatusKnown)
	back := softmax(6, "cuda/warp", "fp32", 100, op.StatusHang)
	back.Case.Pass = op.Backward
	return []record.Record{good, bad, again, neutral, known, back}
}

func TestJUnit(t *testing.T) {
	for _, strict := range []bool{false, true} {
		var text bytes.Buffer
		if err := JUnit(&text, ofAllKinds(), []string{"my kernel.cu"}, strict); err != nil {
			t.Fatal(err)
		}
		var doc junitSuites
		if err := xml.Unmarshal(text.Bytes(), &doc); err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if len(doc.Suites) != 2 || len(doc.Suites[0].Cases) != 5 || len(doc.Suites[1].Cases) != 1 {
			t.Fatalf("want 5 cases of the forward and 1 of the backward:\n%s", text.String())
		}
		s := doc.Suites[0]
		failures, skipped := 2, 2
		if strict {
			failures, skipped = 3, 1
		}
		if s.Tests != 5 || s.Failures != failures || s.Skipped != skipped || s.Seconds != "0.060" {
			t.Errorf("strict %v: %+v", strict, s)
		}
		f := s.Cases[1].Failure
		if s.Cases[0].Failure != nil || s.Cases[0].Skipped != nil || f == nil || f.Type != "FAIL" ||
			!strings.Contains(f.Message, "<wrong> & 100 %, by far") || !strings.Contains(f.Text, "a ]]> b") ||
			!strings.Contains(f.Text, "again on the same bits: triad compare") {
			t.Errorf("%+v, %+v", s.Cases[0], f)
		}
	}
}

func TestGitHub(t *testing.T) {
	var text bytes.Buffer
	if err := GitHub(&text, ofAllKinds(), nil, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("want a line for each implementation and pass that is bad:\n%s", text.String())
	}
	for _, want := range []string{
		"::error file=my%2Ckernels/a%3Ab.cu,line=7,title=FAIL%3A ",
		"cuda/naive forward::y[0] is <wrong> & 100 %25,",
		"bad in 2 of 3 cases)%0Aagain on the same bits: triad compare ",
	} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("no %q in %s", want, lines[0])
		}
	}
	if !strings.HasPrefix(lines[1], "::error title=HANG%3A ") {
		t.Error(lines[1])
	}
	text.Reset()
	if err := GitHub(&text, ofAllKinds(), nil, true); err != nil || strings.Count(text.String(), "\n") != 3 {
		t.Errorf("strict, %v:\n%s", err, text.String())
	}
}
