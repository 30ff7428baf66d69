package results

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/export"
	"triad/internal/session"
	"triad/results"
)

// exportOptions holds the flags of results export.
type exportOptions struct {
	format, session, output string
	ops, impls              []string
}

func exportCommand(db *string, run func(context.Context, *exportOptions, string) error) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "records with their times, in formats of other tools",
		Long: `export writes records: as JSON lines (docs/json.md), CSV or Parquet (a row for each record and
regime), Markdown, the text of Go's benchmarks, which benchstat compares, traces of
FlashInfer-Bench, or as a database of their own that can be passed on and imported.`,
		Example: `  triad results export > results.jsonl
  triad results export --format parquet --output results.parquet
  triad results export --format db --op softmax --output softmax.db
  triad results export --format md --session 01M7YN134EXV2VYHMQS5VAV8X2 > results.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &o, *db) },
	}
	fs := cmd.Flags()
	fs.StringVar(
		&o.format,
		"format",
		"jsonl",
		"jsonl: the object of compare --json for each record; sessions: "+
			"one for each session, with its ceilings and ratios; md: tables; csv, parquet: rows; bench: for "+
			"benchstat; flashinfer: traces of FlashInfer-Bench; kernelbench: its eval_results.json, of "+
			"submissions to its problems; db: a database",
	)
	fs.StringVar(&o.output, "output", "", "the file to write (default: the standard output)")
	fs.StringVar(&o.session, "session", "", sessionUsage)
	fs.StringSliceVar(&o.ops, "op", nil, "only these operators")
	fs.StringSliceVar(&o.impls, "impl", nil, "only implementations with these prefixes")
	return cmd
}

// export writes the records that the flags choose.
func (a *verb) export(ctx context.Context, o *exportOptions, db string) error {
	write, known := export.Formats[o.format]
	switch {
	case !known && o.format != "db":
		return console.Usage("--format %q: want jsonl, sessions, md, csv, parquet, bench, flashinfer, "+
			"kernelbench or db",
			o.format)
	case o.output == "" && (o.format == "db" || o.format == "parquet"):
		return console.Usage("--format %s writes a file: name it with --output FILE", o.format)
	}
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	f := results.Filter{Session: o.session, Op: o.ops, Impl: o.impls, Limit: -1}
	if err := knownNames(ctx, store, &f); err != nil {
		return err
	}
	if f.Session, err = sessionNamed(ctx, store, f.Session); err != nil {
		return err
	}
	nothing := session.Fail(session.ExitNothing,
		errors.New("nothing is recorded that fits: triad results list shows what is"))
	if o.format == "db" {
		if _, total, err := store.List(ctx, results.Filter{
			Session: f.Session, Op: f.Op, Impl: f.Impl, Limit: 1,
		}); err != nil || total == 0 {
			return cmp.Or(err, nothing)
		}
		return exportFailure(store.CopyTo(ctx, o.output, f))
	}
	records, _, err := store.List(ctx, f)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	if len(records) == 0 {
		return nothing
	}
	slices.Reverse(records) // oldest first: an export that grows keeps its beginning
	return exportFailure(
		console.ToFile(a.Out, o.output, func(w io.Writer) error { return write(ctx, store, w, records) }),
	)
}

// exportFailure returns the error of a failed export with its exit code: an existing file, or a missing
// folder, is the user's mistake.
func exportFailure(err error) error {
	var reported *session.Failure
	switch {
	case err == nil || errors.As(err, &reported):
		return err
	case errors.Is(err, export.ErrNoTime) || errors.Is(err, export.ErrNoTrace) ||
		errors.Is(err, export.ErrNoProblem):
		return session.Fail(session.ExitNothing, err)
	case errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return console.Usage("%w", err)
	}
	return session.Fail(session.ExitBad, err)
}
