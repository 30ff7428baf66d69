package main

import (
	"context"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/internal/session"
	"triad/results"
)

func (a *app) resultsSessions(db *string) *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "the commands that recorded, newest first",
		Example: "  triad results sessions --limit 5",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return console.Usage("--limit %d: want at least 1", limit)
			}
			store, err := a.ReadStore(cmd.Context(), *db)
			if err != nil {
				return err
			}
			defer store.Close()
			all, err := store.Sessions(cmd.Context(), "", limit)
			if err != nil {
				return session.Fail(session.ExitBad, err)
			}
			if !asJSON {
				return report.Sessions(a.Out, a.Style(), all)
			}
			return report.JSONLines(a.Out, all)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most so many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line (docs/json.md)")
	return cmd
}

// historyOptions holds the flags of results history.
type historyOptions struct {
	filter      results.Filter
	pass, since string
	asJSON      bool
}

func (a *app) resultsHistory(db *string) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history OP",
		Short: "verdicts and times of an operator's implementations over time, and what changed when",
		Long: `history lists the sessions of each implementation, oldest first: how many runs were good and
bad, the least headroom, the time of the first case that was timed, and what changed since the session before
(its source, the compiler, driver, torch, machine, commit), what became wrong or right, slower or faster.
Sessions that brought nothing new are counted, not listed.`,
		Example: `  triad results history softmax --impl cuda
  triad results history flash_attention --pass backward --since 30d`,
		Args: console.One("an operator, as triad ops list prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.historyOf(cmd.Context(), *db, args[0], &o)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.filter.Impl, "impl", nil, "only implementations with these prefixes")
	fs.StringSliceVar(&o.filter.DType, "dtype", nil, "only these dtypes")
	fs.StringVar(&o.pass, "pass", "", "forward or backward")
	fs.StringVar(&o.since, "since", "",
		"started since: a duration such as 2h or 7d, or a date such as 2026-01-31")
	fs.BoolVar(&o.asJSON, "json", false, "one JSON object a line (docs/json.md)")
	return cmd
}

// historyOf prints the history of an operator.
func (a *app) historyOf(ctx context.Context, db, operator string, o *historyOptions) error {
	f := o.filter
	f.Op = []string{operator}
	if err := passAndSince(&f, o.pass, o.since); err != nil {
		return err
	}
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := knownNames(ctx, store, f); err != nil {
		return err
	}
	visits, err := store.Visits(ctx, f)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	steps := resultdiff.Histories(visits)
	if o.asJSON {
		return report.HistoryJSON(a.Out, operator, steps)
	}
	return report.History(a.Out, a.Style(), steps)
}
