package ownfile

import (
	"strings"
	"testing"

	"triad/internal/ownfile/binding"
)

// A Python file that rounds halves away from zero is not held to an operator that rounds them to even; a file
// that uses torch.round is, and so is one of an operator without halves.
func TestHalvesThatAreRoundedAway(t *testing.T) {
	for line, away := range map[string]bool{
		"y = tl.where(x >= 0, tl.floor(x + 0.5), tl.ceil(x - 0.5))": true,
		"y = tl.floor(x * scale + float(0.5))":                      true,
		"y = libdevice.round(x)":                                    true,
		"y = torch.round(x)":                                        false,
		"y = torch.floor(x)  # + 0.5":                               false,
	} {
		for _, halves := range [][]string{nil, {"integers"}} {
			s, r := rowsAndCols(t), binding.Request{Path: "mine.py", Parse: parsed}
			s.Own.Halves = halves
			file := ReadPython("def f(x):\n    "+line+"\n    return y\n", parsed)
			bindings, err := Bind(file, r, s, s.Passes(), binding.Options{})
			if err != nil {
				t.Fatal(err)
			}
			doubt, want := bindings[0].OtherHalves(), away && halves != nil
			if strings.Contains(doubt, "--distribution normal") != want {
				t.Errorf("%s: doubt %q, want one: %v", line, doubt, want)
			}
		}
	}
}
