package flashattention

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate("flash_attention",
	truth.Relation{
		Name: "each output lies between the smallest and the largest value it sees", Pass: op.Forward,
		Outputs: []string{"o"}, Applies: seesKeys, OfSample: true, States: betweenValues,
	},
	truth.Relation{
		Name: "keys and values that are masked do not show", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"o", "lse"},
		Applies: hidesKeys, Second: hiddenChanged, States: unmoved,
	},
	truth.Relation{
		Name: "one value for all keys is the output", Pass: op.Forward, Outputs: []string{"o"},
		Applies: seesKeys, Second: constantValues, States: isConstant,
	},
	truth.Relation{
		Name: "doubled values double the output", ToTheBit: true, Pass: op.Forward, Outputs: []string{"o"},
		Applies: seesKeys,
		Second:  truth.ScaledBy(2, "v"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "the values do not show in lse", ToTheBit: true, Pass: op.Forward, Outputs: []string{"lse"},
		Applies: seesKeys,
		Second:  truth.ScaledBy(2, "v"), States: truth.Stays,
	},
	truth.Relation{
		Name: "the order of the keys does not matter", Pass: op.Forward, Outputs: []string{"o", "lse"},
		Applies: seesAllKeys, Second: reordered, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "shared key heads are what repeated ones are", Pass: op.Forward, Outputs: []string{"o", "lse"},
		Applies: sharesKeys, Second: repeatedHeads, States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "the gradients of the values add up to the upstream gradient", Pass: op.Backward,
		Outputs: []string{"grad_v"}, Applies: recomputesWeights, States: valueGradients,
	},
	truth.Relation{
		Name: "keys and values that are masked do not show in the gradient of q", ToTheBit: true,
		Pass:    op.Backward,
		Outputs: []string{"grad_q"}, Applies: hidesKeys, Second: hiddenChanged, SavedFollow: true,
		States: unmoved,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_k", "grad_v"}, Applies: seesKeys,
		Second: truth.ScaledBy(2, "grad_o"), States: truth.Scales(2),
	},
)

func seesKeys(c op.Case) bool { return truth.HasElements(1, "batch", "seq_q", "seq_kv")(c) }

// dimV returns the size of a value and of an output.
func dimV(c op.Case) int64 {
	if n, ok := c.Dims.Lookup("head_dim_v"); ok {
		return n
	}
	return c.Dims.Get("head_dim")
}

func causal(c op.Case) bool { return c.Attrs.Number("causal") != 0 }

func seesAllKeys(c op.Case) bool { return seesKeys(c) && !causal(c) }

func sharesKeys(c op.Case) bool { return seesKeys(c) && c.Dims.Get("heads_q") > c.Dims.Get("heads_kv") }

// hidesKeys reports whether there is a query, not the last, and a key to hide from it.
func hidesKeys(c op.Case) bool { return seesKeys(c) && causal(c) && truth.HasElements(2, "seq_q")(c) }

// recomputesWeights reports whether the case is a backward chained to its own forward, whose weights P add up
// to 1, in which every query sees a key.
func recomputesWeights(c op.Case) bool {
	return seesKeys(c) && c.Saved == "own" && (!causal(c) || c.Dims.Get("seq_kv") >= c.Dims.Get("seq_q"))
}

// hiddenKeys returns the number of the last keys that a leak test changes: about half of those that the
// causal mask hides from the first query that sees a key. No query before the last that many sees them.
func hiddenKeys(c op.Case) int64 {
	return (min(c.Dims.Get("seq_q"), c.Dims.Get("seq_kv")) + 1) / 2
}

// visibleKeys returns the number of keys that query i sees.
func visibleKeys(c op.Case, i int64) int64 {
	n := c.Dims.Get("seq_kv")
	if !causal(c) {
		return n
	}
	return max(0, min(n, i+1+n-c.Dims.Get("seq_q")))
}

