package results

import (
	"context"
	"database/sql"

	"triad/internal/record"
)

// Sessions lists the newest sessions, newest first; limit below 0 takes all.
func (s *Store) Sessions(ctx context.Context, limit int) ([]record.SessionCount, error) {
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.explain("list sessions", err)
	}
	defer tx.Rollback()
	ids, err := column[int64](tx, "SELECT session_id FROM session ORDER BY session_ulid DESC LIMIT ?", limit)
	if err != nil {
		return nil, s.explain("list sessions", err)
	}
	all := make([]record.SessionCount, len(ids))
	for i, id := range ids {
		c := &all[i]
		if c.Session, err = loadSession(tx, id); err != nil {
			return nil, s.explain("list sessions", err)
		}
		err = tx.QueryRow(`SELECT state, (SELECT count(*) FROM run JOIN status USING (status) WHERE session_id = s.session_id AND weight = 'good'),
			(SELECT count(*) FROM run JOIN status USING (status) WHERE session_id = s.session_id AND weight = 'neutral'),
			(SELECT count(*) FROM run JOIN status USING (status) WHERE session_id = s.session_id AND weight = 'bad'),
			(SELECT count(DISTINCT run_id) FROM run JOIN timing USING (run_id) WHERE session_id = s.session_id)
			FROM session s WHERE session_id = ?`, id).Scan(&c.State, &c.Good, &c.Neutral, &c.Bad, &c.Timed)
		if err != nil {
			return nil, s.explain("list sessions", err)
		}
	}
	return all, nil
}
