package quantize_fp8

import (
	"strings"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

var _ = truth.Relate("quantize_fp8",
	truth.Relation{
		Name: "doubled inputs leave q, and halve what torchao stores", Pass: op.Forward, Outputs: all,
		// a small group has the least scale of the recipe, and a large one leaves fp32
		Applies: func(c op.Case) bool {
			return someRows(c) && c.Distribution == "normal" && c.Attrs.Text("recipe") == "torchao"
		},
		Second: truth.ScaledBy(2, "x"), States: halved,
	},
	truth.Relation{
		Name: "negated inputs negate q and leave the scales", Pass: op.Forward, Outputs: all,
		Applies: someRows, Second: truth.ScaledBy(-1, "x"), States: negated,
	},
	truth.Relation{
		Name: "the last row alone gives what it gives among others", Pass: op.Forward,
		Outputs: []string{"q", "scale"},
		Applies: func(c op.Case) bool {
			per := c.Attrs.Text("per")
			return truth.RowsAndColumns(c) && (per == "row" || per == "block")
		},
		Second: truth.LastRow("x"), States: truth.LastRowPlaces,
	},
)

var all = []string{"q", "scale", "q_t", "scale_t"}

func someRows(c op.Case) bool { return truth.HasElements(1, "rows")(c) }

func halved(a *truth.Related, output string) judge.Statement {
	if !strings.HasPrefix(output, "scale") {
		return truth.Stays(a, output)
	}
	// a group of zeros has the same scale before and after
	ofZeros, _ := recipeOf(a.First.Case).Scale(0)
	others := []int64{}
	for i, scale := range a.First.Target(output).R {
		if scale != ofZeros {
			others = append(others, int64(i))
		}
	}
	return a.Equal(output, 0.5, others)
}

func negated(a *truth.Related, output string) judge.Statement {
	if strings.HasPrefix(output, "scale") {
		return truth.Stays(a, output)
	}
	return a.Agree(output, -1, nil, func(i int64) int64 { return i })
}
