package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

func (a *app) resultsExport(db *string) *cobra.Command {
	var format, only string
	var ops, impls []string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "records with their times, as JSON lines or as Markdown",
		Example: `  triad results export > results.jsonl
  triad results export --format md --session 01M7YN134EXV2VYHMQS5VAV8X2 > results.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" && format != "sessions" && format != "md" {
				return usage("--format %q: want jsonl, sessions or md", format)
			}
			store, err := a.readStore(cmd.Context(), *db)
			if err != nil {
				return err
			}
			defer store.Close()
			f := results.Filter{Session: only, Op: ops, Impl: impls, Limit: -1}
			if err := knownNames(cmd.Context(), store, f); err != nil {
				return err
			}
			records, _, err := store.List(cmd.Context(), f)
			if err != nil {
				return session.Fail(session.ExitBad, err)
			}
			if len(records) == 0 {
				return session.Fail(session.ExitNothing,
					errors.New("nothing is recorded that fits: triad results list shows what is"))
			}
			slices.Reverse(records) // oldest first: an export that grows keeps its beginning
			switch format {
			case "md":
				err = a.eachSession(cmd.Context(), store, records,
					func(m record.Measured, records []record.Record) error {
						return report.Markdown(a.out, m.Session, records, report.Timed{
							Rulers:      m.Rulers,
							Comparisons: m.Comparisons,
						})
					})
			case "sessions":
				err = a.eachSession(cmd.Context(), store, records,
					func(m record.Measured, _ []record.Record) error { return report.JSON(a.out, m) })
			default:
				err = a.exportLines(records)
			}
			if err != nil {
				return session.Fail(session.ExitBad, err)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&format, "format", "jsonl", "jsonl: the object of compare --json for each record; "+
		"sessions: one for each session, with its rulers and ratios; md: tables")
	fs.StringVar(&only, "session", "", "only this session")
	fs.StringSliceVar(&ops, "op", nil, "only these operators")
	fs.StringSliceVar(&impls, "impl", nil, "only implementations with these prefixes")
	return cmd
}

func (a *app) exportLines(records []record.Record) error {
	for _, r := range records {
		if err := report.JSON(a.out, r); err != nil {
			return err
		}
	}
	return nil
}

// eachSession hands over the records of one session after the other, with what the session measured.
func (a *app) eachSession(ctx context.Context, store *results.Store, records []record.Record,
	write func(record.Measured, []record.Record) error,
) error {
	for len(records) > 0 {
		id := records[0].Session
		var mine, others []record.Record
		for _, r := range records {
			if r.Session == id {
				mine = append(mine, r)
			} else {
				others = append(others, r)
			}
		}
		var m record.Measured
		var err error
		if m.Session, err = store.Session(ctx, id); err != nil {
			return err
		}
		if m.Rulers, err = store.Rulers(ctx, id); err != nil {
			return err
		}
		if m.Comparisons, err = store.Comparisons(ctx, id); err != nil {
			return err
		}
		if err := write(m, mine); err != nil {
			return err
		}
		records = others
	}
	return nil
}
