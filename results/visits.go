package results

import (
	"context"
	"database/sql"
	"slices"

	"triad/internal/resultdiff"
)

// Visits summarises, oldest first, the records of each session about each implementation that a filter on
// operators, implementations, dtypes, pass and time selects. A limit above 0 counts sessions: the newest that
// it fits.
func (s *Store) Visits(ctx context.Context, f Filter) ([]resultdiff.Visit, error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain("read the history", err)
	}
	defer tx.Rollback()
	where, args := f.where()
	where += " AND r.status IS NOT NULL AND r.status <> 'INTERRUPTED'"
	if f.Limit > 0 {
		sessions, err := column[int64](
			tx,
			"SELECT session_id FROM session s WHERE EXISTS (SELECT 1 FROM run r "+
				"WHERE r.session_id = s.session_id AND "+where+") ORDER BY session_ulid DESC LIMIT ?",
			append(slices.Clone(args), f.Limit)...)
		if err != nil {
			return nil, s.explain("read the history", err)
		}
		where, args = where+" AND r.session_id IN (SELECT value FROM json_each(?))", append(
			args,
			numbers(sessions),
		)
	}
	visits, at, err := selectVisits(tx, where, args)
	if err != nil {
		return nil, s.explain("read the history", err)
	}
	conditions := map[string]*resultdiff.Conditions{}
	for i := range visits {
		v := &visits[i]
		if conditions[v.Session] == nil {
			if conditions[v.Session], err = loadConditions(tx, v.Session); err != nil {
				return nil, s.explain("read the history", err)
			}
		}
		v.Conditions = conditions[v.Session]
	}
	err = addVisitedTimes(tx, visits, at, where, args)
	return visits, s.explain("read the history", err)
}

// visitKey is an implementation in a session.
type visitKey struct{ session, impl string }

// selectVisits counts the runs of each implementation in each session. Changes are relative to the newest
// earlier run of the same implementation on the same case.
func selectVisits(q querier, where string, args []any) ([]resultdiff.Visit, map[visitKey]int, error) {
	rows, err := q.Query(`SELECT session_ulid, started_utc, name, max(source), max(flags),
		sum(weight = 'good'), sum(weight = 'neutral'), sum(weight = 'bad'),
		sum(weight = 'bad' AND was <> 'bad'), sum(weight <> 'bad' AND was = 'bad'),
		CASE WHEN sum(weight = 'bad') = 0 THEN min(headroom) END FROM (
		SELECT s.session_ulid, s.started_utc, i.name, i.source_hash AS source, i.flags, w.weight,
			lag(w.weight) OVER (PARTITION BY r.case_id, i.name, r.device ORDER BY r.run_ulid) AS was,
			(SELECT min(headroom) FROM verdict v INDEXED BY verdict_extremes
				WHERE v.run_id = r.run_id) AS headroom
		FROM run r JOIN session s USING (session_id) JOIN implementation i USING (implementation_id)
		JOIN status w USING (status) WHERE `+where+`)
		GROUP BY session_ulid, name ORDER BY session_ulid, name`, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var visits []resultdiff.Visit
	at := map[visitKey]int{}
	for rows.Next() {
		var v resultdiff.Visit
		var started string
		var wrong, right sql.NullInt64
		var errorMargin sql.NullFloat64
		if err := rows.Scan(&v.Session, &started, &v.Impl, &v.Source, &v.Flags, &v.Good, &v.Neutral, &v.Bad,
			&wrong, &right, &errorMargin); err != nil {
			return nil, nil, err
		}
		v.Source = sourceIn(v.Source)
		v.Started, v.ErrorMargin = parseUTC(started), floatOf(errorMargin)
		v.BecameWrong, v.BecameRight = int(wrong.Int64), int(right.Int64)
		at[visitKey{v.Session, v.Impl}] = len(visits)
		visits = append(visits, v)
	}
	return visits, at, rows.Err()
}

// addVisitedTimes adds the usable times to the visits.
func addVisitedTimes(
	q querier,
	visits []resultdiff.Visit,
	at map[visitKey]int,
	where string,
	args []any,
) error {
	rows, err := q.Query("SELECT s.session_ulid, i.name, c.case_key, "+caseColumns+", "+timeColumns+
		usableTimes(where), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key visitKey
		var t resultdiff.TimeOfCase
		var c caseRow
		var columns timeRow
		targets := append([]any{&key.session, &key.impl, &t.CaseKey}, c.targets()...)
		if err := rows.Scan(append(targets, columns.targets()...)...); err != nil {
			return err
		}
		if t.Case, _, err = c.read(); err != nil {
			return err
		}
		if t.Time, err = columns.read(); err != nil {
			return err
		}
		v := &visits[at[key]]
		v.Times = append(v.Times, t)
	}
	return rows.Err()
}
