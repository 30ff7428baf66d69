package judge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Judge returns a verdict for every output of plan, in its order, on one call of an implementation. It never
// panics: an inconsistency is a verdict that does not pass.
func Judge(plan Plan, answer Answer, truth Truth) []Verdict {
	verdicts := make([]Verdict, len(plan.Outputs))
	fault := callFault(plan, answer)
	for i, t := range plan.Outputs {
		verdicts[i] = judgeOutput(plan, answer, truth, i, fault)
		v := &verdicts[i]
		v.Output, v.Contract, v.Version, v.Elements = t.Name, truth.Contract, Version, t.Elements()
	}
	return verdicts
}

// judgeOutput applies the gates to output i in their order.
func judgeOutput(plan Plan, answer Answer, truth Truth, i int, fault string) Verdict {
	t := plan.Outputs[i]
	if fault != "" {
		return Verdict{Status: op.StatusFail, Gate: "G0", Sentence: fault}
	}
	if !plan.expects(t) && !given(answer, t.Name) {
		return Verdict{Status: op.StatusMissing, Sentence: t.Name + " is optional and not given"}
	}
	if why := shapeFault(answer, t); why != "" {
		return Verdict{Status: op.StatusFail, Gate: "G0", Sentence: why}
	}
	if t.Elements() == 0 {
		return Verdict{Status: op.StatusEmptyOK, Sentence: t.Name + " has no element"}
	}
	whole, err := targetOf(truth, i, t)
	if err != nil {
		return Verdict{Status: op.StatusInconclusive, Sentence: err.Error()}
	}
	data := make([][]byte, len(answer.Launches))
	poisons := make([]string, len(answer.Launches))
	for l, launch := range answer.Launches {
		data[l], poisons[l] = answer.bytesOf(t.Name, l), launch.Poison
	}
	target := whole.Under(answer.gave(plan, 0))
	found := compareBits(t.DType, t.Elements(), poisons, data)
	if found.unwritten > 0 {
		return Verdict{
			Status: op.StatusFail, Gate: "G0", N: int64(target.Judged()), Wrong: found.unwritten,
			Worst: elementAt(target, found.firstUnwritten, data[0]),
			Sentence: fmt.Sprintf("%s was never written; %s", place(t.Name, index(found.firstUnwritten,
				t.Shape)), ElementsThat(found.unwritten, t.Elements(),
				"still shows the poison of its launch", "still show the poison of their launch")),
		}
	}
	v := judgeValues(target, data[0])
	if found.differing == 0 {
		if found.otherNaN > 0 && v.Wrong > 0 {
			v.Sentence += "; the bits of NaN change from launch to launch, as where memory is read " +
				"before it is written"
		}
		return v
	}
	if !slices.Contains(plan.Nondeterministic, t.Name) {
		other := judgeValues(whole.Under(answer.gave(plan, found.otherLaunch)), data[found.otherLaunch])
		if found.ordinaryAlone && other.Wrong > v.Wrong {
			return readsPoison(other, t, found)
		}
		if found.followsPoison && answer.inOneOrder() && other.Wrong > v.Wrong {
			return readsPoison(other, t, found)
		}
		if found.followsPoison && (min(v.Wrong, other.Wrong) >= found.differing || answer.inOneOrder()) {
			return readsPoison(v, t, found)
		}
		return race(v, target, t, answer, found)
	}
	for l, b := range data[1:] {
		v = worse(v, judgeValues(whole.Under(answer.gave(plan, l+1)), b))
	}
	return v
}

