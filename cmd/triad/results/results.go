// Package results is the verb results with its subverbs: it lists, compares, draws and exports what was
// recorded.
package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/op"
	"triad/internal/report"
	"triad/internal/session"
	"triad/pybridge"
	"triad/results"
)

// verb runs the subverbs of triad results.
type verb struct{ *console.Console }

// New returns the command triad results.
func New(c *console.Console) *cobra.Command {
	a := &verb{c}
	var db string
	cmd := &cobra.Command{
		Use:   "results",
		Short: "what was recorded: list it, show one run, query it in SQL, export it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&db, "db", "",
		console.DatabaseUsage)
	cmd.AddCommand(
		listCommand(&db, a.list),
		sessionsCommand(&db, a.sessions),
		showCommand(&db, a.show),
		historyCommand(&db, a.history),
		diffCommand(&db, a.diff),
		reportCommand(&db, a.report),
		plotCommand(&db, a.plot),
		queryCommand(&db, a.query),
		exportCommand(&db, a.export),
		importCommand(&db, a.merge),
		mergeCommand(a.merge),
	)
	return cmd
}

// listOptions holds the flags of results list. Status, Pass and Since of the filter are still text.
type listOptions struct {
	filter      results.Filter
	statuses    []string
	pass, since string
	asJSON      bool
}

func listCommand(db *string, run func(context.Context, *listOptions, string) error) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the runs, newest first",
		Example: `  triad results list --op softmax --status FAIL,CRASH
  triad results list --impl cuda --dtype bf16 --since 2h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &o, *db) },
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.filter.Op, "op", nil, "only these operators")
	fs.StringSliceVar(&o.filter.Impl, "impl", nil, "only implementations with these prefixes")
	fs.StringSliceVar(&o.filter.DType, "dtype", nil, "only these dtypes")
	fs.StringSliceVar(&o.statuses, "status", nil, "only these statuses, e.g. FAIL,CRASH")
	fs.BoolVar(&o.filter.Bad, "bad", false, "only what counts as bad")
	fs.StringVar(&o.pass, "pass", "", "forward or backward")
	fs.StringVar(&o.since, "since", "",
		"started since: a duration such as 2h or 7d, or a date such as 2026-01-31")
	fs.IntVar(&o.filter.Limit, "limit", 50, "at most so many")
	fs.BoolVar(&o.asJSON, "json", false, "one JSON object a line (docs/json.md)")
	return cmd
}

// list prints the runs that the flags select.
func (a *verb) list(ctx context.Context, o *listOptions, db string) error {
	f := o.filter
	if f.Limit < 1 {
		return console.Usage("--limit %d: want at least 1", f.Limit)
	}
	for _, text := range o.statuses {
		s, err := op.ParseStatus(strings.ToUpper(text))
		if err != nil {
			return console.Usage("--status: %w", err)
		}
		f.Status = append(f.Status, s)
	}
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
	records, total, err := store.List(ctx, f)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	if !o.asJSON {
		return report.List(a.Out, a.Style(), records, total)
	}
	if err := report.JSONLines(a.Out, records); err != nil {
		return err
	}
	if total > len(records) {
		fmt.Fprintf(a.Err, "triad: %s\n", report.Shown(len(records), total))
	}
	return nil
}

// knownNames rejects names that are neither in the catalog nor in any record: an empty list would look as if
// nothing had been run.
func knownNames(ctx context.Context, store *results.Store, f results.Filter) error {
	if len(f.Op)+len(f.DType)+len(f.Impl) == 0 {
		return nil
	}
	found, err := store.Recorded(ctx)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	ops, dtypes := append(catalog.Names(), found.Ops...), found.DTypes
	for _, o := range catalog.All() {
		dtypes = append(dtypes, o.Spec.DTypes...)
	}
	families := slices.Concat([]string{"cuda", "triton", "torch", "mine"}, pybridge.PeerFamilies, found.Impls)
	is := func(name, asked string) bool { return name == asked }
	prefixed := func(name, asked string) bool {
		// any name of a family is accepted: only its sources know which there are
		return strings.HasPrefix(name, asked) || !strings.Contains(name, "/") &&
			strings.HasPrefix(asked, name+"/")
	}
	for _, part := range []struct {
		flag         string
		asked, known []string
		fits         func(name, asked string) bool
	}{
		{"op", f.Op, ops, is}, {"dtype", f.DType, dtypes, is}, {"impl", f.Impl, families, prefixed},
	} {
		for _, asked := range part.asked {
			if !slices.ContainsFunc(part.known, func(name string) bool { return part.fits(name, asked) }) {
				slices.Sort(part.known)
				return console.Usage("--%s %q: neither triad nor a recorded run knows it: want one of %s",
					part.flag,
					asked, strings.Join(slices.Compact(part.known), ", "))
			}
		}
	}
	return nil
}

// passAndSince sets --pass and --since in a filter; "" sets neither.
func passAndSince(f *results.Filter, pass, since string) (err error) {
	if pass != "" {
		if err := f.Pass.UnmarshalText([]byte(pass)); err != nil {
			return console.Usage("--pass: %w", err)
		}
	}
	f.Since, err = parseSince(since, time.Now())
	return err
}

// parseSince parses the value of --since; "" is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return results.ParseTime("--since ", text, now)
}

// showOptions holds the arguments of results show.
type showOptions struct {
	id     string
	asJSON bool
}

func showCommand(db *string, run func(context.Context, *showOptions, string) error) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "everything about one run, and the command that repeats it on the same bits",
		Args:  arguments.One("the ID of one run, as triad results list prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.id = args[0]
			return run(cmd.Context(), &o, *db)
		},
	}
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "as a JSON object")
	return cmd
}

// show prints one run.
func (a *verb) show(ctx context.Context, o *showOptions, db string) error {
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	run, err := store.Show(ctx, o.id)
	if err != nil {
		if errors.Is(err, results.ErrNotFound) || errors.Is(err, results.ErrAmbiguous) {
			return console.Usage("%w", err)
		}
		return session.Fail(session.ExitBad, err)
	}
	if o.asJSON {
		return report.JSON(a.Out, run)
	}
	return report.Show(a.Out, a.Style(), run)
}
