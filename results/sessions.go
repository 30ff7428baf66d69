package results

import (
	"context"

	"triad/internal/record"
)

// Sessions lists the newest sessions that began before the one whose ID is before, newest first; "" asks for
// all, and a limit below 0 takes all.
func (s *Store) Sessions(ctx context.Context, before string, limit int) ([]record.SessionCount, error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain("list sessions", err)
	}
	defer tx.Rollback()
	ids, err := column[int64](tx, "SELECT session_id FROM session WHERE ? = '' OR session_ulid < ? "+
		"ORDER BY session_ulid DESC LIMIT ?", before, before, limit)
	if err != nil {
		return nil, s.explain("list sessions", err)
	}
	all := make([]record.SessionCount, len(ids))
	for i, id := range ids {
		c := &all[i]
		if c.Session, err = loadSession(tx, id); err != nil {
			return nil, s.explain("list sessions", err)
		}
		err = tx.QueryRow(`SELECT s.state, coalesce(sum(w.weight = 'good'), 0),
			coalesce(sum(w.weight = 'neutral'), 0), coalesce(sum(w.weight = 'bad'), 0),
			coalesce(sum(EXISTS (SELECT 1 FROM timing t INDEXED BY timing_status
				WHERE t.run_id = r.run_id)), 0)
			FROM session s LEFT JOIN run r USING (session_id) LEFT JOIN status w USING (status)
			WHERE s.session_id = ?`, id).Scan(&c.State, &c.Good, &c.Neutral, &c.Bad, &c.Timed)
		if err != nil {
			return nil, s.explain("list sessions", err)
		}
		c.State = s.stateNow(id, c.State)
	}
	return all, nil
}
