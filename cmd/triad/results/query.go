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

	"triad/cmd/triad/arguments"
	"triad/internal/console"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

// queryOptions holds the flags of results query.
type queryOptions struct {
	schema, list, asJSON bool
	saved, format        string
	params               []string
	statement            []string // the argument, if there is one
	flags                int      // how many are given
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
Queries that come with triad answer the questions that people ask: --list shows them, --saved NAME runs one.`,
		Example: `  triad results query "select op, implementation, status from latest"
  triad results query --saved only-in --param dtype=fp16
  triad results query --format csv "select * from latest where op = :op" --param op=softmax`,
		Args: o.arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.statement, o.flags = args, cmd.Flags().NFlag()
			return run(cmd.Context(), &o, *db)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.asJSON, "json", false, "one JSON object a row, as --format json")
	fs.StringVar(&o.format, "format", "table", "table, csv, json (one object a line) or md")
	fs.StringArrayVar(&o.params, "param", nil,
		"a value for :NAME in the statement, NAME=VALUE; may be repeated")
	fs.StringVar(&o.saved, "saved", "", "run a query that comes with triad instead")
	fs.BoolVar(&o.list, "list", false, "list the queries that come with triad instead")
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

// tellQueries prints the names for a statement, or the queries that come with triad.
func (a *verb) tellQueries(ctx context.Context, o *queryOptions) error {
	if len(o.statement) > 0 || o.flags > 1 {
		return console.Usage("--schema and --list stand alone: each lists what there is, and runs nothing")
	}
	if o.schema {
		return a.tellSchema(ctx)
	}
	all, err := results.NamedQueries(time.Now())
	if err != nil {
		return session.Fail(session.ExitBad, err)
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

// tellSchema prints the views and tables.
func (a *verb) tellSchema(ctx context.Context) error {
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
		return a.tellQueries(ctx, o)
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
	statement, params, err := o.text()
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
	if answer.Cut != "" && o.format != "table" {
		fmt.Fprintf(a.Err, "triad: %s\n", answer.Cut)
	}
	return nil
}

// text returns the query to run and the values of its parameters.
func (o *queryOptions) text() (string, map[string]any, error) {
	params := map[string]any{}
	text := ""
	if o.saved != "" {
		all, err := results.NamedQueries(time.Now())
		if err != nil {
			return "", nil, session.Fail(session.ExitBad, err)
		}
		var names []string
		for _, n := range all {
			names = append(names, n.Name)
			if n.Name == o.saved {
				text = n.SQL
				for _, p := range n.Params {
					params[p.Name] = parameterValue(p.Default)
				}
			}
		}
		if text == "" {
			return "", nil, console.Usage("--saved %q: want one of %s", o.saved, strings.Join(names, ", "))
		}
	} else {
		text = o.statement[0]
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
