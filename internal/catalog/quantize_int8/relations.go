package quantizeint8

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

var _ = truth.Relate("quantize_int8",
	truth.Relation{
		Name: "doubled inputs double the scale and leave q", Pass: op.Forward,
		Outputs: []string{"q", "scale"}, Applies: someRows, Second: truth.ScaledBy(2, "x"), States: doubled,
	},
	truth.Relation{
		Name: "negated inputs negate q where the zero point is 0", Pass: op.Forward, Outputs: []string{"q"},
		Applies: func(c op.Case) bool { return someRows(c) && c.Attrs.Text("mode") == "symmetric" },
		Second:  truth.ScaledBy(-1, "x"), States: negated,
	},
	truth.Relation{
		Name: "the last row alone gives what it gives among others", Pass: op.Forward,
		Outputs: []string{"q", "scale", "zero"},
		Applies: func(c op.Case) bool { return truth.RowsAndColumns(c) && c.Attrs.Text("per") == "row" },
		Second:  truth.LastRow("x"), States: truth.LastRowPlaces,
	},
	truth.Relation{
		Name: "reversed columns reverse q", Pass: op.Forward, Outputs: []string{"q"},
		Applies: someRows, Second: truth.Reversed("x"), States: truth.ReversedPlaces,
	},
)

func someRows(c op.Case) bool { return truth.HasElements(1, "rows")(c) }

// doubled states that the scale is doubled, and that q stays.
func doubled(a *truth.Related, output string) judge.Statement {
	if output == "scale" {
		return a.Equal(output, 2, nil)
	}
	return truth.Stays(a, output)
}

func negated(a *truth.Related, output string) judge.Statement {
	return a.Agree(output, -1, nil, func(i int64) int64 { return i })
}
