// Package topk is the truth of the k largest elements of each row.
package topk

import "triad/internal/truth/selection"

var _ = selection.Register("top_k", selection.Operator{
	From: "x", Values: "values", Places: "indices",
	Score:   func(x float64) float64 { return x },
	Permits: []string{"exact"},
})
