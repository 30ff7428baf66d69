package kernelfile

import (
	"fmt"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// strideOfTensor returns the Python code of the stride that a parameter stands for: of the tensor that its
// name denotes, else of the first input. Strides are in the order of the sizes. If there are fewer strides
// than sizes they are those of the last ones, and a single one is the row stride.
func (b *Binding) strideOfTensor(a Argument) (code string, err error) {
	at := b.strideName(a.Param)
	count, index := 0, 0
	for _, o := range b.Args {
		if o.Place == cfacts.InStride && b.strideName(o.Param) == at {
			if o.Name == a.Name {
				index = count
			}
			count++
		}
	}
	name, tensor := "in_"+b.inputs[0].Name, b.inputs[0]
	if at >= 0 {
		name = b.pythonValue(b.Args[at])
		if b.Args[at].isTensor() {
			tensor = b.tensor(b.Args[at])
		}
	}
	tensor.Shape = b.shape(tensor)
	rank := strings.Count(b.pythonShape(tensor, true), ",")
	switch {
	case count > rank:
		return "", b.errorf("it has %d strides for %s, which has %d sizes here: add a function "+
			"that launches the kernel", count, tensor.Name, rank)
	case count == 1 && rank > 1:
		index = rank - 2
	default:
		index += rank - count
	}
	return fmt.Sprintf("%s.stride(%d)", name, index), nil
}

// strideName returns the parameter whose tensor the name of a stride denotes, -1 for none: stride_ak denotes
// the tensor a.
func (b *Binding) strideName(p cfacts.Param) (at int) {
	word := strings.Trim(strings.ReplaceAll(isStride.ReplaceAllString(snake(p.Name), ""), "__", "_"), "_")
	at, longest := -1, 0
	for i, o := range b.Args {
		plain := strings.TrimSuffix(strings.TrimSuffix(snake(o.Name), "_ptr"), "_pointer")
		if o.Pointer && strings.HasPrefix(word, plain) && len(plain) > longest {
			at, longest = i, len(plain)
		}
	}
	return at
}
