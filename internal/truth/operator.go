package truth

import (
	"sync"

	"triad/internal/catalog"
	"triad/internal/op"
)

// Operator is an operator with its truth: of the catalog, or, with a Reference, of a user's own.
type Operator struct {
	Spec      *op.Spec
	Reference Reference    // nil: the truth is the catalog's
	Findings  []op.Finding // known faults of libraries' rows
}

// fromCatalog are the operators of the catalog, by name.
var fromCatalog = sync.OnceValue(func() []*Operator {
	var all []*Operator
	for _, o := range catalog.All() {
		all = append(all, &Operator{Spec: o.Spec, Findings: o.Findings})
	}
	return all
})

// All lists every operator of the catalog by name, as catalog.All does.
func All() []*Operator { return fromCatalog() }

// Get gives the operator of the catalog called name; see catalog.Get.
func Get(name string) (*Operator, error) {
	if _, err := catalog.Get(name); err != nil {
		return nil, err
	}
	for _, o := range fromCatalog() {
		if o.Spec.Name == name {
			return o, nil
		}
	}
	panic("the catalog has an operator that its list lacks: " + name)
}
