// Package experts is the family of layers in which each token goes through the experts that a router chooses
// for it. Their tensors are x [tokens, dim], router [experts, dim], gate and up [experts, dim, hidden] and
// down [experts, hidden, dim], the outputs y [tokens, dim], choice and weight [tokens, top], the attributes
// top and normalise. The choice is judged by rule (judge.Choice), and everything after it under the kernel's
// choice: it is right where no rejected score is surely above a chosen one. Truth, the gradients with their
// proof and relations follow.
package experts

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/bounded"
	"triad/internal/truth/selection"
)

// Operator describes an operator of this family.
type Operator struct{ Permits []string }

// Register registers an operator's truth, the proof of its gradients and its relations.
func Register(name string, o Operator) struct{} {
	truth.Register(name, truth.Definition{Forward: forward, Backward: backward, Permits: o.Permits})
	truth.RegisterLosses(name, losses)
	return truth.Relate(name, relations()...)
}

// layer is a case with its inputs and its rules.
type layer struct {
	*bounded.Rules
	d                            op.DType
	tokens, experts, dim, hidden int64
	top                          int
	normalise                    bool
	x, router, gate, up, down    bounded.Matrix
	growth                       float64 // of a sum over experts
	ratio                        float64 // of the growths of sums over hidden and over dim
}

func layerOf(k *truth.Request) (*layer, error) {
	in, err := k.Tensors("x", "router", "gate", "up", "down")
	x, wrong := k.Rank("x", 2)
	gate, missing := k.Rank("gate", 3)
	if err = truth.FirstError(err, wrong, missing); err != nil {
		return nil, err
	}
	l := &layer{
		Rules: bounded.RulesOf(k, x.DType), d: x.DType, top: int(k.Attrs.Number("top")),
		normalise: k.Attrs.Text("normalise") == "true",
		tokens:    x.Shape[0], experts: gate.Shape[0], dim: gate.Shape[1], hidden: gate.Shape[2],
	}
	if l.top < 1 || int64(l.top) > l.experts {
		return nil, fmt.Errorf("top %d of %d experts: want at least 1 and at most all", l.top, l.experts)
	}
	l.growth = judge.U32 * k.Growth(l.experts)
	l.ratio = k.Growth(l.hidden) / k.Growth(l.dim)
	for i, m := range []*bounded.Matrix{&l.x, &l.router, &l.gate, &l.up, &l.down} {
		*m = l.MatrixOf(in[i])
	}
	return l, truth.FirstError(k.Shaped("x", l.tokens, l.dim), k.Shaped("router", l.experts, l.dim),
		k.Shaped("up", l.experts, l.dim, l.hidden), k.Shaped("down", l.experts, l.hidden, l.dim))
}

// routing is the router's result for a token: its logits, and the largest. Where one is NaN or +inf, or all
// are -inf, the softmax is NaN and any choice is right.
type routing struct {
	z         truth.Row
	most, log float64 // log sum exp(z - most)
	furthest  float64 // the largest error of a logit
	undefined bool
}

func (l *layer) route(t int64) routing {
	r := routing{z: l.TimesRows(bounded.Given(l.x.Row(t)), l.router), most: math.Inf(-1)}
	for _, z := range r.z.R {
		r.most = math.Max(r.most, z) // NaN wins
	}
	r.furthest = largest(r.z.T)
	r.undefined = !truth.IsFinite(r.most)
	r.log = math.Log(truth.SumOf(len(r.z.R), func(e int) float64 { return math.Exp(r.z.R[e] - r.most) }))
	return r
}

// best returns the top experts, of equal ones the first.
func (l *layer) best(r routing) []float64 {
	order := make([]float64, l.experts)
	for e := range order {
		order[e] = float64(e)
	}
	slices.SortStableFunc(order, func(a, b float64) int {
		return selection.Better(r.z.R[int(a)], r.z.R[int(b)])
	})
	return order[:l.top]
}

// flushed is the logarithm of the smallest probability that is surely a normal fp32 number.
const flushed = -87.0

