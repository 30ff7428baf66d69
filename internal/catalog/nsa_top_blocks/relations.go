package nsa_top_blocks

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.Relate("nsa_top_blocks",
	truth.Relation{
		Name: "later blocks do not change the choice", Pass: op.Forward, Outputs: []string{"indices"},
		Applies: several, Second: sparse.LaterKeysChanged, States: sparse.EarlierUnmoved,
	},
	truth.Relation{
		Name: "doubled queries and halved keys give the same choice", Pass: op.Forward,
		Outputs: []string{"indices"}, Applies: several, Second: rescaled, States: truth.Stays,
	},
)

// several reports whether queries have blocks to choose among.
func several(c op.Case) bool {
	return truth.HasElements(1, "batch")(c) && c.Dims.Get("seq") >= 2*int64(c.Attrs.Number("block_size"))+2
}

func rescaled(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, queries := truth.ScaledBy(2, "q")(c, first)
	_, keys := truth.ScaledBy(0.5, "k")(c, first)
	return c, append(queries, keys...)
}
