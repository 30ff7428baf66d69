package results

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triad/cmd/triad/arguments"
	"triad/internal/console"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

// queryOptions holds the flags of results query.
type queryOptions struct {
	schema, list, asJSON bool
	saved, save, format  string
	params               []string
	statement            []string // the argument, if there is one
	chosen               []string // the flags that are given, without --db
	deadline             time.Duration
	rows                 int
}

func queryCommand(db *string, run func(context.Context, *queryOptions, string) error) *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query SQL",
		Short: "one read-only SQL statement against the database",
		Long: `query runs one SELECT. It can read and nothing else: time, memory and rows are limited, and a
result that was cut says so. Views: latest, history, disagreements, speed; --schema lists them and the tables
with their columns and units. Beside SQLite's functions there are sqrt, ln, log10, exp, pow and median.
Queries that come with triad answer the questions that people ask: --list shows them, --saved NAME runs one.
--save NAME keeps a statement of your own among them, with the values of its parameters.`,
		Example: `  triad results query "select op, implementation, status from latest"
  triad results query --saved only-in --param dtype=fp16
  triad results query --format csv "select * from latest where op = :op" --param op=softmax`,
		Args: o.arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.statement, o.chosen = args, nil
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if f.Name != "db" {
					o.chosen = append(o.chosen, f.Name)
				}
			})
			return run(cmd.Context(), &o, *db)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.asJSON, "json", false, "one JSON object a row, as --format json")
	fs.StringVar(&o.format, "format", "table", "table, csv, json (one object a line) or md")
	fs.StringArrayVar(&o.params, "param", nil,
		"a value for :NAME in the statement, NAME=VALUE; may be repeated")
	fs.StringVar(&o.saved, "saved", "", "run a query that comes with triad, or that you saved, instead")
	fs.StringVar(&o.save, "save", "", "keep the statement under this name, for --saved")
	fs.BoolVar(&o.list, "list", false, "list the queries that --saved runs instead")
	fs.BoolVar(&o.schema, "schema", false, "list the views and tables with their columns and units instead")
	fs.DurationVar(&o.deadline, "deadline", 2*time.Second, "how long the statement may run")
	fs.IntVar(&o.rows, "rows", 10_000, "at most so many rows")
	return cmd
}

// arguments requires a statement unless a flag chooses what is printed.
func (o *queryOptions) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case o.schema || o.list:
		return nil
	case o.saved != "" && len(args) > 0:
		return console.Usage("--saved %s is the statement: give no other", o.saved)
	case o.saved != "":
		return nil
	}
	return arguments.One(
		"one SQL statement, in quotes; --schema lists the views and tables with their columns, "+
			"--list queries that are there")(cmd, args)
}

// printQueries prints the names for a statement, or the queries that come with triad.
func (a *verb) printQueries(ctx context.Context, o *queryOptions) error {
	if len(o.statement) > 0 || len(o.chosen) > 1 {
		return console.Usage("--schema and --list stand alone: each lists what there is, and runs nothing")
	}
	if o.schema {
		return a.printSchema(ctx)
	}
	all, err := a.SavedQueries()
	if err != nil {
		return err
	}
	shown := make([]report.SavedQuery, len(all))
	for i, n := range all {
		shown[i] = report.SavedQuery{Name: n.Name, Question: n.Question}
		for _, p := range n.Params {
			shown[i].Params = append(shown[i].Params, p.Name+" = "+p.Words)
		}
	}
	return report.Queries(a.Out, a.Style(), shown)
}

// printSchema prints the views and tables.
func (a *verb) printSchema(ctx context.Context) error {
	tables, err := results.Schema(ctx)
	if err != nil {
		return session.Fail(session.ExitBad, err)
	}
	if _, err := io.WriteString(a.Out, results.Describe(tables)); err != nil {
		return fmt.Errorf("print the schema: %w", err)
	}
	return nil
}

// query runs a statement and prints its rows, or lists what can be queried.
func (a *verb) query(ctx context.Context, o *queryOptions, db string) error {
	if o.schema || o.list {
		return a.printQueries(ctx, o)
	}
	if o.deadline <= 0 || o.rows <= 0 {
		return console.Usage("--deadline %v, --rows %d: want more than 0 of both", o.deadline, o.rows)
	}
	if o.asJSON {
		o.format = "json"
	}
	show, known := map[string]func(*results.Answer) error{
		"table": func(r *results.Answer) error {
			return report.Rows(a.Out, a.Style(), r.Columns, r.Rows, r.Cut)
		},
		"csv":  func(r *results.Answer) error { return report.CSV(a.Out, r.Columns, r.Rows) },
		"md":   func(r *results.Answer) error { return report.MarkdownRows(a.Out, r.Columns, r.Rows) },
		"json": func(r *results.Answer) error { return report.JSONRows(a.Out, r.Columns, r.Rows) },
	}[o.format]
	if !known {
		return console.Usage("--format %q: want table, csv, json or md", o.format)
	}
	statement, params, err := a.statement(o)
	if err != nil {
		return err
	}
	path, err := a.DatabasePath(db)
	if err != nil {
		return err
	}
	answer, err := results.Query(ctx, path, statement, params,
		results.Limits{Deadline: o.deadline, Rows: o.rows})
	if err != nil {
		return session.ReadFailure(err, a.DatabaseNamed(db))
	}
	if err := show(answer); err != nil {
		return err
	}
	if o.save != "" {
		if err := a.SaveQuery(o.save, statement, params); err != nil {
			return err
		}
	}
	if answer.Cut != "" && o.format != "table" {
		fmt.Fprintf(a.Err, "triad: %s\n", answer.Cut)
	}
	return nil
}

// statement returns the query to run and the values of its parameters.
func (a *verb) statement(o *queryOptions) (text string, params map[string]any, err error) {
	params = map[string]any{}
	if o.saved == "" {
		text = o.statement[0]
	} else {
		all, err := a.SavedQueries()
		if err != nil {
			return "", nil, err
		}
		var defaults map[string]string
		if text, defaults, err = results.Find(all, o.saved); err != nil {
			return "", nil, console.Usage("%w", err)
		}
		for name, value := range defaults {
			params[name] = parameterValue(value)
		}
	}
	for _, p := range o.params {
		name, value, ok := strings.Cut(p, "=")
		name = strings.TrimPrefix(name, ":")
		if !ok || !parameterWord.MatchString(name) {
			return "", nil, console.Usage("--param %q: want NAME=VALUE, such as op=softmax", p)
		}
		params[name] = parameterValue(value)
	}
	return text, params, nil
}

var parameterWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// parameterValue returns a value as SQL compares it: a number if it parses as one.
func parameterValue(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}
