package shrink

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"triad/internal/advice"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/record"
)

// ofRows is an operator of rows and columns.
const ofRows = "softmax"

// outcome returns a record of a probe: wrong with a large error, or right.
func outcome(wrong bool) *record.Record {
	if wrong {
		return &record.Record{Status: op.StatusFail, Message: "y is wrong"}
	}
	return &record.Record{Status: op.StatusPass}
}

// searchOf returns a search in an operator of the catalog that began at the given sizes.
func searchOf(t *testing.T, operator, distribution string, dims op.Dims, wrong func(Probe) bool) *Search {
	t.Helper()
	o, err := catalog.Get(operator)
	if err != nil {
		t.Fatal(err)
	}
	first := record.Record{
		Impl: "mine/x", Status: op.StatusFail, Message: "y is wrong",
		Case: op.Case{Op: operator, Pass: op.Forward, DType: "fp32", Distribution: distribution, Dims: dims},
	}
	return &Search{
		Spec: o.Spec, Suspect: Suspect{Record: first}, Stop: func() bool { return false },
		Run: func(p Probe) *record.Record {
			r := outcome(wrong(p))
			r.Case = op.Case{Distribution: p.Distribution, Dims: op.Dims{}}
			for _, d := range o.Spec.Dims {
				if value, there := p.Sizes[d.Name]; there {
					r.Case.Dims = append(r.Case.Dims, op.Dim{Name: d.Name, Value: value})
				}
			}
			return r
		},
	}
}

// Common faults, by the sizes on which they show: the smallest case is found and the advice names the cause.
func TestFindNamesTheFault(t *testing.T) {
	rows, cols := "rows", "cols"
	findsFaults(t, []faultOfSizes{
		{
			"everywhere", func(Sizes) bool { return true },
			Sizes{rows: 1, cols: 1},
			"wrong at the smallest shape already",
		},
		{
			"a limit", func(s Sizes) bool { return s[cols] > 64 },
			Sizes{rows: 1, cols: 65},
			"cols = 63, 64 are right, 65, 66, 260, 512, 1023 are wrong: 64 threads",
		},
		{
			"the tail", func(s Sizes) bool { return s[cols]%32 != 0 },
			Sizes{rows: 1, cols: 1},
			"cols is a multiple of 32 and wrong beside it",
		},
		{
			"the tail, where one column shows nothing", func(s Sizes) bool {
				return s[cols] < 4 ||
					s[rows]%32 != 0
			},
			Sizes{rows: 1, cols: 1},
			"rows is a multiple of 32 and wrong beside it",
		},
		{
			"one size for the other", func(s Sizes) bool { return s[rows] != s[cols] },
			Sizes{rows: 1, cols: 2},
			"right where rows = cols",
		},
		{
			"transposed, column after column", func(s Sizes) bool { return s[rows] > 1 && s[cols] > 1 },
			Sizes{rows: 2, cols: 2},
			"element (i, j) is at i * cols + j",
		},
	})
}

// For sizes that are right here and there the advice lists what was run, and no limit.
func TestFindNamesWhatWasRun(t *testing.T) {
	rows, cols := "rows", "cols"
	findsFaults(t, []faultOfSizes{
		{
			"wrong at multiples of four alone", func(s Sizes) bool { return s[cols]%4 == 0 },
			Sizes{rows: 1, cols: 4},
			"cols = 2, 3, 5, 1023 are right, 4, 8, 16, 256 are wrong; no pattern of sizes",
		},
		{
			"lanes beyond a power of two", func(s Sizes) bool { return s[cols]&(s[cols]-1) != 0 },
			Sizes{rows: 1, cols: 3},
			"cols is a power of two and wrong elsewhere",
		},
		{
			"three powers of two, by chance", func(s Sizes) bool {
				return !slices.Contains([]int64{64, 128, 256}, s[cols])
			},
			Sizes{rows: 1, cols: 1},
			"wrong at the smallest shape already",
		},
		{
			"lanes of a block of at least 16", func(s Sizes) bool {
				return s[cols] < 16 || s[cols]&(s[cols]-1) != 0
			},
			Sizes{rows: 1, cols: 1},
			"cols is a power of two and wrong elsewhere",
		},
	})
}

