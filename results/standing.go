package results

import (
	"context"
	"database/sql"
	"errors"

	"triad/internal/op"
	"triad/internal/record"
)

// standings reads the newest runs by the table that triggers keep, so that it takes as long as there are
// implementations and cases, not runs.
const standings = `SELECT c.op, n.implementation, r.status, count(*), max(r.started_utc) FROM newest n
	CROSS JOIN run r ON r.run_id = n.run_id CROSS JOIN test_case c ON c.case_id = n.case_id
	GROUP BY c.op, n.implementation, r.status ORDER BY c.op, n.implementation, r.status`

// Standings counts the newest runs of each implementation of each operator by their status.
func (s *Store) Standings(ctx context.Context) ([]record.Standing, error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain("read what is newest", err)
	}
	defer tx.Rollback()
	rows, err := tx.Query(standings)
	if err != nil {
		return nil, s.explain("read what is newest", err)
	}
	defer rows.Close()
	var all []record.Standing
	for rows.Next() {
		var x record.Standing
		var status, newest string
		if err := rows.Scan(&x.Op, &x.Impl, &status, &x.Runs, &newest); err != nil {
			return nil, s.explain("read what is newest", err)
		}
		if x.Status, err = op.ParseStatus(status); err != nil {
			return nil, s.explain("read what is newest", err)
		}
		x.Newest = parseUTC(newest)
		all = append(all, x)
	}
	return all, s.explain("read what is newest", rows.Err())
}

// Diagnosis returns why a wrong run is wrong: its own diagnosis, or the one that a search kept of another run
// of the same implementation and pass in its session; nil if there is none.
func (s *Store) Diagnosis(ctx context.Context, r record.Record) (*record.Diagnosis, error) {
	if r.Diagnosis != nil || r.Status.Weight() != op.Bad {
		return r.Diagnosis, nil
	}
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain("read a diagnosis", err)
	}
	defer tx.Rollback()
	var text sql.NullString
	err = tx.QueryRow(`SELECT r.diagnosis_json FROM session s CROSS JOIN run r USING (session_id)
		JOIN plan p USING (plan_id) JOIN test_case c ON c.case_id = r.case_id
		WHERE s.session_ulid = ? AND r.diagnosis_json IS NOT NULL AND p.implementation = ? AND c.op = ?
			AND c.pass = ? ORDER BY c.dtype <> ?, r.run_ulid LIMIT 1`,
		r.Session, r.Impl, r.Case.Op, r.Case.Pass.String(), r.Case.DType).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, s.explain("read a diagnosis", err)
	}
	d, err := fromJSON[record.Diagnosis](text)
	return d, s.explain("read a diagnosis", err)
}
