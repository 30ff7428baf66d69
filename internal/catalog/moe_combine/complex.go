package moe_combine

import "triad/internal/truth"

// The loss is written from the receivers' side, by loops over the choices alone.
var _ = truth.RegisterLosses("moe_combine", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("rows", "choice", "grad_y")
	if err != nil {
		return nil, err
	}
	dims, choice := k.Dims, in[1]
	ranks, top := int(dims.Get("ranks")), int(dims.Get("top"))
	room := ranks * int(dims.Get("tokens"))
	dim, experts := int(dims.Get("dim")), int(k.Attrs.Number("experts"))/ranks
	return truth.Partial([]string{"rows"}, in[:1], func(z [][]complex128) complex128 {
		total, next := complex128(0), make([]int, ranks)
		for token := range room {
			has := make([]bool, ranks)
			for _, e := range choice[token*top : (token+1)*top] {
				if e >= 0 && int(e) < ranks*experts {
					has[int(e)/experts] = true
				}
			}
			for rank, its := range has {
				if !its {
					continue
				}
				row := z[0][(rank*room+next[rank])*dim:]
				for i := range dim {
					total += complex(in[2][token*dim+i], 0) * row[i]
				}
				next[rank]++
			}
		}
		return total
	}), nil
})
