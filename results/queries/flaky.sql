-- runs that failed once and passed alone, and implementations whose verdict on one case, seed and source changed
SELECT op, pass, dtype, implementation, source_hash, dims_json, seed, group_concat(DISTINCT status) AS statuses,
  count(*) AS runs, max(run_ulid) AS newest_run
FROM history
WHERE weight <> 'neutral'
GROUP BY case_key, implementation, source_hash, seed, device
HAVING count(DISTINCT weight) > 1 OR sum(status = 'FLAKY') > 0
ORDER BY op, pass, implementation
