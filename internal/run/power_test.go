package run

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"triad/internal/docpage"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/truth"
)

var updatePower = flag.Bool("update", false, "write the table of power into results/published/judge-score.md")

// leastPowered is the share of cases, without those that are trivial by design, that must be able to tell
// right from wrong.
const leastPowered = 0.95

// powerAt counts the planned cases of every operator on a level, forward and backward, before any kernel
// runs: in all, in words, and as rows of a table in Markdown, one for each operator with a case that has no
// power.
func powerAt(t *testing.T, level op.Level) (whole Power, table, rows string) {
	t.Helper()
	var lines []string
	full := 0
	for _, o := range truth.All() {
		before := len(whole.Powerless)
		plan, err := o.Spec.Expand(op.Options{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		x := &execution{Runner: &Runner{}, request: Request{
			Seed:    20240229,
			Options: op.Options{Level: level},
		}, result: &Result{}}
		shares := map[op.Pass]string{op.Backward: "none"}
		for _, pass := range o.Spec.Passes() {
			var p Power
			for _, c := range plan.Cases {
				if c.Pass != pass {
					continue
				}
				w := work{operator: o, Case: c}
				made, err := x.prepare(w)
				if err != nil {
					t.Fatal(err)
				}
				p.add(w, made.powers)
			}
			shares[pass] = fmt.Sprintf("%d of %d", p.Cases-len(p.Powerless), p.Cases)
			lines = append(lines, fmt.Sprintf("%s %v: %d of %d cases have power, %d are trivial by design",
				o.Spec.Name, pass, p.Cases-len(p.Powerless), p.Cases, len(p.Trivial)))
			for _, c := range p.Powerless {
				lines = append(lines, fmt.Sprintf("    none: %s %s %s", describe(c), c.Layout, c.Upstream))
			}
			whole.Cases += p.Cases
			whole.Powerless = append(whole.Powerless, p.Powerless...)
			whole.Trivial = append(whole.Trivial, p.Trivial...)
		}
		if len(whole.Powerless) == before {
			full++
			continue
		}
		rows += fmt.Sprintf("| %s | %s | %s |\n", o.Spec.Name, shares[op.Forward], shares[op.Backward])
	}
	rows += fmt.Sprintf("| %d other operators | all | all |\n", full)
	return whole, strings.Join(lines, "\n"), rows
}

// TestPower: at least 95 % of the planned cases can tell right from wrong on every level, in the fast tier on
// the quick one. Only the spec leaves cases out as trivial, and at most a fifth.
func TestPower(t *testing.T) {
	for _, level := range []op.Level{op.LevelQuick, op.LevelDefault, op.LevelFull} {
		if level != op.LevelQuick && // the others take minutes
			!need.Chosen(t, level.String(), "", "internal/judge") {
			continue
		}
		p, table, rows := powerAt(t, level)
		powered := p.Cases - len(p.Powerless)
		if level == op.LevelQuick {
			table := "| cases with power | forward | backward |\n|---|---|---|\n" + rows +
				fmt.Sprintf("| all operators, without %d trivial cases | %d of %d, both passes | |\n",
					len(p.Trivial), powered, p.Cases)
			docpage.Is(t, "../../results/published/judge-score.md", "power", table, *updatePower,
				"go test ./internal/run -run TestPower -update")
		}
		t.Logf("%v: %d of %d cases have power (%.1f %%), %d are trivial by design\n%s", level, powered,
			p.Cases, 100*float64(powered)/float64(p.Cases), len(p.Trivial), table)
		if p.Cases < 200 || float64(powered) < leastPowered*float64(p.Cases) {
			t.Errorf("%v: %d of %d cases have power: want at least %.0f %%\n%s", level, powered, p.Cases,
				100*leastPowered, table)
		}
		if 5*len(p.Trivial) > p.Cases {
			t.Errorf("%v: %d cases beside %d are marked trivial: that is no suite", level, len(p.Trivial),
				p.Cases)
		}
	}
}

// TestTrivialByDesign: exactly what a spec marks is trivial.
func TestTrivialByDesign(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]op.Case{
		"zeros":         {Pass: op.Forward, DType: "fp32", Distribution: "zeros"},
		"upstream ones": {Pass: op.Backward, DType: "fp32", Upstream: "ones", Saved: "own"},
		"":              {Pass: op.Backward, DType: "fp32", Saved: "own"},
	} {
		c, err := o.Spec.NewCase(c, map[string]int64{"rows": 3, "cols": 2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Spec.Trivial(c); got != want {
			t.Errorf("%s: %q, want %q", describe(c), got, want)
		}
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{"rows": 3, "cols": 1},
		nil)
	if err != nil || o.Spec.Trivial(c) != "cols <= 1" {
		t.Errorf("one column: %v %q", err, o.Spec.Trivial(c))
	}
}
