package operatorguess

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/pyfacts"
)

// guessCase is a file, and the operators that it may implement.
type guessCase struct {
	Name, File, Text, Evidence string
	Want, Without              []string
	Several                    bool // any two or more
	Misfit                     bool // none of its functions has the parameters
}

// A file says by its lines, its names, its body or its parameters which operator it implements.
func TestOf(t *testing.T) {
	content, err := os.ReadFile("testdata/guess.toml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Cases []guessCase }
	if err := toml.NewDecoder(bytes.NewReader(content)).DisallowUnknownFields().Decode(&table); err != nil {
		t.Fatal(err)
	}
	var specs []*op.Spec
	for _, o := range catalog.All() {
		specs = append(specs, o.Spec)
	}
	levels := map[string][]Evidence{
		"": {None}, "parameters": {Parameters}, "body": {Body}, "name": {Function, FileName, Judged},
		"declared": {Declared},
	}
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r := binding.Request{
				Path:  c.File,
				Parse: func(string) *pyfacts.File { return &pyfacts.File{} },
			}
			got := Of(ownfile.Read(r, c.Text, nil), r, c.Text, specs)
			if c.Several && len(got) < 2 || !c.Several && !slices.Equal(Named(got), c.Want) {
				t.Fatalf("%+v, want %v", got, c.Want)
			}
			for _, g := range got {
				if !slices.Contains(levels[c.Evidence], g.By) || g.Fits == c.Misfit {
					t.Errorf("%+v, want the evidence %q, a misfit: %t", g, c.Evidence, c.Misfit)
				}
				if slices.Contains(c.Without, g.Operator) {
					t.Errorf("%+v is one of them", g)
				}
				if g.By.Sure() != (c.Evidence == "name" || c.Evidence == "declared") {
					t.Errorf("%+v is sure: %t", g, g.By.Sure())
				}
			}
		})
	}
}
