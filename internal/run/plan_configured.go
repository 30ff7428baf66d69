package run

import (
	"cmp"
	"fmt"
	"slices"
)

// configuredCases is the number of cases of each operator, pass and dtype that all configurations are judged
// on.
const configuredCases = 3

// markConfigured chooses the cases of each operator, pass and dtype on which every configuration of an
// autotuned kernel is judged: ordinary data of moderate sizes.
func markConfigured(planned []work) error {
	type candidate struct {
		at   int
		rank int64
	}
	found := map[string][]candidate{}
	for i, w := range planned {
		if w.Layout != "contiguous" || w.Upstream != "" && w.Upstream != "normal" {
			continue
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		rank := moderate(elements, w.Case)
		if w.Distribution != "normal" {
			rank -= 1 << 40
		}
		key := fmt.Sprint(w.Op, " ", w.Pass, " ", w.DType)
		found[key] = append(found[key], candidate{i, rank})
	}
	for _, candidates := range found {
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
		for _, c := range candidates[:min(len(candidates), configuredCases)] {
			planned[c.at].configured = true
		}
	}
	return nil
}
