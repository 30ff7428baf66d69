// Package pages reads the contents of a page from the database: of an operator, of a session, of a
// comparison. Package report decides how it looks.
package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/results"
)

// Most is the maximum number of runs on a page.
const Most = 4000

// mostVisits is the number of newest sessions whose history a page shows.
const mostVisits = 300

// mostSessions is the number of sessions whose measurements other than runs a page reads.
const mostSessions = 40

// OfOperator returns a page of the newest run of each implementation on each case of an operator, with its
// history. Without runs its Nothing says so.
func OfOperator(
	ctx context.Context,
	store *results.Store,
	operator string,
	now time.Time,
) (report.Page, error) {
	p := report.Page{Subject: operator, Made: now, Database: store.Path()}
	f := results.Filter{Op: []string{operator}, Limit: Most}
	records, total, err := store.Latest(ctx, f)
	if err != nil {
		return p, err
	}
	p.Records, p.Left = records, total-len(records)
	if total == 0 {
		p.Nothing = fmt.Sprintf(
			"Nothing is recorded of %s: triad compare %[1]s runs and records it.",
			operator,
		)
		return p, nil
	}
	if p.Sessions, err = sessionsOf(ctx, store, records); err != nil {
		return p, err
	}
	return p, addHistories(ctx, store, operator, &p)
}

// OfSession returns a page of a session's records, with the operator's history if there is one operator. An
// unknown ID gives results.ErrNotFound.
func OfSession(ctx context.Context, store *results.Store, id string, now time.Time) (report.Page, error) {
	p := report.Page{Subject: "session " + id, Made: now, Database: store.Path()}
	session, err := measured(ctx, store, id)
	if err != nil {
		return p, err
	}
	p.Sessions, p.Command = []record.Measured{session}, "triad "+record.CommandLine(session.Session.Command)
	records, total, err := store.List(ctx, results.Filter{Session: id, Limit: Most})
	if err != nil {
		return p, err
	}
	if p.Left = total - len(records); p.Left > 0 { // bad runs are never left out
		if records, err = badFirst(ctx, store, id, records); err != nil {
			return p, err
		}
	}
	slices.Reverse(records) // in the order in which they ran
	operators := map[string]bool{}
	for _, r := range records {
		if r.Status != 0 { // it has ended
			p.Records = append(p.Records, r)
			operators[r.Case.Op] = true
		}
	}
	if len(p.Records) == 0 {
		p.Nothing = "This session recorded no run that ended."
		return p, nil
	}
	if len(operators) == 1 {
		err = addHistories(ctx, store, p.Records[0].Case.Op, &p)
	}
	return p, err
}

// badFirst returns the bad runs of a session and then its newest, as many as a page shows, newest first.
func badFirst(
	ctx context.Context,
	store *results.Store,
	id string,
	newest []record.Record,
) ([]record.Record, error) {
	all, _, err := store.List(ctx, results.Filter{Session: id, Bad: true, Limit: Most})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, r := range all {
		there[r.ID] = true
	}
	for _, r := range newest {
		if len(all) < Most && !there[r.ID] {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b record.Record) int { return cmp.Compare(b.ID, a.ID) })
	return all, nil
}

// OfDiff returns a page of what changed from one side to another.
func OfDiff(a, b resultdiff.Side, o resultdiff.Options, database string, now time.Time) report.Page {
	return report.Page{
		Subject: "from " + a.Name + " to " + b.Name, Made: now, Database: database,
		Diff: &report.PageDiff{A: a, B: b, Changes: resultdiff.Diff(a, b, o)},
	}
}

// sessionsOf returns the newest sessions that records come from, newest first.
func sessionsOf(
	ctx context.Context,
	store *results.Store,
	records []record.Record,
) ([]record.Measured, error) {
	var ids []string
	seen := map[string]bool{}
	for _, r := range records {
		if !seen[r.Session] {
			seen[r.Session] = true
			ids = append(ids, r.Session)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	var all []record.Measured
	for _, id := range ids[:min(len(ids), mostSessions)] {
		m, err := measured(ctx, store, id)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// measured returns a session with its ceilings and comparisons.
func measured(ctx context.Context, store *results.Store, id string) (m record.Measured, err error) {
	if m.Session, err = store.Session(ctx, id); err != nil {
		return m, err
	}
	var ceilings, comparisons error
	m.Ceilings, ceilings = store.Ceilings(ctx, id)
	m.Comparisons, comparisons = store.Comparisons(ctx, id)
	return m, errors.Join(ceilings, comparisons)
}

// addHistories adds the history of an operator.
func addHistories(ctx context.Context, store *results.Store, operator string, p *report.Page) error {
	visits, err := store.Visits(ctx, results.Filter{Op: []string{operator}, Limit: mostVisits})
	if err != nil {
		return err
	}
	sessions := map[string]bool{}
	for _, v := range visits {
		sessions[v.Session] = true
	}
	if len(sessions) == mostVisits {
		p.HistoryOf = mostVisits
	}
	p.Histories = map[string]map[string][]resultdiff.Step{operator: resultdiff.Histories(visits)}
	return nil
}
