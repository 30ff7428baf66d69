package results

import (
	"context"
	"database/sql"
	"encoding/json"

	"triad/internal/op"
	"triad/internal/record"
)

// Tallies counts, oldest first, what each session recorded of each pass of each implementation that a filter
// on operators, implementations, pass and time selects.
func (s *Store) Tallies(ctx context.Context, f Filter) ([]record.Tally, error) {
	const verb = "count runs"
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain(verb, err)
	}
	defer tx.Rollback()
	where, args := f.where()
	where += " AND r.status IS NOT NULL AND r.status <> 'INTERRUPTED'"
	all, err := selectTallies(tx, where, args)
	if err != nil {
		return nil, s.explain(verb, err)
	}
	return all, s.explain(verb, addTimedCases(tx, all, where, args))
}

// selectTallies counts runs. With min() of one column SQLite takes the others from the row that has it: each
// group shows the status and the message of its first run of the worst kind.
func selectTallies(q querier, where string, args []any) ([]record.Tally, error) {
	rows, err := q.Query(`SELECT s.session_ulid, s.command_json, s.added_json, s.state, c.op, c.pass, i.name,
		i.source_hash, max(r.device), sum(w.weight = 'good'), sum(w.weight = 'neutral'),
		sum(w.weight = 'bad'), sum(r.status = 'NOT_UNDERSTOOD'), r.status, r.message,
		min(CASE WHEN w.weight = 'bad' THEN 'a' WHEN r.status = 'NOT_UNDERSTOOD' THEN 'b'
			WHEN w.weight = 'good' THEN 'c' ELSE 'd' END || r.run_ulid),
		(SELECT min(f.started_utc) FROM run f WHERE f.session_id = r.session_id)
		FROM run r JOIN session s USING (session_id) JOIN test_case c USING (case_id)
		JOIN implementation i USING (implementation_id) JOIN status w USING (status)
		WHERE `+where+` GROUP BY r.session_id, i.implementation_id, c.op, c.pass
		ORDER BY s.session_ulid, i.name, c.pass DESC`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []record.Tally
	for rows.Next() {
		var j record.Tally
		var command, added, state, pass, status, first, started string
		if err := rows.Scan(&j.Session, &command, &added, &state, &j.Op, &pass, &j.Impl, &j.Source, &j.Device,
			&j.Good, &j.Neutral, &j.Bad, &j.NotUnderstood, &status, &j.Message, &first,
			&started); err != nil {
			return nil, err
		}
		j.Source, j.Complete, j.Started = sourceIn(j.Source), state == "complete", parseUTC(started)
		if err := json.Unmarshal([]byte(command), &j.Command); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(added), &j.Added); err != nil {
			return nil, err
		}
		if err := j.Pass.UnmarshalText([]byte(pass)); err != nil {
			return nil, err
		}
		if j.Status, err = op.ParseStatus(status); err != nil {
			return nil, err
		}
		all = append(all, j)
	}
	return all, rows.Err()
}

// addTimedCases adds the first usable time of each group.
func addTimedCases(q querier, all []record.Tally, where string, args []any) error {
	type key struct {
		session, impl, source string
		pass                  op.Pass
	}
	at := map[key]*record.Tally{}
	for i := range all {
		at[key{all[i].Session, all[i].Impl, all[i].Source, all[i].Pass}] = &all[i]
	}
	rows, err := q.Query("SELECT s.session_ulid, i.name, i.source_hash, t.median_ns, "+caseColumns+
		usableTimes(where), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k key
		var median sql.NullFloat64
		var columns caseRow
		if err := rows.Scan(append([]any{&k.session, &k.impl, &k.source, &median},
			columns.targets()...)...); err != nil {
			return err
		}
		c, _, err := columns.read()
		if err != nil {
			return err
		}
		k.source, k.pass = sourceIn(k.source), c.Pass
		if j := at[k]; j != nil && j.Timed == nil && median.Valid {
			j.Timed = &record.TimedCase{Case: c, MedianNS: median.Float64}
		}
	}
	return rows.Err()
}
