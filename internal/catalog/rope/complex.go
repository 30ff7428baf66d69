package rope

import (
	"triad/internal/truth"
)

// rope rotates pairs of values. In the complex step each value is one complex number of its own, and the step
// goes along its imaginary part.
var _ = truth.RegisterLosses("rope", func(k *truth.Request) ([]truth.Loss, error) {
	tables, err := k.Values("cos", "sin")
	if err != nil {
		return nil, err
	}
	cos, err := k.Rank("cos", 2)
	if err != nil {
		return nil, err
	}
	var all []truth.Loss
	for _, name := range []string{"q", "k"} {
		dy, err := k.Rank("grad_"+name+"_out", 4)
		if err != nil {
			return nil, err
		}
		seq, heads, dim, half := int(dy.Shape[1]), int(dy.Shape[2]), int(dy.Shape[3]), int(cos.Shape[1])
		// linear: its derivative is the same everywhere
		upstream, at := dy.Float64s(), make([]float64, dy.Elements())
		interleaved, offset := k.Attrs.Number("interleaved") != 0, int(k.Attrs.Number("offset"))
		all = append(all, truth.Partial([]string{name}, [][]float64{at}, func(z [][]complex128) complex128 {
			total := complex128(0)
			for token := 0; token*heads*dim < len(upstream); token++ {
				row := (offset + token%seq) * half
				for head := range heads {
					base := (token*heads + head) * dim
					for i := range half {
						first, second := base+i, base+i+half
						if interleaved {
							first, second = base+2*i, base+2*i+1
						}
						c, s := complex(tables[0][row+i], 0), complex(tables[1][row+i], 0)
						total += (z[0][first]*c - z[0][second]*s) * complex(upstream[first], 0)
						total += (z[0][second]*c + z[0][first]*s) * complex(upstream[second], 0)
					}
				}
			}
			return total
		})...)
	}
	return all, nil
})
