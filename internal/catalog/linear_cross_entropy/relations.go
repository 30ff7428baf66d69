package linearcrossentropy

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var some, gradients = truth.HasElements(1, "tokens"), []string{"grad_hidden", "grad_weight"}

var _ = truth.Relate("linear_cross_entropy",
	truth.Relation{ // lse is at least every logit
		Name: "no loss is negative", Pass: op.Forward, Outputs: []string{"loss"}, Applies: some,
		States: truth.NotNegative,
	},
	truth.Relation{
		Name: "doubled hidden states and halved weights change no loss", Pass: op.Forward,
		Outputs: []string{"loss"}, Applies: some, Second: evenly, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: gradients, Applies: some, Second: truth.ScaledBy(2, "grad_loss"), States: truth.Doubles,
	},
	truth.Relation{
		Name: "what an ignored token holds changes no gradient", Pass: op.Backward, Outputs: gradients,
		Applies: some, Second: truth.LeftOut("hidden", "target", "ignore_index"), States: truth.SamePlaces,
	},
)

// evenly moves a factor of two from the weights to the hidden states.
func evenly(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, up := truth.ScaledBy(2, "hidden")(c, first)
	_, down := truth.ScaledBy(0.5, "weight")(c, first)
	return c, append(up, down...)
}

// The loss in complex numbers, from which the tests take derivatives.
var _ = truth.RegisterLosses("linear_cross_entropy", func(k *truth.Request) ([]truth.Loss, error) {
	l, err := lossOf(k)
	upstream, missing := k.Values("grad_loss")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	return l.logits.Losses(func(i int) (float64, int, bool) {
		return upstream[0][i%len(upstream[0])] / l.divisor, int(l.target[i]), l.target[i] == l.ignored
	}), nil
})
