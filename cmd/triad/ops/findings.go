package ops

import (
	"github.com/spf13/cobra"

	"triad/internal/operatorpage"
	"triad/internal/report"
)

func (a *verb) findingsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "findings",
		Short: "what was found in the kernels of libraries, with a command that shows each",
		Long: `findings lists the faults of libraries' kernels that have been looked into. A comparison shows
one as KNOWN instead of FAIL, with its sentence; KNOWN is neutral for the exit code, and bad with --strict.
It prints the Markdown of docs/findings.md.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return report.Findings(a.Out, operatorpage.Findings()) },
	}
}
