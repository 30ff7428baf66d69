package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/pages"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/internal/session"
	"triad/results"
)

// reportOptions holds the flags of results report and results plot.
type reportOptions struct {
	names  []string // of an operator, a session or two sides
	output string
	kinds  []string
	ops    []string
	impls  []string
	across bool
	open   bool
}

func reportCommand(db *string, run func(context.Context, *reportOptions, string) error) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [OP | SESSION | A B]",
		Short: "one HTML file of an operator, a session or a comparison, to look at and to send",
		Long: `report writes one HTML file that needs nothing else: the answer in a sentence, verdicts, how
large the errors are and where they lie, times and rooflines, history, the worst elements with what
is accepted, and where it ran. It is of an operator (the newest run of each implementation on each
case), of a session, or of what changed from A to B, which are named as for triad results diff.
Without a name it is of the newest session.`,
		Example: `  triad results report softmax
  triad results report last --output report.html
  triad results report last~1 last`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return run(cmd.Context(), &o, *db)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.output, "output", "",
		"the file to write; - is the standard output (default: triad-NAME.html in this folder)")
	fs.BoolVar(&o.open, "open", false, "open the page in a browser (BROWSER, else xdg-open)")
	o.add(cmd)
	return cmd
}

// add adds the flags that narrow a comparison to a verb.
func (o *reportOptions) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&o.ops, "op", nil, "of a comparison: only these operators")
	fs.StringSliceVar(&o.impls, "impl", nil, "of a comparison: only implementations with these prefixes")
	fs.BoolVar(&o.across, "across", false,
		"of a comparison: say FASTER and SLOWER of other GPUs, clocks and kinds of timing too")
}

// report writes the page that the arguments name.
func (a *verb) report(ctx context.Context, o *reportOptions, db string) error {
	page, err := a.pageOf(ctx, db, o)
	if err != nil {
		return err
	}
	return a.writePage(ctx, page, o)
}

// writePage writes a page and prints where it is.
func (a *verb) writePage(ctx context.Context, page report.Page, o *reportOptions) error {
	name := cmp.Or(o.output, "triad-"+fileWord(page.Subject)+".html")
	out := name
	if name == "-" {
		out = ""
	}
	err := exportFailure(console.ToFile(a.Out, out, func(w io.Writer) error { return report.HTML(w, page) }))
	if err != nil || name == "-" {
		return err
	}
	if page.Nothing != "" {
		fmt.Fprintf(a.Err, "triad: %s\n", page.Nothing)
	}
	address := name
	if full, err := filepath.Abs(name); err == nil {
		address = (&url.URL{Scheme: "file", Path: full}).String()
	}
	fmt.Fprintf(a.Out, "%s: open it in a browser: %s\n", name, address)
	if o.open {
		a.OpenPage(ctx, address)
	}
	return nil
}

var noFileWord = regexp.MustCompile(`[^A-Za-z0-9_.]+`)

// fileWord returns the subject of a page as a part of a file name.
func fileWord(subject string) string {
	word := strings.Trim(noFileWord.ReplaceAllString(subject, "-"), "-.")
	return word[:min(len(word), 80)]
}

// pageOf reads the page that the arguments name.
func (a *verb) pageOf(ctx context.Context, db string, o *reportOptions) (report.Page, error) {
	args := o.names
	if len(args) == 2 {
		return a.pageOfDiff(ctx, db, args[0], args[1], o)
	}
	if len(o.ops)+len(o.impls) > 0 || o.across {
		return report.Page{},
			console.Usage("--op, --impl and --across narrow a comparison: name two sides, A B")
	}
	store, err := a.ReadStore(ctx, db)
	if err != nil {
		return report.Page{}, err
	}
	defer store.Close()
	name := "last"
	if len(args) == 1 {
		name = args[0]
	}
	found, err := store.Recorded(ctx)
	if err != nil {
		return report.Page{}, session.Fail(session.ExitBad, err)
	}
	var page report.Page
	if slices.Contains(found.Ops, name) || slices.Contains(catalog.Names(), name) {
		page, err = pages.OfOperator(ctx, store, name, time.Now())
	} else {
		page, err = sessionPage(ctx, store, name)
	}
	var reported *session.Failure
	switch {
	case errors.Is(err, results.ErrNotFound):
		return page, console.Usage("%w", err)
	case err != nil && !errors.As(err, &reported):
		return page, session.Fail(session.ExitBad, err)
	}
	return page, err
}

// sessionPage returns the page of the session that a name stands for.
func sessionPage(ctx context.Context, store *results.Store, name string) (report.Page, error) {
	selection, _, err := results.ParseSide(name, time.Now())
	if err != nil || selection.Session == "" && selection.Last == 0 {
		return report.Page{}, console.Usage(
			"%q is no operator and no session: want one that triad ops list or triad "+
				"results sessions prints, last, last~1, or two sides A B as for triad results diff",
			name,
		)
	}
	id, err := store.SessionID(ctx, selection)
	if err != nil {
		return report.Page{}, err
	}
	return pages.OfSession(ctx, store, id, time.Now())
}

// pageOfDiff returns the page of a comparison.
func (a *verb) pageOfDiff(
	ctx context.Context,
	db, nameA, nameB string,
	o *reportOptions,
) (report.Page, error) {
	var sides [2]resultdiff.Side
	for i, name := range []string{nameA, nameB} {
		var err error
		if sides[i], err = a.ReadSide(ctx, db, name, o.ops, o.impls); err != nil {
			return report.Page{}, err
		}
	}
	path, err := a.DatabasePath(db)
	return pages.OfDiff(sides[0], sides[1], resultdiff.Options{Across: o.across}, path, time.Now()), err
}
