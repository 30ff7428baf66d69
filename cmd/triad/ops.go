package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	questions "triad/internal/asked"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/truth"
	"triad/internal/worker"
)

func (a *app) opsCommand() *cobra.Command {
	ops := &cobra.Command{
		Use:   "ops",
		Short: "which operators there are, and what each declares",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "every operator, a line each",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var all []report.Operator
			for _, o := range truth.All() {
				all = append(all, summarised(o.Spec))
			}
			if asJSON {
				return report.JSONLines(a.Out, all)
			}
			return report.Operators(a.Out, a.Style(), all)
		},
	}
	show := &cobra.Command{
		Use:   "show OP",
		Short: "formula, tensors, attributes, contracts and implementations of one operator",
		Args:  console.One("one operator"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return catalog.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := operatorNamed(args[0])
			if err != nil {
				return err
			}
			detail := detailed(o.Spec)
			if detail.Unasked, err = unasked(o.Spec); err != nil {
				return err
			}
			if detail.Declarations, err = a.declarations(cmd.Context(), o); err != nil {
				return err
			}
			for _, d := range detail.Declarations {
				if !slices.Contains(detail.Implementations, d.Name) {
					detail.Implementations = append(detail.Implementations, d.Name)
				}
			}
			if asJSON {
				return report.JSON(a.Out, detail)
			}
			return report.ShowOperator(a.Out, a.Style(), detail)
		},
	}
	for _, cmd := range []*cobra.Command{list, show} {
		cmd.Flags().BoolVar(&asJSON, "json", false, "JSON, one object a line")
		ops.AddCommand(cmd)
	}
	ops.AddCommand(a.findingsCommand(), a.catalogueCommand())
	return ops
}

func summarised(s *op.Spec) report.Operator {
	o := report.Operator{Name: s.Name, Formula: s.Formula, DTypes: s.DTypes}
	for _, p := range s.Passes() {
		o.Passes = append(o.Passes, p.String())
	}
	return o
}

func detailed(s *op.Spec) report.OperatorDetail {
	d := report.OperatorDetail{Operator: summarised(s), Source: s.Source, Trivial: s.Check.Trivial.String()}
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

// unasked lists what no case of an operator covers.
func unasked(s *op.Spec) ([]report.Unasked, error) {
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

// needed returns the families of a backend without the optional ones: those are not reported as missing.
func needed(b backend.Backend) []string {
	optional, _ := backend.As[run.Optional](b)
	return slices.DeleteFunc(slices.Clone(b.Families()), func(family string) bool {
		return optional != nil && slices.Contains(optional.OptionalFamilies(), family)
	})
}

// declarations asks the backends for their implementations. It fetches nothing: if Python is missing, its
// rows are left out.
func (a *app) declarations(ctx context.Context, operator *truth.Operator) ([]report.ImplementationDetail,
	error,
) {
	g, err := a.chooseGPU(ctx, &caseFlags{device: "auto", gpu: -1},
		environmentFlags{offline: true, look: true})
	if err != nil {
		return nil, err
	}
	name := operator.Spec.Name
	request := run.Request{Operators: []*truth.Operator{operator}}
	backends, _, refused, err := a.participants(ctx, &ownFlags{}, &request, g, environmentFlags{
		offline: true,
		look:    true,
	}, worker.Options{})
	if err != nil {
		return nil, err
	}
	for _, why := range refused {
		fmt.Fprintf(a.Err, "triad: %v\n", why)
	}
	var out []report.ImplementationDetail
	for _, b := range backends {
		reply, _, err := b.Load(ctx, name)
		var missing *backend.Unavailable
		var broken *backend.BuildFailure
		switch {
		case errors.As(err, &missing), errors.As(err, &broken):
			fmt.Fprintf(a.Err, "triad: the implementations of %s are not listed: %v\n",
				strings.Join(needed(b), " and "), err)
		case err != nil:
			return nil, errors.Join(err, b.Close())
		}
		for _, f := range reply.Failed {
			if family, _, _ := strings.Cut(f.Implementation, "/"); !slices.Contains(needed(b), family) {
				continue
			}
			fmt.Fprintf(a.Err, "triad: %s is not listed: %s\n", f.Implementation, f.Message)
		}
		for _, i := range reply.Implementations {
			out = append(out, report.ImplementationDetail{
				Name: i.Name, Pass: i.Pass.String(), DTypes: i.DTypes, Contract: i.Contract, Device: i.Device,
				Constraint: i.Constraint,
			})
		}
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