// hiddenChanged makes the last keys and values large, of either sign: a weight that should be exactly 0 then
// shows. The tensors that a driver saved for a backward follow: with the lse of the former keys, exp(score -
// lse) would overflow for the queries that see the changed ones, and no contract has a result there.
func hiddenChanged(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	n := c.Dims.Get("seq_kv")
	from := n - hiddenKeys(c)
	with := func(name string, dim int64, size float64) tensor.Tensor {
		return truth.Changed(first.Get(name), func(i int64, v float64) float64 {
			switch {
			case i/dim%n < from:
				return v
			case i%3 == 0:
				return -size
			}
			return size
		})
	}
	return c, []tensor.Tensor{with("k", c.Dims.Get("head_dim"), 30), with("v", dimV(c), 250)}
}

// unmoved: the outputs of the queries that do not see the changed keys keep every bit.
func unmoved(a *truth.Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	c := a.First.Case
	queries, perQuery := c.Dims.Get("seq_q"), int64(1)
	if len(shape) == 4 {
		perQuery = shape[3]
	}
	at := []int64{} // not nil: none is none
	for i := range a.First.Target(output).Elements() {
		if i/perQuery%queries < queries-hiddenKeys(c) {
			at = append(at, i)
		}
	}
	return a.Equal(output, 1, at)
}

// betweenValues: weights are not negative and add up to 1, so that an output lies within its values, up to
// its error.
func betweenValues(a *truth.Related, output string) judge.Statement {
	v, y, t, c := a.First.In("v"), a.First.Out(output), a.First.Target(output), a.First.Case
	if a.Failed() {
		return judge.Statement{}
	}
	dim, queries, keys := dimV(c), c.Dims.Get("seq_q"), c.Dims.Get("seq_kv")
	low, high := runningBounds(v, keys, dim)
	headsQ, headsKV := c.Dims.Get("heads_q"), c.Dims.Get("heads_kv")
	judged := []int64{} // the judged elements whose query sees a key
	for k := range int64(len(t.T)) {
		if visibleKeys(c, truth.PlaceOf(t.Index, k)/dim%queries) > 0 {
			judged = append(judged, k)
		}
	}
	return judge.Statement{Shape: t.Shape, N: int64(len(judged)), At: func(n int64) judge.Claim {
		i, allowed := truth.PlaceOf(t.Index, judged[n]), t.T[judged[n]]
		head := i / (dim * queries)
		last := visibleKeys(c, i/dim%queries) - 1
		p := ((head/headsQ*headsKV+head%headsQ/(headsQ/headsKV))*keys+last)*dim + i%dim
		least, _ := t.Interval(low[p], allowed)
		_, most := t.Interval(high[p], allowed)
		return judge.Claim{Position: i, Got: y[i], Low: least, High: most}
	}}
}

// runningBounds returns, for v[heads, keys, dim], the smallest and the largest value up to and with each key.
func runningBounds(v []float64, keys, dim int64) (low, high []float64) {
	low, high = make([]float64, len(v)), make([]float64, len(v))
	head := int(keys * dim)
	parallel.Each(len(v)/max(head, 1), func(h int) {
		for i := h * head; i < (h+1)*head; i++ {
			low[i], high[i] = v[i], v[i]
			if before := i - int(dim); before >= h*head {
				low[i], high[i] = math.Min(low[before], v[i]), math.Max(high[before], v[i])
			}
		}
	})
	return low, high
}

// seeing lists the elements of o whose query sees a key.
func seeing(c op.Case, elements, dim int64) []int64 {
	at := []int64{}
	for i := range elements {
		if visibleKeys(c, i/dim%c.Dims.Get("seq_q")) > 0 {
			at = append(at, i)
		}
	}
	return at
}

// constantValues replaces the value of every key by that of the first.
func constantValues(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	v := first.Get("v")
	block := dimV(c) * c.Dims.Get("seq_kv")
	return c, []tensor.Tensor{truth.Moved(v, v.Shape,
		func(i int64) int64 { return i/block*block + i%dimV(c) })}
}

