package catalog

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
)

func TestEverySpecLoads(t *testing.T) {
	for _, name := range Names() {
		if _, err := Get(name); err != nil {
			t.Error(err)
			continue
		}
		text, err := files.ReadFile(specFile(name))
		if err == nil {
			_, err = op.Load(specFile(name), text) // tries its shapes, too
		}
		if err != nil {
			t.Error(err)
		}
	}
	want, err := filepath.Glob("*/*.toml")
	if err != nil || len(want) < 6 {
		t.Fatalf("%v, %v: want at least the specs of the first release", want, err)
	}
	for i, file := range want {
		want[i] = filepath.Dir(file)
	}
	want = slices.Compact(want) // findings lie next to the spec
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("operators %v, want %v", got, want)
	}
}

// TestLevelsStayWithinTheirLimits: each level stays within its limits, holds no case twice, and covers what
// it must.
func TestLevelsStayWithinTheirLimits(t *testing.T) {
	limits := map[op.Level]int{op.LevelQuick: 13, op.LevelDefault: 62, op.LevelFull: 400}
	least := map[op.Level]int{op.LevelQuick: 3, op.LevelDefault: 8, op.LevelFull: 8}
	for _, o := range All() {
		for level, limit := range limits {
			plan, err := o.Spec.Expand(op.Options{Level: level})
			if err != nil {
				t.Fatalf("%s: %v", o.Spec.Name, err)
			}
			counts, keys := map[string]int{}, map[string]bool{}
			for _, c := range plan.Cases {
				counts[c.Pass.String()+" "+c.DType]++
				if keys[c.Key()] {
					t.Errorf("%s %s: case %v occurs twice", o.Spec.Name, level, c)
				}
				keys[c.Key()] = true
			}
			for which, n := range counts {
				t.Logf("%s %s %s: %d cases, %d skipped in all", o.Spec.Name, level, which, n,
					len(plan.Skipped))
				most := limit
				if level == op.LevelQuick {
					most += 3 // an upstream gradient's layout and its NaN, an odd place
				}
				if n > most || n < least[level] {
					t.Errorf("%s %s %s: %d cases, want %d to %d", o.Spec.Name, level, which, n, least[level],
						most)
				}
			}
			covers(t, o.Spec, level, plan.Cases)
		}
	}
}

// covers checks that every dtype of a pass occurs with every value of every attribute, at full with every
// distribution on three shapes and every layout.
func covers(t *testing.T, s *op.Spec, level op.Level, cases []op.Case) {
	t.Helper()
	seen := map[string]int{}
	for _, c := range cases {
		head := c.Pass.String() + " " + c.DType + " "
		for _, a := range c.Attrs {
			seen[head+a.Name+"="+a.Text]++
			seen[head+a.Name+"="+a.Text+" "+c.Distribution]++
		}
		seen[head+c.Distribution]++
		seen[head+c.Layout]++
		seen[head+"upstream "+c.Upstream]++
		seen[head+"saved "+c.Saved]++
	}
	for _, pass := range s.Passes() {
		for _, dtype := range s.PassDTypes(pass) {
			head := pass.String() + " " + dtype + " "
			want := func(what string, n int) {
				if seen[head+what] < n {
					t.Errorf("%s %s: %s%s occurs %d times, want %d", s.Name, level, head, what,
						seen[head+what], n)
				}
			}
			for _, a := range s.Attributes {
				values := a.Values
				if a.Type == "bool" {
					values = []string{"true", "false"}
				}
				for _, v := range values {
					want(a.Name+"="+v, 1)
					for _, d := range s.Check.Distributions {
						if s.Check.Pins[d] == nil && level != op.LevelQuick {
							// a bug may depend on both
							want(a.Name+"="+v+" "+d, 1)
						}
					}
				}
			}
			if level != op.LevelQuick {
				for _, d := range s.Check.Distributions {
					want(d, map[op.Level]int{op.LevelDefault: 1, op.LevelFull: 3}[level])
				}
				for _, l := range s.Layouts() {
					want(l, 1)
				}
			}
			if pass == op.Backward {
				coversUpstreams(t, s, level, head, seen)
				if s.Backward.Chained {
					want("saved own", 3)
					want("saved driver", 3)
				}
			}
		}
	}
}

// coversUpstreams checks that a backward has every kind and every memory layout of upstream gradient; one of
// the layouts with --quick.
func coversUpstreams(t *testing.T, s *op.Spec, level op.Level, head string, seen map[string]int) {
	t.Helper()
	layouts, met := s.UpstreamLayouts(), 0
	for _, u := range append([]string{"normal"}, s.UpstreamKinds()...) {
		if seen[head+"upstream "+u] == 0 {
			t.Errorf("%s %s: %supstream %s does not occur", s.Name, level, head, u)
		}
	}
	for _, u := range []string{"expanded", "transposed", "offset"} {
		met += min(seen[head+"upstream "+u], 1)
	}
	if met != len(layouts) && (level != op.LevelQuick || met != 1) {
		t.Errorf("%s %s: %supstream gradients lie in %d ways, want those of %v", s.Name, level, head, met,
			layouts)
	}
}

// TestOtherNames: another name of an operator means it, an unknown one leads to what is nearest, and no
// name to two.
func TestOtherNames(t *testing.T) {
	owners := map[string]string{}
	for _, o := range All() {
		for _, name := range slices.Concat([]string{o.Spec.Name}, o.Spec.AlsoCalled, o.Spec.NearestTo) {
			if owners[name] != "" {
				t.Errorf("%s is %s and %s", name, owners[name], o.Spec.Name)
			}
			owners[name] = o.Spec.Name
		}
	}
	for _, o := range All() {
		for _, name := range append([]string{o.Spec.Name}, o.Spec.AlsoCalled...) {
			for _, typed := range []string{name, strings.ToUpper(name), strings.ReplaceAll(name, "_", "-")} {
				if found, err := Find(typed); err != nil || found.Spec.Name != o.Spec.Name {
					t.Errorf("%q: %v, %v, want %s", typed, found, err, o.Spec.Name)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"sofmax": "do you mean softmax?", "layernrom": "do you mean layernorm?",
		"rms_nrom": "do you mean rmsnorm?", "": "triad new NAME", "xy": "triad ops list has all; triad " +
			"new xy",
		"conv2d": "nearest to it is conv1d (", "Conv-2D": "nearest to it is conv1d (",
		"sigmoid": "nearest to it is silu (", "histogram": "makes one of your own",
	} {
		_, err := Find(name)
		var usage *op.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}
