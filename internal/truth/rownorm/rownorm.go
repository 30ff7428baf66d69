// Package rownorm is the family of operators that normalise each row of a matrix by a statistic of the row
// and then scale it by column: layer normalisation and its relatives. An operator states the statistic, the
// affine part, and whether a residual is added first; truth, error bound, simulated contract, gradients with
// their proof, and relations follow. Package rownormtest derives mutants and right variants.
//
//	s[r,c] = x[r,c], plus residual[r,c] under the attribute add
//	xhat   = (s - mean_r) * rstd_r    rstd_r = 1 / sqrt(mean_c (s - mean_r)^2 + eps)
//	mean_r = mean_c s, or 0 unless Centred
//	y      = xhat * weight[c] + bias[c]
//	h      = s, rounded once
//
// The tensors are called x, residual, weight, bias, y, mean, rstd and h in the spec; its dims are rows and
// cols, its attributes eps and, where there is a residual, add. The backward is chained: it takes mean and
// rstd as the forward saved them.
package rownorm

import (
	"triad/internal/op"
	"triad/internal/truth"
)

// Operator describes an operator of this family.
type Operator struct {
	Centred  bool     // the mean is subtracted: there are outputs mean and rstd; else rstd alone
	Bias     bool     // it has a bias, and a gradient of it
	Residual bool     // where the attribute add is set a residual is added first, and h is an output
	Permits  []string // the contracts: fp32, stored (see storage)
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth, the proof of its gradients and its relations: var _ =
// rownorm.Register("layernorm", rownorm.Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	truth.Register(name, truth.Definition{
		Forward: o.forward, Backward: o.backward, Permits: o.Permits, ByRows: []string{"rows"},
	})
	truth.RegisterLosses(name, o.losses)
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Adds reports whether a case has a residual.
func (o Operator) Adds(c op.Case) bool { return o.Residual && c.Attrs.Number("add") != 0 }

// Rows returns the inputs of the forward that have rows in a case.
func (o Operator) Rows(c op.Case) []string {
	if o.Adds(c) {
		return []string{"x", "residual"}
	}
	return []string{"x"}
}

// Parameters returns the inputs of the forward that have one value a column.
func (o Operator) Parameters() []string {
	if o.Bias {
		return []string{"weight", "bias"}
	}
	return []string{"weight"}
}

// Statistics returns the outputs of the forward with one value a row.
func (o Operator) Statistics() []string {
	if o.Centred {
		return []string{"mean", "rstd"}
	}
	return []string{"rstd"}
}

// Upstream returns the upstream gradients that have elements in a case.
func (o Operator) Upstream(c op.Case) []string {
	if o.Adds(c) {
		return []string{"grad_y", "grad_h"}
	}
	return []string{"grad_y"}
}

// Gradients returns the outputs of the backward that have elements in a case, in the order of the spec.
func (o Operator) Gradients(c op.Case) []string {
	var all []string
	for _, name := range append(o.Rows(c), o.Parameters()...) {
		all = append(all, "grad_"+name)
	}
	return all
}
