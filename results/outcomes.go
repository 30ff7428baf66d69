package results

import (
	"context"

	"triad/internal/op"
)

// Outcome is the result of one run without its verdicts.
type Outcome struct {
	Impl, Run string // Run is its ULID
	Status    op.Status
	Message   string
}

// outcomesOf goes from a session by its runs to their positions in the plan: no index leads from the plan to
// runs of every status, and all runs of each entry would be read.
const outcomesOf = `SELECT p.implementation, r.run_ulid, r.status, r.message FROM session s
	CROSS JOIN run r USING (session_id) CROSS JOIN plan p ON p.plan_id = r.plan_id
	WHERE s.session_ulid = ? AND r.status IS NOT NULL ORDER BY p.position`

// Outcomes calls each with every outcome of a session, in the order of its plan. It holds only one at a time.
func (s *Store) Outcomes(ctx context.Context, session string, each func(Outcome)) error {
	tx, err := s.read(ctx)
	if err != nil {
		return s.explain("read the outcomes of "+session, err)
	}
	defer tx.Rollback()
	rows, err := tx.Query(outcomesOf, session)
	if err != nil {
		return s.explain("read the outcomes of "+session, err)
	}
	defer rows.Close()
	for rows.Next() {
		var o Outcome
		var status string
		if err := rows.Scan(&o.Impl, &o.Run, &status, &o.Message); err != nil {
			return s.explain("read the outcomes of "+session, err)
		}
		if o.Status, err = op.ParseStatus(status); err != nil {
			return s.explain("read the outcomes of "+session, err)
		}
		each(o)
	}
	return s.explain("read the outcomes of "+session, rows.Err())
}
