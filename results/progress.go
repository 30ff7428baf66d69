package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"triad/internal/record"
)

// Progress says how far a session is. An ID that is not there is ErrNotFound.
func (s *Store) Progress(ctx context.Context, id string) (p record.Progress, err error) {
	var running sql.NullString
	err = s.reader.QueryRowContext(ctx, `SELECT s.state,
		(SELECT count(*) FROM plan p WHERE p.session_id = s.session_id),
		(SELECT count(*) FROM run r WHERE r.session_id = s.session_id AND r.status IS NOT NULL),
		(SELECT count(*) FROM run r JOIN status w USING (status) WHERE r.session_id = s.session_id
			AND w.weight = 'bad'),
		(SELECT p.implementation || ' on ' || c.op || ' ' || c.pass || ' ' || c.dtype FROM run r
			JOIN plan p USING (plan_id) JOIN test_case c ON c.case_id = r.case_id
			WHERE r.session_id = s.session_id AND r.status IS NULL ORDER BY r.run_ulid DESC LIMIT 1)
		FROM session s WHERE s.session_ulid = ?`, id).Scan(&p.State, &p.Planned, &p.Ended, &p.Bad, &running)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("show session %s in %s: %w", id, s.path, ErrNotFound)
	}
	p.At = running.String
	return p, s.explain("read the progress of "+id, err)
}
