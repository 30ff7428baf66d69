package run

import (
	"math"

	"triad/internal/judge"
	"triad/internal/record"
	"triad/internal/truth"
)

// statisticsOf returns the figures that a verdict keeps; nil if no value was judged.
func statisticsOf(v judge.Verdict) *record.Statistics {
	if v.Digest == "" {
		return nil
	}
	s := &record.Statistics{
		Contract: v.Contract, Digest: v.Digest, DType: v.DType, Saturates: v.Saturate, Flushes: v.FTZ,
		Exact: v.Exact, Bits: v.Bits, Independent: v.Independent, Used: record.Float(v.Used()),
		ULPs: v.ULPs[:],
	}
	if k, err := truth.ContractNamed(v.Contract); err == nil {
		s.Promise = k.Promise()
	}
	for _, e := range v.Worst16 {
		s.Worst = append(s.Worst, record.Judged{
			Index: e.Index, Got: record.Float(e.Got),
			R: record.Float(e.R), T: record.Float(e.T),
		})
	}
	for _, b := range v.Blocks {
		s.NBlocks = b.Blocks
		s.Blocks = append(s.Blocks, record.Block{
			Block: b.Block, N: b.N, Errors: record.Float(b.Errors), Error: record.Float(b.Error),
			Simulated: record.Float(b.Sim), FP32: record.Float(b.Fp32), Limit: record.Float(b.Limit),
		})
	}
	if b := v.Bias; v.Independent {
		s.Slope = &record.Slope{
			Spread: record.Float(b.Spread), Slope: record.Float(b.Slope),
			Sigma: record.Float(b.Sigma), ErrorBound: record.Float(b.ErrorBound),
		}
	}
	return s
}

// mapOf returns a map of errors as it is stored: three digits of each share are enough to draw it.
func mapOf(m *judge.Map) *record.Map {
	if m == nil {
		return nil
	}
	kept := &record.Map{
		Rows: m.Rows, Cols: m.Cols, Down: m.Down, Across: m.Across, Compared: m.Compared, Wrong: m.Wrong,
		Most: make([]record.Float, len(m.Most)),
	}
	for i, share := range m.Most {
		rounded := math.Ceil(share*1000) / 1000 // upwards: a share above 1 stays above
		if share > 1e3 {
			rounded = math.Round(share)
		}
		kept.Most[i] = record.Float(rounded)
	}
	return kept
}
