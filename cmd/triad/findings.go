package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
)

func (a *app) findingsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "findings",
		Short: "what was found in the kernels of libraries, with a command that shows each",
		Long: `findings lists the faults of libraries' kernels that have been looked into. A comparison shows
one as KNOWN instead of FAIL, with its sentence; KNOWN is neutral for the exit code, and bad with --strict.
It prints the Markdown of docs/findings.md.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return report.Findings(a.out, operatorFindings()) },
	}
}

// operatorFindings returns the findings of the catalog, operator by operator.
func operatorFindings() []report.OperatorFindings {
	var all []report.OperatorFindings
	for _, o := range catalog.All() {
		if len(o.Findings) > 0 {
			all = append(all, report.OperatorFindings{Op: o.Spec.Name, Findings: o.Findings})
		}
	}
	return all
}

// goneOf returns sentences about findings that no longer happen. One that a record names, which a resumed
// session may have found before, does happen.
func goneOf(result run.Result) []string {
	var all []string
	for _, f := range result.Findings {
		happened := slices.ContainsFunc(result.Records, func(r record.Record) bool {
			return r.Status == op.StatusKnown && r.Case.Op == f.Op && strings.Contains(r.Message, f.ID+": ")
		})
		if !f.Gone() || happened {
			continue
		}
		var versions []string
		for name := range f.Versions {
			versions = append(versions, name+" "+result.Versions[name])
		}
		all = append(all, fmt.Sprintf("Finding %s no longer happens: %s passed all %d cases of %s that it "+
			"covers, with %s. internal/catalog/%s/findings.toml still has it.",
			f.ID, strings.Join(f.Implementations, " and "), f.Covered, f.Op, strings.Join(versions, " and "),
			f.Op))
	}
	return all
}
