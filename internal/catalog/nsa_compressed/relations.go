package nsa_compressed

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/latent"
	"triad/internal/truth/sparse"
)

var _ = truth.Relate("nsa_compressed",
	truth.Relation{
		Name: "later blocks do not show", ToTheBit: true, Pass: op.Forward, Outputs: []string{"o", "lse"},
		Applies: sees, Second: sparse.LaterBlocksChanged, States: sparse.EarlierUnmoved,
	},
	truth.Relation{
		Name: "a block that is not whole does not show", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"o", "lse"}, Applies: ragged, Second: sparse.NoPartOfABlock, States: truth.Stays,
	},
	truth.Relation{
		Name: "doubled values double the output", ToTheBit: true, Pass: op.Forward, Outputs: []string{"o"},
		Applies: sees, Second: truth.ScaledBy(2, "v"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "a query of zeros weighs all blocks alike", Pass: op.Forward, Outputs: []string{"lse"},
		Applies: sees, Second: latent.ZeroQueries, States: sparse.CountsBlocks,
	},
	truth.Relation{
		Name: "later blocks do not show in the gradient of q", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q"}, Applies: sees, Second: sparse.LaterBlocksChanged, SavedFollow: true,
		States: sparse.EarlierUnmoved,
	},
	truth.Relation{
		Name: "a block that is not whole does not show in the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_k", "grad_v"}, Applies: ragged, Second: sparse.NoPartOfABlock,
		States: truth.Stays,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_k", "grad_v"}, Applies: sees,
		Second: truth.ScaledBy(2, "grad_o"), States: truth.Scales(2),
	},
)

func size(c op.Case) int64 { return int64(c.Attrs.Number("block_size")) }

// sees reports whether queries of the first half see a block, and others see more.
func sees(c op.Case) bool {
	return truth.HasElements(1, "batch")(c) && c.Dims.Get("seq") >= 2*size(c)+2
}

// ragged reports whether the last block is not whole.
func ragged(c op.Case) bool { return sees(c) && c.Dims.Get("seq")%size(c) != 0 }
