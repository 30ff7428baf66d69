package moe_dispatch

import (
	"triad/internal/op"
	"triad/internal/truth"
)

var (
	some     = truth.HasElements(1, "tokens")
	ofChoice = []string{"row_choice", "source", "received", "of_expert"}
)

var _ = truth.Relate("moe_dispatch",
	truth.Relation{
		Name: "where tokens go does not depend on what they hold", Pass: op.Forward, Outputs: ofChoice,
		Applies: some, Second: truth.ScaledBy(-1, "x", "weight"), States: truth.Stays,
	},
	truth.Relation{
		Name: "negated tokens are negated in their rows", Pass: op.Forward, Outputs: []string{"rows"},
		Applies: some, Second: truth.ScaledBy(-1, "x"), States: truth.Scales(-1),
	},
	truth.Relation{
		Name: "doubled weights are doubled in their rows", Pass: op.Forward, Outputs: []string{"row_weight"},
		Applies: some, Second: truth.ScaledBy(2, "weight"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "doubled upstream gradients double the gradients", Pass: op.Backward,
		Outputs: []string{"grad_x", "grad_weight"}, Applies: some,
		Second: truth.ScaledBy(2, "grad_rows", "grad_row_weight"), States: truth.Scales(2),
	},
)
