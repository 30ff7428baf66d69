package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// newRecord returns the record of one entry on a case, to be completed.
func newRecord(c *prepared, e entry, seed uint64, began time.Time) record.Record {
	i := e.implementation
	family, variant, _ := strings.Cut(i.Name, "/")
	r := record.Record{
		Case: c.Case, Seed: seed, Impl: i.Name, Backend: family, Variant: variant, Device: i.Device,
		Source: i.Source, Flags: i.Flags,
		Started: began, Build: buildOf(e.build),
	}
	inputs, _ := c.operator.Spec.Inputs(c.Case) // an expanded case always resolves
	outputs, _ := c.operator.Spec.Outputs(c.Case)
	for _, t := range append(inputs, outputs...) {
		r.DTypes = append(r.DTypes, record.Member[op.DType]{Name: t.Name, Value: t.DType})
	}
	return r
}

func buildOf(b *backend.BuildFacts) *record.Build {
	if b == nil {
		return nil
	}
	out := &record.Build{Compiler: b.Compiler, Flags: b.Flags, Seconds: b.Seconds, Cached: b.Cached}
	for _, k := range b.Kernels {
		out.Kernels = append(out.Kernels, record.Kernel(k))
	}
	return out
}

// rules holds what a verdict depends on besides the case and the outcome.
type rules struct {
	explain  bool             // keep what --explain shows
	versions record.Toolchain // of what takes part: a finding covers some
}

// ruleOn sets the record's status from an outcome: what went wrong before a comparison, or the judge's
// verdict. It returns the documented findings that explain everything that is wrong.
func (u rules) ruleOn(c *prepared, e entry, outcome backend.Outcome, r *record.Record) []op.Finding {
	return u.ruleOnLaunches(c, e, outcome, r, len(c.launches(e.implementation.Device, c.level)))
}

// ruleOnLaunches is ruleOn for an outcome of the given number of planned launches.
func (u rules) ruleOnLaunches(c *prepared, e entry, outcome backend.Outcome, r *record.Record,
	planned int,
) []op.Finding {
	r.LogTail, r.PeakBytes, r.Launches = outcome.Log, outcome.PeakBytes, len(outcome.Launches)
	if w := outcome.Where; w != nil {
		r.Where = (*record.Where)(w)
	}
	standard := c.operator.Spec.DefaultContract(c.DType)
	declared := e.implementation.Contract
	if outcome.Status != op.StatusUnknown {
		r.Status, r.Message = outcome.Status, outcome.Sentence
		return u.explaining(c, e, outcome, nil)
	}
	plan := judge.Plan{
		Outputs: c.outputs, Gives: e.implementation.Outputs,
		Nondeterministic: e.implementation.Nondeterministic,
		Launches:         planned,
	}
	verdicts := judge.UnderContracts(plan, c.answer(e, outcome), c.truth, standard, declared)
	verdicts = judge.WithPower(verdicts, c.powers)
	r.Status = judge.Row(verdicts)
	r.Contract = standard
	for _, v := range verdicts {
		if v.Status == op.StatusDifferentContract {
			r.Contract = v.Contract
		}
		r.Outputs = append(r.Outputs, verdictOf(v))
	}
	r.Message = c.reason(verdicts, r.Status)
	c.describePatterns(verdicts, e, outcome, r.Outputs)
	if u.explain {
		r.Explained = explain(verdicts, r)
	}
	return u.explaining(c, e, outcome, verdicts)
}

// reason explains a row's status with the sentence of the first output that has it. Outputs that the truth of
// others follows from come first.
func (c *prepared) reason(verdicts []judge.Verdict, status op.Status) string {
	sentence := ""
	for i, v := range verdicts {
		if v.Status == status && (sentence == "" || c.outputs[i].Given && v.Sentence != "") {
			sentence = v.Sentence
		}
	}
	return sentence
}

// answer returns the answer of an implementation, with what its own forward saved where the case is chained.
func (c *prepared) answer(e entry, outcome backend.Outcome) judge.Answer {
	a := answer(outcome)
	a.Saved = c.savedBy(e)
	return a
}

// truthUnder returns the truth under a contract and given an implementation's outputs.
func (c *prepared) truthUnder(contract string, e entry, outcome backend.Outcome) (judge.Truth, error) {
	truth, err := c.truth(contract)
	if err != nil {
		return truth, err
	}
	given := append(gave(outcome), c.savedBy(e)...)
	return truth.Under(func(name string) []byte { return given.Get(name).Data }), nil
}

// describePatterns notes for every rejection the pattern of the wrong elements.
func (c *prepared) describePatterns(verdicts []judge.Verdict, e entry, outcome backend.Outcome,
	into []record.Verdict,
) {
	for i, v := range verdicts {
		if v.Status != op.StatusFail || v.Wrong == 0 {
			continue
		}
		truth, err := c.truthUnder(v.Contract, e, outcome)
		if err != nil || i >= len(truth.Outputs) {
			continue
		}
		target := truth.Outputs[i]
		target.Axes = axesOf(c.outputs[i].Sizes)
		advice := c.operator.Spec.Advice
		target.Words = judge.Words{
			Ends: advice.Ends, Seams: advice.Seams, Boundary: advice.Boundary, Exchanged: advice.Transposed,
		}
		if v.Compared == 0 {
			into[i].Pattern = whereUnwritten(target, outcome, i)
			continue
		}
		if target.Choice != nil {
			continue // its own sentence says what is wrong
		}
		data := outcome.Launches[0].Outputs[i].Tensor.Data
		into[i].Pattern = judge.Pattern(target, data)
		if s := into[i].Statistics; s != nil {
			s.Map = mapOf(judge.MapOf(target, data))
		}
	}
}

