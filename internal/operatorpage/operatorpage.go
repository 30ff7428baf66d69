// Package operatorpage says of a spec what ops show and the page of the catalogue print.
package operatorpage

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"triad/cuda/build"

	questions "triad/internal/casegaps"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/report"
	"triad/internal/truth"
)

// Summary returns the line of an operator in the list of operators.
func Summary(s *op.Spec) report.Operator {
	o := report.Operator{Name: s.Name, Summary: s.Summary, Formula: s.Formula, DTypes: s.DTypes}
	for _, p := range s.Passes() {
		o.Passes = append(o.Passes, p.String())
	}
	return o
}

// Detail returns the page of an operator: its summary, relations, tensors and cases.
func Detail(s *op.Spec) report.OperatorDetail {
	d := report.OperatorDetail{Operator: Summary(s), Source: s.Source, Trivial: s.Check.Trivial.String()}
	for _, r := range truth.Relations(s.Name) {
		d.Relations = append(d.Relations, report.RelationDeclared{
			Pass: r.Pass.String(), Name: r.Name,
			Calls: r.Calls(),
		})
	}
	for _, at := range s.Attributes {
		d.Attributes = append(d.Attributes, report.Attribute{
			Name: at.Name, Allowed: allowed(at),
			Default: fmt.Sprint(at.Default),
		})
	}
	for _, p := range s.Passes() {
		detail := report.PassDetail{Pass: p.String(), Allowed: contractsOf(s)}
		if p == op.Forward || s.Backward.Formula != "" {
			detail.Formula = s.FormulaOf(p)
		}
		inputs, outputs := s.Tensors(p)
		for _, t := range inputs {
			detail.Tensors = append(detail.Tensors, declared(t, "in"))
		}
		for _, t := range outputs {
			role := "out"
			if t.Optional {
				role = "out, optional"
			}
			if t.Given {
				role += ", given"
			}
			detail.Tensors = append(detail.Tensors, declared(t, role))
		}
		d.Signatures = append(d.Signatures, detail)
	}
	return d
}

// Unasked lists what no case of an operator covers.
func Unasked(s *op.Spec) ([]report.Unasked, error) {
	gaps, err := questions.Unasked(s)
	if err != nil {
		return nil, err
	}
	var all []report.Unasked
	for _, g := range gaps {
		all = append(all, report.Unasked{
			Pass: g.Pass.String(), DTypes: g.DTypes, Sentence: g.Sentence, EveryDType: g.Every,
		})
	}
	return all, nil
}

func allowed(a op.AttributeSpec) string {
	switch a.Type {
	case "bool":
		return "true or false"
	case "int", "float":
		if a.Positive {
			return "a number above 0"
		}
		return a.Bounds()
	default:
		return strings.Join(a.Values, ", ")
	}
}

func declared(t op.TensorSpec, role string) report.TensorDeclared {
	dtype := t.DType
	if dtype == "" {
		dtype = "the case's"
	}
	return report.TensorDeclared{Name: t.Name, Role: role, DType: dtype, Shape: t.ShapeText()}
}

// contractsOf lists the default contracts by dtype, then the looser ones that may be declared.
func contractsOf(s *op.Spec) []report.ContractDeclared {
	dtypes := map[string][]string{}
	for _, d := range s.DTypes {
		dtypes[s.DefaultContract(d)] = append(dtypes[s.DefaultContract(d)], d)
	}
	var out []report.ContractDeclared
	for _, name := range slices.Sorted(maps.Keys(dtypes)) {
		out = append(out, report.ContractDeclared{
			Name: name, Default: true,
			DTypes: strings.Join(dtypes[name], ", "),
		})
	}
	for _, name := range s.Contract.Permits {
		out = append(out, report.ContractDeclared{Name: name, DTypes: strings.Join(s.DTypes, ", ")})
	}
	return out
}

// Room returns what the page shows of an operator.
func Room(files fs.FS, s *op.Spec) (report.OperatorRoom, error) {
	d := Detail(s)
	room := report.OperatorRoom{Operator: d.Operator, Summary: s.Summary}
	if s.Backward != nil {
		room.Gradients = s.Backward.Formula
	}
	variants, err := build.Variants(files, s.Name)
	for _, r := range variants {
		room.Variants = append(room.Variants, [2]string{r.Name, r.Text})
	}
	return room, err
}

// Findings returns the findings of the catalog, operator by operator.
func Findings() []report.OperatorFindings {
	var all []report.OperatorFindings
	for _, o := range catalog.All() {
		if len(o.Findings) > 0 {
			all = append(all, report.OperatorFindings{Op: o.Spec.Name, Findings: o.Findings})
		}
	}
	return all
}
