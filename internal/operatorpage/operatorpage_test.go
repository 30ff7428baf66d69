package operatorpage

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"triad/internal/report"
	"triad/internal/truth"
)

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
		err := report.ShowOperator(&out, report.Style{}, Detail(o.Spec))
		if err != nil || !strings.Contains(out.String(), "backward: "+formula) {
			t.Errorf("%s: error %v, want %q in %s", o.Spec.Name, err, formula, &out)
		}
	}
}

// TestUnaskedIsShown: ops show prints what no case tests: at least the largest sizes of each pass.
func TestUnaskedIsShown(t *testing.T) {
	o := truth.All()[0]
	detail := Detail(o.Spec)
	var err error
	if detail.Unasked, err = Unasked(o.Spec); err != nil {
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
