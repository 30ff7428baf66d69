// Package linearcrossentropy is the truth of the cross entropy of logits that are a product z = hidden
// weight^T.
package linearcrossentropy

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/product"
)

var _ = truth.Register("linear_cross_entropy", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32", "stored"},
})

// loss is one case: the logits of tokens, and what is asked of them.
type loss struct {
	*truth.Request
	logits    *product.Logits
	target    []float64
	ignored   float64
	reduction string
	counted   int
	divisor   float64 // of a mean the tokens that count, at least 1; else 1
}

func lossOf(k *truth.Request) (*loss, error) {
	logits, err := product.LogitsOf(k, "hidden", "weight")
	if err == nil {
		err = k.Shaped("target", logits.Rows)
	}
	in, missing := k.Values("target")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	l := &loss{
		Request: k, logits: logits, target: in[0], ignored: k.Attrs.Number("ignore_index"),
		reduction: k.Attrs.Text("reduction"), divisor: 1,
	}
	for _, t := range l.target {
		if t != l.ignored {
			l.counted++
		}
	}
	if l.reduction == "mean" {
		l.divisor = max(float64(l.counted), 1)
	}
	return l, nil
}

func forward(k *truth.Request) ([]judge.Target, error) {
	l, err := lossOf(k)
	if err != nil {
		return nil, err
	}
	tokens := l.logits.Rows
	chosen := k.Sample.Choose(tokens)
	if l.reduction != "none" {
		chosen = nil // the loss is of all
	}
	lse, each := k.RowStatistic("lse", tokens, chosen), k.RowStatistic("loss", tokens, chosen)
	infinite := make([]*truth.InfiniteLoss, len(lse.R))
	truth.EachRowWith(chosen, tokens, l.logits.NewRow, func(own *product.Row, i, r int64) {
		l.logits.Fill(own, int(r))
		own.LSE.Put(lse, i)
		t := l.target[r]
		if t != l.ignored {
			l.logits.Loss(own, int(t)).Put(each, i)
		}
		if math.IsInf(own.Max, 0) {
			infinite[i] = &truth.InfiniteLoss{LSE: own.Max, Loss: math.NaN()}
			if t != l.ignored {
				infinite[i].Loss = own.Max - own.Z[int(t)].R
			}
		}
	})
	lses, losses := truth.InfiniteLosses(infinite)
	lse = truth.Either(lse, lses)
	if l.reduction != "none" {
		return []judge.Target{l.reduced(each, losses), lse}, nil
	}
	return []judge.Target{truth.Either(each, losses), lse}, nil
}

// reduced is the sum of the losses, or their mean. To their allowances comes u32*g(tokens)*sum|loss|. Where
// no token counts the mean is 0, or NaN as 0/0. Others are the losses that are infinite by the formula and
// NaN by others.
func (l *loss) reduced(each judge.Target, others []truth.Other) judge.Target {
	total := l.TargetAt("loss", op.FP32, []int64{1}, nil)
	total.Uniform = true
	size := truth.SumOf(len(each.R), func(i int) float64 { return math.Abs(each.R[i]) })
	sums, n := judge.U32*l.Growth(int64(len(each.R)))*size, l.divisor
	product.Number{
		R: truth.Sum(each.R) / n, T: (truth.Sum(each.T) + sums) / n,
		TFP32: (truth.Sum(each.TFP32) + sums) / n, Sim: truth.Sum(each.Sim) / n,
	}.Put(total, 0)
	if l.reduction == "mean" && l.counted == 0 {
		return truth.Either(total, []truth.Other{{R: math.NaN()}})
	}
	return truth.Either(total, truth.SumOfEither(each.R, others))
}

func backward(k *truth.Request) ([]judge.Target, error) {
	l, err := lossOf(k)
	names := []string{"grad_loss"}
	if !k.Chained() {
		names = append(names, "lse")
	}
	given, missing := k.Values(names...)
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	of := make([]product.Gradient, len(l.target))
	truth.EachRowWith(nil, l.logits.Rows, l.logits.NewRow, func(own *product.Row, _, i int64) {
		g := &of[i]
		if g.Left = l.target[i] == l.ignored; g.Left {
			return
		}
		g.W, g.Class, g.Given = given[0][i%int64(len(given[0]))]/l.divisor, int(l.target[i]), !k.Chained()
		if g.Given {
			g.LSE = product.Number{R: given[1][i], Sim: given[1][i]}
			return
		}
		l.logits.Fill(own, int(i))
		g.LSE = own.Saved()
	})
	gradients := l.logits.Gradients(of)
	if !l.ignoredNonFinite() {
		return gradients, nil
	}
	for i, rows := range [][]float64{l.target, nil} {
		gradients[i] = truth.Either(gradients[i], l.orNaN(gradients[i], rows))
	}
	return gradients, nil
}

// ignoredNonFinite says whether an ignored token holds NaN or an infinity, or meets one in the weights. What
// it adds is 0, or NaN as 0 times what it holds.
func (l *loss) ignoredNonFinite() bool {
	return l.Distribution == "non_finite" && l.counted < len(l.target) && l.logits.NonFinite(func(i int) bool {
		return l.target[i] == l.ignored
	})
}

// orNaN are the elements of a gradient to which ignored tokens add: their own rows of grad_hidden, all of
// grad_weight.
func (l *loss) orNaN(t judge.Target, target []float64) []truth.Other {
	var others []truth.Other
	cols := t.Shape[len(t.Shape)-1]
	for i := range int64(len(t.R)) {
		at := i
		if t.Index != nil {
			at = t.Index[i]
		}
		if target == nil || target[at/cols] == l.ignored {
			others = append(others, truth.Other{At: i, R: math.NaN()})
		}
	}
	return others
}
