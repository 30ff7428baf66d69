-- runs that failed once and passed alone, and implementations whose verdict on one case, seed and source changed
SELECT c.op, c.pass, c.dtype, i.name AS implementation, i.source_hash, c.dims_json, g.seed,
  (SELECT group_concat(DISTINCT status) FROM run r JOIN status w USING (status) WHERE r.case_id = g.case_id
    AND r.implementation_id = g.implementation_id AND r.seed = g.seed AND r.device = g.device
    AND w.weight <> 'neutral') AS statuses,
  g.runs, g.newest_run
FROM (
  SELECT r.case_id, r.implementation_id, r.seed, r.device, count(*) AS runs, max(r.run_ulid) AS newest_run
  FROM run r INDEXED BY run_by_case CROSS JOIN status w ON w.status = r.status
  WHERE w.weight <> 'neutral'
  GROUP BY r.case_id, r.implementation_id, r.seed, r.device
  HAVING min(w.weight) <> max(w.weight) OR sum(r.status = 'FLAKY') > 0) g
JOIN test_case c USING (case_id) JOIN implementation i USING (implementation_id)
ORDER BY c.op, c.pass, i.name
