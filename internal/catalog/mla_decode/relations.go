package mla_decode

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/latent"
)

var _ = truth.Relate("mla_decode",
	truth.Relation{
		Name: "each output lies between the smallest and the largest value it sees", Pass: op.Forward,
		Outputs: []string{"o"}, Applies: some, OfSample: true, States: latent.BetweenValues,
	},
	truth.Relation{
		Name: "what lies past a length does not show", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"o", "lse"}, Applies: spare, Second: latent.NothingPastLengths, States: truth.Stays,
	},
	truth.Relation{
		Name: "where a block lies in the cache does not matter", ToTheBit: true, Pass: op.Forward,
		Outputs: []string{"o", "lse"}, Applies: some, Second: latent.TurnedBlocks, States: truth.Stays,
	},
	truth.Relation{
		Name: "a query of zeros weighs all tokens alike", Pass: op.Forward, Outputs: []string{"lse"},
		Applies: some, Second: latent.ZeroQueries, States: latent.CountsTokens,
	},
)

// some reports whether a query sees a token: under zeros every sequence may be empty.
func some(c op.Case) bool {
	return truth.HasElements(1, "batch")(c) &&
		(c.Distribution != "zeros" || c.Attrs.Number("least_length") > 0)
}

// spare reports whether the cache has rows that no sequence can have.
func spare(c op.Case) bool {
	tokens, pages := c.Dims.Get("seq_kv"), (c.Dims.Get("seq_kv")+63)/64
	return some(c) && (tokens%64 != 0 || c.Dims.Get("blocks") > c.Dims.Get("batch")*pages)
}
