package results

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/report"
	"triad/internal/session"
)

func plotCommand(db *string, run func(context.Context, *reportOptions, string) error) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "plot [OP | SESSION]",
		Short: "the drawings of a report as SVG files, for a README or a paper",
		Long: `plot writes each drawing of the report of an operator or a session as an SVG file that follows
light and dark. The kinds are: map (where errors of a wrong output lie), errors (how large they are, in units
in the last place), roofline, times (over sizes, with intervals), ratios (beside the fastest), history.`,
		Example: `  triad results plot softmax --kind times,roofline --output figures`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return run(cmd.Context(), &o, *db)
		},
	}
	cmd.Flags().StringSliceVar(&o.kinds, "kind", nil, "only these kinds (default: all that there are)")
	cmd.Flags().
		StringVar(&o.output, "output", ".", "the folder to write into; it is made where it is missing")
	return cmd
}

// plot writes the drawings of the page that the arguments name.
func (a *verb) plot(ctx context.Context, o *reportOptions, db string) error {
	for _, kind := range o.kinds {
		if !slices.Contains(report.FigureKinds, kind) {
			return console.Usage("--kind %q: want %s", kind, strings.Join(report.FigureKinds, ", "))
		}
	}
	page, err := a.pageOf(ctx, db, o)
	if err != nil {
		return err
	}
	return a.writeFigures(page, o)
}

// writeFigures writes the drawings of a page and prints the names of their files.
func (a *verb) writeFigures(page report.Page, o *reportOptions) error {
	var names []string
	count := map[string]int{}
	for _, f := range report.Figures(page) {
		if len(o.kinds) > 0 && !slices.Contains(o.kinds, f.Kind) {
			continue
		}
		if err := os.MkdirAll(o.output, 0o755); err != nil {
			return console.Usage("--output %s: %w", o.output, err)
		}
		count[f.Kind]++
		name := filepath.Join(
			o.output,
			fmt.Sprintf("%s-%s-%d.svg", fileWord(page.Subject), f.Kind, count[f.Kind]),
		)
		if err := exportFailure(console.ToFile(a.Out, name, func(w io.Writer) error {
			_, err := io.WriteString(w, f.Drawing.File())
			return err
		})); err != nil {
			return err
		}
		names = append(names, name+": "+f.Drawing.Title)
	}
	if len(names) == 0 {
		what := "drawing"
		if len(o.kinds) > 0 {
			what += " of the kind " + strings.Join(o.kinds, ", ")
		}
		return session.Fail(
			session.ExitNothing,
			fmt.Errorf("%s has no %s: what is recorded of it has no such "+
				"figures", page.Subject, what),
		)
	}
	_, err := fmt.Fprintln(a.Out, strings.Join(names, "\n"))
	return err
}