// bounds returns the lowest and the highest score of an expert that a kernel may have computed, as logit or
// as probability, which may be 0 below fp32's normal numbers.
func (r routing) bounds(e int64) (low, high float64) {
	z := r.z.R[e]
	switch {
	case r.undefined:
		return math.Inf(-1), math.Inf(1)
	case math.IsInf(z, -1):
		return z, z
	}
	off := r.z.T[e] + judge.U32*(2*(r.most-z)+10)
	low, high = z-off, z+off
	if low-r.most-r.log-r.furthest < flushed {
		low = math.Inf(-1)
	}
	return low, high
}

func largest(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		if truth.IsFinite(v) {
			most = math.Max(most, v)
		}
	}
	return most
}

// softmax returns the weights of some experts, normalised over them alone or over all, with the error bound
// of w
//
//	w*(exp(e) - 1), e = t + sum_j w_j t_j + u32*(2|z-m| + sum_j w_j 2|z_j-m| + 12 + g(experts))
//
// t being that of a logit. A weight below fp32's normal numbers may be 0.
func (l *layer) softmax(r routing, chosen []float64, among bool) []bounded.Number {
	w := make([]bounded.Number, len(chosen))
	set := chosen
	if !among {
		set = l.all()
	}
	total := truth.SumOf(len(set), func(i int) float64 { return math.Exp(r.z.R[int(set[i])] - r.most) })
	share := func(e int) float64 { return math.Exp(r.z.R[e] - r.most - math.Log(total)) }
	off := func(e int) float64 { return r.z.T[e] + 2*judge.U32*(r.most-r.z.R[e]) }
	common := truth.SumOf(len(set), func(i int) float64 {
		e := int(set[i])
		return truth.Weighted(share(e), off(e))
	})
	for i, c := range chosen {
		e := int(c)
		p := share(e)
		switch {
		case r.undefined:
			w[i] = bounded.Exactly(math.NaN())
		case math.IsInf(r.z.R[e], -1):
		default:
			apart := off(e) + common + 12*judge.U32 + l.growth
			high := math.Exp(math.Min(r.z.R[e]-r.most-math.Log(total)+apart, 0))
			t := math.Max(high-p, -p*math.Expm1(-apart))
			w[i] = bounded.InFP32(p, t+judge.Tiny*float64(l.experts))
		}
	}
	return w
}

func (l *layer) all() []float64 {
	all := make([]float64, l.experts)
	for e := range all {
		all[e] = float64(e)
	}
	return all
}

// states are the numbers of a token in one expert, up to the input of down.
type states struct{ g, u, h truth.Row }

// enter computes h = silu(x gate) * (x up).
func (l *layer) enter(x truth.Row, e int64) states {
	s := states{
		g: l.Store(l.Times(x, l.gate.Part(e*l.dim, l.dim))),
		u: l.Store(l.Times(x, l.up.Part(e*l.dim, l.dim))),
	}
	s.h = l.Store(l.Each(l.hidden, func(j int) bounded.Number {
		return bounded.Product(bounded.Silu(bounded.At(s.g, j)), bounded.At(s.u, j))
	}))
	return s
}

