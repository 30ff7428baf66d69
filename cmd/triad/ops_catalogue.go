package main

import (
	"github.com/spf13/cobra"

	"triad/cuda"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/report"
	"triad/internal/truth"
)

func (a *app) catalogueCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "catalogue",
		Short: "every operator with its formula and the rungs of its CUDA ladder, as Markdown",
		Long: `catalogue prints the Markdown of docs/catalogue.md: of every operator the formula, dtypes,
attributes, contracts and bench points of its spec, and of each CUDA variant what its header says.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var rooms []report.OperatorRoom
			for _, o := range catalog.All() {
				room, err := a.roomOf(o.Spec)
				if err != nil {
					return err
				}
				rooms = append(rooms, room)
			}
			return report.Catalogue(a.Out, rooms)
		},
	}
}

// roomOf returns what the page shows of an operator.
func (a *app) roomOf(s *op.Spec) (report.OperatorRoom, error) {
	d := detailed(s)
	room := report.OperatorRoom{
		Operator: d.Operator, Summary: s.Summary, Source: s.Source, Attributes: d.Attributes,
		Contracts: contractsOf(s), Relations: len(truth.Relations(s.Name)),
	}
	if s.Backward != nil {
		room.Gradients = s.Backward.Formula
	}
	for _, b := range s.Bench {
		room.Bench = append(room.Bench, b.Name)
	}
	rungs, err := cuda.Rungs(a.Files, s.Name)
	for _, r := range rungs {
		room.Rungs = append(room.Rungs, [2]string{r.Name, r.Text})
	}
	return room, err
}
