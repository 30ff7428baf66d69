package report

import (
	"fmt"

	"triad/internal/judge"
	"triad/internal/record"
)

// statisticsWords formats the figures that a verdict keeps, and the present verdict on them if an earlier
// version of the judge gave it.
func statisticsWords(v record.Verdict) string {
	s := v.Statistics
	if s == nil {
		return ""
	}
	lines := []string{fmt.Sprintf("errors %s; mean %s ulp; the largest share of error bound and half an ulp "+
		"is %s", distribution(s.ULPs, s.DType), figure(v.ULPMean), figure(&s.Used))}
	if len(s.Blocks) > 0 {
		b := s.Blocks[0]
		lines = append(lines, fmt.Sprintf("root mean square error %s in %s, the closest of %d blocks; the "+
			"limit is %s, the simulated contract has %s", figure(&b.Error),
			clean(b.Block), s.NBlocks, figure(&b.Limit), figure(&b.Simulated)))
	}
	if s.Slope != nil && s.Slope.Spread > 0 {
		lines = append(lines, fmt.Sprintf("slope of the error along the truth %s, standard deviation %s",
			figure(&s.Slope.Slope), figure(&s.Slope.Sigma)))
	}
	lines = append(lines, "digest "+clean(s.Digest))
	text := ""
	for _, line := range lines {
		text += "  " + v.Name + ": " + line + "\n"
	}
	return text + againWords(v)
}

// againWords returns the present verdict where another version of the judge gave the recorded one; "" for
// this version.
func againWords(v record.Verdict) string {
	if v.Judge == judge.Version || v.Judge == "" {
		return ""
	}
	d := judge.Rejudge(judgedOf(v))
	words := d.Status.String()
	if d.Gate != "" {
		words += " " + d.Gate
	}
	if !d.Decided {
		words = "undecided"
	}
	return fmt.Sprintf("  %s: judged by version %s; by version %s %s: %s\n", v.Name, clean(v.Judge),
		judge.Version, words, clean(d.Why))
}

// judgedOf returns a stored verdict in the judge's terms.
func judgedOf(v record.Verdict) judge.Verdict {
	out := judge.Verdict{
		Output: v.Name, Status: v.Status, Gate: v.Gate, Version: v.Judge, N: v.NCompared,
		Compared: v.NCompared, Wrong: v.NWrong,
		Elements: v.N, Covered: v.NCovered, Expected: v.RelationsPlanned, Relations: make([]judge.Relation,
			len(v.Relations)),
	}
	if v.ErrorMargin != nil {
		out.ErrorMargin = float64(*v.ErrorMargin)
	}
	s := v.Statistics
	if s == nil {
		return out
	}
	out.ErrorMargin = 1 / float64(s.Used)
	out.Contract, out.Digest, out.DType, out.Saturate, out.FTZ = s.Contract, s.Digest, s.DType,
		s.Saturates, s.Flushes
	out.Exact, out.Bits, out.Independent = s.Exact, s.Bits, s.Independent
	copy(out.ULPs[:], s.ULPs)
	for _, e := range s.Worst {
		out.Worst16 = append(out.Worst16, judge.Element{
			Index: e.Index, Got: float64(e.Got), R: float64(e.R),
			T: float64(e.T),
		})
	}
	for _, b := range s.Blocks {
		out.Blocks = append(out.Blocks, judge.RMS{
			Blocks: s.NBlocks, Block: b.Block, N: b.N, Errors: float64(b.Errors), Error: float64(b.Error),
			Sim: float64(b.Simulated), Fp32: float64(b.FP32), Limit: float64(b.Limit),
		})
	}
	if b := s.Slope; b != nil {
		out.Bias = judge.Bias{
			Spread: float64(b.Spread), Slope: float64(b.Slope), Sigma: float64(b.Sigma),
			ErrorBound: float64(b.ErrorBound),
		}
	}
	return out
}