func isConstant(a *truth.Related, output string) judge.Statement {
	v, y, t, c := a.Second.In("v"), a.Second.Out(output), a.Second.Target(output), a.Second.Case
	if a.Failed() {
		return judge.Statement{}
	}
	dim, queries, keys := dimV(c), c.Dims.Get("seq_q"), c.Dims.Get("seq_kv")
	headsQ, headsKV := c.Dims.Get("heads_q"), c.Dims.Get("heads_kv")
	at := seeing(c, t.Elements(), dim)
	return judge.Statement{Shape: t.Shape, N: int64(len(at)), At: func(i int64) judge.Claim {
		i = at[i]
		head := i / (dim * queries)
		low, high := t.Interval(v[(head/headsQ*headsKV+head%headsQ/(headsQ/headsKV))*keys*dim+i%dim], t.T[i])
		return judge.Claim{Position: i, Got: y[i], Low: low, High: high}
	}}
}

// reordered reverses the order of keys and values.
func reordered(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	n := c.Dims.Get("seq_kv")
	reversed := func(x tensor.Tensor) tensor.Tensor {
		dim := x.Shape[3]
		return truth.Moved(x, x.Shape, func(i int64) int64 { return i + (n-1-2*(i/dim%n))*dim })
	}
	return c, []tensor.Tensor{reversed(first.Get("k")), reversed(first.Get("v"))}
}

// repeatedHeads replaces the shared key heads by one for every query head: a copy of the one it shares.
func repeatedHeads(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	headsQ, headsKV := c.Dims.Get("heads_q"), c.Dims.Get("heads_kv")
	repeated := func(x tensor.Tensor) tensor.Tensor {
		block := x.Shape[2] * x.Shape[3]
		return truth.Moved(x, []int64{x.Shape[0], headsQ, x.Shape[2], x.Shape[3]}, func(i int64) int64 {
			head := i / block
			return (head/headsQ*headsKV+head%headsQ/(headsQ/headsKV))*block + i%block
		})
	}
	return truth.WithDims(c, map[string]int64{"heads_kv": headsQ}),
		[]tensor.Tensor{repeated(first.Get("k")), repeated(first.Get("v"))}
}

// valueGradients: dV_j = sum_i P_ij dO_i and sum_j P_ij = 1, so that the gradients of all values of a key
// head add up to the upstream gradients of the query heads that share it.
func valueGradients(a *truth.Related, output string) judge.Statement {
	dv, dout, t, c := a.First.Out(output), a.First.In("grad_o"), a.First.Target(output), a.First.Case
	if a.Failed() {
		return judge.Statement{}
	}
	off := a.First.Error(output)
	dim, queries, keys := dimV(c), c.Dims.Get("seq_q"), c.Dims.Get("seq_kv")
	group := c.Dims.Get("heads_q") / c.Dims.Get("heads_kv")
	heads := t.Elements() / (keys * dim)
	return judge.Statement{Shape: []int64{heads, dim}, N: heads * dim, At: func(i int64) judge.Claim {
		head, d := i/dim, i%dim
		value := func(j int) int64 { return (head*keys+int64(j))*dim + d }
		// the heads of a group follow each other
		upstream := func(q int) float64 { return dout[(head*group*queries+int64(q))*dim+d] }
		sum := truth.SumOf(int(keys), func(j int) float64 { return dv[value(j)] })
		want := truth.SumOf(int(group*queries), upstream)
		size := truth.SumOf(int(group*queries), func(q int) float64 { return math.Abs(upstream(q)) })
		e := truth.SumOf(int(keys),
			func(j int) float64 { return off(value(j)) }) + judge.G(keys+group*queries)*judge.U64*size
		return judge.Claim{Position: i, Got: sum, Low: want - e, High: want + e}
	}}
}
