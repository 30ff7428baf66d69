package judge

import (
	"fmt"
	"math"

	"triad/internal/op"
	"triad/internal/parallel"
)

// Statement expresses a relation (gate G6) on one output in numbers: N comparisons, each of which must hold.
// Claim.Position is an index into Shape: that of the output, or of its rows where a comparison is about a
// whole row.
type Statement struct {
	Output string
	Shape  []int64
	N      int64
	At     func(i int64) Claim
}

// Claim is one comparison of a statement. It holds if and only if Low <= Got <= High, and with Bits only if
// Got has the bits of Low: two calls must then agree to the sign of a zero.
type Claim struct {
	Position       int64
	Got, Low, High float64
	Bits           bool
}

// holds reports whether the comparison holds; a NaN anywhere rejects.
func (c Claim) holds() bool {
	return c.Low <= c.Got && c.Got <= c.High &&
		(!c.Bits || math.Float64bits(c.Got) == math.Float64bits(c.Low))
}

// Expected is a relation that is planned to be evaluated on an output. Further calls of the implementation
// that it needs are part of the plan.
type Expected struct{ Name, Output string }

// Relation is the result of one relation on one output. The zero value is not accepted.
type Relation struct {
	Name, Output string
	Missing      string // why it could not be evaluated
	N            int64  // comparisons planned
	Compared     int64
	Wrong        int64
	Worst        Broken // the comparison furthest from holding; of a relation that holds, the first
}

// Broken is one comparison: the value found, and the accepted values.
type Broken struct {
	Index          []int64
	Got, Low, High float64
}

// Accepted reports whether the relation holds: every planned comparison took place, there was one, and none
// failed.
func (r Relation) Accepted() bool {
	return r.Missing == "" && r.N > 0 && r.Compared == r.N && r.Wrong == 0
}

// beyond returns how far a comparison is from holding; 0 where it holds.
func (c Claim) beyond() float64 {
	if c.holds() {
		return 0
	}
	far := math.Max(c.Low-c.Got, c.Got-c.High)
	if math.IsNaN(far) {
		return math.Inf(1)
	}
	return math.Max(far, math.SmallestNonzeroFloat64) // zeros of other signs are wrong by nothing
}

// Hold evaluates a statement, on all cores: At is called from several goroutines.
func Hold(name string, s Statement) Relation {
	parts := make([]held, max(0, min(s.N, 512)))
	parallel.Each(len(parts), func(p int) {
		n := int64(len(parts))
		parts[p] = s.hold(int64(p)*s.N/n, int64(p+1)*s.N/n)
	})
	r := Relation{Name: name, Output: s.Output, N: s.N}
	furthest := -1.0
	for _, part := range parts {
		r.Compared += part.compared
		r.Wrong += part.wrong
		if part.beyond > furthest {
			furthest = part.beyond
			r.Worst = Broken{
				Index: index(part.worst.Position, s.Shape), Got: part.worst.Got,
				Low: part.worst.Low, High: part.worst.High,
			}
		}
	}
	return r
}

// And joins the results of the same relation on another part of an output.
func (r Relation) And(o Relation) Relation {
	worst := func(b Broken) float64 { return Claim{Got: b.Got, Low: b.Low, High: b.High}.beyond() }
	if r.Missing == "" {
		r.Missing = o.Missing
	}
	if o.Wrong > 0 && (r.Wrong == 0 || worst(o.Worst) > worst(r.Worst)) {
		r.Worst = o.Worst
	}
	r.N, r.Compared, r.Wrong = r.N+o.N, r.Compared+o.Compared, r.Wrong+o.Wrong
	return r
}

// held is the result of a run of comparisons: the worst is the first of those that are furthest from holding.
type held struct {
	compared, wrong int64
	worst           Claim
	beyond          float64
}

func (s Statement) hold(first, end int64) held {
	h := held{beyond: -1}
	for i := first; i < end; i++ {
		c := s.At(i)
		h.compared++
		if h.beyond >= 0 && c.Low <= c.Got && c.Got <= c.High && !c.Bits {
			continue // it holds, as nearly all do, and is no further from holding than the worst so far
		}
		beyond := c.beyond()
		if !(beyond == 0) {
			h.wrong++
		}
		if beyond > h.beyond {
			h.worst, h.beyond = c, beyond
		}
	}
	return h
}

