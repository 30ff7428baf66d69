package ownfile

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/extents"
)

// Sizes that the comments of a function name alike are equal; those with two names need not be.
func TestSizesNamedAlike(t *testing.T) {
	const text = `
def attention(q, k, v):
    """WORDS"""
    return f(q, k, v)
`
	for words, want := range map[string]bool{
		"q: (B, H, T, D)\n    k: (B, H, T, D)":     true,
		"q, k, v: [B, H, T, D]":                    true,
		"q: (B, H, T, D)\n    k: (B, H, S, D)":     true, // the heads are
		"q: (B, H, L, D)\n    k: (B, G, S, D)":     false,
		"q: (T, D)\n    k: (T, D)":                 false,
		"queries (B, H, T, D)\n    keys (B, H, T)": false,
		"no words": false,
	} {
		r := binding.Request{Path: "mine.py", Parse: parsed}
		all, err := Bind(Read(r, strings.ReplaceAll(text, "WORDS", words), nil), r, headsAndTokens(t),
			[]op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := extents.Equal(all[0])
		if (len(got) > 0) != want {
			t.Errorf("%q: equal sizes %v, want some: %v", words, got, want)
		}
		if strings.Contains(words, "S, D") && slices.ContainsFunc(got,
			func(g []string) bool { return slices.Contains(g, "seq_kv") }) {
			t.Errorf("%q: equal sizes %v, of two names", words, got)
		}
	}
}
