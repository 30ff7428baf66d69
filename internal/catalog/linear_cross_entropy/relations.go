package linearcrossentropy

import (
	"math"
	"math/cmplx"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate("linear_cross_entropy",
	truth.Relation{
		Name: "no loss is negative", Pass: op.Forward, Outputs: []string{"loss"},
		Applies: truth.HasElements(1, "tokens"), States: notNegative,
	},
	truth.Relation{
		Name: "doubled hidden states and halved weights change no loss", Pass: op.Forward,
		Outputs: []string{"loss"}, Applies: truth.HasElements(1, "tokens"), Second: evenly,
		States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_hidden", "grad_weight"}, Second: truth.ScaledBy(2, "grad_loss"),
		Applies: func(c op.Case) bool { // what is stored in fp16 may be subnormal
			return c.DType != "fp16" && truth.HasElements(1, "tokens")(c)
		},
		States: truth.Scales(2),
	},
)

// notNegative: a row's lse is at least every logit.
func notNegative(a *truth.Related, output string) judge.Statement {
	y, off := a.First.Out(output), a.First.Error(output)
	if a.Failed() {
		return judge.Statement{}
	}
	at := func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i], Low: -off(i), High: math.Inf(1)}
	}
	return judge.Statement{Shape: a.First.Target(output).Shape, N: int64(len(y)), At: at}
}

// evenly moves a factor of two from the weights to the hidden states.
func evenly(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, up := truth.ScaledBy(2, "hidden")(c, first)
	_, down := truth.ScaledBy(0.5, "weight")(c, first)
	return c, append(up, down...)
}

// The loss in complex numbers, from which the tests take derivatives.
var _ = truth.RegisterLosses("linear_cross_entropy", func(k *truth.Request) ([]truth.Loss, error) {
	x, err := k.Rank("hidden", 2)
	in, missing := k.Values("hidden", "weight", "target", "grad_loss")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	dim, ignored, counted := int(x.Shape[1]), k.Attrs.Number("ignore_index"), 0.0
	for _, t := range in[2] {
		if t != ignored {
			counted++
		}
	}
	return truth.Partial([]string{"hidden", "weight"}, in[:2], func(v [][]complex128) complex128 {
		total := complex128(0)
		for i, target := range in[2] {
			if target == ignored {
				continue
			}
			z, w := make([]complex128, len(v[1])/dim), in[3][i%len(in[3])]
			for j := range z {
				for d := range dim {
					z[j] += v[0][i*dim+d] * v[1][j*dim+d]
				}
			}
			if k.Attrs.Text("reduction") == "mean" {
				w /= counted
			}
			m, sum := truth.LargestReal(z), complex128(0)
			for _, logit := range z {
				sum += cmplx.Exp(logit - m)
			}
			total += complex(w, 0) * (cmplx.Log(sum) + m - z[int(target)])
		}
		return total
	}), nil
})