// forward computes the truth: the choice is judged first, y and the weights under the kernel's.
func forward(k *truth.Request) ([]judge.Target, error) {
	l, err := layerOf(k)
	if err != nil {
		return nil, err
	}
	chosen, top := k.Sample.Choose(l.tokens), int64(l.top)
	if k.SimOnly { // the choice alone is saved
		return []judge.Target{l.choice(k, chosen)}, nil
	}
	y := k.Target("y", l.d, []int64{l.tokens, l.dim}, chosen)
	choice := l.choice(k, chosen)
	weight := k.Target("weight", op.FP32, []int64{l.tokens, top}, chosen)
	equal := k.Distribution == "zeros" || k.Distribution == "integers" // all logits are
	weight.Independent, weight.Uniform = false, equal || l.top == 1 && l.normalise
	under := func(t int64, experts []float64, out, weights truth.Row) {
		w := l.softmax(l.route(t), experts, l.normalise)
		sum := l.Row(l.dim)
		for n, e := range experts {
			bounded.Set(weights, n, w[n])
			h := l.enter(bounded.Given(l.x.Row(t)), int64(e)).h
			l.Add(sum, top, w[n], l.Store(l.Times(h, l.down.Part(int64(e)*l.hidden, l.hidden))))
		}
		bounded.Fill(out, sum, l.d)
		bounded.Fill(weights, weights, op.FP32)
	}
	truth.EachRowWith(chosen, l.tokens, nothing, func(_ struct{}, i, t int64) {
		under(t, choice.R[i*top:(i+1)*top], truth.RowOf(y, i, l.dim), truth.RowOf(weight, i, top))
	})
	both := func(gave judge.Gave) (judge.Target, judge.Target) {
		at := choice.Under(gave).R
		if slices.Equal(at, choice.R) {
			return y, weight
		}
		y, weight := copyOf(y), copyOf(weight)
		truth.EachRowWith(chosen, l.tokens, nothing, func(_ struct{}, i, t int64) {
			if own := at[i*top : (i+1)*top]; !slices.Equal(own, choice.R[i*top:(i+1)*top]) {
				under(t, own, truth.RowOf(y, i, l.dim), truth.RowOf(weight, i, top))
			}
		})
		return settled(y), settled(weight)
	}
	judged := []judge.Target{y, choice, weight}
	judged[0].Depends = func(gave judge.Gave) judge.Target { y, _ := both(gave); return y }
	judged[2].Depends = func(gave judge.Gave) judge.Target { _, weight := both(gave); return weight }
	return judged, nil
}

func nothing() struct{} { return struct{}{} }

// choice returns the simulated contract's choice for the chosen tokens, with the rule that judges a kernel's.
func (l *layer) choice(k *truth.Request, chosen []int64) judge.Target {
	t := k.Target("choice", op.I32, []int64{l.tokens, int64(l.top)}, chosen)
	t.Independent = false
	truth.EachRowWith(chosen, l.tokens, nothing, func(_ struct{}, i, r int64) {
		out := truth.RowOf(t, i, int64(l.top))
		copy(out.R, l.best(l.route(r)))
		copy(out.Sim, out.R)
	})
	t.Choice = &judge.Choice{
		Candidates: l.experts, Best: t.R,
		Scores: func(row int64) func(e int64) float64 {
			r := l.route(row)
			return func(e int64) float64 { return r.z.R[e] }
		},
		Bounds: func(row int64) func(e int64) (low, high float64) { return l.route(row).bounds },
	}
	return t
}

// copyOf returns a target with numbers of its own.
func copyOf(t judge.Target) judge.Target {
	t.R, t.T = slices.Clone(t.R), slices.Clone(t.T)
	t.TFP32, t.Sim = slices.Clone(t.TFP32), slices.Clone(t.Sim)
	return t
}

// settled sets the error bound to 0 where R is no number.
func settled(t judge.Target) judge.Target {
	for i, r := range t.R {
		if !truth.IsFinite(r) {
			t.T[i], t.TFP32[i] = 0, 0
		}
	}
	return t
}

// given returns the choices of a backward: the saved ones, or where its own forward makes them those that the
// simulated contract has, until the kernel's are known.
func (l *layer) given(k *truth.Request) ([]float64, error) {
	if k.Chained() {
		return l.choice(k, nil).R, nil
	}
	saved, err := k.Tensor("choice")
	if err = truth.FirstError(err, k.Shaped("choice", l.tokens, int64(l.top))); err != nil {
		return nil, err
	}
	at := saved.Float64s()
	for _, e := range at {
		if !(0 <= e && e < float64(l.experts)) {
			return nil, fmt.Errorf("choice %v: want one of 0 to %d", e, l.experts-1)
		}
	}
	return at, nil
}

// choiceIn returns a kernel's choice where it came back.
func choiceIn(gave judge.Gave, n int) []float64 {
	data := gave("choice")
	if len(data) != 4*n || n == 0 {
		return nil
	}
	return tensor.Decode(op.I32, data)
}
