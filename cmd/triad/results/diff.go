package results

import (
	"context"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/resultdiff"
	"triad/internal/session"
)

// diffOptions holds the flags of results diff.
type diffOptions struct {
	a, b                   string
	ops, impls             []string
	across, strict, asJSON bool
	limit                  int
}

func diffCommand(db *string, run func(context.Context, *diffOptions, string) error) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "what became wrong, right, slower or faster from one set of runs to another",
		Long: `diff compares the newest run of each implementation on each case in A with that in B. Each is

  SESSION             the ID of a session or the beginning of one (triad results sessions)
  last, last~1        the newest session, the one before it
  HASH, commit:HASH   the runs of a commit of triad's sources
  FILE.db             all runs of another database
  machine:TEXT        the runs on a machine whose GPU or CPU is called so
  before:DATE         the runs before a date (2026-01-31) or a time ago (7d)

A time of B is SLOWER or FASTER where the medians lie further apart than two sessions of one kernel do (2 %,
or the noise that was measured), their intervals do not meet, and a Mann-Whitney test with Holm's correction
says so; SAME where the interval lies within. Where GPU, clock or kind of timing differ no verdict is given.
Exit
code 1: something became wrong or slower.`,
		Example: `  triad results diff last~1 last
  triad results diff 01M81MHBAW 01M8 --op softmax
  triad results diff monday.db friday.db --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return console.Usage("results diff: want two sides, A and B, e.g. last~1 last")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return run(cmd.Context(), &o, *db)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.ops, "op", nil, "only these operators")
	fs.StringSliceVar(&o.impls, "impl", nil, "only implementations with these prefixes")
	fs.BoolVar(&o.across, "across", false,
		"say FASTER and SLOWER of other GPUs, clocks and kinds of timing too")
	fs.BoolVar(&o.strict, "strict", false, "exit 1 too where something good is neither good nor wrong now")
	fs.IntVar(&o.limit, "limit", console.LinesOfADiff, "at most so many lines of each kind")
	fs.BoolVar(&o.asJSON, "json", false,
		"one JSON object a line for each implementation and case (docs/json.md)")
	return cmd
}

// diff prints what changed from A to B.
func (a *verb) diff(ctx context.Context, o *diffOptions, db string) error {
	if o.limit < 1 {
		return console.Usage("--limit %d: want at least 1", o.limit)
	}
	var sides [2]resultdiff.Side
	for i, name := range []string{o.a, o.b} {
		var err error
		if sides[i], err = a.ReadSide(ctx, db, name, o.ops, o.impls); err != nil {
			return err
		}
	}
	changes := resultdiff.Diff(sides[0], sides[1], resultdiff.Options{Across: o.across})
	if err := a.PrintChanges(sides[0], sides[1], changes, o.limit, o.asJSON); err != nil {
		return err
	}
	if resultdiff.Counted(changes).Regressed(o.strict) {
		return session.Fail(session.ExitBad, nil)
	}
	return nil
}
