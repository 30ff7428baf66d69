package op

import (
	"strconv"
	"strings"
)

// Shown is a size that a dim can be read from: the dim is Times size Axis of tensor Tensor of a pass's inputs
// or outputs.
type Shown struct {
	Output       bool
	Tensor, Axis int
	Times        int64
}

// ShownBy finds the first size that is a dim; where there is none, the first that is a part of it, as "k / 2"
// is of k. An output that may be missing shows nothing.
func ShownBy(dim string, inputs, outputs []TensorSpec) (Shown, bool) {
	var part Shown
	for k, list := range [][]TensorSpec{inputs, outputs} {
		for i, t := range list {
			if t.Optional {
				continue
			}
			for axis, e := range t.shape.choices[""] {
				shown := Shown{Output: k == 1, Tensor: i, Axis: axis, Times: 1}
				if e.text == dim {
					return shown, true
				}
				text, isPart := strings.CutPrefix(e.text, dim+" / ")
				if n, err := strconv.ParseInt(text, 10, 64); isPart && part.Times == 0 && err == nil {
					part, part.Times = shown, n
				}
			}
		}
	}
	return part, part.Times > 0
}
