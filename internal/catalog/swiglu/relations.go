package swiglu

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

var _ = truth.Relate("swiglu",
	truth.Relation{
		Name: "the sign is that of gate times up", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), States: sameSign,
	},
	truth.Relation{
		Name: "no element lies beyond gate times up", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), States: bounded,
	},
	truth.Relation{
		Name: "a doubled up doubles the output", ToTheBit: true, Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), Second: truth.ScaledBy(2, "up"),
		States: truth.Scales(2),
	},
	truth.Relation{
		Name: "gate and -gate give outputs gate times up apart", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), Second: truth.ScaledBy(-1, "gate"), States: oddPart,
	},
	truth.Relation{
		Name: "a row alone gives what it gives among others", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.RowsAndColumns, Second: truth.LastRow("gate", "up"), States: truth.LastRowPlaces,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_gate", "grad_up"}, Applies: truth.HasElements(1, "rows", "cols"),
		Second: truth.ScaledBy(2, "grad_y"), States: truth.Scales(2),
	},
	truth.Relation{
		Name: "a doubled up doubles the gradient of gate", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_gate"},
		Applies: truth.HasElements(1, "rows", "cols"), Second: truth.ScaledBy(2, "up"),
		States: truth.Scales(2),
	},
	truth.Relation{
		Name: "the gradient of up does not depend on up", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_up"},
		Applies: truth.HasElements(1, "rows", "cols"), Second: truth.ScaledBy(2, "up"), States: truth.Stays,
	},
)

// sameSign: a sigmoid is not negative, so that y has the sign of gate*up, or is 0.
func sameSign(a *truth.Related, output string) judge.Statement {
	y, gate, up := a.First.Out(output), a.First.In("gate"), a.First.In("up")
	if a.Failed() {
		return judge.Statement{}
	}
	return judge.Statement{
		Shape: a.First.Target(output).Shape, N: int64(len(y)),
		At: func(i int64) judge.Claim {
			c := judge.Claim{Position: i, Got: y[i], Low: 0, High: math.Inf(1)}
			if math.Signbit(gate[i]) != math.Signbit(up[i]) {
				c.Low, c.High = math.Inf(-1), 0
			}
			return c
		},
	}
}

// bounded: a sigmoid is at most 1, so that |y| <= |gate*up|, up to the error of y.
func bounded(a *truth.Related, output string) judge.Statement {
	y, gate, up, t := a.First.Out(output), a.First.In("gate"), a.First.In("up"), a.First.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	return judge.Statement{Shape: t.Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		_, most := t.Interval(math.Abs(gate[i]*up[i]), t.T[i])
		return judge.Claim{Position: i, Got: y[i], Low: -most, High: most}
	}}
}

// oddPart: silu(g) - silu(-g) = g, so that both calls' outputs lie gate*up apart, up to the errors of both.
func oddPart(a *truth.Related, output string) judge.Statement {
	gate, up, y1, y2 := a.First.In("gate"), a.First.In("up"), a.First.Out(output), a.Second.Out(output)
	if a.Failed() {
		return judge.Statement{}
	}
	off1, off2 := a.First.Error(output), a.Second.Error(output)
	return judge.Statement{
		Shape: a.First.Target(output).Shape, N: int64(len(y1)),
		At: func(i int64) judge.Claim {
			want := gate[i] * up[i]
			off := off1(i) + off2(i) + 4*judge.U64*(math.Abs(want)+math.Abs(y1[i])+math.Abs(y2[i]))
			return judge.Claim{Position: i, Got: y1[i] - y2[i], Low: want - off, High: want + off}
		},
	}
}