// A search whose time ends before the larger powers of two are run says what the smaller ones show.
func TestFindNamesPowersOfTwoInTime(t *testing.T) {
	s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 3), size("cols", 7)}, func(p Probe) bool {
		return p.Sizes["cols"]&(p.Sizes["cols"]-1) != 0
	})
	run := s.Run
	s.Run = func(p Probe) *record.Record {
		if p.Sizes["cols"] > 16 {
			return nil
		}
		return run(p)
	}
	got := s.Find().Advice()
	if !strings.Contains(got, "cols is a power of two and wrong elsewhere (right: 1, 2, 4, 8; wrong: 3") {
		t.Errorf("advice %q", got)
	}
}

// A kernel that masks its loads and is right only if a size fills the block lets other lanes take part.
func TestFindNamesAFullBlock(t *testing.T) {
	for _, masks := range [][]advice.MaskedLoad{nil, {{Line: 7, Other: "0.0"}}} {
		s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 3), size("cols", 7)},
			func(p Probe) bool { return p.Sizes["cols"] != 1024 })
		s.Masks = masks
		got := s.Find().Advice()
		if says := strings.Contains(got, "cols is 1024, a whole block") &&
			strings.Contains(got, "line 7: tl.load gives lanes outside the mask other=0.0"); says !=
			(len(masks) > 0) {
			t.Errorf("%v: %q", masks, got)
		}
	}
}

// faultOfSizes is a function that is wrong on some sizes, with the expected smallest case and advice.
type faultOfSizes struct {
	name  string
	wrong func(Sizes) bool
	sizes Sizes
	says  string
}

func findsFaults(t *testing.T, all []faultOfSizes) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			dims := op.Dims{size("rows", 33), size("cols", 1023)}
			got := searchOf(t, ofRows, "normal", dims,
				func(p Probe) bool { return c.wrong(p.Sizes) }).Find()
			found := Sizes{}
			for _, d := range got.Record.Case.Dims {
				found[d.Name] = d.Value
			}
			if !maps.Equal(found, c.sizes) || !strings.Contains(got.Advice(), c.says) {
				t.Errorf("found %v, want %v; advice %q, want it to say %q", found, c.sizes, got.Advice(),
					c.says)
			}
		})
	}
}

// The search for a size that must be a multiple of another number runs through its multiples.
func TestFindKeepsMultiples(t *testing.T) {
	for _, o := range catalog.All() {
		for _, d := range o.Spec.Dims {
			if o.Spec.StepOf(d.Name) != 16 {
				continue
			}
			dims := op.Dims{}
			for _, other := range o.Spec.Dims {
				dims = append(dims, size(other.Name, 16*21))
			}
			for limit, says := range map[int64]string{
				0: "smallest shape already", 64: "64 are right, 80, 96,",
			} {
				s := searchOf(t, o.Spec.Name, "normal", dims,
					func(p Probe) bool { return p.Sizes[d.Name] > limit })
				run := s.Run
				s.Run = func(p Probe) *record.Record {
					if p.Sizes[d.Name]%16 != 0 {
						return nil // there is no such case
					}
					return run(p)
				}
				got := s.Find()
				if found := got.Record.Case.Dims.Get(d.Name); found != limit+16 ||
					!strings.Contains(got.Advice(), says) {
					t.Errorf("%s %s: found %d, want %d; advice %q, want %q", o.Spec.Name, d.Name, found,
						limit+16, got.Advice(), says)
				}
			}
			return
		}
	}
	t.Error("no dim is a multiple of 16")
}

