package experts

import (
	"math"
	"slices"
	"sync"

	"triad/internal/judge"
	"triad/internal/truth"
	"triad/internal/truth/bounded"
)

// passage is a token in one of its experts, with the inputs of its weights' gradients.
type passage struct {
	token           int64
	h, do, dg, du   truth.Row
	weight, ofScore bounded.Number // of the weight
}

// pass computes a passage of a token: with q = grad_y down^T, dh = w*q, du = dh*silu(g), dg = dh*u*silu'(g).
// The gradient of the weight is h.q or grad_y.(h down), which rounds only in fp32 as well.
func (l *layer) pass(t, e int64, w bounded.Number, dy truth.Row) passage {
	s := l.enter(bounded.Given(l.x.Row(t)), e)
	q := l.Store(l.TimesRows(dy, l.down.Part(e*l.hidden, l.hidden)))
	p := passage{token: t, h: s.h, weight: w, do: l.Store(l.Scaled(w, dy))}
	dh := l.Scaled(w, q)
	p.dg = l.Store(l.Each(l.hidden, func(j int) bounded.Number {
		du := bounded.Product(bounded.At(dh, j), bounded.At(s.u, j))
		return bounded.Product(du, bounded.SiluSlope(bounded.At(s.g, j)))
	}))
	p.du = l.Store(l.Each(l.hidden, func(j int) bounded.Number {
		return bounded.Product(bounded.At(dh, j), bounded.Silu(bounded.At(s.g, j)))
	}))
	for j := range q.R { // q's own error bound in fp32 is that of a sum over dim
		h, of := bounded.At(s.h, j), bounded.At(q, j)
		product, lost := bounded.Product(h, of), l.Size(h.R)*of.TFP32*(1+l.ratio)
		p.ofScore.R += product.R
		p.ofScore.Sim += product.Sim
		p.ofScore.T += product.T + lost
		p.ofScore.TFP32 += product.TFP32 + lost
	}
	return p
}

// ofLogits returns the gradients of a token's logits from those of its weights: w*(d - sum w d), and where
// weights are not normalised p*(d - sum w d) with d = 0 of an expert that is not chosen.
func (l *layer) ofLogits(r routing, own []float64, passages []passage) truth.Row {
	out, sum := l.Row(l.experts), bounded.Number{}
	for _, p := range passages {
		term := bounded.Product(p.weight, p.ofScore)
		lost := judge.U32 * float64(l.top+2) * (abs(term.R) + term.T)
		sum.R, sum.Sim = sum.R+term.R, sum.Sim+term.Sim
		sum.T, sum.TFP32 = sum.T+term.T+lost, sum.TFP32+term.TFP32+lost
	}
	if !l.normalise {
		for e, p := range l.softmax(r, l.all(), false) {
			bounded.Set(out, e, bounded.Product(p, bounded.Minus(bounded.Number{}, sum)))
		}
	}
	for i, p := range passages {
		bounded.Set(out, int(own[i]), bounded.Product(p.weight, bounded.Minus(p.ofScore, sum)))
	}
	return out
}

func abs(x float64) float64 { return max(x, -x) }

// fewPassages: all rows of an expert's gradient share the rounding errors of values that its passages store;
// fewer passages are no statistic.
const fewPassages = 16

// gradients holds the gradients of all inputs under one choice.
type gradients struct {
	*layer
	dy      bounded.Matrix
	rows    [5][]int64 // that are judged of each gradient; nil: all
	targets []judge.Target
}

