package judge

import (
	"math"
	"strings"
	"testing"

	"triad/internal/op"
)

// claims returns a statement of ready comparisons about y[len(c)].
func claims(c ...Claim) Statement {
	return Statement{
		Output: "y", Shape: []int64{int64(len(c))}, N: int64(len(c)),
		At: func(i int64) Claim { c[i].Position = i; return c[i] },
	}
}

func between(got, low, high float64) Claim { return Claim{Got: got, Low: low, High: high} }

// TestAClaimHoldsWithinItsBoundsAlone: G6: a comparison holds if and only if its value lies within its
// bounds; NaN anywhere rejects.
func TestAClaimHoldsWithinItsBoundsAlone(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, c := range []struct {
		claim Claim
		holds bool
	}{
		{between(1, 1, 1), true},
		{between(1, 0, 2), true},
		{between(inf, 0, inf), true},
		{between(zero, 0, 0), true},
		{between(math.Nextafter(1, 2), 1, 1), false},
		{between(-1, 0, inf), false},
		{between(inf, 0, 1), false},
		{between(nan, 0, 1), false},
		{between(0, nan, 1), false},
		{between(0, 0, nan), false},
		{between(nan, nan, nan), false},
		{between(0, 1, -1), false},
		{Claim{Got: 1, Low: 1, High: 1, Bits: true}, true},
		{Claim{Got: zero, Low: 0, High: 0, Bits: true}, false},
		{Claim{Got: 0, Low: zero, High: zero, Bits: true}, false},
	} {
		r := Hold("it holds", claims(c.claim))
		if r.Accepted() != c.holds || (r.Wrong == 0) != c.holds || (r.Sentence() == "") != c.holds {
			t.Errorf("%+v: %+v, want holds %v", c.claim, r, c.holds)
		}
	}
}

// TestARelationWithoutItsComparisonsDoesNotHold: a relation whose comparisons did not take place, or compared
// nothing, never holds.
func TestARelationWithoutItsComparisonsDoesNotHold(t *testing.T) {
	right := Hold("r", claims(between(1, 1, 1), between(2, 2, 2)))
	fewer := right
	fewer.Compared--
	unplanned := right
	unplanned.N, unplanned.Compared = 0, 0
	missing := right
	missing.Missing = "a further call ended CRASH"
	for name, r := range map[string]Relation{
		"zero value": {}, "one comparison missing": fewer,
		"none planned": unplanned, "not evaluated": missing,
	} {
		if r.Accepted() || r.Sentence() == "" {
			t.Errorf("%s: accepted %v, %q", name, r.Accepted(), r.Sentence())
		}
	}
	if !right.Accepted() || Hold("r", claims()).Accepted() {
		t.Error("want what was planned and compared to hold, and nothing not to")
	}
}

// TestABrokenRelationNamesItsWorstComparison: the worst comparison is the one furthest from its bounds, and
// the sentence names it, its value and the accepted range.
func TestABrokenRelationNamesItsWorstComparison(t *testing.T) {
	r := Hold("each row adds up to 1", claims(between(1, 1, 1), between(1.5, 0.5, 1), between(3, 0, 1),
		between(-0.5, 0, 1)))
	want := `y breaks the relation "each row adds up to 1": at y[2] it is 3, accepted is 0 to 1; ` +
		"3 of 4 comparisons do not hold"
	if r.Sentence() != want || r.Wrong != 3 || r.Worst.Got != 3 {
		t.Errorf("%s\nwant %s (%+v)", r.Sentence(), want, r)
	}
	if r := Hold("r", claims(between(5, 0, 1), between(math.NaN(), 0, 1))); r.Worst.Index[0] != 1 {
		t.Errorf("a NaN is worst: %+v", r)
	}
}