// Sentence returns why a relation is not accepted, and "" where it is.
func (r Relation) Sentence() string {
	switch {
	case r.Accepted():
		return ""
	case r.Missing != "":
		return fmt.Sprintf("%s: the relation %q was not evaluated: %s", r.Output, r.Name, r.Missing)
	case r.Wrong == 0:
		return fmt.Sprintf("%s: the relation %q was evaluated on %d of %d planned comparisons", r.Output,
			r.Name, r.Compared, r.N)
	}
	accepted := "accepted is " + number(r.Worst.Low) + " to " + number(r.Worst.High)
	if r.Worst.Low == r.Worst.High {
		accepted = "accepted is " + number(r.Worst.Low) + " alone"
	}
	holds := "comparisons do not hold"
	if r.Compared == 1 {
		holds = "comparison does not hold"
	}
	return fmt.Sprintf("%s breaks the relation %q: at %s it is %s, %s; %d of %d %s",
		r.Output, r.Name, place(r.Output, r.Worst.Index), number(r.Worst.Got), accepted, r.Wrong, r.Compared,
		holds)
}

// WithRelations applies gate G6: an output that the earlier gates accept stays accepted if and only if every
// relation expected of it was evaluated and holds. An output that is MISSING, EMPTY_OK or rejected keeps its
// status.
func WithRelations(verdicts []Verdict, expected []Expected, found []Relation) []Verdict {
	out := make([]Verdict, len(verdicts))
	for i, v := range verdicts {
		v.Expected, v.Relations = 0, nil
		for _, e := range expected {
			if e.Output != v.Output || v.Status == op.StatusMissing || v.Status == op.StatusEmptyOK {
				continue
			}
			v.Expected++
			r := relationNamed(found, e)
			v.Relations = append(v.Relations, r)
			if !r.Accepted() && acceptedBefore(v.Status) {
				v.Status, v.Gate, v.Sentence = op.StatusFail, "G6", r.Sentence()
			}
		}
		out[i] = v
	}
	return out
}

// acceptedBefore reports whether G0 to G5 let an output pass, under one of its contracts.
func acceptedBefore(s op.Status) bool {
	return s == op.StatusPass || s == op.StatusWarn || s == op.StatusNoPower ||
		s == op.StatusDifferentContract
}

func relationNamed(found []Relation, e Expected) Relation {
	for _, r := range found {
		if r.Name == e.Name && r.Output == e.Output {
			return r
		}
	}
	return Relation{Name: e.Name, Output: e.Output, Missing: "nothing came back for it"}
}

// RelationsUnderContracts evaluates G6 under the default contract and, only where that rejects, under the
// looser one that the implementation declares: a relation that holds under the looser one alone is
// DIFFERENT_CONTRACT. evaluate returns the relations of a contract.
func RelationsUnderContracts(verdicts []Verdict, expected []Expected,
	evaluate func(contract string) []Relation, standard, declared string,
) []Verdict {
	if len(expected) == 0 {
		return WithRelations(verdicts, nil, nil)
	}
	out := WithRelations(verdicts, expected, evaluate(standard))
	if declared == "" || declared == standard {
		return out
	}
	var looser []Verdict
	for i, v := range out {
		if v.Status != op.StatusFail || !acceptedBefore(verdicts[i].Status) {
			continue
		}
		if looser == nil {
			looser = WithRelations(verdicts, expected, evaluate(declared))
		}
		strict := v.Sentence
		if v = looser[i]; v.Status == op.StatusPass || v.Status == op.StatusWarn {
			v.Status, v.Gate, v.Contract = op.StatusDifferentContract, "G6", declared
			v.Sentence = "passes under " + declared + "; under " + standard + " " + strict
		} else if v.Status == op.StatusFail {
			v.Sentence = "under " + declared + ": " + v.Sentence
		}
		out[i] = v
	}
	return out
}

// Interval returns the accepted values of an element whose exact value is r within an error bound: [RN(r-t),
// RN(r+t)], with 0 where the contract flushes and r may lie below 2^-126.
func (t Target) Interval(r, errorBound float64) (low, high float64) {
	g := gridOf(t)
	low, high = g.bounds(r, errorBound)
	if g.flushes && math.Abs(r)-errorBound < Tiny {
		low, high = math.Min(low, 0), math.Max(high, 0)
	}
	return low, high
}

// Stored returns the possible distance of a stored value y from the exact one: the error bound of element i
// and half an ulp of y. A relation over several outputs adds up these distances.
func (t Target) Stored() func(i int64, y float64) float64 {
	g, allowed := gridOf(t), t.T
	if g.format.P >= 53 {
		return func(i int64, y float64) float64 { return allowed[i] + g.ulp(y)/2 }
	}
	return func(i int64, y float64) float64 { return allowed[i] + power(g.logULP(y)-1) }
}

// Round rounds a value once to the dtype of the output, by its contract.
func (t Target) Round(x float64) float64 { return gridOf(t).round(x) }