func backward(k *truth.Request) ([]judge.Target, error) {
	l, err := layerOf(k)
	if err != nil {
		return nil, err
	}
	dy, missing := k.Tensor("grad_y")
	given, wrong := l.given(k)
	if err = truth.FirstError(missing, wrong, k.Shaped("grad_y", l.tokens, l.dim)); err != nil {
		return nil, err
	}
	g := &gradients{layer: l, dy: l.MatrixOf(dy)}
	for i, name := range []string{"x", "router", "gate", "up", "down"} {
		in, _ := k.Tensor(name)
		switch {
		case i < 2:
			g.rows[i] = k.Sample.Choose(in.Shape[0])
		case k.Sample != nil:
			g.rows[i] = k.Sample.Within(l.experts, in.Shape[1], 1)
		}
		g.targets = append(g.targets, k.Target("grad_"+name, l.d, in.Shape, g.rows[i]))
	}
	g.fill(given, g.targets)
	if !k.Chained() {
		return g.targets, nil
	}
	rule := l.choice(k, nil)
	var mu sync.Mutex
	known := map[string][]judge.Target{}
	under := func(gave judge.Gave, i int) judge.Target {
		if choiceIn(gave, len(given)) == nil {
			return g.targets[i]
		}
		own := rule.Under(gave).R
		if slices.Equal(own, given) {
			return g.targets[i]
		}
		mu.Lock()
		defer mu.Unlock()
		key := string(gave("choice"))
		if known[key] == nil {
			var all []judge.Target
			for _, t := range g.targets {
				all = append(all, cleared(t))
			}
			g.fill(own, all)
			for i := range all {
				all[i] = settled(all[i])
			}
			known[key] = all
		}
		return known[key][i]
	}
	judged := slices.Clone(g.targets)
	for i := range judged {
		judged[i].Depends = func(gave judge.Gave) judge.Target { return under(gave, i) }
	}
	return judged, nil
}

// cleared returns a target with zeros of its own.
func cleared(t judge.Target) judge.Target {
	t = copyOf(t)
	for _, x := range [][]float64{t.R, t.T, t.TFP32, t.Sim} {
		clear(x)
	}
	return t
}

// fill computes the judged rows of every gradient under a choice.
func (g *gradients) fill(choice []float64, targets []judge.Target) {
	top := int64(g.top)
	wantedTokens, wantedExperts := wanted(g.rows[0], 1), wanted(g.rows[2], g.dim)
	kept := make([]passage, len(choice))
	scores := make([]truth.Row, g.tokens)
	gradX := make([]truth.Row, g.tokens)
	truth.EachRowWith(nil, g.tokens, nothing, func(_ struct{}, _, t int64) {
		own, r, dy := choice[t*top:(t+1)*top], g.route(t), bounded.Given(g.dy.Row(t))
		passages := make([]passage, top)
		for i, w := range g.softmax(r, own, g.normalise) {
			passages[i] = g.pass(t, int64(own[i]), w, dy)
			if wantedExperts(int64(own[i])) {
				kept[t*top+int64(i)] = passages[i]
			}
		}
		scores[t] = g.ofLogits(r, own, passages)
		if wantedTokens(t) {
			gradX[t] = g.ofToken(own, passages, scores[t])
		}
	})
	g.each(0, targets, func(t int64, out truth.Row) { bounded.Fill(out, gradX[t], g.d) })
	g.each(1, targets, func(e int64, out truth.Row) {
		sum := g.Row(g.dim)
		for t := range g.tokens {
			g.Add(sum, g.tokens, bounded.At(scores[t], int(e)), bounded.Given(g.x.Row(t)))
		}
		bounded.Fill(out, sum, g.d)
	})
	of := make([][]passage, g.experts)
	for i, e := range choice {
		of[int(e)] = append(of[int(e)], kept[i])
	}
	few := g.Stores() && slices.ContainsFunc(of, func(p []passage) bool {
		return len(p) > 0 && len(p) < fewPassages
	})
	for i := 2; i < len(targets); i++ {
		targets[i].Independent = targets[i].Independent && !few
		if g.Stores() {
			targets[i].Errors = g.fewestErrors(of, i)
		}
	}
	// The scores of a token share the errors of its passages.
	fewTokens := g.Stores() && g.tokens*top < fewPassages
	targets[1].Independent = targets[1].Independent && !fewTokens
	g.each(2, targets, func(row int64, out truth.Row) {
		g.ofWeight(of[row/g.dim], g.hidden, out, func(p passage) (bounded.Number, truth.Row) {
			return bounded.Exactly(g.x.Row(p.token)[row%g.dim]), p.dg
		})
	})
	g.each(3, targets, func(row int64, out truth.Row) {
		g.ofWeight(of[row/g.dim], g.hidden, out, func(p passage) (bounded.Number, truth.Row) {
			return bounded.Exactly(g.x.Row(p.token)[row%g.dim]), p.du
		})
	})
	g.each(4, targets, func(row int64, out truth.Row) {
		g.ofWeight(of[row/g.hidden], g.dim, out, func(p passage) (bounded.Number, truth.Row) {
			return bounded.At(p.h, int(row%g.hidden)), p.do
		})
	})
}

