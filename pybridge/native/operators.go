package native

import (
	"triad/internal/catalog"
	"triad/internal/op"
)

// dim, attribute, tensor, pass and operator are the JSON of a spec; internal/op.Spec says what the fields
// mean.
type dim struct {
	Name       string `json:"name"`
	MayBeEmpty bool   `json:"may_be_empty"`
	Default    string `json:"default"`
	Implied    bool   `json:"implied"`
}

type attribute struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Values  []string `json:"values"`
	Default any      `json:"default"`
	// Positive: a float above 0, also when it is rounded to fp32.
	Positive bool `json:"positive"`
	// Least and Below: at least this, and less than that; null: no bound.
	Least *float64 `json:"least"`
	Below *float64 `json:"below"`
}

type tensorSpec struct {
	Name           string `json:"name"`
	DType          string `json:"dtype"`
	Shape          any    `json:"shape"`
	ShapeText      string `json:"shape_text"`
	Optional       bool   `json:"optional"`
	Given          bool   `json:"given"`
	Differentiable bool   `json:"differentiable"`
	Fill           string `json:"fill"`
}

type pass struct {
	Pass    op.Pass      `json:"pass"`
	DTypes  []string     `json:"dtypes"`
	Inputs  []tensorSpec `json:"inputs"`
	Outputs []tensorSpec `json:"outputs"`
}

type operator struct {
	Name             string            `json:"name"`
	Summary          string            `json:"summary"`
	Formula          string            `json:"formula"`
	Source           string            `json:"source"`
	DTypes           []string          `json:"dtypes"`
	Dims             []dim             `json:"dims"`
	Attributes       []attribute       `json:"attributes"`
	Passes           []pass            `json:"passes"`
	DefaultContracts map[string]string `json:"default_contracts"`
	Permits          []string          `json:"permits"`
	Require          []string          `json:"require"`
	Distributions    []string          `json:"distributions"`
	// Autocast maps a device to what torch.autocast does with torch's own operator of the kind.
	Autocast map[string]string `json:"autocast"`
}

// Operators returns every operator of the catalogue as a JSON array.
func Operators() (text string, err error) {
	defer guard("Operators", &err)()
	enter("Operators")
	var all []operator
	for _, o := range catalog.All() {
		all = append(all, describe(o.Spec))
	}
	return asJSON(all)
}

// Operator returns one operator of the catalogue as a JSON object.
func Operator(name string) (text string, err error) {
	defer guard("Operator", &err)()
	enter("Operator")
	o, err := catalog.Find(name)
	if err != nil {
		return "", err
	}
	return asJSON(describe(o.Spec))
}

func describe(s *op.Spec) operator {
	d := operator{
		Name: s.Name, Summary: s.Summary, Formula: s.Formula, Source: s.Source, DTypes: s.DTypes,
		DefaultContracts: s.Contract.Default,
		Permits:          s.Contract.Permits, Require: s.Require, Distributions: s.Check.Distributions,
		Autocast: s.Torch.Autocast,
	}
	for _, x := range s.Dims {
		d.Dims = append(d.Dims, dim{x.Name, x.MayBeEmpty, x.Default, x.Implied})
	}
	for _, x := range s.Attributes {
		d.Attributes = append(d.Attributes, attribute{
			x.Name, x.Type, x.Values, x.Default, x.Positive,
			x.Least, x.Below,
		})
	}
	for _, p := range s.Passes() {
		inputs, outputs := s.Tensors(p)
		d.Passes = append(d.Passes, pass{p, s.PassDTypes(p), declared(inputs), declared(outputs)})
	}
	return d
}

func declared(specs []op.TensorSpec) []tensorSpec {
	out := make([]tensorSpec, len(specs))
	for i, t := range specs {
		out[i] = tensorSpec{
			t.Name, t.DType, t.Shape, t.ShapeText(), t.Optional, t.Given, t.Differentiable,
			t.Fill,
		}
	}
	return out
}

// Statuses returns every status with what it counts as: a JSON array of {"status": "PASS", "weight": "good"}.
func Statuses() (text string, err error) {
	defer guard("Statuses", &err)()
	enter("Statuses")
	weights := map[op.Weight]string{op.Good: "good", op.Neutral: "neutral", op.Bad: "bad"}
	var all []map[string]string
	for _, s := range op.Statuses() {
		all = append(all, map[string]string{"status": s.String(), "weight": weights[s.Weight()]})
	}
	return asJSON(all)
}

// Contracts returns every contract with its promise in words: a JSON array of {"name": "fp32", "promise":
// "..."}.
func Contracts() (text string, err error) {
	defer guard("Contracts", &err)()
	enter("Contracts")
	var all []map[string]string
	for _, c := range op.Contracts {
		all = append(all, map[string]string{"name": c.Name, "promise": c.Promise})
	}
	return asJSON(all)
}
