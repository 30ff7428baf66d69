package mla

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/latent"
)

var _ = truth.Relate("mla",
	truth.Relation{
		Name: "each output lies between the smallest and the largest value it sees", Pass: op.Forward,
		Outputs: []string{"o"}, Applies: some, OfSample: true, States: latent.BetweenValues,
	},
	truth.Relation{
		Name: "latent rows that are masked do not show", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"o", "lse"}, Applies: hides, Second: latent.HiddenChanged, States: latent.Unmoved,
	},
	truth.Relation{
		Name: "the order of the keys does not matter", Pass: op.Forward, Outputs: []string{"o", "lse"},
		Applies: full, Second: latent.ReversedKeys, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "a query of zeros weighs all tokens alike", Pass: op.Forward, Outputs: []string{"lse"},
		Applies: some, Second: latent.ZeroQueries, States: latent.CountsTokens,
	},
	truth.Relation{
		Name: "latent rows that are masked do not show in the gradient of q", ToTheBit: true,
		Pass: op.Backward, Outputs: []string{"grad_q"}, Applies: hides, Second: latent.HiddenChanged,
		SavedFollow: true, States: latent.Unmoved,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_kv"}, Applies: some, Second: truth.ScaledBy(2, "grad_o"),
		States: truth.Scales(2),
	},
	truth.Relation{
		Name: "with queries of zeros the gradients of the values add up to the upstream gradient",
		Pass: op.Backward, Outputs: []string{"grad_kv"}, Applies: seesAlways, Second: latent.ZeroQueries,
		SavedFollow: true, States: latent.ValueGradients,
	},
)

func some(c op.Case) bool { return truth.HasElements(1, "batch", "seq_q", "seq_kv")(c) }

func full(c op.Case) bool { return some(c) && c.Attrs.Number("causal") == 0 }

// hides reports whether there is a query, not the last, and a key to hide from it.
func hides(c op.Case) bool { return some(c) && !full(c) && truth.HasElements(2, "seq_q")(c) }

// seesAlways reports whether every query sees a key, in a backward whose saved tensors can follow its
// queries.
func seesAlways(c op.Case) bool {
	return some(c) && c.Saved == "driver" && (full(c) || c.Dims.Get("seq_kv") >= c.Dims.Get("seq_q"))
}