// Cases that are right by chance, because their data happen to show nothing, are no pattern: a position where
// a mask is false, cuts of segments that are alike.
func TestFindLeavesOutChance(t *testing.T) {
	for i, wrong := range []func(Probe) bool{
		func(p Probe) bool { return p.Sizes["rows"]*p.Sizes["cols"] > 2 },
		func(p Probe) bool { return !slices.Contains([]int64{128, 256, 384}, p.Sizes["cols"]) },
	} {
		s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 53), size("cols", 135)}, wrong)
		says := []string{"no pattern of sizes explains it", "wrong at the smallest shape already"}[i]
		if got := s.Find().Advice(); !strings.Contains(got, says) {
			t.Errorf("%d: advice %q", i, got)
		}
	}
	tail := searchOf(t, ofRows, "normal", op.Dims{size("rows", 53), size("cols", 135)},
		func(p Probe) bool { return p.Sizes["cols"]%4 != 0 })
	run := tail.Run
	tail.Run = func(p Probe) *record.Record { // one row has no power, as the shapes of gemv
		if r := run(p); p.Sizes["rows"] > 1 || r.Status == op.StatusFail {
			return r
		}
		return &record.Record{Status: op.StatusNoPower}
	}
	if got := tail.Find().Advice(); !strings.Contains(got, "cols is a multiple of 4 and wrong beside it") {
		t.Errorf("of the tail of a row that cannot be judged alone: %q", got)
	}
}

// A limit is found even if its smallest case is too small to be judged: what was right at larger sizes
// counts. For a backward the gradients are named.
func TestFindKeepsWhatWasRight(t *testing.T) {
	s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 40), size("cols", 264)},
		func(p Probe) bool { return p.Sizes["rows"] > 16 })
	run := s.Run
	s.Run = func(p Probe) *record.Record {
		if r := run(p); p.Sizes["cols"] > 1 || r.Status == op.StatusFail {
			return r
		}
		return &record.Record{Status: op.StatusNoPower}
	}
	if got := s.Find().Advice(); !strings.Contains(got, "16 are right, 17, 18,") {
		t.Errorf("advice %q, want the limit", got)
	}
	back := searchOf(t, ofRows, "normal", op.Dims{size("rows", 2), size("cols", 3)},
		func(Probe) bool { return true })
	back.Suspect.Record.Case.Pass = op.Backward
	if got := back.Find().Advice(); !strings.Contains(got, "formula, "+back.Spec.Backward.Formula) {
		t.Errorf("advice %q, want the formula of the backward", got)
	}
}

// The advice for a function that is wrong only on special numbers says so and does not blame its sizes.
func TestFindTellsNumbersFromSizes(t *testing.T) {
	s := searchOf(t, ofRows, "scaled", op.Dims{size("rows", 3), size("cols", 7)},
		func(p Probe) bool { return p.Distribution != "normal" && p.Sizes["cols"] > 4 })
	got := s.Find()
	if cols := got.Record.Case.Dims.Get("cols"); cols != 5 ||
		!strings.Contains(got.Advice(), "on ordinary numbers this shape is right") ||
		!strings.Contains(got.Advice(), s.Spec.Advice.SpecialNumbers) {
		t.Errorf("cols = %d, want 5; advice %q, want the spec's", cols, got.Advice())
	}
	s.Spec = &op.Spec{Name: s.Spec.Name, Dims: s.Spec.Dims}
	if got := s.Find(); !strings.Contains(got.Advice(), "look for an exp") {
		t.Errorf("without advice in the spec: %q", got.Advice())
	}
}

