package crossentropy

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

var _ = truth.Relate("cross_entropy",
	truth.Relation{
		Name: "no loss is negative", Pass: op.Forward, Outputs: []string{"loss"},
		Applies: truth.HasElements(1, "rows"), States: truth.NotNegative, // lse is at least every logit
	},
	truth.Relation{
		Name: "adding 16 to every logit changes no loss", Pass: op.Forward, Outputs: []string{"loss"},
		Applies: truth.HasElements(1, "rows"), Base: truth.CoarseInputs("logits"),
		Second: truth.Shifted("logits"), States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "the gradients of each row add up to 0", Pass: op.Backward, Outputs: []string{"grad_logits"},
		Applies: func(c op.Case) bool { return c.Saved == "own" && truth.HasElements(1, "rows")(c) },
		States: func(a *truth.Related, output string) judge.Statement {
			g, shape := a.First.Out(output), a.First.Target(output).Shape
			if a.Failed() {
				return judge.Statement{}
			}
			zero := func(int64) float64 { return 0 }
			at := func(i int64) float64 { return g[i] }
			return a.RowSums(shape[0], shape[1], at, a.First.Error(output), zero)
		},
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradient", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_logits"}, Applies: truth.HasElements(1, "rows"),
		Second: truth.ScaledBy(2, "grad_loss"), States: truth.Scales(2),
	},
)