// whereUnwritten describes the position of the elements of output i that no launch wrote.
func whereUnwritten(target judge.Target, outcome backend.Outcome, i int) string {
	var poisons []string
	var data [][]byte
	for _, l := range outcome.Launches {
		poisons, data = append(poisons, l.Plan.Poison), append(data, l.Outputs[i].Tensor.Data)
	}
	return judge.Unwritten(target, poisons, data)
}

// axesOf returns the words for an index of each dim, by the name of its size; nil if a size has no word of
// its own.
func axesOf(sizes []string) []string {
	words := map[string]string{
		"rows": "row", "cols": "column", "batch": "batch", "seq": "position", "heads_q": "head",
		"heads_k": "head", "heads_kv": "head",
		"seq_q": "row", "seq_kv": "row", "head_dim": "column", "head_dim_v": "column",
	}
	axes := make([]string, len(sizes))
	for i, size := range sizes {
		if axes[i] = words[size]; axes[i] == "" {
			return nil
		}
	}
	return axes
}

// explain returns what --explain shows of a row: the contract in words, the worst elements, the distribution
// of the errors.
func explain(verdicts []judge.Verdict, r *record.Record) []record.Explanation {
	var all []record.Explanation
	for i, v := range verdicts {
		if v.Compared == 0 && v.Status.Weight() != op.Bad {
			continue
		}
		e := record.Explanation{
			Output: v.Output, Contract: v.Contract, Gate: v.Gate, Sentence: v.Sentence,
			Pattern: r.Outputs[i].Pattern,
		}
		if v.Compared > 0 {
			e.ULPs = v.ULPs[:]
		}
		if k, err := truth.ContractNamed(v.Contract); err == nil {
			e.Promise = k.Promise()
		}
		for _, w := range v.Worst16 {
			e.Worst = append(e.Worst, elementOf(w))
		}
		all = append(all, e)
	}
	return all
}

func elementOf(e judge.Element) record.Element {
	return record.Element{
		Index: e.Index, Got: record.Float(e.Got), Want: record.Float(e.Want),
		Low: record.Float(e.Low), High: record.Float(e.High),
	}
}

// answer returns an outcome in the judge's terms.
func answer(outcome backend.Outcome) judge.Answer {
	var a judge.Answer
	for n, l := range outcome.Launches {
		launch := judge.Launch{
			Poison: l.Plan.Poison, Order: l.Plan.Order,
			InputsUnchanged: len(l.Changed) == 0, GuardsIntact: len(l.Guards) == 0,
		}
		if len(l.Changed) > 0 {
			launch.Fault = strings.Join(l.Changed, ", ") + " is not what it was"
		} else if len(l.Guards) > 0 {
			launch.Fault = guardSentence(l.Guards[0])
		} else if l.Fault != "" {
			launch.Fault = fmt.Sprintf("launch %d %s", n+1, l.Fault)
		}
		for _, o := range l.Outputs {
			launch.Outputs = append(launch.Outputs, returned(o))
			if o.Type != "" && launch.Fault == "" {
				launch.Fault = fmt.Sprintf("%s is %s", o.Name, o.Type)
			}
		}
		a.Launches = append(a.Launches, launch)
	}
	return a
}

func guardSentence(g backend.GuardReport) string {
	side := "after the end"
	distance := g.Bytes
	if distance < 0 {
		side, distance = "before the start", -distance
	}
	return fmt.Sprintf("%d bytes changed, the first %d bytes %s of %s", g.Count, distance, side, g.Buffer)
}

func returned(o backend.Output) judge.Returned {
	r := judge.Returned{Name: o.Name, Present: o.Present, Shape: o.Shape, Stride: o.Stride}
	if !o.Present {
		return r
	}
	r.DType, _ = op.ParseDType(o.DType) // an unknown name is no dtype of ours, which the judge rejects
	if o.Type == "" && r.DType == o.Tensor.DType && slices.Equal(o.Shape, o.Tensor.Shape) {
		r.Data = o.Tensor.Data
	}
	return r
}

func verdictOf(v judge.Verdict) record.Verdict {
	out := record.Verdict{
		Name: v.Output, Status: v.Status, Gate: v.Gate, Message: v.Sentence, N: v.Elements,
		NCompared: v.Compared, NCovered: v.Covered, NWrong: v.Wrong, Judge: v.Version,
		Statistics: statisticsOf(v),
	}
	if v.Worst.Index != nil {
		worst := elementOf(v.Worst)
		out.Worst = &worst
	}
	if v.Compared > 0 {
		if v.Status.Weight() != op.Bad { // accepted elements say nothing of an output that is not
			out.ErrorMargin = new(record.Float(v.ErrorMargin))
		}
		out.ULPMax, out.ULPMean = new(record.Float(v.ULPMax)), new(record.Float(v.ULPMean))
		out.AbsoluteMax, out.RelativeMax = new(record.Float(v.AbsoluteMax)), new(record.Float(v.RelativeMax))
	}
	return out
}

// gave returns the outputs of an outcome's first launch that came back with the requested dtype and shape.
func gave(outcome backend.Outcome) truth.Inputs {
	var all truth.Inputs
	if len(outcome.Launches) == 0 {
		return nil
	}
	for _, o := range outcome.Launches[0].Outputs {
		if o.Present && returned(o).Data != nil {
			all = append(all, o.Tensor)
		}
	}
	return all
}