// Sizes that share a parameter change together, and one that the user fixed does not change.
func TestFindKeepsSizesTogether(t *testing.T) {
	dims := op.Dims{
		size("batch", 2), size("heads_q", 8), size("heads_kv", 8), size("seq_q", 64),
		size("seq_kv", 64), size("head_dim", 32),
	}
	s := searchOf(t, "flash_attention", "normal", dims, func(p Probe) bool {
		if p.Sizes["seq_q"] != p.Sizes["seq_kv"] || p.Sizes["heads_q"] != p.Sizes["heads_kv"] {
			t.Errorf("%v: sizes of one parameter differ", p.Sizes)
		}
		if p.Sizes["head_dim"] != 32 {
			t.Errorf("%v: head_dim is fixed as 32", p.Sizes)
		}
		return p.Sizes["seq_q"] >= 17
	})
	s.Equal, s.Fixed = [][]string{{"heads_q", "heads_kv"}, {"seq_q", "seq_kv"}},
		map[string]int64{"head_dim": 32}
	if got := s.Find().Record.Case.Dims; got.Get("seq_q") != 17 || got.Get("seq_kv") != 17 {
		t.Errorf("found %v, want 17 for both lengths", got)
	}
}

// The other value of an unspecified attribute is tried before the sizes are blamed.
func TestFindTriesWhatWasAssumed(t *testing.T) {
	s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 3), size("cols", 7)},
		func(p Probe) bool { return p.Attribute == "" })
	s.Assumed = map[string][]string{"interleaved": {"true"}}
	if got := s.Find(); !strings.Contains(got.Advice(), "with interleaved = true it is right") {
		t.Errorf("advice %q", got.Advice())
	}
}

// A case of one element says nothing about assumptions: a larger one is run.
func TestFindTriesWhatWasAssumedWherePowerIs(t *testing.T) {
	s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 1), size("cols", 1)},
		func(Probe) bool { return true })
	s.Assumed = map[string][]string{"approximate": {"none"}}
	s.Suspect.Record.Case.Attrs = op.Attrs{{Name: "approximate", Text: "tanh"}}
	others := s.Run
	s.Run = func(p Probe) *record.Record {
		switch {
		case p.Attribute == "":
			return others(p)
		case p.Sizes["cols"] < 2:
			return &record.Record{Status: op.StatusNoPower}
		}
		return outcome(false)
	}
	want := "with approximate = none it is right. The function has no parameter for approximate and was " +
		"judged with tanh: if none is what it computes, say --attr approximate=none"
	if got := s.Find().Advice(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Fixed = map[string]int64{"rows": 1, "cols": 1}
	if got := s.Find().Advice(); strings.Contains(got, "--attr") {
		t.Errorf("a size that is fixed was changed: %q", got)
	}
}

// No case is run twice, no more than the budget is run, and none after Stop or for a function that hangs.
func TestFindIsBounded(t *testing.T) {
	runs, seen := 0, map[string]bool{}
	base := op.Dims{
		size("batch", 900), size("heads_q", 900), size("heads_kv", 900), size("seq_q", 900),
		size("seq_kv", 900),
		size("head_dim", 900),
	}
	// every smaller case is right, so that each round of the search runs the same
	onlyBase := func(p Probe) bool {
		key := fmt.Sprint(p.Sizes, p.Distribution)
		if seen[key] {
			t.Errorf("%s was run again", key)
		}
		runs, seen[key] = runs+1, true
		return false
	}
	searchOf(t, "flash_attention", "normal", base, onlyBase).Find()
	if runs != maxRuns {
		t.Errorf("%d cases were run, want %d", runs, maxRuns)
	}
	runs, seen = 0, map[string]bool{}
	searchOf(t, ofRows, "normal", op.Dims{size("rows", 3), size("cols", 7)}, onlyBase).Find()
	if runs == 0 || runs >= maxRuns {
		t.Errorf("%d cases of a small search were run", runs)
	}
	runs, seen = 0, map[string]bool{}
	s := searchOf(t, "flash_attention", "normal", base, onlyBase)
	s.Stop = func() bool { return true }
	if got := s.Find(); runs != 0 || got.Record.Case.Dims.Get("seq_q") != 900 {
		t.Errorf("after Stop %d cases were run and %v found", runs, got.Record.Case.Dims)
	}
	s = searchOf(t, "flash_attention", "normal", base, onlyBase)
	s.Suspect.Record.Status = op.StatusHang
	if s.Find(); runs != 0 {
		t.Errorf("%d cases of a function that hangs were run", runs)
	}
}

