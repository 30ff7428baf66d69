package ownfile

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// lineCases holds the texts of testdata/lines.toml.
type lineCases struct {
	Cases []struct{ Name, Operator, Text, Says, Not, Refused string }
}

// The lines of a file give numbers, the launch and the memory; what they do not give stays open.
func TestReadFromLines(t *testing.T) {
	for _, c := range readTable[lineCases](t, "lines.toml").Cases {
		all, err := Bind(cfacts.ReadCUDA(c.Text), binding.Request{}, spec(t, c.Operator),
			[]op.Pass{op.Forward},
			binding.Options{})
		if c.Refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.Refused) {
				t.Errorf("%s: error %v, want %q", c.Name, err, c.Refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		said := Describe(all[0])
		if !strings.Contains(said, c.Says) || c.Not != "" && strings.Contains(said, c.Not) {
			t.Errorf("%s: want %q and not %q:\n%s", c.Name, c.Says, c.Not, said)
		}
	}
}
