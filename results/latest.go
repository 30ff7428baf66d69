package results

import (
	"context"

	"triad/internal/record"
)

// Latest gives the newest ended run of each implementation on each case among those that the filter asks
// for, on a GPU and elsewhere apart, in the order in which they ran. Of more than the filter's limit it gives
// the bad ones and then the newest; total says how many there are.
func (s *Store) Latest(ctx context.Context, f Filter) (records []record.Record, total int, err error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, 0, s.explain("read the newest runs", err)
	}
	defer tx.Rollback()
	where, args := f.where()
	newest := `SELECT run_id FROM (SELECT r.run_id, r.run_ulid, r.status,
		row_number() OVER (PARTITION BY r.case_id, p.implementation, r.device = 'gpu'
		ORDER BY r.run_ulid DESC) AS age
		FROM ` + runTables + ` WHERE r.status IS NOT NULL AND r.status <> 'INTERRUPTED' AND ` + where + `)
		WHERE age = 1`
	if err := tx.QueryRow("SELECT count(*) FROM ("+newest+")", args...).Scan(&total); err != nil {
		return nil, 0, s.explain("read the newest runs", err)
	}
	limit := f.Limit
	if limit == 0 {
		limit = 100
	}
	records, _, err = selectRuns(tx, "r.run_id IN ("+newest+
		" ORDER BY status IN (SELECT status FROM status WHERE weight = 'bad') DESC, run_ulid DESC LIMIT ?) "+
		"ORDER BY r.run_ulid", append(args, limit)...)
	return records, total, s.explain("read the newest runs", err)
}
