package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"triad"
	"triad/cuda"
	"triad/internal/report"
	"triad/internal/session"
	"triad/internal/truth"
)

// TestCataloguePage: the page of the catalogue matches specs and headers, and shows a ladder for each
// operator, the readable rung first.
func TestCataloguePage(t *testing.T) {
	var out bytes.Buffer
	if code := newApp(nil, &out, &out).execute([]string{"ops", "catalogue"}); code != session.ExitGood {
		t.Fatalf("exit %d: %s", code, &out)
	}
	page, err := os.ReadFile("../../docs/catalogue.md")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(page) {
		t.Error("docs/catalogue.md is not what the operators say: go run ./cmd/triad ops catalogue > " +
			"docs/catalogue.md")
	}
	for _, o := range truth.All() {
		if !strings.Contains(string(page), "\n## "+o.Spec.Name+"\n") {
			t.Errorf("%s is not on the page", o.Spec.Name)
		}
		rungs, err := cuda.Rungs(triad.Files, o.Spec.Name)
		if err != nil || len(rungs) < 2 {
			t.Errorf("%s has the rungs %v, %v", o.Spec.Name, rungs, err)
		}
	}
}

// TestBackwardsHaveFormulas: every operator with a backward states its formula, and ops show prints it. The
// command as a whole, which asks a worker for the implementations, is run by testdata/script/verbs.txtar.
func TestBackwardsHaveFormulas(t *testing.T) {
	for _, o := range truth.All() {
		if o.Spec.Backward == nil {
			continue
		}
		formula := o.Spec.Backward.Formula
		if formula == "" {
			t.Errorf("%s: [backward] has no formula", o.Spec.Name)
		}
		var out bytes.Buffer
		err := report.ShowOperator(&out, report.Style{}, detailed(o.Spec))
		if err != nil || !strings.Contains(out.String(), "backward: "+formula) {
			t.Errorf("%s: error %v, want %q in %s", o.Spec.Name, err, formula, &out)
		}
	}
}

// TestUnaskedIsShown: ops show prints what no case tests: at least the largest sizes of each pass.
func TestUnaskedIsShown(t *testing.T) {
	o := truth.All()[0]
	detail := detailed(o.Spec)
	var err error
	if detail.Unasked, err = unasked(o.Spec); err != nil {
		t.Fatal(err)
	}
	var text, asJSON bytes.Buffer
	shown := report.ShowOperator(&text, report.Style{}, detail)
	if err := errors.Join(shown, report.JSON(&asJSON, detail)); err != nil {
		t.Fatal(err)
	}
	for _, pass := range o.Spec.Passes() {
		if !strings.Contains(text.String(), "\n  "+pass.String()+": largest tensor: ") {
			t.Errorf("the largest tensor of the %v is not in\n%s", pass, &text)
		}
	}
	for _, u := range detail.Unasked {
		if !strings.Contains(text.String(), "  "+u.Pass+": "+u.Sentence) ||
			!strings.Contains(asJSON.String(), `"sentence":"`+u.Sentence+`"`) {
			t.Errorf("%q is not in\n%s\n%s", u.Sentence, &text, &asJSON)
		}
	}
}
