package run

import (
	"triad/internal/op"
)

// markTurned chooses the case of each operator and dtype whose forward is called again with its first input's
// inner elements reversed: the smallest of ordinary data that has some.
func markTurned(planned []work) error {
	smallest, size := map[string]int{}, map[string]int64{}
	for i, w := range planned {
		if w.Pass != op.Forward || w.Distribution != "normal" || w.Layout != "contiguous" {
			continue
		}
		inputs, err := w.operator.Spec.Inputs(w.Case)
		if err != nil {
			return err
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		if len(inputs) == 0 || !inputs[0].DType.IsFloat() || inputs[0].Fill == op.Drawn ||
			inputs[0].Elements() < 8 || elements > moderateElements {
			continue
		}
		key := w.Op + " " + w.DType
		if _, seen := smallest[key]; !seen || elements < size[key] {
			smallest[key], size[key] = i, elements
		}
	}
	for _, i := range smallest {
		planned[i].turned = true
	}
	return nil
}
