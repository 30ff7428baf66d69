// Package ops is the verb ops: the operators, what each declares, the pages of findings and of the catalogue.
package ops

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/operatorpage"
	"triad/internal/opfolder"
	"triad/internal/report"
	"triad/internal/truth"
)

// verb runs the subverbs of triad ops.
type verb struct {
	*console.Console
	declarations Declarations
}

// Declarations lists the implementations that the backends of this machine declare of an operator.
type Declarations func(context.Context, *truth.Operator) ([]report.ImplementationDetail, error)

// New returns the command triad ops.
func New(c *console.Console, declarations Declarations) *cobra.Command {
	a := &verb{c, declarations}
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
		RunE:  func(*cobra.Command, []string) error { return a.list(asJSON) },
	}
	show := &cobra.Command{
		Use:   "show OP",
		Short: "formula, tensors, attributes, contracts and implementations of one operator",
		Args:  arguments.One("one operator"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return catalog.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.show(cmd.Context(), args[0], asJSON)
		},
	}
	for _, cmd := range []*cobra.Command{list, show} {
		cmd.Flags().BoolVar(&asJSON, "json", false, "JSON, one object a line")
		ops.AddCommand(cmd)
	}
	ops.AddCommand(a.findingsCommand(), a.catalogueCommand())
	return ops
}

// list prints every operator.
func (a *verb) list(asJSON bool) error {
	var all []report.Operator
	for _, o := range truth.All() {
		all = append(all, operatorpage.Summary(o.Spec))
	}
	if asJSON {
		return report.JSONLines(a.Out, all)
	}
	return report.Operators(a.Out, a.Style(), all)
}

// show prints one operator with its implementations.
func (a *verb) show(ctx context.Context, name string, asJSON bool) error {
	o, err := opfolder.Named(name)
	if err != nil {
		return err
	}
	detail := operatorpage.Detail(o.Spec)
	if detail.Unasked, err = operatorpage.Unasked(o.Spec); err != nil {
		return err
	}
	if detail.Declarations, err = a.declarations(ctx, o); err != nil {
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
}