// fewestErrors returns how many independent rounding errors decide the gradient of the expert that has the
// fewest, the third gradient being that of gate. Each passage stores a value for each column, whose error all
// rows share; in a gradient of down each of h another, which all columns share. They count by their squares,
// n equal ones as n: where one passage outweighs the others, its errors alone are seen.
func (g *gradients) fewestErrors(of [][]passage, gradient int) float64 {
	fewest := math.Inf(1)
	count := func(factors func(p passage) (shared, own []float64)) {
		for _, passages := range of {
			sum, squares := 0.0, 0.0
			for _, p := range passages {
				shared, own := factors(p)
				by := 0.0
				for _, x := range shared {
					by += x * x
				}
				for _, x := range own {
					square := by * x * x
					sum, squares = sum+square, squares+square*square
				}
			}
			if n := sum * sum / squares; n < fewest { // NaN where nothing was stored
				fewest = n
			}
		}
	}
	switch gradient {
	case 2:
		count(func(p passage) (shared, own []float64) { return g.x.Row(p.token), p.dg.R })
	case 3:
		count(func(p passage) (shared, own []float64) { return g.x.Row(p.token), p.du.R })
	default:
		count(func(p passage) (shared, own []float64) { return p.h.R, p.do.R })
		count(func(p passage) (shared, own []float64) { return p.do.R, p.h.R })
	}
	if math.IsInf(fewest, 1) {
		return 0
	}
	return max(fewest, 1)
}

// wanted returns a function that reports whether group i, of that many rows, has a judged one.
func wanted(rows []int64, of int64) func(i int64) bool {
	some := map[int64]bool{}
	for _, r := range rows {
		some[r/of] = true
	}
	return func(i int64) bool { return rows == nil || some[i] }
}

// each fills the judged rows of one gradient.
func (g *gradients) each(i int, targets []judge.Target, fill func(row int64, out truth.Row)) {
	t := targets[i]
	cols := t.Shape[len(t.Shape)-1]
	rows := t.Elements() / cols
	truth.EachRowWith(g.rows[i], rows, nothing, func(_ struct{}, at, row int64) {
		fill(row, truth.RowOf(t, at, cols))
	})
}

// ofToken returns the gradient of a token: the sum over its experts, each product of which may be stored, and
// the router.
func (g *gradients) ofToken(own []float64, passages []passage, scores truth.Row) truth.Row {
	sum := g.Row(g.dim)
	n := int64(2*g.top + 1)
	for i, p := range passages {
		first := int64(own[i]) * g.dim
		g.Add(sum, n, bounded.Exactly(1), g.Store(g.TimesRows(p.dg, g.gate.Part(first, g.dim))))
		g.Add(sum, n, bounded.Exactly(1), g.Store(g.TimesRows(p.du, g.up.Part(first, g.dim))))
	}
	g.Add(sum, n, bounded.Exactly(1), g.Times(scores, g.router))
	return sum
}

// ofWeight returns a row of an expert's gradient: a sum over its tokens.
func (g *gradients) ofWeight(of []passage, cols int64, out truth.Row,
	term func(p passage) (bounded.Number, truth.Row),
) {
	sum := g.Row(cols)
	for _, p := range of {
		by, v := term(p)
		g.Add(sum, int64(len(of)), by, v)
	}
	bounded.Fill(out, sum, g.d)
}
