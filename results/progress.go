package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"triad/internal/record"
)

// Progress returns the progress of a session. An unknown ID gives ErrNotFound.
func (s *Store) Progress(ctx context.Context, id string) (p record.Progress, err error) {
	tx, err := s.read(ctx)
	if err != nil {
		return p, s.explain("read the progress of "+id, err)
	}
	defer tx.Rollback()
	var running sql.NullString
	var session int64
	err = tx.QueryRow(`SELECT s.session_id, s.state,
		(SELECT count(*) FROM plan p WHERE p.session_id = s.session_id),
		(SELECT count(*) FROM run r WHERE r.session_id = s.session_id AND r.status IS NOT NULL),
		(SELECT count(*) FROM run r JOIN status w USING (status) WHERE r.session_id = s.session_id
			AND w.weight = 'bad'),
		(SELECT p.implementation || ' on ' || c.op || ' ' || c.pass || ' ' || c.dtype FROM run r
			JOIN plan p USING (plan_id) JOIN test_case c ON c.case_id = r.case_id
			WHERE r.session_id = s.session_id AND r.status IS NULL ORDER BY r.run_ulid DESC LIMIT 1)
		FROM session s WHERE s.session_ulid = ?`, id).
		Scan(&session, &p.State, &p.Planned, &p.Ended, &p.Bad, &running)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("show session %s in %s: %w", id, s.path, ErrNotFound)
	}
	p.At, p.State = running.String, s.stateNow(session, p.State)
	return p, s.explain("read the progress of "+id, err)
}

// stateNow returns the state of a session as recorded, except that one whose process is gone is not running:
// the next writer to the database records that.
func (s *Store) stateNow(session int64, recorded string) string {
	if recorded != "running" {
		return recorded
	}
	if alive, err := s.alive(session); err == nil && !alive {
		return "interrupted"
	}
	return recorded
}

// alive reports whether some process holds a session.
func (s *Store) alive(session int64) (bool, error) {
	if s.live != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.live.alive(session)
	}
	file, err := os.Open(s.path + livenessSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // a running session has created it
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	return (&liveness{file: file}).alive(session)
}
