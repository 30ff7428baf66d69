package op_test

import (
	"slices"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// TestSeedReachesAttributes: another seed of the inputs changes the attributes that seed random numbers,
// except for those that are given; the default seed keeps the spec's values.
func TestSeedReachesAttributes(t *testing.T) {
	at, name := -1, ""
	for i, o := range catalog.All() {
		for _, a := range o.Spec.Attributes {
			if a.Draws {
				at, name = i, a.Name
			}
		}
	}
	if at < 0 {
		t.Fatal("no operator draws random numbers")
	}
	s := catalog.All()[at].Spec
	values := func(o op.Options) (all []string) {
		plan, err := s.Expand(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			all = append(all, c.Attrs.Text(name))
		}
		return all
	}
	plain := values(op.Options{})
	if !slices.Equal(plain, values(op.Options{Seed: op.DefaultSeed})) {
		t.Error("the default seed changes the spec's values")
	}
	other := values(op.Options{Seed: 7})
	for i, v := range other {
		if v == plain[i] {
			t.Errorf("case %d has %s = %s under either seed", i, name, v)
		}
	}
	for _, v := range values(op.Options{Seed: 7, Attributes: map[string]string{name: "3"}}) {
		if v != "3" {
			t.Errorf("%s = %s, want 3, as asked for", name, v)
		}
	}
}
