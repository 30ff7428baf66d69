package problem

import (
	"strings"
	"testing"
)

// TestBothChecks: a line says what the format's check and triad's say, and which is right where they differ.
func TestBothChecks(t *testing.T) {
	const passes = `{"passes": true, "how": "5 trials from seed 42", "trials": 5}`
	rejects := func(inside string) string {
		return `{"passes": false, "how": "5 trials from seed 42", "trial": "trial 2", "element": {"name": "y",
		"index": [3, 4], "got": "1.5", "want": "1.25", "truth": "1.375", "allowance": "0.125",
		"inside": ` + inside + `}}`
	}
	right, wrong := Ours{Judged: true}, Ours{Judged: true, Wrong: true, Value: true, Message: "y[0] is 1"}
	for _, c := range []struct {
		text string
		ours Ours
		want []string
	}{
		{passes, right, []string{"(5 trials from seed 42) accepts it in its 5 calls, and so does triad"}},
		{passes, wrong, []string{"accepts it in its 5 calls, and triad does not: y[0] is 1. triad is right"}},
		{passes, Ours{Judged: true, Wrong: true, Message: "it races"}, []string{"does not look for that"}},
		{passes, Ours{}, []string{"triad has judged none"}},
		{rejects("true"), right, []string{
			"rejects it, at trial 2: y[3,4] is 1.5, and the reference gives 1.25; triad accepts it. triad is",
			"answer there is 1.375, and rounding in the operations of the reference may move it by 0.125",
		}},
		{rejects("false"), right, []string{"The format's check is right"}},
		{rejects("false"), wrong, []string{"the reference gives 1.25; so does triad"}},
		{`{"passes": false, "trial": "trial 1", "element": null}`, right, []string{"the shape or the dtype"}},
		{`{"passes": false, "trial": "trial 1", "why": "it raises KeyError"}`, wrong, []string{"KeyError"}},
		{
			`{"passes": false, "trial": "trial 1", "element": {"name": "y", "index": [0], "got": "nan",
			"want": "1"}}`,
			wrong,
			[]string{"y[0] is nan"},
		},
		{`{"failed": "OSError: gone"}`, right, []string{"could not be run: OSError: gone"}},
	} {
		check, err := ParseCheck(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got := check.Sentence(c.ours)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q", got, want)
			}
		}
	}
	if _, err := ParseCheck("x"); err == nil {
		t.Error("no error of no answer")
	}
}
