package moe_dispatch

import "triad/internal/truth"

// The loss is written from the senders' side, by loops over the choices alone.
var _ = truth.RegisterLosses("moe_dispatch", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("x", "weight", "choice", "grad_rows", "grad_row_weight")
	if err != nil {
		return nil, err
	}
	dims, choice := k.Dims, in[2]
	ranks, top := int(dims.Get("ranks")), int(dims.Get("top"))
	room := ranks * int(dims.Get("tokens"))
	dim, experts := int(dims.Get("dim")), int(k.Attrs.Number("experts"))/ranks
	return truth.Partial([]string{"x", "weight"}, in[:2], func(z [][]complex128) complex128 {
		total := complex128(0)
		for rank := range ranks {
			row := rank * room
			for token := range room {
				sent := false
				for place := range top {
					if e := int(choice[token*top+place]); e >= rank*experts && e < (rank+1)*experts {
						sent = true
						total += complex(in[4][row*top+place], 0) * z[1][token*top+place]
					}
				}
				if !sent {
					continue
				}
				for i := range dim {
					total += complex(in[3][row*dim+i], 0) * z[0][token*dim+i]
				}
				row++
			}
		}
		return total
	}), nil
})
