package results

import (
	"context"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/internal/console"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/internal/session"
	"triad/results"
)

// sessionsOptions holds the flags of results sessions.
type sessionsOptions struct {
	limit  int
	asJSON bool
}

func sessionsCommand(db *string, run func(context.Context, *sessionsOptions, string) error) *cobra.Command {
	var o sessionsOptions
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "the commands that recorded, newest first",
		Example: "  triad results sessions --limit 5",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), &o, *db)
		},
	}
	cmd.Flags().IntVar(&o.limit, "limit", 20, "at most so many")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "one JSON object a line (docs/json.md)")
	return cmd
}

// sessions prints the newest sessions.
func (a *verb) sessions(ctx context.Context, o *sessionsOptions, db string) error {
	if o.limit < 1 {
		return console.Usage("--limit %d: want at least 1", o.limit)
	}
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	all, err := store.Sessions(ctx, "", o.limit)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	if !o.asJSON {
		return report.Sessions(a.Out, a.Style(), all)
	}
	return report.JSONLines(a.Out, all)
}

// historyOptions holds the flags of results history.
type historyOptions struct {
	operator    string
	filter      results.Filter
	pass, since string
	asJSON      bool
}

func historyCommand(db *string, run func(context.Context, *historyOptions, string) error) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history OP",
		Short: "verdicts and times of an operator's implementations over time, and what changed when",
		Long: `history lists the sessions of each implementation, oldest first: how many runs were good and
bad, the least error margin, the time of the first case that was timed, and what changed since the session
before (its source, the compiler, driver, torch, machine, commit), what became wrong or right, slower or
faster.
Sessions that brought nothing new are counted, not listed.`,
		Example: `  triad results history softmax --impl cuda
  triad results history flash_attention --pass backward --since 30d`,
		Args: arguments.One("an operator, as triad ops list prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.operator = args[0]
			return run(cmd.Context(), &o, *db)
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

// history prints the history of an operator.
func (a *verb) history(ctx context.Context, o *historyOptions, db string) error {
	f := o.filter
	f.Op = []string{o.operator}
	if err := passAndSince(&f, o.pass, o.since); err != nil {
		return err
	}
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := knownNames(ctx, store, &f); err != nil {
		return err
	}
	visits, err := store.Visits(ctx, f)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	steps := resultdiff.Histories(visits)
	if o.asJSON {
		return report.HistoryJSON(a.Out, f.Op[0], steps)
	}
	return report.History(a.Out, a.Style(), steps)
}