// callFault returns the objection of G0 to the call as a whole, "" where it is sound.
func callFault(plan Plan, answer Answer) string {
	if plan.Launches < 2 || len(answer.Launches) != plan.Launches {
		return fmt.Sprintf("%d of %d planned launches came back; at least two are needed",
			len(answer.Launches), plan.Launches)
	}
	seen := map[string]bool{}
	for l, launch := range answer.Launches {
		seen[launch.Poison] = true
		switch {
		case !launch.InputsUnchanged:
			return clause(fmt.Sprintf("launch %d changed its inputs", l+1), launch.Fault)
		case !launch.GuardsIntact:
			return clause(fmt.Sprintf("launch %d wrote outside its buffers", l+1), launch.Fault)
		case launch.Fault != "":
			return launch.Fault
		}
		for k, o := range launch.Outputs {
			planned := slices.ContainsFunc(plan.Outputs,
				func(t op.TensorType) bool { return t.Name == o.Name })
			twice := slices.ContainsFunc(launch.Outputs[:k],
				func(p Returned) bool { return p.Name == o.Name })
			if !planned || twice {
				return fmt.Sprintf("launch %d returned an output %q that is not asked for, or twice", l+1,
					o.Name)
			}
		}
	}
	if delete(seen, tensor.Ordinary); len(seen) != 2 || !seen["a"] || !seen["b"] {
		return "the launches do not cover poison a and poison b: what was not written cannot be told"
	}
	return ""
}

// elementAt returns the element at a position of the whole output, whose bytes are given. Where the position
// is not among those that are judged there is no truth: the wanted value is NaN.
func elementAt(target Target, position int64, data []byte) Element {
	size := target.DType.Size()
	e := Element{
		Index: index(position, target.Shape), Got: tensor.Decode(target.DType,
			data[position*size:(position+1)*size])[0],
		Want: math.NaN(), Low: math.NaN(), High: math.NaN(), R: math.NaN(), T: math.NaN(),
	}
	if target.Rows != nil {
		kept, err := target.keep([]int64{position / target.rowLength()})
		if err != nil {
			return e
		}
		target = kept
	}
	i := int(position)
	if target.Index != nil {
		i = slices.Index(target.Index, position)
	}
	if i >= 0 && i < len(target.R) {
		g := gridOf(target)
		e.R, e.T = target.R[i], target.T[i]
		e.Want = g.round(e.R)
		e.Low, e.High = g.bounds(e.R, e.T)
	}
	return e
}

func clause(what, detail string) string {
	if detail == "" {
		return what
	}
	return what + ": " + detail
}

// given reports whether some launch gave the output: one that gives it in one launch only is judged, and
// fails.
func given(answer Answer, name string) bool {
	return slices.ContainsFunc(answer.Launches, func(l Launch) bool {
		o, ok := l.find(name)
		return ok &&
			o.Present
	})
}

// shapeFault returns the objection of G0 to one output: it must have come back in every launch, with the
// planned dtype, shape, strides and bytes.
func shapeFault(answer Answer, t op.TensorType) string {
	for l, launch := range answer.Launches {
		o, ok := launch.find(t.Name)
		switch {
		case !ok || !o.Present:
			return fmt.Sprintf("%s did not come back from launch %d", t.Name, l+1)
		case o.DType != t.DType:
			return fmt.Sprintf("%s came back as %v, want %v", t.Name, o.DType, t.DType)
		case !slices.Equal(o.Shape, t.Shape):
			return fmt.Sprintf("%s came back with shape %v, want %v", t.Name, o.Shape, t.Shape)
		case t.Elements() > 0 && !contiguous(o.Shape, o.Stride):
			return fmt.Sprintf("%s came back with strides %v, want %v", t.Name, o.Stride,
				tensor.Contiguous(t.Shape))
		case int64(len(o.Data)) != t.Elements()*t.DType.Size():
			return fmt.Sprintf("%s came back with %d bytes, want %d", t.Name, len(o.Data),
				t.Elements()*t.DType.Size())
		}
	}
	return ""
}

// contiguous reports whether strides are row-major; the stride of a dim of one element never matters.
func contiguous(shape, stride []int64) bool {
	if len(shape) != len(stride) {
		return false
	}
	for i, want := range tensor.Contiguous(shape) {
		if shape[i] != 1 && stride[i] != want {
			return false
		}
	}
	return true
}