// Relations between calls are tested again only if nothing but a relation was broken.
func TestFindAsksRelationsWhereOneBroke(t *testing.T) {
	for gate, want := range map[string]bool{"G6": true, "G3": false} {
		s := searchOf(t, ofRows, "normal", op.Dims{size("rows", 3), size("cols", 7)}, func(p Probe) bool {
			if p.Relations != want {
				t.Errorf("gate %s: relations asked: %v, want %v", gate, p.Relations, want)
			}
			return true
		})
		s.Suspect.Record.Outputs = []record.Verdict{{Name: "y", Status: op.StatusFail, Gate: gate}}
		s.Find()
	}
}

// The advice for a function that counts ignored targets says so, even if one row or one class does not show
// it, as with a matrix read in column-major order. A function that is wrong without ignored targets too gets
// no such advice.
func TestFindNamesIgnoredTargets(t *testing.T) {
	const says = "wrong where some are ignore_index = -100"
	rows, classes := "rows", "classes"
	ofTargets := operatorOf(t, "classes")
	for _, alsoWithout := range []bool{false, true} {
		s := searchOf(t, ofTargets, "normal", op.Dims{size(rows, 5), size(classes, 131)}, func(p Probe) bool {
			return p.Sizes[rows] > 1 && p.Sizes[classes] > 1 &&
				(alsoWithout || p.Distribution != op.NoneIgnored)
		})
		s.Suspect.Record.Case.Attrs = op.Attrs{{Name: "ignore_index", Text: "-100", Number: -100}}
		got := s.Find()
		if strings.Contains(got.Advice(), says) == alsoWithout {
			t.Errorf("wrong without ignored targets too: %v; advice %q", alsoWithout, got.Advice())
		}
	}
}

// operatorOf returns an operator that has an input of this fill.
func operatorOf(t *testing.T, kind string) string {
	t.Helper()
	for _, o := range catalog.All() {
		inputs, _ := o.Spec.Tensors(op.Forward)
		for _, input := range inputs {
			if fill, err := op.ParseFill(input.Fill); err == nil && fill.Kind == kind {
				return o.Spec.Name
			}
		}
	}
	t.Fatalf("no operator has an input of %s", kind)
	return ""
}

// The search for a wrong gradient uses ordinary numbers and an ordinary upstream gradient if that is wrong
// too, else what showed the fault.
func TestGradientsAreSearchedWithOrdinaryNumbers(t *testing.T) {
	for _, c := range []struct {
		wrong                  func(Probe) bool
		distribution, upstream string
	}{
		{func(Probe) bool { return true }, "normal", "normal"},
		{func(p Probe) bool { return p.Distribution == "scaled" }, "scaled", "normal"},
		{func(p Probe) bool { return p.Upstream == "huge" && p.Distribution == "scaled" }, "scaled", "huge"},
	} {
		dims := op.Dims{{Name: "rows", Value: 9}, {Name: "cols", Value: 40}}
		s := searchOf(t, ofRows, "scaled", dims, c.wrong)
		s.Suspect.Record.Case.Pass, s.Suspect.Record.Case.Upstream = op.Backward, "huge"
		judged := s.Run
		s.Run = func(p Probe) *record.Record {
			r := judged(p)
			r.Case.Pass, r.Case.Upstream = op.Backward, p.Upstream
			return r
		}
		got := s.Find().Record.Case
		if got.Distribution != c.distribution || got.Upstream != c.upstream {
			t.Errorf("%s, upstream %s; want %s, upstream %s", got.Distribution, got.Upstream, c.distribution,
				c.upstream)
		}
	}
}
