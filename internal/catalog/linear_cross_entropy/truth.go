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

// loss is one case: the logits of tokens, and what their loss needs.
type loss struct {
	*truth.Request
	logits    *product.Logits
	target    []float64
	ignored   float64
	reduction string
	counted   float64
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
	if l.counted = truth.Counted(l.target, l.ignored); l.reduction == "mean" {
		l.divisor = max(l.counted, 1)
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
	all := k.RowLosses(tokens, chosen)
	truth.EachRowWith(chosen, tokens, l.logits.NewRow, func(own *product.Row, i, r int64) {
		l.logits.Fill(own, int(r))
		own.LSE.Put(all.LSE, i)
		logit := math.NaN()
		if t := l.target[r]; t != l.ignored {
			l.logits.Loss(own, int(t)).Put(all.Each, i)
			logit = own.Z[int(t)].R
		}
		all.Infinite(i, own.Max, logit)
	})
	if l.reduction == "none" {
		return all.Targets(), nil
	}
	return all.Reduced(l.reduced(all.Each), l.counted == 0 && l.reduction == "mean"), nil
}

// reduced returns the sum of the losses, or their mean: 0 where no token counts. Their error bounds grow by
// u32*g(tokens)*sum|loss|.
func (l *loss) reduced(each judge.Target) judge.Target {
	total := l.TargetAt("loss", op.FP32, []int64{1}, nil)
	total.Uniform = true
	size := truth.SumOf(len(each.R), func(i int) float64 { return math.Abs(each.R[i]) })
	sums, n := judge.U32*l.Growth(int64(len(each.R)))*size, l.divisor
	product.Number{
		R: truth.Sum(each.R) / n, T: (truth.Sum(each.T) + sums) / n,
		TFP32: (truth.Sum(each.TFP32) + sums) / n, Sim: truth.Sum(each.Sim) / n,
	}.Put(total, 0)
	return total
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
	return l.logits.Gradients(of), nil
}
