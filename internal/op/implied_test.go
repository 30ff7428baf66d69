package op

import (
	"slices"
	"strings"
	"testing"
)

// wide is the spec of the tests with an implied dim: y may have other columns than x.
var wide = strings.NewReplacer(
	"default = \"2 * groups\"\n", "\n[[dims]]\nname = \"wide\"\ndefault = \"cols\"\nimplied = true\n",
	"[[outputs]]\nname = \"y\"\nshape = [\"rows\", \"cols\"]",
	"[[outputs]]\nname = \"y\"\nshape = [\"rows\", \"wide\"]",
	"rows * cols * (size + size_y)", "rows * (cols * size + wide * size_y)",
	"groups = 2,", "groups = 2, cols = 4,", "groups = 3,", "groups = 3, cols = 6,",
	"groups = 1, device",
	"groups = 1, cols = 2, wide = 3, quick = true }, { rows = 7, groups = 1, cols = 2, device",
	"groups = 4 }", "groups = 4, cols = 8, wide = 16 }",
).Replace(scale)

func loadWide(t *testing.T) *Spec {
	t.Helper()
	s, err := Load("wide.toml", []byte(wide))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestImpliedDim: a case holds an implied dim only where its size is not the default, and is the same case
// whether the default was given or not.
func TestImpliedDim(t *testing.T) {
	t.Parallel()
	s := loadWide(t)
	made := func(s *Spec, sizes map[string]int64) Case {
		c, err := s.NewCase(Case{Pass: Forward, DType: "fp32"}, sizes, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	base := map[string]int64{"rows": 4, "groups": 2, "cols": 4}
	before := made(s.WithoutImplied(), base)
	given := map[string]int64{"rows": 4, "groups": 2, "cols": 4, "wide": 4}
	for _, sizes := range []map[string]int64{base, given} {
		if c := made(s, sizes); c.Key() != before.Key() || len(c.Dims) != 3 {
			t.Errorf("%v: case %v, want %v", sizes, c, before)
		}
	}
	given["wide"] = 6
	c := made(s, given)
	outputs, err := s.Outputs(c)
	if err != nil || c.Key() == before.Key() || !slices.Equal(outputs[0].Shape, []int64{4, 6}) {
		t.Errorf("case %v: y %v, error %v", c, outputs, err)
	}
	for _, want := range []struct {
		of   Case
		size int64
	}{{before, 4}, {c, 6}} {
		if n, ok := s.Size(want.of.Dims, "wide"); !ok || n != want.size {
			t.Errorf("%v: wide is %d, want %d", want.of, n, want.size)
		}
	}
	if bytes, _, _ := s.Cost(before); bytes != 4*(4*4+4*2) {
		t.Errorf("%d bytes", bytes)
	}
}

// TestWithoutImplied: nothing of an operator without its implied dims names them; shapes that give one are
// left out.
func TestWithoutImplied(t *testing.T) {
	t.Parallel()
	s := loadWide(t)
	plain := s.WithoutImplied()
	if plain.isDim("wide") || plain.WithoutImplied() != plain || len(plain.Bench) != 0 {
		t.Errorf("dims %v, bench %v", plain.Dims, plain.Bench)
	}
	if !s.GivesImplied(map[string]int64{"wide": 1}) || s.GivesImplied(map[string]int64{"cols": 1}) {
		t.Error("GivesImplied")
	}
	for _, level := range []Level{LevelQuick, LevelDefault, LevelFull} {
		all, err := s.Expand(Options{Level: level})
		before, errBefore := plain.Expand(Options{Level: level})
		if err != nil || errBefore != nil {
			t.Fatal(err, errBefore)
		}
		named := Options{Level: level, Dims: map[string]int64{"rows": 3, "groups": 1, "cols": 5}}
		one, err := s.Expand(named)
		same, errSame := plain.Expand(named)
		if err != nil || errSame != nil || len(one.Cases) != len(same.Cases) {
			t.Errorf("%v: %d cases of named sizes, want %d (%v, %v)", level, len(one.Cases), len(same.Cases),
				err, errSame)
		}
		if len(all.Cases) <= len(before.Cases) {
			t.Errorf("%v: %d cases, %d without the dim", level, len(all.Cases), len(before.Cases))
		}
	}
}

func TestImpliedByNoDim(t *testing.T) {
	t.Parallel()
	_, err := Load("wide.toml", []byte(strings.Replace(wide, `default = "cols"`, `default = "cols + 1"`, 1)))
	if err == nil || !strings.Contains(err.Error(), `dim wide is implied: its default "cols + 1" is no dim`) {
		t.Errorf("error %v", err)
	}
}
