-- what is wrong in one dtype alone, while the same implementation is never wrong in the others
-- :dtype = bf16
SELECT op, pass, implementation, count(*) AS wrong_cases, min(run_ulid) AS a_run, min(message) AS message
FROM latest l
WHERE dtype = :dtype AND weight = 'bad' AND NOT EXISTS (
  SELECT 1 FROM latest o
  WHERE o.op = l.op AND o.pass = l.pass AND o.implementation = l.implementation AND o.dtype <> l.dtype AND o.weight = 'bad')
GROUP BY op, pass, implementation
ORDER BY op, pass, implementation
