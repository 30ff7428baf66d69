package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"triad/internal/op"
)

// asItIsRead begins the part of the sentence about a guess that differs from case to case.
const asItIsRead = ". As it is read: "

// assumedWords returns the sentence of a record that rests on a guess: what was assumed, and what to write.
func assumedWords(message string) string {
	sentence, _, _ := strings.Cut(clean(message), asItIsRead)
	return sentence
}

// doubts prints once for each implementation and guess why it is NOT_UNDERSTOOD, with the dtypes.
func doubts(w io.Writer, style Style, lines []group) error {
	type doubt struct{ impl, why string }
	var order []doubt
	dtypes := map[doubt][]string{}
	for _, g := range lines {
		for _, r := range g.records {
			if r.Status != op.StatusNotUnderstood {
				continue
			}
			d := doubt{clean(g.impl), assumedWords(r.Message)}
			if dtypes[d] == nil {
				order = append(order, d)
			}
			if !slices.Contains(dtypes[d], g.dtype) {
				dtypes[d] = append(dtypes[d], g.dtype)
			}
		}
	}
	for _, d := range order {
		if err := write(w, fmt.Sprintf("\n  %s  %s in %s: %s\n", style.status(op.StatusNotUnderstood), d.impl,
			strings.Join(dtypes[d], " and "), d.why)); err != nil {
			return err
		}
	}
	return nil
}