// TestPassNeedsEveryPlannedRelation: an output keeps its PASS if and only if every relation that is planned
// of it holds.
func TestPassNeedsEveryPlannedRelation(t *testing.T) {
	holds, broken := Hold("a", claims(between(1, 1, 1))), Hold("b", claims(between(2, 1, 1)))
	elsewhere := holds
	elsewhere.Output = "lse"
	plan := func(names ...string) (e []Expected) {
		for _, n := range names {
			e = append(e, Expected{n, "y"})
		}
		return e
	}
	for _, c := range []struct {
		name     string
		before   op.Status
		expected []Expected
		found    []Relation
		want     op.Status
		planned  int
	}{
		{"none planned", op.StatusPass, nil, nil, op.StatusPass, 0},
		{"it holds", op.StatusPass, plan("a"), []Relation{holds}, op.StatusPass, 1},
		{"it is broken", op.StatusPass, plan("a", "b"), []Relation{holds, broken}, op.StatusFail, 2},
		{"a warning does not excuse it", op.StatusWarn, plan("b"), []Relation{broken}, op.StatusFail, 1},
		{"nor a case without power", op.StatusNoPower, plan("b"), []Relation{broken}, op.StatusFail, 1},
		{
			"nor a looser contract", op.StatusDifferentContract, plan("b"),
			[]Relation{broken},
			op.StatusFail,
			1,
		},
		{"nothing came back", op.StatusPass, plan("a"), nil, op.StatusFail, 1},
		{"it speaks of another output", op.StatusPass, plan("a"), []Relation{elsewhere}, op.StatusFail, 1},
		{"the zero value", op.StatusPass, plan("a"), []Relation{{Name: "a", Output: "y"}}, op.StatusFail, 1},
		{"an output that is not given", op.StatusMissing, plan("b"), []Relation{broken}, op.StatusMissing, 0},
		{"an output without elements", op.StatusEmptyOK, plan("b"), []Relation{broken}, op.StatusEmptyOK, 0},
		{"rejected before", op.StatusFail, plan("a"), []Relation{holds}, op.StatusFail, 1},
		{"a race before", op.StatusRace, plan("b"), []Relation{broken}, op.StatusRace, 1},
	} {
		v := WithRelations([]Verdict{{Output: "y", Status: c.before, Gate: "before"}}, c.expected, c.found)[0]
		byG6 := c.want == op.StatusFail && c.before != op.StatusFail
		if v.Status != c.want || v.Expected != c.planned || len(v.Relations) != c.planned ||
			(v.Gate == "G6") != byG6 || byG6 && v.Sentence == "" {
			t.Errorf("%s: %v %s %d of %d planned (%s), want %v", c.name, v.Status, v.Gate, len(v.Relations),
				v.Expected, v.Sentence, c.want)
		}
	}
}

// TestRelationsUnderTheDeclaredContract: a relation that holds only under the looser contract is
// DIFFERENT_CONTRACT, as with the other gates, and only where one is declared.
func TestRelationsUnderTheDeclaredContract(t *testing.T) {
	expected := []Expected{{"a", "y"}}
	evaluate := func(contract string) []Relation {
		if contract == "eager" {
			return []Relation{Hold("a", claims(between(2, 1, 2)))}
		}
		return []Relation{Hold("a", claims(between(2, 1, 1)))}
	}
	for _, c := range []struct {
		declared string
		before   op.Status
		want     op.Status
	}{
		{"eager", op.StatusPass, op.StatusDifferentContract},
		{"", op.StatusPass, op.StatusFail},
		{"fp32", op.StatusPass, op.StatusFail},
		{"p16", op.StatusPass, op.StatusFail},
		{"eager", op.StatusFail, op.StatusFail},
		{"eager", op.StatusDifferentContract, op.StatusDifferentContract},
	} {
		v := RelationsUnderContracts([]Verdict{{Output: "y", Status: c.before}}, expected, evaluate,
			"fp32", c.declared)[0]
		if v.Status != c.want || c.before == op.StatusPass && c.want == op.StatusDifferentContract &&
			!strings.Contains(v.Sentence, "passes under eager") {
			t.Errorf("declared %q, before %v: %v %s, want %v", c.declared, c.before, v.Status,
				v.Sentence, c.want)
		}
	}
}

// TestIntervalOfARelationIsThatOfG2: a relation accepts the same values of an element as G2: the rounded
// interval, and 0 where the contract flushes.
func TestIntervalOfARelationIsThatOfG2(t *testing.T) {
	for _, target := range []Target{
		{DType: op.FP32, FTZ: true},
		{DType: op.FP32},
		{DType: op.BF16, FTZ: true},
		{DType: op.FP16},
	} {
		g := gridOf(target)
		for _, r := range []float64{0, 1, -1, 1 + 0x1p-9, 0x1p-130, -0x1p-127, 65519, 1e39, -1e39} {
			for _, errorBound := range []float64{0, 0x1p-12, 0x1p-126} {
				low, high := target.Interval(r, errorBound)
				for _, y := range []float64{
					0, g.round(r), g.round(r + errorBound), g.round(r - errorBound),
					g.round(r) + g.ulp(r), g.round(r) - g.ulp(r), math.Inf(1),
				} {
					if got, want := low <= y && y <= high, g.accepts(y, r, errorBound); got != want &&
						!(target.FTZ && math.Abs(r)-errorBound < Tiny) {
						t.Errorf("%v: y %v, R %v, T %v: %v, want %v", target.DType, y, r, errorBound, got,
							want)
					}
				}
			}
		}
	}
	if low, high := (Target{DType: op.FP32, FTZ: true}).Interval(0x1p-127, 0); low != 0 || high != 0x1p-127 {
		t.Errorf("flushed: %v to %v", low, high)
	}
}