// targetOf returns the truth of output i after checking that it is fit to judge it.
func targetOf(truth Truth, i int, t op.TensorType) (Target, error) {
	if err := checkConstants(); err != nil {
		return Target{}, err
	}
	if truth.Missing != "" {
		return Target{}, errors.New(truth.Missing)
	}
	if i >= len(truth.Outputs) || truth.Outputs[i].Name != t.Name {
		return Target{}, fmt.Errorf("there is no truth for %s under contract %q", t.Name, truth.Contract)
	}
	target := truth.Outputs[i]
	if target.DType != t.DType || !slices.Equal(target.Shape, t.Shape) {
		return Target{}, fmt.Errorf("the truth of %s is %v %v: want %v %v", t.Name, target.DType,
			target.Shape, t.DType, t.Shape)
	}
	if target.DType == op.FP64 {
		return Target{}, fmt.Errorf("%s is fp64: its truth needs more than fp64", t.Name)
	}
	if err := target.Check(); err != nil {
		return Target{}, err
	}
	if target.Judged() == 0 {
		return Target{}, fmt.Errorf("no element of %s is planned to be compared", t.Name)
	}
	return target, nil
}

// race returns the verdict on a deterministic output whose bits differ between launches, with the figures of
// the first launch.
func race(v Verdict, target Target, t op.TensorType, answer Answer, found bits) Verdict {
	v.Status, v.Gate = op.StatusRace, "G0"
	orders := "between two launches"
	if a, b := answer.Launches[0].Order, answer.Launches[found.otherLaunch].Order; a != b {
		orders = "between two orders in which blocks and threads may run"
	}
	where := place(t.Name, index(found.firstDiffering, t.Shape))
	if v.Wrong > 0 {
		where = t.Name // one element is named: the worst
	}
	sentence := fmt.Sprintf("%s differs %s; %s", where, orders,
		ElementsThat(found.differing, t.Elements(), "does", "do"))
	if v.Wrong > 0 {
		sentence += "; " + v.Sentence
	} else {
		v.Worst = elementAt(target, found.firstDiffering, answer.bytesOf(t.Name, found.otherLaunch))
	}
	v.Sentence = sentence
	return v
}

// readsPoison returns the verdict on an output whose elements depend on what its memory, or other
// uninitialised memory, held before the launch. Where orders differ, the elements are wrong whatever it held,
// since a race might have chosen between a right value and a wrong one. Otherwise all launches under patterns
// agree, and the elements of the one under ordinary numbers are wrong.
func readsPoison(v Verdict, t op.TensorType, found bits) Verdict {
	v.Status, v.Gate = op.StatusFail, "G0"
	how, also := "", ""
	if found.ordinaryAlone {
		how = ", and is wrong where that was ordinary numbers"
	}
	if v.Sentence != "" {
		also = "; " + v.Sentence
	}
	v.Sentence = fmt.Sprintf("%s depends on what memory held before the launch%s, so that an element was "+
		"read before it was written, or one beside a buffer; %s%s",
		place(t.Name, index(found.firstDiffering, t.Shape)), how,
		ElementsThat(found.differing, t.Elements(), "does", "do"), also)
	return v
}

// worse returns the verdict of two launches of a nondeterministic output: the worse of the two.
func worse(a, b Verdict) Verdict {
	if Row([]Verdict{a, b}) == a.Status && !(a.Status == b.Status && b.ErrorMargin < a.ErrorMargin) {
		return a
	}
	return b
}

// judgeValues judges one output's values: classes, intervals, then the statistics over many elements.
func judgeValues(target Target, data []byte) Verdict {
	v, statistics := compareElements(target, data)
	if v.Status == op.StatusPass && target.Freivalds != nil {
		v = judgeFreivalds(v, target, data)
	}
	v.Digest, v.DType, v.Saturate, v.FTZ, v.Exact = tensor.Digest(data), target.DType, target.Saturate,
		target.FTZ, target.Exact
	v.Bits = target.Bits
	if v.Independent = target.Independent; !v.Independent {
		return v
	}
	v.RMS, v.Blocks, v.Bias = statistics.worst(), statistics.blocks, statistics.bias
	if v.Status != op.StatusPass {
		return v
	}
	if !v.RMS.Accepted() {
		v.Status, v.Gate, v.Sentence = op.StatusFail, "G4", v.RMS.sentence(target.Name)
		return v
	}
	if v.Bias.Evaluated && !v.Bias.Accepted() {
		v.Status, v.Gate, v.Sentence = op.StatusWarn, "G5", v.Bias.sentence(target.Name)
	}
	return v
}
