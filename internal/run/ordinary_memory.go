package run

import (
	"fmt"
	"slices"

	"triad/internal/op"
)

// fewestOrdinary is the preferred least number of elements of a case that is launched into ordinary numbers:
// more than one block.
const fewestOrdinary = 256

// markOrdinary chooses, for each operator, pass and dtype, the case that is also launched while its outputs
// and workspace hold ordinary numbers: a kernel that recognises the poison, or drops its NaN, is right
// everywhere else. It is a small case in contiguous memory, with the attributes that most cases have.
func markOrdinary(planned []work) error {
	best, ranks, having := map[string]int{}, map[string][3]int64{}, map[string]int64{}
	for _, w := range planned {
		having[ordinaryKey(w)+attributesText(w.Case)]++
	}
	for i, w := range planned {
		if !slices.ContainsFunc(w.entries, func(e entry) bool { return e.verdict == nil }) {
			continue
		}
		rank, ok, err := ordinaryRank(w)
		if err != nil {
			return err
		}
		key := ordinaryKey(w)
		rank[1] = -having[key+attributesText(w.Case)]
		if at, seen := ranks[key]; ok && (!seen || slices.Compare(rank[:], at[:]) < 0) {
			best[key], ranks[key] = i, rank
		}
	}
	for _, i := range best {
		planned[i].ordinary = true
	}
	return nil
}

// ordinaryRank ranks a case, the lowest first; ok is false if an output or an input has no element.
func ordinaryRank(w work) (rank [3]int64, ok bool, err error) {
	inputs, err := w.operator.Spec.Inputs(w.Case)
	if err != nil {
		return rank, false, err
	}
	outputs, err := w.operator.Spec.Outputs(w.Case)
	if err != nil {
		return rank, false, err
	}
	empty := func(t op.TensorType) bool { return t.Elements() == 0 }
	if slices.ContainsFunc(append(inputs, outputs...), empty) {
		return rank, false, nil
	}
	elements, _, err := w.operator.Spec.Footprint(w.Case)
	if w.Layout != "contiguous" {
		rank[0] += 2
	}
	if rank[2] = elements; elements < fewestOrdinary {
		rank[0]++
		rank[2] = -elements
	}
	return rank, true, err
}

func ordinaryKey(w work) string { return fmt.Sprint(w.Op, " ", w.Pass, " ", w.DType, " ") }

func attributesText(c op.Case) string {
	var text string
	for _, a := range c.Attrs {
		text += a.Name + "=" + a.Text + " "
	}
	return text
}
