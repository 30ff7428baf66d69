package ops

import (
	"github.com/spf13/cobra"

	"triad/internal/catalog"
	"triad/internal/operatorpage"
	"triad/internal/report"
)

func (a *verb) catalogueCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "catalogue",
		Short: "every operator with its formula and the variants of its CUDA ladder, as Markdown",
		Long: `catalogue prints the Markdown of docs/catalogue.md: of every operator the formula and dtypes
of its spec, and of each CUDA variant what its header says.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var rooms []report.OperatorRoom
			for _, o := range catalog.All() {
				room, err := operatorpage.Room(a.Files, o.Spec)
				if err != nil {
					return err
				}
				rooms = append(rooms, room)
			}
			return report.Catalogue(a.Out, rooms)
		},
	}
}
