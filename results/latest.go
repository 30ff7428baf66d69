package results

import (
	"context"

	"triad/internal/record"
)

// newestOf returns a query for the newest of some runs (a query with all columns of run): of each
// implementation, by its name, on each case and device. A run that reached no device, whose build failed for
// example, is among them until there is a newer one. This query defines what is latest; the triggers of the
// table newest follow it.
func newestOf(runs string) string {
	return `SELECT run_id FROM (SELECT run_id, run_ulid, device,
			max(run_ulid) OVER (PARTITION BY case_id, name) AS newest_ulid
		FROM (SELECT run_id, case_id, name, device, max(run_ulid) AS run_ulid
			FROM (` + runs + `) JOIN implementation USING (implementation_id) GROUP BY case_id, name, device))
		WHERE device <> '' OR run_ulid = newest_ulid`
}

// Latest returns the newest ended run of each implementation on each case and device among those that the
// filter selects (see newestOf), in the order in which they ran. If there are more than the filter's limit,
// it keeps the bad ones and then the newest; total is their number without the limit.
func (s *Store) Latest(ctx context.Context, f Filter) (records []record.Record, total int, err error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, 0, s.explain("read the newest runs", err)
	}
	defer tx.Rollback()
	where, args := f.where()
	newest := "SELECT run_id, run_ulid, status FROM run WHERE run_id IN (" + newestOf("SELECT r.* FROM "+
		runTables+" WHERE r.status IS NOT NULL AND r.status <> 'INTERRUPTED' AND "+where) + ")"
	if err := tx.QueryRow("SELECT count(*) FROM ("+newest+")", args...).Scan(&total); err != nil {
		return nil, 0, s.explain("read the newest runs", err)
	}
	limit := f.Limit
	if limit == 0 {
		limit = 100
	}
	records, _, err = selectRuns(tx, "r.run_id IN (SELECT run_id FROM ("+newest+")"+
		" ORDER BY status IN (SELECT status FROM status WHERE weight = 'bad') DESC, run_ulid DESC LIMIT ?) "+
		"ORDER BY r.run_ulid", append(args, limit)...)
	return records, total, s.explain("read the newest runs", err)
}
