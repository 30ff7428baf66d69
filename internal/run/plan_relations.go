package run

import (
	"cmp"
	"slices"

	"triad/internal/op"
	"triad/internal/truth"
)

// Relations between calls are evaluated on this many cases of each operator, pass and dtype whose rows are
// whole vectors of 16 bytes, which fast kernels require, and beyond --quick on as many others. The smallest
// cases that are large enough are chosen.
const (
	relatedQuick   = 1
	relatedDefault = 2
	relatedFull    = 4
	vectorBytes    = 16
	// Below fewestRelated elements a relation hardly says anything; above mostRelated its further launches
	// cost more than they are worth.
	fewestRelated = 100
	mostRelated   = 1 << 17
)

// asked is a group of cases on which a relation is evaluated a given number of times.
type asked struct {
	op, dtype, relation string
	pass                op.Pass
	vectors             bool
}

// markRelations chooses the cases on which each relation between calls is evaluated. If no case of the plan
// is large enough, it chooses the largest.
func markRelations(planned []work, level op.Level) error {
	quota := map[op.Level]int{
		op.LevelDefault: relatedDefault, op.LevelQuick: relatedQuick,
		op.LevelFull: relatedFull,
	}[level]
	sizes := make([]int64, len(planned))
	found := map[asked][]int{}
	for i, w := range planned {
		if !slices.ContainsFunc(w.entries, func(e entry) bool { return e.verdict == nil }) {
			continue
		}
		var err error
		if sizes[i], _, err = w.operator.Spec.Footprint(w.Case); err != nil {
			return err
		}
		vectors, err := wholeVectors(w)
		if err != nil {
			return err
		}
		for _, r := range truth.RelationsOf(w.Case) {
			if r.Second != nil && sizes[i] <= mostRelated {
				key := asked{w.Op, w.DType, r.Name, w.Pass, vectors}
				found[key] = append(found[key], i)
			}
		}
	}
	for key, all := range found {
		if other := key; level == op.LevelQuick && !key.vectors {
			if other.vectors = true; found[other] != nil {
				continue
			}
		}
		slices.SortStableFunc(all,
			func(a, b int) int { return cmp.Compare(rankRelated(sizes[a]), rankRelated(sizes[b])) })
		for _, i := range all[:min(quota, len(all))] {
			if planned[i].between == nil {
				planned[i].between = map[string]bool{}
			}
			planned[i].between[key.relation] = true
		}
	}
	return nil
}

// rankRelated ranks small cases first, but those that are too small last.
func rankRelated(elements int64) int64 {
	if elements < fewestRelated {
		return mostRelated + fewestRelated - elements
	}
	return elements
}

// wholeVectors reports whether the rows of all tensors of a case are whole vectors.
func wholeVectors(w work) (bool, error) {
	inputs, err := w.operator.Spec.Inputs(w.Case)
	if err != nil {
		return false, err
	}
	outputs, err := w.operator.Spec.Outputs(w.Case)
	if err != nil {
		return false, err
	}
	for _, t := range append(inputs, outputs...) {
		if n := len(t.Shape); n > 1 && t.Shape[n-1]*t.DType.Size()%vectorBytes != 0 {
			return false, nil
		}
	}
	return true, nil
}
