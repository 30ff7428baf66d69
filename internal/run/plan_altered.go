package run

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// alteration is a change of a call's first input before the call is repeated. It exposes an implementation
// that caches its answer and recognises an input by only some of its elements.
type alteration struct {
	words string // "x WORDS"
	of    func(t tensor.Tensor, seed uint64) tensor.Tensor
}

var (
	reversed = &alteration{"has its inner elements in reverse", innerReversed}
	// a cache that samples the elements of a large input takes it for the same
	exchanged = &alteration{"has two neighbors exchanged", neighborsExchanged}
)

// leastExchanged is the smallest number of elements of an input whose neighbors are exchanged: a sample of a
// smaller one may well be all of it.
const leastExchanged = 1024

// markAltered chooses the cases of each operator and dtype whose forward is called again with an altered
// first input: of ordinary data the smallest, whose inner elements are reversed, and the largest of moderate
// size.
func markAltered(planned []work) error {
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
		if len(inputs) == 0 || !inputs[0].DType.IsFloat() || inputs[0].Fill == op.Drawn ||
			inputs[0].Elements() < 8 || elements > moderateElements {
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

// innerReversed returns a contiguous tensor with its elements in reverse order, except for the first and the
// last.
func innerReversed(t tensor.Tensor, _ uint64) tensor.Tensor {
	size := int(t.DType.Size())
	data := slices.Clone(t.Data)
	last := len(data)/size - 1
	for i := 1; i < last; i++ {
		copy(data[i*size:(i+1)*size], t.Data[(last-i)*size:])
	}
	t.Data = data
	return t
}

// neighborsExchanged returns a contiguous tensor with two neighbors exchanged that differ, neither of them
// the first or the last element. The seed decides which.
func neighborsExchanged(t tensor.Tensor, seed uint64) tensor.Tensor {
	size := int(t.DType.Size())
	inner := len(t.Data)/size - 3 // places of a left neighbor
	if inner < 1 {
		return t
	}
	data := slices.Clone(t.Data)
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", t.Name, " ", inner)
	start := int(h.Sum64() % uint64(inner))
	for k := range inner {
		at := (1 + (start+k)%inner) * size
		left, right := t.Data[at:at+size], t.Data[at+size:at+2*size]
		if !bytes.Equal(left, right) {
			copy(data[at:], right)
			copy(data[at+size:], left)
			break
		}
	}
	t.Data = data
	return t
}
