-- what changed since a day: runs that are good where the newest before that day was bad, and the other way round
-- :since = 7 days ago, as 2026-01-31
SELECT n.op, n.pass, n.dtype, n.implementation, n.dims_json, b.status AS before, n.status AS now, n.run_ulid, b.run_ulid AS run_before
FROM latest n JOIN history b ON b.run_ulid = (
  SELECT max(r.run_ulid) FROM test_case c
  CROSS JOIN run r INDEXED BY run_by_case ON r.case_id = c.case_id
  WHERE c.case_key = n.case_key AND r.implementation_id IN (
      SELECT implementation_id FROM implementation WHERE op = n.op AND name = n.implementation)
    AND r.status <> 'INTERRUPTED' AND r.run_ulid < n.run_ulid AND r.started_utc < :since)
WHERE n.recorded_utc >= :since AND n.weight <> b.weight
ORDER BY n.weight, n.op, n.implementation
