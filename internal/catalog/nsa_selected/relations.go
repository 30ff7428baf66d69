package nsa_selected

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.Relate("nsa_selected",
	truth.Relation{
		Name: "later keys and values do not show", ToTheBit: true, Pass: op.Forward, Outputs: []string{"o"},
		Applies: some, Second: sparse.LaterChanged, States: sparse.EarlierUnmoved,
	},
	truth.Relation{
		Name: "the order of a query's blocks does not matter", Pass: op.Forward, Outputs: []string{"o"},
		Applies: several, Second: sparse.ReversedBlocks, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "blocks behind a gate of 0 do not show", Pass: op.Forward, Outputs: []string{"o"},
		Applies: windowed, Base: sparse.ClosedGate, Second: sparse.NoBlocks, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "doubled gates double the output", ToTheBit: true, Pass: op.Forward, Outputs: []string{"o"},
		Applies: some, Second: truth.ScaledBy(2, "g_slc", "g_swa"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "later keys and values do not show in the gradients of queries", ToTheBit: true,
		Pass: op.Backward, Outputs: []string{"grad_q", "grad_g_slc", "grad_g_swa"}, Applies: windowed,
		Second: sparse.LaterChanged, States: sparse.EarlierUnmoved,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_k", "grad_v", "grad_g_slc", "grad_g_swa"}, Applies: windowed,
		Second: truth.ScaledBy(2, "grad_o"), States: truth.Scales(2),
	},
)

func some(c op.Case) bool {
	return truth.HasElements(1, "batch")(c) && truth.HasElements(2, "seq")(c)
}

func several(c op.Case) bool { return some(c) && truth.HasElements(2, "selected")(c) }

// windowed reports whether every query sees a key in its window.
func windowed(c op.Case) bool { return some(c) && c.Attrs.Number("window") > 0 }
