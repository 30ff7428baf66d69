package rope

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate("rope",
	truth.Relation{
		Name: "each pair keeps its norm", Pass: op.Forward, Outputs: []string{"q_out", "k_out"},
		Applies: truth.HasElements(1, "batch", "seq"), States: keepsNorm,
	},
	truth.Relation{
		Name: "position 0 stays what it is", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"q_out", "k_out"},
		Applies: fromTheStart, States: startStays,
	},
	truth.Relation{
		Name: "rotating back gives the input", Pass: op.Forward, Outputs: []string{"q_out", "k_out"},
		Applies: truth.HasElements(1, "batch", "seq"), Second: backAgain, States: withoutAngles,
	},
	truth.Relation{
		Name: "doubled inputs double the outputs", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"q_out", "k_out"},
		Applies: truth.HasElements(1, "batch", "seq"), Second: truth.ScaledBy(2, "q", "k"),
		States: truth.Scales(2),
	},
	truth.Relation{
		Name: "each pair keeps its norm", Pass: op.Backward, Outputs: []string{"grad_q", "grad_k"},
		Applies: truth.HasElements(1, "batch", "seq"), States: keepsNorm,
	},
	truth.Relation{
		Name: "position 0 stays what it is", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_k"},
		Applies: fromTheStart, States: startStays,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_q", "grad_k"}, Applies: truth.HasElements(1, "batch", "seq"),
		Second: truth.ScaledBy(2, "grad_q_out", "grad_k_out"), States: truth.Scales(2),
	},
)

// inputsTurned names the input that each output is a rotation of.
var inputsTurned = map[string]string{
	"q_out": "q", "k_out": "k", "grad_q": "grad_q_out",
	"grad_k": "grad_k_out",
}

func fromTheStart(c op.Case) bool {
	return truth.HasElements(1, "batch", "seq")(c) && c.Attrs.Number("offset") == 0 &&
		truth.HasElements(2, "head_dim")(c)
}

// turns lists for each element of x[batch, seq, heads, head_dim] its partner, and its cos and sin.
type turns struct {
	dim, heads, seq, offset int64
	interleaved             bool
	cos, sin                []float64
}

func turnsOf(a *truth.Answered, output string) turns {
	shape := a.Target(output).Shape
	if len(shape) != 4 {
		return turns{}
	}
	return turns{
		dim: shape[3], heads: shape[2], seq: shape[1], offset: int64(a.Attrs.Number("offset")),
		interleaved: a.Attrs.Number("interleaved") != 0,
		cos:         a.In("cos"), sin: a.In("sin"),
	}
}

func (p turns) of(i int64) (partner, angle int64) {
	j, half := i%p.dim, p.dim/2
	row := (p.offset + i/(p.dim*p.heads)%p.seq) * half
	switch {
	case p.interleaved:
		return i ^ 1, row + j/2
	case j < half:
		return i + half, row + j
	}
	return i - half, row + j - half
}

// keepsNorm: y1^2 + y2^2 = (x1^2 + x2^2)(cos^2 + sin^2), with the tables as they are; a y that is off by e
// moves its square by 2|y|e + e^2.
func keepsNorm(a *truth.Related, output string) judge.Statement {
	x, y, pair := a.First.In(inputsTurned[output]), a.First.Out(output), turnsOf(a.First, output)
	if a.Failed() {
		return judge.Statement{}
	}
	off := a.First.Error(output)
	square := func(i int64) (s, e float64) { return y[i] * y[i], (2*math.Abs(y[i]) + off(i)) * off(i) }
	return judge.Statement{
		Shape: a.First.Target(output).Shape, N: int64(len(y)),
		At: func(i int64) judge.Claim {
			partner, angle := pair.of(i)
			s1, e1 := square(i)
			s2, e2 := square(partner)
			want := (x[i]*x[i] + x[partner]*x[partner]) * (pair.cos[angle]*pair.cos[angle] +
				pair.sin[angle]*pair.sin[angle])
			e := e1 + e2 + 8*judge.U64*(want+s1+s2)
			return judge.Claim{Position: i, Got: s1 + s2, Low: want - e, High: want + e}
		},
	}
}

// startStays: where cos is 1 and sin is 0 both products and their sum are exact.
func startStays(a *truth.Related, output string) judge.Statement {
	x, y, pair := a.First.In(inputsTurned[output]), a.First.Out(output), turnsOf(a.First, output)
	if a.Failed() {
		return judge.Statement{}
	}
	var still []int64
	for i := range int64(len(y)) {
		if _, angle := pair.of(i); pair.cos[angle] == 1 && pair.sin[angle] == 0 {
			still = append(still, i)
		}
	}
	t := a.First.Target(output)
	return judge.Statement{Shape: t.Shape, N: int64(len(still)), At: func(i int64) judge.Claim {
		i = still[i]
		low, high := t.Interval(x[i], 0)
		return judge.Claim{Position: i, Got: y[i], Low: low, High: high}
	}}
}

// backAgain rotates the outputs by the negative angle.
func backAgain(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	replaced := []tensor.Tensor{truth.Changed(first.Get("sin"),
		func(_ int64, v float64) float64 { return -v })}
	for _, output := range []string{"q_out", "k_out"} {
		t := first.Get(output)
		t.Name, t.Data = inputsTurned[output], slices.Clone(t.Data)
		replaced = append(replaced, t)
	}
	return c, replaced
}

// withoutAngles: the second call returns x (cos^2 + sin^2), up to its own error and the error of the first,
// rotated into it.
func withoutAngles(a *truth.Related, output string) judge.Statement {
	x, y, pair, t := a.First.In(inputsTurned[output]), a.Second.Out(output), turnsOf(a.First, output),
		a.Second.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	off := a.First.Error(output)
	return judge.Statement{Shape: t.Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		partner, angle := pair.of(i)
		cos, sin := pair.cos[angle], pair.sin[angle]
		want := x[i] * (cos*cos + sin*sin)
		e := t.T[i] + math.Abs(cos)*off(i) + math.Abs(sin)*off(partner) + 8*judge.U64*(math.Abs(x[i])+
			math.Abs(x[partner]))
		low, high := t.Interval(want, e)
		return judge.Claim{Position: i, Got: y[i], Low: low, High: high}
	}}
}
