package run

import (
	"triad/internal/op"
	"triad/internal/tensor"
)

// alteration is a change of the first input of a call before the call is repeated: an implementation that
// keeps its last answer, and does not recognise an input by all of its elements, repeats that answer.
type alteration struct {
	words string // "x WORDS"
	of    func(t tensor.Tensor, seed uint64) tensor.Tensor
}

var (
	reversed = &alteration{"has its inner elements in reverse", turnedInside}
	// one that knows a large input by a sample of its elements takes it for the same
	exchanged = &alteration{"has two neighbors exchanged", exchangedInside}
)

// leastExchanged is the smallest number of elements of an input whose neighbors are exchanged: a sample of a
// smaller one may well be all of it.
const leastExchanged = 1024

// markTurned chooses the cases of each operator and dtype whose forward is called again with an altered first
// input: of ordinary data the smallest, whose inner elements are reversed, and the largest of moderate size.
func markTurned(planned []work) error {
	smallest, size := map[string]int{}, map[string]int64{}
	largest, most := map[string]int{}, map[string]int64{}
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
		if len(inputs) == 0 || !inputs[0].DType.IsFloat() || inputs[0].Elements() < 8 ||
			elements > moderateElements {
			continue
		}
		key := w.Op + " " + w.DType
		if _, seen := smallest[key]; !seen || elements < size[key] {
			smallest[key], size[key] = i, elements
		}
		if n := inputs[0].Elements(); n >= leastExchanged && n > most[key] {
			largest[key], most[key] = i, n
		}
	}
	for _, i := range largest {
		planned[i].altered = exchanged
	}
	for _, i := range smallest {
		planned[i].altered = reversed
	}
	return nil
}
