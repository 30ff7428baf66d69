package look

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/firstlook"
	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/serve"
	"triad/internal/session"
)

// evidence holds the parts of a file that its page shows besides its line.
type evidence struct {
	source string
	causes []record.Cause
	wrong  []record.Record // with a map of errors
	places []string        // on the operator's ladder
}

// keepWrong keeps the wrong records of which a map can be drawn.
func (e *evidence) keepWrong(all []*record.Record) {
	for _, r := range all {
		if r.Status.Weight() == op.Bad && slices.ContainsFunc(r.Outputs, func(v record.Verdict) bool {
			return v.Statistics != nil && v.Statistics.Map != nil
		}) {
			e.wrong = append(e.wrong, *r)
		}
	}
}

// watches reports whether files are looked at again when they are saved.
func (l *look) watches() bool { return !l.Once && (l.Terminal || l.Machine.Page != nil) }

// show shows what is known of the files on the page. Its callers hold the lock of the round, or are alone.
func (r *round) show(working bool) {
	if r.Machine.Page == nil {
		return
	}
	p := report.LookedAt{Working: working, Watched: r.watches()}
	var done []firstlook.Line
	for i, e := range r.entries {
		f := report.FileShown{Name: harmless.Line(e.name)}
		if r.done[i] {
			f = shownOf(&r.lines[i])
			done = append(done, r.lines[i].Line)
		}
		p.Files = append(p.Files, f)
	}
	p.Compare = firstlook.Compared(done)
	r.Machine.Page(p)
}

// shownOf returns a file as its page shows it. A line that names a place in the file alone marks that too.
func shownOf(l *looked) report.FileShown {
	f := report.FileShown{
		Name: l.File, Operator: l.Operator, Done: true, Verdict: string(l.Verdict), Weight: "neutral",
		Text: l.Text, Seconds: l.Seconds, Source: l.source, Causes: l.causes, Wrong: l.wrong,
	}
	switch {
	case l.Bad():
		f.Weight = "bad"
	case l.Good():
		f.Weight = "good"
	}
	if place := placeInFile.FindString(l.Text); len(f.Causes) == 0 && place != "" {
		n, _ := strconv.Atoi(strings.Trim(place, "line: ")) // the expression holds a number
		f.Causes = []record.Cause{{Line: n, Text: strings.TrimPrefix(l.Text, place)}}
	}
	return f
}

// livePage starts a server of the page on this machine alone, until the context ends. It returns one function
// that shows a page, and one that prints its address.
func (a *Looker) livePage(ctx context.Context) (show func(report.LookedAt), tell func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, session.Fail(session.ExitNothing, fmt.Errorf("--page: %w", err))
	}
	live, err := serve.NewLive(listener)
	if err != nil {
		listener.Close()
		return nil, nil, session.Fail(session.ExitBad, err)
	}
	panics.Go(func() {
		if err := live.Serve(ctx); err != nil {
			a.Broke(err)
		}
	}, a.Broke)
	show = func(p report.LookedAt) {
		live.Show(func(address, state string) report.Document {
			return report.FilesDocument(p, address, state, time.Now())
		})
	}
	return show, func() { fmt.Fprintf(a.Out, "The page of these files: %s\n\n", live.Address()) }, nil
}
