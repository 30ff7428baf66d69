package truth

import (
	"sync"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/workload"
)

// Operator is an operator with its truth: one of the catalog or, with a Reference, a user's own.
type Operator struct {
	Spec      *op.Spec
	Reference Reference    // nil: the truth is the catalog's
	Findings  []op.Finding // known faults of libraries' rows
}

// Inputs returns the inputs of a case; see workload.Inputs.
func (o *Operator) Inputs(c op.Case, seed uint64) ([]tensor.Tensor, error) {
	var given map[string]tensor.Tensor
	if d, ok := o.Reference.(Drawer); ok && o.Spec.IsDrawn() {
		var err error
		if given, err = d.Draw(c, seed); err != nil {
			return nil, err
		}
	}
	return workload.InputsWith(o.Spec, c, seed, given)
}

// WithoutImplied returns the operator as users' files are judged on it; see op.Spec.WithoutImplied.
func (o *Operator) WithoutImplied() *Operator {
	plain := *o
	plain.Spec = o.Spec.WithoutImplied()
	return &plain
}

// fromCatalog caches the operators of the catalog that were requested, by name.
var fromCatalog sync.Map

// All lists every operator of the catalog by name, as catalog.All does.
func All() []*Operator {
	var all []*Operator
	for _, o := range catalog.All() {
		all = append(all, withTruth(o))
	}
	return all
}

// Get returns the operator of the catalog called name, the same one every time; see catalog.Get.
func Get(name string) (*Operator, error) {
	o, err := catalog.Get(name)
	if err != nil {
		return nil, err
	}
	return withTruth(o), nil
}

// Find returns the operator of the catalog that a user names; see catalog.Find.
func Find(name string) (*Operator, error) {
	o, err := catalog.Find(name)
	if err != nil {
		return nil, err
	}
	return withTruth(o), nil
}

func withTruth(o *catalog.Operator) *Operator {
	kept, _ := fromCatalog.LoadOrStore(o.Spec.Name, &Operator{Spec: o.Spec, Findings: o.Findings})
	return kept.(*Operator)
}
